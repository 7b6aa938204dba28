#!/usr/bin/env python3
"""Finding 1: two servers are stopped some milliseconds apart, and the address of the second may stay in the Endpoints. etcd
on this machine answers too fast for it to come often: `tc qdisc add dev lo root netem delay 3ms` widens the window, or a
second machine for etcd."""
import random
import sys
import time

from cluster import Cluster, say, until

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 10

with Cluster(servers=2) as cluster:
    left = 0
    for trial in range(TRIALS):
        if trial:
            for server in cluster.servers:
                server.start()
            for server in cluster.servers:
                cluster.wait_until_ready(server)
        until(lambda: len(cluster.etcd.kubernetes_endpoints() or []) == 2, 60)
        offset = random.uniform(0.002, 0.040)
        one, two = cluster.servers if trial % 2 else reversed(cluster.servers)
        one.stop()
        time.sleep(offset)
        two.stop()
        for server in cluster.servers:
            server.process.wait()
        stays = cluster.etcd.kubernetes_endpoints()
        left += bool(stays)
        say(f'trial {trial}: SIGTERMs {offset * 1000:.0f} ms apart; Endpoints when both are gone: {stays}')
        if stays:
            for server in cluster.servers:
                for line in server.log('Unable to remove endpoints')[-1:]:
                    say('   log:', line[:220])
    say(f'an address stayed in {left} of {TRIALS} trials')
