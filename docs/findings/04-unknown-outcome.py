#!/usr/bin/env python3
"""Finding 4: the connection to etcd breaks after the transaction that stores a Service was sent. Its address is given back, and
given to another. Two servers."""
from cluster import Cluster, say, shared, short
from etcd_proxy import EtcdProxy, transaction

ADDRESS = '10.96.0.44'

with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    one, two = cluster.servers
    cluster.proxies[0].hold(transaction('/registry/services/specs/default/s4'), cut='after')
    say('POST s4:', short(one.service('s4', clusterIP=ADDRESS)))
    say('GET s4:', short(two.request('GET', '/api/v1/namespaces/default/services/s4')))
    say(f'the IPAddress {ADDRESS} is of', two.addresses().get(ADDRESS))
    say('POST t4:', short(two.service('t4', clusterIP=ADDRESS)))
    found = shared(two.services())
    say('shared by two Services:', found)
    raise SystemExit(0 if found else 1)
