#!/usr/bin/env python3
"""Finding 10: the repair of a server whose watch of Services lags gives an IPAddress to a Service that is gone, at its next resync.
Two servers, three and a half minutes."""
import time

from cluster import Cluster, say, short, until
from etcd_proxy import EtcdProxy

ADDRESS = '10.96.0.10'
SERVICES = '/registry/services/specs'

with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    one, _ = cluster.servers
    lagging = cluster.proxies[1]
    say('POST old:', short(one.service('old', clusterIP=ADDRESS)))
    say('until shortly before the resync of the second server, which comes every three minutes')
    time.sleep(155)
    lagging.hold_watches(SERVICES)
    say('DELETE old:', one.request('DELETE', '/api/v1/namespaces/default/services/old')[0])
    say('POST new:', short(one.service('new', clusterIP=ADDRESS)))
    owner = lambda: one.addresses().get(ADDRESS)
    found = until(lambda: owner() == 'default/old', 60)
    say(f'the IPAddress {ADDRESS} belongs to', owner())
    lagging.release_watches(SERVICES)
    until(lambda: owner() == 'default/new', 30)
    say('the events have come; it belongs to', owner())
    raise SystemExit(0 if found else 1)
