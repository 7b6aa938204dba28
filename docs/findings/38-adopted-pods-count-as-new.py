#!/usr/bin/env python3
"""Finding 38: a DaemonSet is deleted and leaves its pods, and is made again with another image. It adopts the pods, and counts them as
those of its template, so that they stay. The control had a second template before it was deleted: its pods are replaced."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import write_kubeconfig

SETS, PODS = '/apis/apps/v1/namespaces/default/daemonsets', '/api/v1/namespaces/default/pods'
ORPHAN = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Orphan'}
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def daemon_set(name, image):
    template = pod_template({'app': name})
    template['spec']['containers'][0]['image'] = image
    return {'apiVersion': 'apps/v1', 'kind': 'DaemonSet', 'metadata': {'name': name},
            'spec': {'selector': {'matchLabels': {'app': name}}, 'template': template}}


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)
    assert server.request('POST', '/api/v1/nodes', {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n'}})[0] == 201
    # The server taints a node that nobody has said to be ready.
    assert server.request('PATCH', '/api/v1/nodes/n', {'spec': {'taints': None}})[0] == 200

    def pods(name):
        """The images of its pods that do not go."""
        items = server.request('GET', PODS, labelSelector=f'app={name}')[1]['items']
        return [i['spec']['containers'][0]['image'] for i in items if 'deletionTimestamp' not in i['metadata']]

    def status(name):
        return server.request('GET', f'{SETS}/{name}')[1].get('status', {})
    with Manager(cluster, kubeconfig, ['daemonset-controller', 'garbage-collector-controller']):
        for name in ('once', 'twice'):
            assert server.request('POST', SETS, daemon_set(name, 'first'))[0] == 201
        until(lambda: pods('once') == pods('twice') == ['first'], 60) or sys.exit('there are no pods')
        change = daemon_set('twice', 'second')['spec']['template']
        assert server.request('PATCH', f'{SETS}/twice', {'spec': {'template': change}})[0] == 200
        until(lambda: pods('twice') == ['second'], 60) or sys.exit('the rollout does not end')
        for name in ('once', 'twice'):
            server.request('DELETE', f'{SETS}/{name}', ORPHAN)
            until(lambda name=name: server.request('GET', f'{SETS}/{name}')[0] == 404, 60) or sys.exit('it does not go')
            assert server.request('POST', SETS, daemon_set(name, 'third'))[0] == 201
        say('both DaemonSets are made anew over their pods, with the image `third`')
        time.sleep(SECONDS)
        found = {name: pods(name) for name in ('once', 'twice')}
        updated = status('once').get('updatedNumberScheduled')
        say(f'{SECONDS} s later the images of their pods: {found}; updatedNumberScheduled of `once`: {updated}')
    raise SystemExit(0 if found == {'once': ['first'], 'twice': ['third']} and updated == 1 else 1)
