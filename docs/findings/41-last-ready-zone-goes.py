#!/usr/bin/env python3
"""Finding 41: no node of the first zone is ready; the nodes of the second zone are deleted. No node at all is ready then, and nodes go
on being tainted with NoExecute. With `control` the second zone stops being ready instead: nodes are tainted no more."""
import sys
import threading
import time
from datetime import datetime, timezone

from cluster import Cluster, say, until
from manager import Manager
from proxy import write_kubeconfig

NODES, LEASES = '/api/v1/nodes', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
CONTROL = sys.argv[1:] == ['control']
FIRST = [f'a{n}' for n in range(1, 7)]


def now(fraction=''):
    return datetime.now(timezone.utc).strftime(f'%Y-%m-%dT%H:%M:%S{fraction}Z')


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)
    until(lambda: server.request('GET', '/api/v1/namespaces/kube-node-lease')[0] == 200, 30)

    def make(name, zone):
        labels = {'topology.kubernetes.io/zone': zone, 'topology.kubernetes.io/region': 'r'}
        server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': name, 'labels': labels}})
        # The admission of nodes taints those that are new; kubelets that are ready lose that by the controller.
        ready = {'type': 'Ready', 'status': 'True', 'reason': 'KubeletReady', 'lastHeartbeatTime': now(), 'lastTransitionTime': now()}
        server.request('PATCH', f'{NODES}/{name}/status', {'status': {'conditions': [ready]}})
        server.request('POST', LEASES, {'apiVersion': 'coordination.k8s.io/v1', 'kind': 'Lease', 'metadata': {'name': name},
                                        'spec': {'holderIdentity': name, 'leaseDurationSeconds': 40, 'renewTime': now('.%f')}})
    beating = set(FIRST) | {'b1'}

    def beat():
        while True:
            for name in sorted(beating):
                server.request('PATCH', f'{LEASES}/{name}', {'spec': {'renewTime': now('.%f')}})
            time.sleep(1)
    for name in FIRST:
        make(name, 'a')
    make('b1', 'b')
    threading.Thread(target=beat, daemon=True).start()

    def tainted():
        items = server.request('GET', NODES)[1]['items']
        return [n['metadata']['name'] for n in items if any(t['effect'] == 'NoExecute' for t in n['spec'].get('taints', []))]
    flags = ['--node-monitor-grace-period=10s', '--node-monitor-period=2s']
    with Manager(cluster, kubeconfig, ['node-lifecycle-controller'], flags=flags) as manager:
        time.sleep(15)
        say('all seven nodes are ready; tainted:', tainted())
        beating.difference_update(FIRST)
        until(tainted, 60) or sys.exit('no node is tainted')
        say('no node of zone a is ready any more; the first is tainted:', tainted())
        if CONTROL:
            beating.clear()
            say('the node of zone b sends no heartbeat any more')
            time.sleep(20)
        else:
            server.request('DELETE', f'{NODES}/b1')
            beating.clear()
            say('the node of zone b is deleted: no node is ready')
            time.sleep(5)
        before = tainted()
        time.sleep(45)
        after = tainted()
        say(f'tainted: {len(before)} nodes then, {len(after)} of {len(FIRST)} 45 s later')
        for line in manager.log('master disruption mode', 'Entering master')[-2:]:
            say('   log:', line[:200])
        raise SystemExit(0 if len(after) > len(before) else 1)
