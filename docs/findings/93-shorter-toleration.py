#!/usr/bin/env python3
"""Finding 93: a pod tolerates that its node is not ready for 300 s, and that it is unreachable for 10 s. The node is not ready, and some seconds later
unreachable. An eviction that is scheduled is never made earlier: the pod goes after 300 s."""
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy

NODES, PODS = '/api/v1/nodes', '/api/v1/namespaces/default/pods'
SECONDS = 60


def taint(condition):
    return {'key': f'node.kubernetes.io/{condition}', 'effect': 'NoExecute'}


def tolerates(condition, seconds):
    return {**taint(condition), 'operator': 'Exists', 'tolerationSeconds': seconds}


def goes(before):
    """Does the pod go within a minute once its node is unreachable; what the node was before."""
    with Cluster() as cluster:
        server, = cluster.servers

        def set_taints(*conditions):
            code, body = server.request('PATCH', f'{NODES}/n1', {'spec': {'taints': [taint(own) for own in conditions]}})
            assert code == 200, body

        def is_to_go():
            code, pod = server.request('GET', f'{PODS}/p')
            return code == 404 or pod['metadata'].get('deletionTimestamp')

        # The controller of taints finds the pods of a node by an index that another controller makes (v1.36.2).
        controllers = ['taint-eviction-controller', 'daemonset-controller']
        with Manager(cluster, Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig'), controllers):
            assert server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n1'}})[0] == 201
            tolerations = [tolerates('not-ready', 300), tolerates('unreachable', 10)]
            pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p'},
                   'spec': {'nodeName': 'n1', 'tolerations': tolerations, 'containers': [{'name': 'c', 'image': 'i'}]}}
            assert server.request('POST', PODS, pod)[0] == 201
            time.sleep(3)
            if before:
                set_taints(before)
                time.sleep(5)
            set_taints('unreachable')
            began = time.time()
            gone = until(is_to_go, SECONDS)
            then = f'{before}, and 5 s later ' if before else ''
            found = f'goes after {time.time() - began:.0f} s' if gone else f'is there {SECONDS} s later'
            say(f'the node is {then}unreachable, which the pod tolerates for 10 s: it {found}')
            return bool(gone)


alone, after_another = goes(None), goes('not-ready')
raise SystemExit(0 if alone and not after_another else 1)
