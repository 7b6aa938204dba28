#!/usr/bin/env python3
"""Candidate 23: a ReplicaSet adopts a pod; meanwhile it is deleted and made again under its name. The new one waits for a
deletion of which nobody tells it. The proxy makes the adoption take two seconds. Waits for SECONDS (more than 300: until
after the expectation has expired)."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy, Rule

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
SETS, PODS = '/apis/apps/v1/namespaces/default/replicasets', '/api/v1/namespaces/default/pods'
LABELS = {'app': 'x'}


def replica_set(replicas):
    return {'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'metadata': {'name': 'r'},
            'spec': {'replicas': replicas, 'selector': {'matchLabels': LABELS}, 'template': pod_template(LABELS)}}


with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    made = []

    def make_anew():
        server.request('DELETE', f'{SETS}/r', {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'})
        made.append(server.request('POST', SETS, replica_set(1)))
        time.sleep(2)
    proxy.rules.append(Rule('PATCH', '/pods/stray', after=make_anew))
    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['replicaset-controller']) as manager:
        assert server.request('POST', SETS, replica_set(0))[0] == 201
        until(lambda: server.request('GET', f'{SETS}/r')[1].get('status', {}).get('observedGeneration'), 30)
        pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'stray', 'labels': LABELS}, **{'spec': pod_template(LABELS)['spec']}}
        assert server.request('POST', PODS, pod)[0] == 201
        until(lambda: made, 30) or sys.exit('the pod was not adopted')
        say('adopted; meanwhile the ReplicaSet was made anew, with one replica:', made[0][0])
        begin = time.time()
        pods = lambda: [p['metadata']['name'] for p in server.request('GET', PODS)[1]['items']]
        found = until(lambda: [p for p in pods() if p != 'stray'], SECONDS, 1)
        status = server.request('GET', f'{SETS}/r')[1].get('status')
        say(f'{time.time() - begin:.0f} s later its pods: {found or pods()}; status: {status}')
        if not found:
            server.request('PATCH', f'{SETS}/r', {'metadata': {'annotations': {'a': 'b'}}})
            time.sleep(3)
            say('3 s after something of it was changed:', pods())
        raise SystemExit(1 if found else 0)
