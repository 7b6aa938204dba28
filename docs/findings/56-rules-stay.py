#!/usr/bin/env python3
"""Finding 56. Aggregated ClusterRoles that select nothing keep the rules that somebody else has given them: rules that were there when the
role came to be aggregated, and rules that somebody else has applied as well."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import write_kubeconfig

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
API = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole'}
SECRETS = [{'apiGroups': [''], 'resources': ['secrets'], 'verbs': ['get']}]

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def make(name, rules=None, labels=None, selects=None):
        body = {**API, 'metadata': {'name': name, 'labels': labels or {}}}
        if rules is not None:
            body['rules'] = rules
        if selects:
            body['aggregationRule'] = {'clusterRoleSelectors': [{'matchLabels': {selects: 'yes'}}]}
        assert server.request('POST', ROLES, body)[0] == 201

    def apply(name):
        body = {**API, 'metadata': {'name': name}, 'rules': SECRETS}
        kind = 'application/apply-patch+yaml'
        assert server.request('PATCH', f'{ROLES}/{name}', body, kind, fieldManager='gitops', force='true')[0] == 200

    def rules(name):
        return server.request('GET', f'{ROLES}/{name}')[1].get('rules') or []

    with Manager(cluster, kubeconfig, ['clusterrole-aggregation-controller']) as manager:
        make('part', SECRETS, {'alone': 'yes', 'shared': 'yes'})
        make('alone', selects='alone')
        make('shared', selects='shared')
        make('had-rules', SECRETS, selects='nothing')
        until(lambda: rules('alone') and rules('shared'), 60) or sys.exit('nothing is aggregated')
        apply('shared')
        patch = {'metadata': {'labels': {'alone': None, 'shared': None}}}
        assert server.request('PATCH', f'{ROLES}/part', patch)[0] == 200
        until(lambda: not rules('alone'), 20) or sys.exit('the rules of a role that is not selected any more stay')
        time.sleep(SECONDS)
        say(f'{SECONDS} s later nothing is selected: `alone` has {len(rules("alone"))} rules, `shared` {len(rules("shared"))}, '
            f'`had-rules` {len(rules("had-rules"))}')
        raise SystemExit(0 if rules('shared') and rules('had-rules') and not rules('alone') else 1)
