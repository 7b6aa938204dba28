#!/usr/bin/env python3
"""Finding 12: the repair of a server whose watch of IPAddresses stands still deletes an IPAddress again and again that is gone, and
with it that of a Service made meanwhile. Two servers, a minute and a half."""
import time

from cluster import Cluster, say, shared, short, until
from etcd_proxy import EtcdProxy

ADDRESS = '10.96.0.12'
ADDRESSES = '/registry/ipaddresses'
LABELS = {'ipaddress.kubernetes.io/ip-family': 'IPv4', 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io'}
NOBODY = {'group': '', 'resource': 'services', 'namespace': 'default', 'name': 'nobody'}


def deletions(server):
    text = server.request('GET', '/metrics')[1]
    lines = [line for line in text.splitlines() if line.startswith('apiserver_request_total{')
             and 'verb="DELETE"' in line and 'resource="ipaddresses"' in line]
    return sum(float(line.split()[-1]) for line in lines)


with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    one, two = cluster.servers
    leak = {'apiVersion': 'networking.k8s.io/v1', 'kind': 'IPAddress', 'metadata': {'name': ADDRESS, 'labels': LABELS},
            'spec': {'parentRef': NOBODY}}
    code, body = one.request('POST', '/apis/networking.k8s.io/v1/ipaddresses', leak)
    assert code == 201, body
    say('an IPAddress of no Service is there, as a server leaves it that crashes')
    time.sleep(56)
    cluster.proxies[1].hold_watches(ADDRESSES)
    gone = lambda seconds: until(lambda: ADDRESS not in one.addresses(), seconds, 0.01) is not None
    say('the watch of the second server stands still; the IPAddress is gone:', gone(20))
    before, begin = deletions(two), time.time()
    time.sleep(3)
    say(f'the second server deletes {(deletions(two) - before) / (time.time() - begin):.0f} IPAddresses a second')
    say('POST a:', short(one.service('a', clusterIP=ADDRESS)))
    say('its IPAddress is gone:', gone(5))
    say('POST b:', short(one.service('b', clusterIP=ADDRESS)))
    cluster.proxies[1].release_watches(ADDRESSES)
    found = shared(one.services())
    say('shared by two Services:', found)
    raise SystemExit(0 if found else 1)
