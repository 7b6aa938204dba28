#!/usr/bin/env python3
"""Finding 105: a Deployment that is recreated is paused while its old pods end. Its controller scales the old ReplicaSet up again, and deletes it in the same
sync: the limit of the history is 0, and by the list of before the set asks for nothing. The control has a limit of 1, and gets its pods back."""
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy

DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
SETS = '/apis/apps/v1/namespaces/default/replicasets'
PODS = '/api/v1/namespaces/default/pods'


def is_going(pod):
    return 'deletionTimestamp' in pod['metadata']


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')
    with Manager(cluster, kubeconfig, ['deployment-controller', 'replicaset-controller', 'garbage-collector-controller']) as manager:
        def listed(path, of):
            return server.request('GET', f'{path}?labelSelector=app%3D{of}')[1]['items']

        def pause_while_pods_end(name, limit):
            labels = {'app': name}
            spec = {'replicas': 2, 'revisionHistoryLimit': limit, 'strategy': {'type': 'Recreate'},
                    'selector': {'matchLabels': labels}, 'template': pod_template(labels)}
            code, body = server.request('POST', DEPLOYMENTS, {
                'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name}, 'spec': spec})
            assert code == 201, body
            until(lambda: len(listed(PODS, name)) == 2, 60)
            for pod in listed(PODS, name):
                # A pod that has a node takes its time to end.
                to = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': pod['metadata']['name']}, 'target': {'kind': 'Node', 'name': 'n1'}}
                assert server.request('POST', f"{PODS}/{pod['metadata']['name']}/binding", to)[0] == 201
            server.request('PATCH', f'{DEPLOYMENTS}/{name}', {'spec': {'template': {'metadata': {'annotations': {'version': '2'}}}}})
            until(lambda: all(is_going(pod) for pod in listed(PODS, name)), 30)
            old, = listed(SETS, name)
            until(lambda: server.request('GET', f"{SETS}/{old['metadata']['name']}")[1]['status']['replicas'] == 0, 30)
            time.sleep(2)
            server.request('PATCH', f'{DEPLOYMENTS}/{name}', {'spec': {'paused': True}})
            time.sleep(20)
            sets = [own['spec']['replicas'] for own in listed(SETS, name)]
            pods = [pod for pod in listed(PODS, name) if not is_going(pod)]
            events = server.request('GET', '/api/v1/namespaces/default/events')[1]['items']
            ups = sum(event.get('count', 1) for event in events
                      if event['involvedObject']['name'] == name and 'from 0 to 2' in event['message'])
            say(f'{name}, limit of the history {limit}: a set was scaled from 0 to 2 {ups} times; 20 s after the Deployment was paused '
                f'its sets ask for {sets}, and it has {len(pods)} pods')
            return sets, len(pods)

        kept, lost = pause_while_pods_end('kept', 1), pause_while_pods_end('lost', 0)
        raise SystemExit(0 if kept == ([2], 2) and lost == ([], 0) else 1)
