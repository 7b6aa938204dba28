#!/usr/bin/env python3
"""Candidate 58: the controller of StatefulSets sees the claims that it has made 40 s late. Each sync until then fails, and the next try is
twice as far away. A pod that becomes ready in a set with minReadySeconds takes the place of the next try, and fails as well. That the
claims are seen at last wakes nobody. The proxy holds the watch of claims. A second set without claims goes on at once.
SECONDS: how long to wait for the next sync (120)."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, stateful_set
from proxy import Proxy

SETS = '/apis/apps/v1/namespaces/default/statefulsets'
PODS = '/api/v1/namespaces/default/pods'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 120

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def pod(name):
        code, body = server.request('GET', f'{PODS}/{name}')
        return body if code == 200 else None

    with Manager(cluster, kubeconfig, ['statefulset-controller']) as manager:
        # What comes before is seen.
        code, body = server.request('POST', SETS, stateful_set('first', claims=['data']))
        assert code == 201, body
        until(lambda: pod('first-0'), 60) or sys.exit('no set comes up')
        held = proxy.hold_watches('persistentvolumeclaims')
        for name, claims in [('none', []), ('claims', ['data'])]:
            code, body = server.request('POST', SETS, stateful_set(name, claims=claims, replicas=2, minReadySeconds=1))
            assert code == 201, body
            made = until(lambda: pod(f'{name}-0'), 30) or sys.exit(f'{name} does not begin')
            make_ready(server, made)
        say('the set without claims has its second pod:', bool(until(lambda: pod('none-1'), 20)))
        for _ in range(10):
            unready = {'type': 'Ready', 'status': 'False', 'lastTransitionTime': made['metadata']['creationTimestamp']}
            server.request('PATCH', f'{PODS}/claims-0/status', {'status': {'conditions': [unready]}})
            time.sleep(1)
            make_ready(server, pod('claims-0'))
            time.sleep(3)
        say('40 s later its first pod has been ready ten times, and the set with claims has its second pod:', bool(pod('claims-1')))
        fails = len(manager.log('Error syncing StatefulSet'))
        held.set()
        say(f'the watch of claims goes on; {fails} syncs have failed')
        late = not until(lambda: pod('claims-1'), SECONDS)
        more = len(manager.log('Error syncing StatefulSet')) - fails
        say(f'{SECONDS} s later it has its second pod: {not late}; {more} more syncs have failed')
        server.request('PATCH', f'{SETS}/claims', {'metadata': {'annotations': {'woken': 'yes'}}})
        woken = bool(until(lambda: pod('claims-1'), 20))
        say('after a change of the set it has its second pod:', woken)
        raise SystemExit(0 if late and woken else 1)
