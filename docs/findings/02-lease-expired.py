#!/usr/bin/env python3
"""Finding 2: the master lease of a server has expired when it stops, since etcd cannot be reached for 15 s from the SIGTERM on.
One server."""
from cluster import Cluster, say, until
from etcd_proxy import EtcdProxy

# One hook runs at the stop, and not three in random order.
FLAGS = {'feature-gates': 'APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false'}

with Cluster(flags=FLAGS, proxy=EtcdProxy) as cluster:
    (server,), (proxy,) = cluster.servers, cluster.proxies
    lease = lambda: cluster.etcd.range('/registry/masterleases/')
    until(cluster.etcd.kubernetes_endpoints)
    before = lease()
    until(lambda: lease() != before, 20, 0.02)
    say('the master lease was renewed; etcd cannot be reached, SIGTERM')
    proxy.stall()
    server.stop()
    until(lambda: not lease(), 30, 0.02)
    say('the master lease has expired; etcd can be reached')
    proxy.go_on()
    server.process.wait()
    left = cluster.etcd.kubernetes_endpoints()
    say('the server has ended; the Endpoints list', left)
    raise SystemExit(0 if left else 1)
