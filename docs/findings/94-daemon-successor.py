#!/usr/bin/env python3
"""Finding 94: a DaemonSet is deleted and made anew while a node is tainted. The pod of the old set still ends there when the taint goes, and is taken for one of
the new set, which has its name. Once it has ended nobody looks at the new set again: the node has no pod. The control is made anew under another name."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import write_kubeconfig

SETS, PODS, NODE = '/apis/apps/v1/namespaces/default/daemonsets', '/api/v1/namespaces/default/pods', '/api/v1/nodes/n1'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def daemon_set(name):
    labels = {'app': 'agent'}
    return {'apiVersion': 'apps/v1', 'kind': 'DaemonSet', 'metadata': {'name': name},
            'spec': {'selector': {'matchLabels': labels}, 'template': pod_template(labels)}}


def gets_a_pod(successor):
    """Does the set that follows the set `agent` get a pod on the node that is for pods again?"""
    with Cluster() as cluster:
        server, = cluster.servers
        kubeconfig = f'{cluster.folder}/kubeconfig'
        write_kubeconfig(kubeconfig, server.port)

        def taint(*taints):
            assert server.request('PATCH', NODE, {'spec': {'taints': list(taints)}})[0] == 200

        def pods(of):
            items = server.request('GET', PODS)[1]['items']
            return [pod for pod in items if pod['metadata']['ownerReferences'][0]['uid'] == of['metadata']['uid']]

        assert server.request('POST', '/api/v1/nodes', {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n1'}})[0] == 201
        # The server taints a node that nobody has said to be ready.
        taint()
        with Manager(cluster, kubeconfig, ['daemonset-controller', 'garbage-collector-controller']):
            code, old = server.request('POST', SETS, daemon_set('agent'))
            assert code == 201
            pod, = until(lambda: pods(old), 60) or sys.exit('there is no pod')
            path = f"{PODS}/{pod['metadata']['name']}"
            to = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': pod['metadata']['name']}, 'target': {'kind': 'Node', 'name': 'n1'}}
            assert server.request('POST', f'{path}/binding', to)[0] == 201
            taint({'key': 'busy', 'effect': 'NoSchedule'})
            assert server.request('DELETE', f'{SETS}/agent')[0] == 200
            until(lambda: server.request('GET', path)[1]['metadata'].get('deletionTimestamp'), 60) or sys.exit('its pod does not go')
            code, new = server.request('POST', SETS, daemon_set(successor))
            assert code == 201
            until(lambda: server.request('GET', f'{SETS}/{successor}')[1]['status'].get('observedGeneration'), 60) or sys.exit('nobody sees it')
            time.sleep(3)
            taint()
            time.sleep(3)
            # Its kubelet has ended it.
            now = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'gracePeriodSeconds': 0}
            server.request('DELETE', path, now)
            until(lambda: server.request('GET', path)[0] == 404, 10) or sys.exit('the old pod does not end')
            found = until(lambda: pods(new), SECONDS)
            say(f'the set `agent` is made anew as `{successor}`: {SECONDS} s after the old pod has ended at the latest it has {len(found or [])} pods')
            return bool(found)


other, same = gets_a_pod('agent-2'), gets_a_pod('agent')
raise SystemExit(0 if other and not same else 1)
