#!/usr/bin/env python3
"""Finding 96: a slice that the controller has made is deleted while its watch has a gap, so that its cache never shows it. The controller waits for that for ever:
its Service has no slice, whatever becomes of its pods. The control is the same with a watch that goes on."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready
from proxy import Proxy, Rule

NAMESPACE = '/api/v1/namespaces/default'
SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
ALL = '/apis/discovery.k8s.io/v1/endpointslices'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
GONE = {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': 'Expired', 'code': 410}
SERVICE = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'web'}, 'spec': {'selector': {'app': 'web'}, 'ports': [{'port': 80}]}}


def pod(name):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'labels': {'app': 'web'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}


def has_slice(misses):
    """Does the Service have a slice in the end?"""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def slices():
            return server.request('GET', SLICES, labelSelector='kubernetes.io/service-name=web')[1]['items']

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['endpointslice-controller']) as manager:
            time.sleep(5)
            if misses:
                proxy.hold_watches(ALL)
            assert server.request('POST', f'{NAMESPACE}/services', SERVICE)[0] == 201
            made, = until(slices, 60) or sys.exit('there is no slice')
            assert server.request('DELETE', f"{SLICES}/{made['metadata']['name']}")[0] == 200
            if misses:
                proxy.rules.append(Rule('GET', f'{ALL}?allowWatchBookmarks', answer=(410, GONE)))
                time.sleep(1)
                proxy.cut_watches(ALL)
            time.sleep(5)
            code, made = server.request('POST', f'{NAMESPACE}/pods', pod('p'))
            assert code == 201 and make_ready(server, made)[0] == 200
            until(slices, SECONDS)
            found, said = len(slices()), len(manager.log('informer cache is out of date'))
            seen = 'missed' if misses else 'seen'
            say(f'the slice and its deletion are {seen}: the Service has {found} slices at most {SECONDS} s after a pod came; said to be out of date {said} times')
            return found


seen, missed = has_slice(False), has_slice(True)
raise SystemExit(0 if seen == 1 and missed == 0 else 1)
