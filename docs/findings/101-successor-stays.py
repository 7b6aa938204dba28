#!/usr/bin/env python3
"""Finding 101: a pod has been evicted from a node with a NoExecute taint. While the watch of pods stands still it ends, and another of its name is made on
that node; the watch expires. The list shows the one in the place of the other, with the same node and tolerations, and the controller does not look at
it: the pod stays. In the control the watch goes on, and the second pod is evicted as well."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

NODES, PODS = '/api/v1/nodes', '/api/v1/namespaces/default/pods'
POD = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'}, 'spec': {'nodeName': 'n1', 'containers': [{'name': 'c', 'image': 'i'}]}}
NOW = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'gracePeriodSeconds': 0}
EXPIRED = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure', 'reason': 'Expired', 'code': 410, 'message': 'too old resource version'}
SECONDS = 60


def stays(is_unseen):
    """Is the second pod left alone?"""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def is_to_go():
            code, pod = server.request('GET', f'{PODS}/p')
            return code == 404 or pod['metadata'].get('deletionTimestamp')

        # The controller of taints finds the pods of a node by an index that another controller makes (v1.36.2).
        controllers = ['taint-eviction-controller', 'daemonset-controller']
        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), controllers):
            assert server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n1'}})[0] == 201
            assert server.request('POST', PODS, POD)[0] == 201
            time.sleep(3)
            taint = {'key': 'example.com/maintenance', 'effect': 'NoExecute'}
            assert server.request('PATCH', f'{NODES}/n1', {'spec': {'taints': [taint]}})[0] == 200
            until(is_to_go, 30) or sys.exit('the first pod is not evicted')
            time.sleep(2)
            if is_unseen:
                proxy.hold_watches('/pods?')
                time.sleep(1)
            # What its kubelet does.
            assert server.request('DELETE', f'{PODS}/p', NOW)[0] == 200
            assert server.request('POST', PODS, POD)[0] == 201
            if is_unseen:
                time.sleep(1)
                # The server's cache does not reach back so far, as where there are many writes.
                proxy.rules.append(Rule('GET', '/pods?', answer=(410, EXPIRED)))
                proxy.cut_watches('/pods?')
            goes = until(is_to_go, SECONDS)
            how = 'and the watch has expired' if is_unseen else 'and the watch has gone on'
            say(f'a pod of that name is made on the node, {how}: it', 'is evicted' if goes else f'is there {SECONDS} s later')
            return not goes


control, unseen = stays(False), stays(True)
raise SystemExit(0 if unseen and not control else 1)
