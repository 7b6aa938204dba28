#!/usr/bin/env python3
"""Finding 6: two clients take the last finalizer of a Service at one time, and each of their requests gives up its address.
Others ask for the address meanwhile. Two servers."""
import sys

from cluster import Cluster, say, shared, together, until

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
ADDRESS = '10.96.0.3'
SERVICES = '/api/v1/namespaces/default/services'
ADDRESSES = '/apis/networking.k8s.io/v1/ipaddresses'

with Cluster(servers=2) as cluster:
    one, two = cluster.servers
    doubles = 0
    for number in range(ROUNDS):
        name = f's{number}'
        code, body = one.service(name, {'finalizers': ['example.com/f']}, clusterIP=ADDRESS)
        assert code == 201, body
        one.request('DELETE', f'{SERVICES}/{name}')
        take = lambda server: lambda: server.request('PATCH', f'{SERVICES}/{name}', {'metadata': {'finalizers': None}})

        def ask(server, prefix):
            return lambda: [server.service(f'{prefix}{number}-{at}', clusterIP=ADDRESS) for at in range(25)]
        together(take(one), take(two), ask(one, 'p'), ask(two, 'q'))
        found = shared(one.services())
        if found:
            doubles += 1
            if doubles <= 3:
                say(f'round {number}: {found}')
        for service in one.services():
            if service['metadata']['name'] != 'kubernetes':
                one.request('DELETE', f"{SERVICES}/{service['metadata']['name']}")
        until(lambda: len(one.services()) == 1, 5)
        one.request('DELETE', f'{ADDRESSES}/{ADDRESS}')
    say(f'{doubles} of {ROUNDS} rounds ended with two owners of {ADDRESS}')
    raise SystemExit(0 if doubles else 1)
