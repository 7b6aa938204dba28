#!/usr/bin/env python3
"""Findings 64, 66 and 67, of ranges of nodes; the argument says which.

64: there are two ranges. The PATCHes that give them to the first nodes are done three times each, their answers are lost, and the watch
stands still. The ranges are given back, and go to two of the nodes that wait for one.
66: the PATCH that gives `tardy` a range stands still while the manager is killed and another one begins. That one gives the range to
another node. Then the PATCH arrives.
67: a node is replaced while the watch of the manager is broken, which it learns by a list. Of two ranges one is taken for good, and
the next node waits until another manager begins."""
import sys
import threading
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

NODES = '/api/v1/nodes'
FINDING = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)

with Cluster() as cluster:
    server, = cluster.servers
    proxies = []

    def manager(name, bits):
        """A manager that has 2 ^ `bits` ranges, behind a proxy of its own."""
        proxies.append(Proxy(server))
        flags = ['--allocate-node-cidrs=true', f'--cluster-cidr=10.244.0.0/{28 - bits}', '--node-cidr-mask-size=28']
        kubeconfig = proxies[-1].kubeconfig(f'{cluster.folder}/kubeconfig-{name}')
        return Manager(cluster, kubeconfig, ['node-ipam-controller'], name=name, flags=flags)

    def join(name):
        code, body = server.request('POST', NODES, {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': name}})
        assert code == 201, body

    def ranges():
        """Of nodes that have one."""
        nodes = server.request('GET', NODES)[1]['items']
        return {node['metadata']['name']: node['spec']['podCIDR'] for node in nodes if 'podCIDR' in node['spec']}

    def shared():
        owners = {}
        for name, cidr in ranges().items():
            owners.setdefault(cidr, []).append(name)
        return {cidr: names for cidr, names in owners.items() if len(names) > 1}

    def given_back():
        first, waiting = ['first-0', 'first-1'], [f'waits-{number}' for number in range(20)]
        go = threading.Event()
        with manager('manager', 1) as own:
            rule = Rule('PATCH', f'{NODES}/first', before=go.wait, lose=True, times=3 * len(first))
            proxies[0].rules.append(rule)
            for name in first:
                join(name)
            until(lambda: rule.times == 4, 60) or sys.exit('the PATCHes do not come')
            for name in waiting:
                join(name)
            until(lambda: len(own.log('failed to allocate cidr')) > len(waiting), 60) or sys.exit('no other node waits')
            proxies[0].hold_watches('/nodes?')
            go.set()
            until(shared, 60)
            say('what the manager says:', *(line[-150:] for line in own.log('CIDR assignment for node failed')[:1]))
            say(f'64: ranges of more than one node: {shared()}')
            return bool(shared())

    def late_patch():
        arrived, go, second = threading.Event(), threading.Event(), threading.Event()
        with manager('first', 4) as own:
            def stand():
                arrived.set()
                go.wait()
            proxies[0].rules.append(Rule('PATCH', f'{NODES}/tardy', before=stand))
            join('tardy')
            arrived.wait(60) or sys.exit('the node has no range')
            own.process.kill()
            own.process.wait()
        for number in range(4):
            join(f'node-{number}')
        with manager('second', 4):
            # What the second manager writes for `tardy` comes after it.
            proxies[1].rules.append(Rule('PATCH', f'{NODES}/tardy', before=second.wait, times=9))
            until(lambda: len(ranges()) == 4, 60) or sys.exit('the nodes have no ranges')
            go.set()
            until(lambda: 'tardy' in ranges(), 20)
            second.set()
            time.sleep(10)
            say(f'66: 10 s later: {ranges()}')
            return bool(shared())

    def replaced():
        with manager('manager', 1):
            join('replaced')
            until(ranges, 60) or sys.exit('the node has no range')
            proxies[0].hold_watches('/nodes?')
            assert server.request('DELETE', f'{NODES}/replaced')[0] == 200
            join('replaced')
            # A server that begins anew cannot tell by its watch cache what was before.
            server.process.kill()
            server.process.wait()
            server.start()
            cluster.wait_until_ready(server)
            proxies[0].cut_watches('/nodes?')
            until(ranges, 120) or sys.exit('the node that was made anew has no range')
            say(f'made anew: {ranges()}')
            join('next')
            time.sleep(60)
            found = ranges()
            say(f'67: 60 s later: {found}')
        with manager('again', 1):
            mended = until(lambda: 'next' in ranges(), 60)
            say(f'after the manager has begun anew: {ranges()}')
        return 'next' not in found and mended

    shown = {'64': given_back, '66': late_patch, '67': replaced}[FINDING]()
    raise SystemExit(0 if shown else 1)
