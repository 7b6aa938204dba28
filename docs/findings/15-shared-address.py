#!/usr/bin/env python3
"""Finding 15: two servers advertise one address, as behind a load balancer. One stops, and the Endpoints are empty while
the other one serves."""
import time

from cluster import Cluster, say, until

flags = {'advertise-address': '192.0.2.100'}
with Cluster(servers=2, per_server={0: flags, 1: flags}) as cluster:
    one, two = cluster.servers
    until(lambda: cluster.etcd.kubernetes_endpoints() == ['192.0.2.100'], 30)
    time.sleep(12)
    say('Endpoints default/kubernetes:', cluster.etcd.kubernetes_endpoints())
    say('SIGTERM to the first server')
    one.stop()
    emptied = until(lambda: cluster.etcd.kubernetes_endpoints() == [], 60, 0.02)
    begin = time.time()
    if not emptied:
        raise SystemExit('the Endpoints were not emptied')
    say('Endpoints: []; the second server answers /readyz with ok:', two.is_ready())
    until(lambda: cluster.etcd.kubernetes_endpoints(), 30, 0.02)
    say(f'{time.time() - begin:.1f} s later: Endpoints: {cluster.etcd.kubernetes_endpoints()}')
