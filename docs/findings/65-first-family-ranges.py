#!/usr/bin/env python3
"""Candidate 65: 16 ranges of IPv4 and four of IPv6. A fifth node waits for a range of IPv6, and each try takes one of IPv4. When all
nodes have gone and five others come there is none of IPv4 left, also for the four for which there is one of IPv6. Nothing is
done about it until the manager begins anew."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy

NODES = '/api/v1/nodes'
FLAGS = ['--allocate-node-cidrs=true', '--cluster-cidr=10.244.0.0/24,fd00:10:244::/120',
         '--node-cidr-mask-size-ipv4=28', '--node-cidr-mask-size-ipv6=122']
# The sixteenth try comes 5 ms, 10 ms, ... after the first: after 5.5 min at the latest.
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

    old, new = [f'old-{i}' for i in range(5)], [f'new-{i}' for i in range(4)]
    with Manager(cluster, kubeconfig, ['node-ipam-controller'], flags=FLAGS) as manager:
        for name in old[:4]:
            join(name)
        until(lambda: all(ranges(old[:4])), 30)
        say(f'four nodes have {ranges(old[:4])}')
        join(old[4])
        # A node that changes is tried again at once.
        for turn in range(LONGEST):
            time.sleep(0.5)
            server.request('PATCH', f'{NODES}/{old[4]}', {'metadata': {'labels': {'turn': str(turn)}}})
        say('what the fifth was told last:', manager.log('failed to allocate cidr')[-1][-140:])
        for name in old:
            server.request('DELETE', f'{NODES}/{name}')
        time.sleep(2)
        for name in new:
            join(name)
        time.sleep(30)
        found = ranges(new)
        say(f'four others, 30 s after all of these have gone: {found}')
    with Manager(cluster, kubeconfig, ['node-ipam-controller'], name='again', flags=FLAGS):
        mended = until(lambda: all(ranges(new)), 30)
        say(f'after the manager has begun anew: {ranges(new)}')
    raise SystemExit(0 if mended and not all(found) else 1)
