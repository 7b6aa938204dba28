#!/usr/bin/env python3
"""Finding 18: a release that comes late deletes the IPAddress of another Service. Two servers, one to three minutes: the repair has
to find the IPAddress while the release is held."""
import time

from cluster import Cluster, begin, say, shared, short, until
from etcd_proxy import EtcdProxy, names, transaction

SERVICES = '/api/v1/namespaces/default/services'


def attempt(cluster, number):
    one, two = cluster.servers
    proxy, address = cluster.proxies[0], f'10.96.0.{18 + number}'
    # The Service is younger than its IPAddress, so that the repair does not wait for the Service to grow old.
    rule = proxy.hold(transaction(f'/registry/services/specs/default/s{number}'))
    post = begin(one.service, f's{number}', clusterIP=address)
    rule.came.wait(20)
    made = time.time()
    time.sleep(0.3)
    rule.release()
    post.join()
    say(f'POST s{number}:', short(post.result))
    time.sleep(made + 58.3 - time.time())
    rule = proxy.hold(names(f'/registry/ipaddresses/{address}'))
    deletion = begin(one.request, 'DELETE', f'{SERVICES}/s{number}')
    say(f'DELETE s{number}: the release of {address} is held:', rule.came.wait(10))
    gone = until(lambda: address not in two.addresses(), 6, 0.01)
    say('the repair has deleted the IPAddress:', bool(gone))
    say(f'POST t{number}:', short(two.service(f't{number}', clusterIP=address)))
    rule.release()
    deletion.join()
    say('the release has come; the IPAddress is of', two.addresses().get(address))
    say(f'POST u{number}:', short(two.service(f'u{number}', clusterIP=address)))
    return shared(two.services())


with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    found = None
    for number in range(3):
        found = found or attempt(cluster, number)
    say('shared by two Services:', found)
    raise SystemExit(0 if found else 1)
