#!/usr/bin/env python3
"""Finding 11: a node port that TCP and UDP share is released twice. The second release is held, and another Service has the port by
then. Two servers."""
from cluster import Cluster, begin, say, shared, short
from etcd_proxy import EtcdProxy, names

PORT = 30011


def node_port(server, name):
    return server.service(name, type='NodePort', ports=[{'port': 80, 'nodePort': PORT}])


with Cluster(servers=2, flags={'service-node-port-range': '30000-30019'}, proxy=EtcdProxy) as cluster:
    one, two = cluster.servers
    both = [{'name': p, 'port': 53, 'protocol': p.upper(), 'nodePort': PORT} for p in ('tcp', 'udp')]
    say('POST dns:', short(one.service('dns', type='NodePort', ports=both)))
    # The first release reads the bitmap and writes it; the second one reads it again.
    rule = cluster.proxies[1].hold(names('ranges/servicenodeports'), nth=3)
    deletion = begin(two.request, 'DELETE', '/api/v1/namespaces/default/services/dns')
    say('DELETE dns: its second release is on its way:', rule.came.wait(20))
    say('POST a:', short(node_port(one, 'a')))
    rule.release()
    deletion.join()
    say('DELETE dns:', deletion.result[0])
    say('POST b:', short(node_port(one, 'b')))
    found = shared(one.services())
    say('shared by two Services:', found)
    raise SystemExit(0 if found else 1)
