#!/usr/bin/env python3
"""Candidate 57: in the middle of a rollout a Deployment gets the strategy Recreate, and another size with it. Its controller takes each
sync for one that scales, and scales nothing: the sets stay as they are. A second Deployment keeps its size, and goes on."""
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import Proxy

DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
SETS = '/apis/apps/v1/namespaces/default/replicasets'

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')
    with Manager(cluster, kubeconfig, ['deployment-controller', 'replicaset-controller']) as manager:
        def pods(of):
            listed = server.request('GET', f'/api/v1/namespaces/default/pods?labelSelector=app%3D{of}')[1]['items']
            return [pod for pod in listed if 'deletionTimestamp' not in pod['metadata']]

        def sizes(of):
            listed = server.request('GET', f'{SETS}?labelSelector=app%3D{of}')[1]['items']
            return sorted(own['spec']['replicas'] for own in listed)

        def end_pods(of):
            """No kubelet ends pods that are to go."""
            for pod in server.request('GET', f'/api/v1/namespaces/default/pods?labelSelector=app%3D{of}')[1]['items']:
                if 'deletionTimestamp' in pod['metadata']:
                    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}"
                    server.request('DELETE', path, {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'gracePeriodSeconds': 0})

        for name in ['scaled', 'kept']:
            labels = {'app': name}
            code, body = server.request('POST', DEPLOYMENTS, {
                'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
                'spec': {'replicas': 4, 'selector': {'matchLabels': labels}, 'template': pod_template(labels)}})
            assert code == 201, body
            until(lambda: len(pods(name)) == 4, 60)
            for pod in pods(name):
                make_ready(server, pod)
            until(lambda: server.request('GET', f'{DEPLOYMENTS}/{name}')[1]['status'].get('availableReplicas') == 4, 30)
            server.request('PATCH', f'{DEPLOYMENTS}/{name}',
                           {'spec': {'template': {'metadata': {'annotations': {'version': '2'}}}}})
            until(lambda: sizes(name) == [2, 3], 30)
            say(f'{name}: in the middle of a rollout, sets ask for {sizes(name)}')
        recreate = {'strategy': {'type': 'Recreate', 'rollingUpdate': None}}
        for name, spec in [('scaled', recreate | {'replicas': 2}), ('kept', recreate)]:
            code, body = server.request('PATCH', f'{DEPLOYMENTS}/{name}', {'spec': spec})
            assert code == 200, body
        for _ in range(60):
            time.sleep(1)
            for name in ['scaled', 'kept']:
                end_pods(name)
        for name, size in [('scaled', 2), ('kept', 4)]:
            status = server.request('GET', f'{DEPLOYMENTS}/{name}')[1]['status']
            say(f"{name}: is to have {size}; 60 s later its sets ask for {sizes(name)}, and it has {status['replicas']} pods, "
                f"observed generation {status['observedGeneration']}")
        stuck = sizes('scaled') == [2, 3] and sizes('kept') == [0, 4]
        server.request('PATCH', f'{DEPLOYMENTS}/scaled', {'spec': {'replicas': 0}})
        time.sleep(20)
        say(f'scaled: is to have 0; 20 s later its sets ask for {sizes("scaled")}')
        raise SystemExit(0 if stuck and sizes('scaled') == [2, 3] else 1)
