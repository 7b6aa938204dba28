#!/usr/bin/env python3
"""Finding 92: a StatefulSet whose claims are to go with it is told to retain them. While its pod runs and is not ready nobody takes the set out of the references
of the claim, although `observedGeneration` says that the change was seen. The set is deleted, and the claim with it."""
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, stateful_set
from proxy import Proxy

SETS, PODS = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods'
CLAIM = '/api/v1/namespaces/default/persistentvolumeclaims/data-web-0'
CONTROLLERS = ['statefulset-controller', 'garbage-collector-controller', 'persistentvolumeclaim-protection-controller']


def policy(when_deleted):
    return {'persistentVolumeClaimRetentionPolicy': {'whenDeleted': when_deleted, 'whenScaled': 'Retain'}}


def stays(is_ready):
    """Is the claim there after the set was deleted?"""
    with Cluster() as cluster:
        server, = cluster.servers
        kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')

        def claim():
            return server.request('GET', CLAIM)[1].get('metadata') or {}

        def owners():
            return [owner['kind'] for owner in claim().get('ownerReferences', [])]

        def is_observed():
            found = server.request('GET', f'{SETS}/web')[1]
            return found['status'].get('observedGeneration') == found['metadata']['generation']

        with Manager(cluster, kubeconfig, CONTROLLERS):
            assert server.request('POST', SETS, stateful_set('web', claims=['data'], **policy('Delete')))[0] == 201
            until(lambda: owners() == ['StatefulSet'], 60)
            pod = until(lambda: server.request('GET', PODS)[1]['items'], 60)[0]
            make_ready(server, pod)
            if not is_ready:
                condition = {'type': 'Ready', 'status': 'False', 'lastTransitionTime': pod['metadata']['creationTimestamp']}
                path = f"{PODS}/{pod['metadata']['name']}/status"
                assert server.request('PATCH', path, {'status': {'conditions': [condition]}})[0] == 200
            time.sleep(3)
            assert server.request('PATCH', f'{SETS}/web', {'spec': policy('Retain')})[0] == 200
            until(is_observed, 60)
            time.sleep(10)
            say(f'the pod is {"ready" if is_ready else "not ready"}; the policy is Retain, 10 s after that was observed the claim is owned by', owners())
            assert server.request('DELETE', f'{SETS}/web')[0] == 200
            is_gone = until(lambda: not claim() or claim().get('deletionTimestamp'), 30)
            say('the set is deleted: the claim', 'goes' if is_gone else 'stays')
            return not is_gone


ready, unready = stays(True), stays(False)
raise SystemExit(0 if ready and not unready else 1)
