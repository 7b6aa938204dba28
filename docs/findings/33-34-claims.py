#!/usr/bin/env python3
"""Findings 33 and 34: `33-34-claims.py 33` or `34`. A StatefulSet is scaled down, and up before its claim is collected. 33: its policy
is `Retain` by then, and its new pod is made over the claim that goes. 34: nobody tells the set that the claim has gone."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, stateful_set
from proxy import Proxy

FINDING = sys.argv[1] if len(sys.argv) > 1 else '33'
SETS, PODS = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods'
CLAIM = '/api/v1/namespaces/default/persistentvolumeclaims/data-web-0'
COLLECTOR = ['garbage-collector-controller', 'persistentvolumeclaim-protection-controller']

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')
    claim = lambda: server.request('GET', CLAIM)[1].get('metadata') or {}
    pods = lambda: [p['metadata']['name'] for p in server.request('GET', PODS)[1]['items']]

    def policy(when_scaled):
        return {'persistentVolumeClaimRetentionPolicy': {'whenDeleted': 'Retain', 'whenScaled': when_scaled}}

    def change(**spec):
        code, body = server.request('PATCH', f'{SETS}/web', {'spec': spec})
        assert code == 200, body
    with Manager(cluster, kubeconfig, ['statefulset-controller']):
        assert server.request('POST', SETS, stateful_set('web', claims=['data'], **policy('Delete')))[0] == 201
        until(pods)
        change(replicas=0)
        until(lambda: not pods())
        say('scaled down; the claim is owned by', [o['kind'] for o in claim().get('ownerReferences', [])], 'and not collected yet')
        change(replicas=1, **policy('Retain') if FINDING == '33' else {})
        time.sleep(5)
        say('scaled up; pods:', pods())
        with Manager(cluster, kubeconfig, COLLECTOR, name='collector'):
            if FINDING == '33':
                going = until(lambda: claim().get('deletionTimestamp'), 60)
                say('the policy is Retain, and the claim of the pod is being deleted:', bool(going))
                raise SystemExit(0 if going and pods() else 1)
            until(lambda: not claim(), 60) or sys.exit('the claim stays')
            found = until(pods, 60, 1)
            say('the claim has gone; pods a minute later:', pods())
            server.request('PATCH', f'{SETS}/web', {'metadata': {'annotations': {'a': 'b'}}})
            say('and when something of the set has changed:', until(pods, 30))
            raise SystemExit(1 if found else 0)
