#!/usr/bin/env python3
"""Finding 20: an ExternalName Service gives up node ports that it never had. One server, no race."""
from cluster import Cluster, say, shared, short

PORT, OTHER = 30007, 30008
SERVICES = '/api/v1/namespaces/default/services'


def ports(number):
    return [{'port': 80, 'nodePort': number}]


with Cluster(flags={'service-node-port-range': '30000-30019'}) as cluster:
    server, = cluster.servers
    external = {'type': 'ExternalName', 'externalName': 'a.example'}
    say('POST ext, ExternalName, names the port:', short(server.service('ext', **external, ports=ports(PORT))))
    say('POST np1, NodePort:', short(server.service('np1', type='NodePort', ports=ports(PORT))))
    say('POST np2, NodePort, is refused rightly:', short(server.service('np2', type='NodePort', ports=ports(PORT))))
    say('DELETE ext:', server.request('DELETE', f'{SERVICES}/ext')[0])
    say('POST np2 again:', short(server.service('np2', type='NodePort', ports=ports(PORT))))

    server.service('ext2', **external, ports=ports(OTHER))
    change = {'spec': {'type': 'NodePort', 'externalName': None}}
    say('ext2 from ExternalName to NodePort:', short(server.request('PATCH', f'{SERVICES}/ext2', change)))
    say('POST np3, NodePort:', short(server.service('np3', type='NodePort', ports=ports(OTHER))))
    found = shared(server.services())
    say('shared by two Services:', found)
    raise SystemExit(0 if found else 1)
