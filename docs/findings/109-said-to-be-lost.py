#!/usr/bin/env python3
"""Finding 109: a kube-controller-manager that leads stands still for a while (its machine is migrated, or swaps). Another one leads, and binds
claims to volumes. The first one goes on, and before it notices that it does not lead any more it says of claims that they are lost, with all
data on their volumes."""
import signal
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import write_kubeconfig

VOLUMES, CLAIMS = '/api/v1/persistentvolumes', '/api/v1/namespaces/default/persistentvolumeclaims'
LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager'
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
FLAGS = ['--leader-elect=true']
CONTROLLERS = ['persistentvolume-binder-controller']

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def leader():
        return server.request('GET', LEASE)[1].get('spec', {}).get('holderIdentity')

    def make(number):
        """A volume, and a claim that it fits. Nothing else does."""
        name, size = f'data-{number:03}', {'storage': '1Gi'}
        common = {'accessModes': ['ReadWriteOnce'], 'storageClassName': name}
        volume = {'apiVersion': 'v1', 'kind': 'PersistentVolume', 'metadata': {'name': name},
                  'spec': {**common, 'capacity': size, 'csi': {'driver': 'csi.example.com', 'volumeHandle': name}}}
        claim = {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': name},
                 'spec': {**common, 'resources': {'requests': size}}}
        assert server.request('POST', VOLUMES, volume)[0] == 201
        assert server.request('POST', CLAIMS, claim)[0] == 201

    def phases():
        return [claim['status']['phase'] for claim in server.request('GET', CLAIMS)[1]['items']]

    def told():
        items = server.request('GET', '/api/v1/namespaces/default/events')[1]['items']
        return [event for event in items if event['reason'] == 'ClaimLost']

    with Manager(cluster, kubeconfig, CONTROLLERS, name='first', flags=FLAGS) as first:
        until(lambda: leader() and first.log('Caches are synced'), 60) or sys.exit('nobody leads')
        before = leader()
        with Manager(cluster, kubeconfig, CONTROLLERS, name='second', flags=FLAGS):
            time.sleep(3)
            first.process.send_signal(signal.SIGSTOP)
            say('the first manager leads, and stands still')
            until(lambda: leader() not in (None, '', before), 60) or sys.exit('nobody else leads')
            for number in range(PAIRS):
                make(number)
            until(lambda: phases().count('Bound') == PAIRS, 120) or sys.exit('claims are not bound')
            say(f'the second one leads, and has bound {PAIRS} claims; {len(told())} were said to be lost')
            first.process.send_signal(signal.SIGCONT)
            lost = until(lambda: phases().count('Lost'), 5, step=0.01)
            say(f'the first one goes on; {lost or 0} claims are `Lost` now, and their volumes are there: {server.request("GET", VOLUMES)[0]}')
            until(lambda: first.process.poll() is not None, 30)
            time.sleep(20)
            events = told()
            for event in events[:1]:
                say(f'{event["involvedObject"]["name"]}: {event["message"]}')
            volumes = server.request('GET', VOLUMES)[1]['items']
            bound = [volume for volume in volumes if volume['status']['phase'] == 'Bound']
            say(f'the first one has ended; {len(events)} claims were said to be lost, of which {phases().count("Lost")} are still; '
                f'{len(bound)} volumes are bound')
    raise SystemExit(0 if events and len(bound) == PAIRS else 1)
