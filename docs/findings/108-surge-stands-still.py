#!/usr/bin/env python3
"""Finding 108: a DaemonSet with `maxSurge` and `minReadySeconds` is rolled out soon after its pods became ready. The old pod stays beside the
new one, which has long been available, until something else of the set changes. The control is rolled out later."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import write_kubeconfig

SETS, PODS, NODES = '/apis/apps/v1/namespaces/default/daemonsets', '/api/v1/namespaces/default/pods', '/api/v1/nodes'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
MIN_READY = 20

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)
    assert server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n1'}})[0] == 201
    # The server taints a node that nobody has said to be ready.
    assert server.request('PATCH', f'{NODES}/n1', {'spec': {'taints': []}})[0] == 200

    def pods(name):
        items = server.request('GET', PODS)[1]['items']
        own = [pod for pod in items if pod['metadata']['labels']['app'] == name]
        return [pod for pod in own if 'deletionTimestamp' not in pod['metadata']]

    def run(pod):
        """Its node runs it. It is ready a while after it was made, as pods are."""
        time.sleep(5)
        name = pod['metadata']['name']
        to = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name}, 'target': {'kind': 'Node', 'name': 'n1'}}
        assert server.request('POST', f'{PODS}/{name}/binding', to)[0] == 201
        now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
        ready = {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True', 'lastTransitionTime': now}]}
        assert server.request('PATCH', f'{PODS}/{name}/status', {'status': ready})[0] == 200

    def roll_out(name, after):
        """How many pods has the set when its new one has long been available?"""
        labels = {'app': name}
        surge = {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': 1, 'maxUnavailable': 0}}
        body = {'apiVersion': 'apps/v1', 'kind': 'DaemonSet', 'metadata': {'name': name},
                'spec': {'selector': {'matchLabels': labels}, 'template': pod_template(labels),
                         'minReadySeconds': MIN_READY, 'updateStrategy': surge}}
        assert server.request('POST', SETS, body)[0] == 201
        until(lambda: pods(name), 60) or sys.exit('there is no pod')
        run(pods(name)[0])
        time.sleep(after)
        old = pods(name)[0]['metadata']['uid']
        server.request('PATCH', f'{SETS}/{name}', {'spec': {'template': {'metadata': {'annotations': {'release': '2'}}}}})
        until(lambda: len(pods(name)) == 2, 60) or sys.exit('there is no new pod')
        run(next(pod for pod in pods(name) if pod['metadata']['uid'] != old))
        time.sleep(MIN_READY + SECONDS)
        left = len(pods(name))
        say(f'{name}: rolled out {after} s after its pod was ready; {SECONDS} s after the new one was available it has {left} pods')
        return left

    with Manager(cluster, kubeconfig, ['daemonset-controller']):
        soon, later = roll_out('soon', 5), roll_out('later', MIN_READY + 5)
        server.request('PATCH', f'{SETS}/soon', {'metadata': {'annotations': {'touched': 'true'}}})
        until(lambda: len(pods('soon')) == 1, 30)
        say(f'an annotation is written on `soon`: it has {len(pods("soon"))}')
    raise SystemExit(0 if (soon, later) == (2, 1) else 1)
