#!/usr/bin/env python3
"""Finding 95: the claims of a StatefulSet are to go when it is scaled down. The pod is away by then, since the set waits for one before it. Nobody looks at its claim:
it stays, and when the set is scaled up again the pod has the old data. The control is the same with the pod there."""
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, stateful_set
from proxy import write_kubeconfig

SETS, PODS = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods'
CLAIM = '/api/v1/namespaces/default/persistentvolumeclaims/data-web-1'
CONTROLLERS = ['statefulset-controller', 'garbage-collector-controller', 'persistentvolumeclaim-protection-controller']
POLICY = {'persistentVolumeClaimRetentionPolicy': {'whenDeleted': 'Retain', 'whenScaled': 'Delete'}}


def comes_back(is_away):
    """Has the second pod the old claim again, after the set was scaled to one and to two?"""
    with Cluster() as cluster:
        server, = cluster.servers
        kubeconfig = f'{cluster.folder}/kubeconfig'
        write_kubeconfig(kubeconfig, server.port)

        def found(path):
            code, body = server.request('GET', path)
            return body if code == 200 else None

        def claim():
            return (found(CLAIM) or {}).get('metadata', {}).get('uid')

        def scale(replicas):
            assert server.request('PATCH', f'{SETS}/web', {'spec': {'replicas': replicas}})[0] == 200

        with Manager(cluster, kubeconfig, CONTROLLERS):
            assert server.request('POST', SETS, stateful_set('web', claims=['data'], replicas=2, **POLICY))[0] == 201
            for name in ('web-0', 'web-1'):
                made = until(lambda name=name: found(f'{PODS}/{name}'), 60)
                make_ready(server, made)
            time.sleep(2)
            old, first = claim(), found(f'{PODS}/web-0')
            unready = {'type': 'Ready', 'status': 'False', 'lastTransitionTime': first['metadata']['creationTimestamp']}
            assert server.request('PATCH', f'{PODS}/web-0/status', {'status': {'conditions': [unready]}})[0] == 200
            time.sleep(2)
            if is_away:
                # Its node was drained, say.
                assert server.request('DELETE', f'{PODS}/web-1')[0] == 200
                time.sleep(2)
            scale(1)
            time.sleep(2)
            make_ready(server, first)
            is_gone = until(lambda: not claim(), 20)
            scale(2)
            until(lambda: found(f'{PODS}/web-1'), 30)
            pod = 'away' if is_away else 'there'
            say(f'scaled down while the pod was {pod}: its claim', 'goes' if is_gone else f'is there 20 s later, and is that of the new pod: {claim() == old}')
            return not is_gone and claim() == old


there, away = comes_back(False), comes_back(True)
raise SystemExit(0 if away and not there else 1)
