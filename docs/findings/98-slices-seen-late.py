#!/usr/bin/env python3
"""Finding 98: the controller of EndpointSlices sees late that it has updated a slice. Each sync until then fails, and the next try is twice as far away; after fifteen
the Service is dropped. That the slice is seen at last wakes nobody. The proxy holds the watch of slices for 20 s, while a pod becomes ready and unready again. The
control is the same with a watch that goes on."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy

NAMESPACE = '/api/v1/namespaces/default'
SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
ALL = '/apis/discovery.k8s.io/v1/endpointslices'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 120
CHANGES, HELD = 11, 20
NODE = {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n1'}}
SERVICE = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'web'}, 'spec': {'selector': {'app': 'web'}, 'ports': [{'port': 80}]}}
POD = {
    'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p', 'labels': {'app': 'web'}},
    'spec': {'nodeName': 'n1', 'containers': [{'name': 'c', 'image': 'i'}]},
}


def is_told(is_held):
    """Does the slice say in the end whether the pod is ready, and does it once the Service has been changed?"""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def says_ready():
            items = server.request('GET', SLICES, labelSelector='kubernetes.io/service-name=web')[1]['items']
            listed = [endpoint for item in items for endpoint in item.get('endpoints') or ()]
            return bool(listed) and listed[0]['conditions']['ready']

        def set_status(**status):
            assert server.request('PATCH', f'{NAMESPACE}/pods/p/status', {'status': status})[0] == 200

        def set_ready(is_ready):
            set_status(conditions=[{'type': 'Ready', 'status': str(is_ready)}])

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['endpointslice-controller']) as manager:
            assert server.request('POST', '/api/v1/nodes', NODE)[0] == 201
            assert server.request('POST', f'{NAMESPACE}/services', SERVICE)[0] == 201
            assert server.request('POST', f'{NAMESPACE}/pods', POD)[0] == 201
            set_status(phase='Running', podIP='10.1.0.1', podIPs=[{'ip': '10.1.0.1'}])
            set_ready(True)
            until(says_ready, 60) or sys.exit('the pod is not listed')
            time.sleep(2)
            held = proxy.hold_watches(ALL) if is_held else None
            # The first is written; the last is the contrary.
            for at in range(CHANGES):
                set_ready(at % 2 == 1)
                time.sleep(0.5)
            set_ready(True)
            time.sleep(HELD - CHANGES * 0.5)
            if held:
                held.set()
            told = bool(until(says_ready, SECONDS))
            late, dropped = len(manager.log('informer cache is out of date', 'retrying')), len(manager.log('Retry budget exceeded'))
            watch = f'stands still for {HELD} s' if is_held else 'goes on'
            say(f'the watch {watch}: {late} syncs find the cache out of date, {dropped} times the Service is dropped; the slice says ready at most {SECONDS} s later: {told}')
            server.request('PATCH', f'{NAMESPACE}/services/web', {'metadata': {'annotations': {'woken': 'yes'}}})
            woken = bool(until(says_ready, 20))
            say('after a change of the Service it says so:', woken)
            return told, woken


seen, late = is_told(False), is_told(True)
raise SystemExit(0 if seen[0] and not late[0] and late[1] else 1)
