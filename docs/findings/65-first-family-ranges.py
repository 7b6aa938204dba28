#!/usr/bin/env python3
"""Finding 65: 16 ranges of IPv4 and four of IPv6. A fifth node waits for a range of IPv6, and each try takes one of IPv4, until it is
told that there is none of IPv4 (the family at index 0), of which four nodes have four. A manager that begins anew says IPv6 again."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy

NODES = '/api/v1/nodes'
FLAGS = ['--allocate-node-cidrs=true', '--cluster-cidr=10.244.0.0/24,fd00:10:244::/120',
         '--node-cidr-mask-size-ipv4=28', '--node-cidr-mask-size-ipv6=122']
# A node that changes is tried again at once.
LONGEST = int(sys.argv[1]) if len(sys.argv) > 1 else 60

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')

    def join(name):
        code, body = server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': name}})
        assert code == 201, body

    def ranges(names):
        nodes = [server.request('GET', f'{NODES}/{name}')[1] for name in names]
        return [node['spec'].get('podCIDRs', []) for node in nodes]

    def try_again(manager, times):
        """The families of which the fifth node was told that there is no range, each once, in the order of tries."""
        for turn in range(times):
            time.sleep(0.5)
            server.request('PATCH', f'{NODES}/fifth', {'metadata': {'labels': {'turn': str(turn)}}})
        lines = manager.log('failed to allocate cidr')
        families = [word for line in lines for word in ('idx:0', 'idx:1') if word in line]
        return list(dict.fromkeys(families))

    four = [f'node-{i}' for i in range(4)]
    with Manager(cluster, kubeconfig, ['node-ipam-controller'], flags=FLAGS) as manager:
        for name in four:
            join(name)
        until(lambda: all(ranges(four)), 30) or sys.exit('the nodes have no ranges')
        say(f'four nodes have {ranges(four)}')
        join('fifth')
        first = try_again(manager, LONGEST)
        say(f'of 16 ranges at index 0 four are taken, and of four at index 1 four; the fifth node was told, in turn: {first}')
    with Manager(cluster, kubeconfig, ['node-ipam-controller'], name='again', flags=FLAGS) as manager:
        again = try_again(manager, 2)
        say(f'after the manager has begun anew: {again}')
    raise SystemExit(0 if first == ['idx:1', 'idx:0'] and again == ['idx:1'] else 1)
