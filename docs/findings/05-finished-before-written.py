#!/usr/bin/env python3
"""Finding 5: an update gives up a node port before it is stored. Two servers; a PUT that turns NodePort into ClusterIP
races with PATCHes of a label. Where the PUT is answered 409 the Service keeps a port that is free."""
import sys

from cluster import Cluster, say, shared, together

ROUNDS, PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 100, 30015
SERVICES = '/api/v1/namespaces/default/services'

with Cluster(servers=2) as cluster:
    one, two = cluster.servers
    conflicts = doubles = 0
    for number in range(ROUNDS):
        name = f's{number}'
        code, service = one.service(name, type='NodePort', ports=[{'port': 80, 'nodePort': PORT}])
        assert code == 201, service
        service['spec']['type'] = 'ClusterIP'
        del service['spec']['ports'][0]['nodePort']
        label = lambda server, value: lambda: server.request(
            'PATCH', f'{SERVICES}/{name}', {'metadata': {'labels': {'x': value}}})
        put = lambda: one.request('PUT', f'{SERVICES}/{name}', service)
        answers = together(put, label(one, 'a'), label(two, 'b'), label(two, 'c'))
        if answers[0][0] == 409:
            conflicts += 1
            code, _ = two.service(f'{name}-other', type='NodePort', ports=[{'port': 80, 'nodePort': PORT}])
            found = shared(two.services())
            if code == 201 and found:
                doubles += 1
                if doubles <= 3:
                    say(f'round {number}: the PUT was answered 409; shared by two Services: {found}')
            two.request('DELETE', f'{SERVICES}/{name}-other')
        one.request('DELETE', f'{SERVICES}/{name}')
    say(f'{doubles} of {ROUNDS} rounds ended with two owners of one node port; {conflicts} PUTs were answered 409')
    raise SystemExit(0 if doubles else 1)
