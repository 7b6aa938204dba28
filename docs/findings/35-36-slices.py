#!/usr/bin/env python3
"""Finding 35: a slice of a Service is given to another manager by its label; the Service is never synced again. Finding 36: a controller
manager begins anew, and a slice is deleted after that; it stays away. Beside each is a Service to which that does not happen."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import write_kubeconfig

PODS = '/api/v1/namespaces/default/pods'
SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
MANAGED_BY = 'endpointslice.kubernetes.io/managed-by'
OWN = 'endpointslice-controller.k8s.io'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
NAMES = ['taken', 'left', 'deleted-late', 'deleted-early']

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)
    assert server.request('POST', '/api/v1/nodes', {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n'}})[0] == 201
    made = []

    def run_pod(service):
        """A pod of this Service that is ready."""
        name, ip = f'{service}-{len(made)}', f'10.1.0.{1 + len(made)}'
        made.append(name)
        spec = {**pod_template({})['spec'], 'nodeName': 'n'}
        body = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'labels': {'app': service}}, 'spec': spec}
        code, pod = server.request('POST', PODS, body)
        assert code == 201
        make_ready(server, pod)
        status = {'status': {'podIP': ip, 'podIPs': [{'ip': ip}]}}
        assert server.request('PATCH', f'{PODS}/{name}/status', status)[0] == 200

    def slices(service):
        """Its slices that are the controller's, with how many endpoints they have."""
        items = server.request('GET', SLICES, labelSelector=f'kubernetes.io/service-name={service},{MANAGED_BY}={OWN}')[1]['items']
        return {i['metadata']['name']: len(i.get('endpoints') or []) for i in items}

    def has(service, count):
        return sum(slices(service).values()) == count

    def manager(name):
        return Manager(cluster, kubeconfig, ['endpointslice-controller'], name=name)
    with manager('first') as first:
        for service in NAMES:
            assert server.service(service, selector={'app': service})[0] == 201
            run_pod(service)
        until(lambda: all(has(service, 1) for service in NAMES), 60) or sys.exit('there are no slices')
        slice_, = slices('taken')
        assert server.request('PATCH', f'{SLICES}/{slice_}', {'metadata': {'labels': {MANAGED_BY: 'somebody'}}})[0] == 200
        early, = slices('deleted-early')
        server.request('DELETE', f'{SLICES}/{early}')
        say('a slice is somebody else\'s, and one is deleted by whose deletion the controller is woken up')
        time.sleep(2)
        for service in ('taken', 'left'):
            run_pod(service)
        is_back = until(lambda: has('deleted-early', 1), 30)
        is_seen = until(lambda: has('left', 2), 30)
        time.sleep(SECONDS)
        taken = slices('taken')
        stale = [line for line in first.log('cache is out of date') if 'taken' in line]
        say(f'{SECONDS} s later the controller\'s slices of `taken`: {taken}; it was said {len(stale)} times that the cache is out of date')
        say('those of `left` have its second pod' if is_seen else 'those of `left` lack its second pod, too')
        shows_35 = not taken and bool(is_seen)
    with manager('second'):
        time.sleep(10)
        late, = slices('deleted-late')
        server.request('DELETE', f'{SLICES}/{late}')
        say('another controller manager, which has written nothing of `deleted-late`; its slice is deleted')
        time.sleep(SECONDS)
        left = slices('deleted-late')
        say(f'{SECONDS} s later the slices of `deleted-late`: {left}; that of `deleted-early`', 'came back' if is_back else 'stayed away, too')
        shows_36 = not left and bool(is_back)
        run_pod('deleted-late')
        say('after a change of its pods', 'it has one' if until(lambda: has('deleted-late', 2), 30) else 'it has none')
        again = until(lambda: has('taken', 2), 5)
        say('and `taken`, with this manager:', slices('taken') if again else 'none')
    say('35', 'shows' if shows_35 else 'does not show', '; 36', 'shows' if shows_36 else 'does not show')
    raise SystemExit(0 if shows_35 and shows_36 else 1)
