#!/usr/bin/env python3
"""Finding 107: two nodes have a pod of a DaemonSet each. One node gets a taint under which its pod may go on, and could not be made. The
status of the DaemonSet goes on to count it among the nodes that it is for. An annotation on the DaemonSet makes it right."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import write_kubeconfig

SETS, PODS, NODES = '/apis/apps/v1/namespaces/default/daemonsets', '/api/v1/namespaces/default/pods', '/api/v1/nodes'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def taint(node, *taints):
        assert server.request('PATCH', f'{NODES}/{node}', {'spec': {'taints': list(taints)}})[0] == 200

    def told():
        status = server.request('GET', f'{SETS}/agent')[1]['status']
        return {field: status.get(field, 0) for field in ('desiredNumberScheduled', 'numberMisscheduled', 'numberReady')}

    for node in ('n1', 'n2'):
        assert server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': node}})[0] == 201
        # The server taints a node that nobody has said to be ready.
        taint(node)
    with Manager(cluster, kubeconfig, ['daemonset-controller']):
        labels = {'app': 'agent'}
        agent = {'apiVersion': 'apps/v1', 'kind': 'DaemonSet', 'metadata': {'name': 'agent'},
                 'spec': {'selector': {'matchLabels': labels}, 'template': pod_template(labels)}}
        assert server.request('POST', SETS, agent)[0] == 201

        def pods():
            items = server.request('GET', PODS)[1]['items']
            return items if len(items) == 2 else None

        for pod in until(pods, 60) or sys.exit('there are no two pods'):
            name = pod['metadata']['name']
            affinity = pod['spec']['affinity']['nodeAffinity']['requiredDuringSchedulingIgnoredDuringExecution']
            node = affinity['nodeSelectorTerms'][0]['matchFields'][0]['values'][0]
            to = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name}, 'target': {'kind': 'Node', 'name': node}}
            assert server.request('POST', f'{PODS}/{name}/binding', to)[0] == 201
            make_ready(server, server.request('GET', f'{PODS}/{name}')[1])
        until(lambda: told()['numberReady'] == 2, 60) or sys.exit('the DaemonSet does not settle')
        time.sleep(3)
        say('two nodes, two pods:', told())
        taint('n2', {'key': 'busy', 'effect': 'NoSchedule'})
        time.sleep(SECONDS)
        late = told()
        say(f'{SECONDS} s after n2 got a taint NoSchedule:', late)
        server.request('PATCH', f'{SETS}/agent', {'metadata': {'annotations': {'touched': 'true'}}})
        until(lambda: told()['numberMisscheduled'] == 1, 30)
        mended = told()
        say('an annotation is written on the DaemonSet:', mended)
    shown = late['desiredNumberScheduled'] == 2 and mended['desiredNumberScheduled'] == 1 and mended['numberMisscheduled'] == 1
    raise SystemExit(0 if shown else 1)
