#!/usr/bin/env python3
"""Finding 16: a server that is stopped while etcd is silent waits for the renewal of its identity. One server, two minutes."""
import time

from cluster import Cluster, say, until
from etcd_proxy import EtcdProxy

with Cluster(proxy=EtcdProxy) as cluster:
    (server,), (proxy,) = cluster.servers, cluster.proxies
    identity = lambda: cluster.etcd.range('/registry/leases/kube-system/apiserver-')
    until(cluster.etcd.kubernetes_endpoints)
    before = identity()
    until(lambda: identity() != before, 20, 0.02)
    time.sleep(7)
    say('the identity is renewed in 3 s; etcd answers nothing from now on')
    proxy.stall()
    time.sleep(5)
    begin = time.time()
    server.stop()
    ended = until(lambda: server.process.poll() is not None, 75)
    say(f'{time.time() - begin:.0f} s after the SIGTERM: the server', 'has ended' if ended else 'is running; etcd answers again')
    proxy.go_on()
    server.process.wait()
    say(f'{time.time() - begin:.0f} s after the SIGTERM: the server has ended')
    raise SystemExit(1 if ended else 0)
