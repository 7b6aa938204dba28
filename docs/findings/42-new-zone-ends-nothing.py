#!/usr/bin/env python3
"""Finding 42: no node is ready, and master disruption mode begins. Then a node is ready in a zone that is new. The lost node of the other
zone is not tainted with NoExecute. With `control` the new node is in the zone of the lost one, which then is tainted."""
import sys
import threading
import time
from datetime import datetime, timezone

from cluster import Cluster, say, until
from manager import Manager
from proxy import write_kubeconfig

NODES, LEASES = '/api/v1/nodes', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
CONTROL = sys.argv[1:] == ['control']


def now(fraction=''):
    return datetime.now(timezone.utc).strftime(f'%Y-%m-%dT%H:%M:%S{fraction}Z')


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)
    until(lambda: server.request('GET', '/api/v1/namespaces/kube-node-lease')[0] == 200, 30)
    beating = set()

    def make(name, zone):
        labels = {'topology.kubernetes.io/zone': zone, 'topology.kubernetes.io/region': 'r'}
        server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': name, 'labels': labels}})
        # The admission of nodes taints those that are new; kubelets that are ready lose that by the controller.
        ready = {'type': 'Ready', 'status': 'True', 'reason': 'KubeletReady', 'lastHeartbeatTime': now(), 'lastTransitionTime': now()}
        server.request('PATCH', f'{NODES}/{name}/status', {'status': {'conditions': [ready]}})
        server.request('POST', LEASES, {'apiVersion': 'coordination.k8s.io/v1', 'kind': 'Lease', 'metadata': {'name': name},
                                        'spec': {'holderIdentity': name, 'leaseDurationSeconds': 40, 'renewTime': now('.%f')}})
        beating.add(name)

    def beat():
        while True:
            for name in sorted(beating):
                server.request('PATCH', f'{LEASES}/{name}', {'spec': {'renewTime': now('.%f')}})
            time.sleep(1)
    make('a1', 'a')
    make('b1', 'b')
    threading.Thread(target=beat, daemon=True).start()

    def taints(name):
        found = server.request('GET', f'{NODES}/{name}')[1]['spec'].get('taints', [])
        return [f"{own['key'].split('/')[1]}:{own['effect']}" for own in found]
    flags = ['--node-monitor-grace-period=10s', '--node-monitor-period=2s']
    with Manager(cluster, kubeconfig, ['node-lifecycle-controller'], flags=flags) as manager:
        time.sleep(15)
        say('both nodes are ready; taints of a1:', taints('a1'))
        beating.discard('b1')
        server.request('DELETE', f'{NODES}/b1')
        time.sleep(5)
        beating.discard('a1')
        until(lambda: manager.log('Entering master disruption mode'), 60) or sys.exit('master disruption mode does not begin')
        say('b1 is deleted, a1 sends no heartbeat: master disruption mode; taints of a1:', taints('a1'))
        make('b2', 'a' if CONTROL else 'b')
        time.sleep(60)
        after = taints('a1')
        say('another node has been ready for a minute; taints of a1:', after)
        for line in manager.log('master disruption mode')[-2:]:
            say('   log:', line[:200])
        raise SystemExit(0 if 'unreachable:NoSchedule' in after and 'unreachable:NoExecute' not in after else 1)
