#!/usr/bin/env python3
"""Findings 51 and 52. 51: Endpoints that list an address of IPv6 get another port and an address of IPv4 as well; the controller that
mirrors them makes a slice under the name of the one that it is about to update, and is refused. 52: a mirrored slice has a finalizer
when it is to go; nothing of its Endpoints is mirrored any more. Endpoints whose slice has none are mirrored."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import write_kubeconfig

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
MANY = [f'own{number}' for number in range(20)]
CORE = '/api/v1/namespaces/default'
SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def endpoints(name, ips, port):
        subsets = [{'addresses': [{'ip': ip} for ip in ips], 'ports': [{'port': port}]}]
        return {'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': name}, 'subsets': subsets}

    def make(name, ips, port):
        service = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name},
                   'spec': {'clusterIP': 'None', 'ports': [{'port': 80}]}}
        assert server.request('POST', f'{CORE}/services', service)[0] == 201
        assert server.request('POST', f'{CORE}/endpoints', endpoints(name, ips, port))[0] == 201

    def change(name, ips, port):
        assert server.request('PUT', f'{CORE}/endpoints/{name}', endpoints(name, ips, port))[0] == 200

    def slices(name):
        listed = server.request('GET', SLICES)[1]['items']
        return [own for own in listed if own['metadata']['labels'].get('kubernetes.io/service-name') == name]

    def mirrored(name):
        """Addresses with their ports, but for those of slices that go."""
        stay = [own for own in slices(name) if not own['metadata'].get('deletionTimestamp')]
        return sorted((ip, port['port']) for own in stay for port in own.get('ports') or []
                      for endpoint in own.get('endpoints') or [] for ip in endpoint['addresses'])

    with Manager(cluster, kubeconfig, ['endpointslice-mirroring-controller']) as manager:
        for name in MANY:
            make(name, ['fd00::1'], 80)
        for name in ['held', 'free']:
            make(name, ['10.1.0.1', 'fd00::1'], 80)
        until(lambda: all(mirrored(name) for name in [*MANY, 'held', 'free']), 60) or sys.exit('nothing is mirrored')
        for name in MANY:
            change(name, ['10.1.0.1', 'fd00::1'], 81)
        six, = [own for own in slices('held') if own['addressType'] == 'IPv6']
        path = f"{SLICES}/{six['metadata']['name']}"
        assert server.request('PATCH', path, {'metadata': {'finalizers': ['example.com/hold']}})[0] == 200
        for name in ['held', 'free']:
            change(name, ['10.1.0.1'], 80)
        until(lambda: server.request('GET', path)[1]['metadata'].get('deletionTimestamp'), 20) or sys.exit('the slice does not go')
        for name in ['held', 'free']:
            change(name, ['10.1.0.1', '10.1.0.2'], 80)
        time.sleep(SECONDS)
        late = [name for name in MANY if mirrored(name) != [('10.1.0.1', 81), ('fd00::1', 81)]]
        refused = [line for line in manager.log('already exists') if 'failed to create EndpointSlice' in line]
        say(f'51: {SECONDS} s later {len(late)} of {len(MANY)} Endpoints are not mirrored; {len(refused)} times a name was taken')
        held, free = mirrored('held'), mirrored('free')
        say(f'52: {SECONDS} s later the slices of `held` list {held}, those of `free` {free}')
        stale = [line for line in manager.log('informer cache is out of date') if 'held' in line]
        say(f'52: {len(stale)} times the cache counted as out of date')
        raise SystemExit(0 if refused and held != free else 1)
