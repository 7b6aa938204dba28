#!/usr/bin/env python3
"""Findings 43, 44 and 46: budgets whose status stays wrong. Of several budgets over the same pods one hears of a change; none hears
that a workload is scaled; and a sync that has failed twice is not tried again. Only the disruption controller runs."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import Proxy, Rule

PODS, SETS = '/api/v1/namespaces/default/pods', '/apis/apps/v1/namespaces/default/replicasets'
BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def owner(kind, name, uid):
    return [{'apiVersion': 'apps/v1', 'kind': kind, 'name': name, 'uid': uid, 'controller': True}]


with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def make_pods(app, count, owners=()):
        for number in range(count):
            template = pod_template({'app': app})
            metadata = {'name': f'{app}-{number}', 'labels': {'app': app}, 'ownerReferences': list(owners)}
            pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': {**template['spec'], 'nodeName': 'n1'}}
            code, made = server.request('POST', PODS, pod)
            assert code == 201, made
            make_ready(server, made)

    def make_set(app, replicas, owners=()):
        spec = {'replicas': replicas, 'selector': {'matchLabels': {'app': app}}, 'template': pod_template({'app': app})}
        body = {'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'metadata': {'name': app, 'ownerReferences': list(owners)}, 'spec': spec}
        code, made = server.request('POST', SETS, body)
        assert code == 201, made
        return owner('ReplicaSet', app, made['metadata']['uid'])

    def make_budget(name, app, **spec):
        body = {'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'metadata': {'name': name},
                'spec': {'selector': {'matchLabels': {'app': app}}, **spec}}
        assert server.request('POST', BUDGETS, body)[0] == 201

    def status(name):
        return server.request('GET', f'{BUDGETS}/{name}')[1].get('status', {})

    def is_healthy(name, healthy):
        return status(name).get('observedGeneration') and status(name)['currentHealthy'] == healthy

    def told(name):
        own = status(name)
        fields = ('expectedPods', 'desiredHealthy', 'currentHealthy', 'disruptionsAllowed')
        return ', '.join(f'{field} {own.get(field)}' for field in fields)

    def evict(pod):
        body = {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': pod}}
        return server.request('POST', f'{PODS}/{pod}/eviction', body)[0]

    shown = []
    with Manager(cluster, kubeconfig, ['disruption-controller']):
        say('43: eight budgets over the same three pods')
        make_pods('several', 3)
        names = [f'several-{n}' for n in range(8)]
        for name in names:
            make_budget(name, 'several', minAvailable=1)
        until(lambda: all(is_healthy(name, 3) for name in names), 60) or sys.exit('the budgets do not settle')
        for pod in ('several-1', 'several-2'):
            unready = {'status': {'conditions': [{'type': 'Ready', 'status': 'False'}]}}
            server.request('PATCH', f'{PODS}/{pod}/status', unready)
        time.sleep(SECONDS)
        stale = [name for name in names if not is_healthy(name, 1)]
        say(f'two pods are not ready any more; {SECONDS} s later {len(stale)} of 8 budgets have not heard of it')
        if stale:
            say(stale[0], 'says', told(stale[0]))
            for name in names:
                if name != stale[0]:
                    server.request('DELETE', f'{BUDGETS}/{name}')
            code = evict('several-0')
            say(f'the others are deleted, and the only ready pod is evicted: {code}')
            shown.append(code == 201)

        say('44: a ReplicaSet is scaled, and gets no pods')
        make_pods('scaled', 2, make_set('scaled', 2))
        make_budget('scaled', 'scaled', maxUnavailable=1)
        until(lambda: is_healthy('scaled', 2), 60) or sys.exit('the budget does not settle')
        say('says', told('scaled'))
        server.request('PATCH', f'{SETS}/scaled', {'spec': {'replicas': 5}})
        time.sleep(SECONDS)
        say(f'{SECONDS} s after it was scaled to 5: {told("scaled")}')
        shown.append(status('scaled')['expectedPods'] == 2)

        say('46: the Scale of a ReplicaSet whose Deployment is gone is refused for a while')
        gone = owner('Deployment', 'gone', '00000000-0000-0000-0000-000000000000')
        make_pods('refused', 2, make_set('refused', 2, gone))
        rule = Rule('GET', '/replicasets/refused/scale', refuse=True, times=1000)
        proxy.rules.append(rule)
        make_budget('refused', 'refused', maxUnavailable=1)
        until(lambda: rule.times < 1000, 60) or sys.exit('nobody asks for the Scale')
        time.sleep(20)
        refused, rule.times = 1000 - rule.times, 0
        time.sleep(SECONDS)
        condition, = status('refused')['conditions']
        say(f'{refused} requests were refused in 20 s; {SECONDS} s after the last: {condition["reason"]}, {told("refused")}')
        shown.append(condition['reason'] == 'SyncFailed')
    raise SystemExit(0 if shown == [True] * 3 else 1)
