#!/usr/bin/env python3
"""Findings 7 and 8: `07-08-counted-leaks.py 7` or `8`, four and seven minutes. The port repair counts a leak once more for each
conflict that a round meets (7), and frees at first sight what it has freed before (8). Two servers: the first is slow to store a
Service, the second repairs."""
import sys
import time

from cluster import Cluster, begin, say, shared, short, until
from etcd_proxy import EtcdProxy, names, transaction

FINDING = sys.argv[1] if len(sys.argv) > 1 else '7'
PORT, PERIOD = 30007, 180
BITMAP = names('ranges/servicenodeports')


def node_port(server, name, **port):
    return server.service(name, type='NodePort', ports=[{'port': 80, **port}])


def slow_service(server, proxy, name):
    """Its port is allocated, and the transaction that stores it is held."""
    rule = proxy.hold(transaction(f'/registry/services/specs/default/{name}'))
    post = begin(node_port, server, name, nodePort=PORT)
    assert rule.came.wait(20), f'{name} does not come to etcd'
    say(f'POST {name}: port {PORT} is allocated, the Service is not stored yet')
    return rule, post


def round_with_conflicts(proxy, other):
    """The next round of repair behind this proxy reads the bitmap and reads it again to write it. Twice another one is faster."""
    rule = proxy.hold(BITMAP)
    for number in range(1, 7):
        assert rule.came.wait(60), 'there is no round'
        following = proxy.hold(BITMAP) if number < 6 else None
        if number in (2, 4):
            say('the round is about to write; POST of another NodePort Service:', short(node_port(other, f'x{number}')))
        rule.release()
        rule = following
    time.sleep(1.5)


def end(server, rule, post, name):
    rule.release()
    post.join()
    say(f'POST {name}:', short(post.result))
    say('POST other:', short(node_port(server, 'other', nodePort=PORT)))
    found = shared(server.services())
    say('shared by two Services:', found)
    raise SystemExit(0 if found else 1)


with Cluster(servers=2, flags={'service-node-port-range': '30000-30099'}, proxy=EtcdProxy) as cluster:
    (one, two), (before_one, before_two) = cluster.servers, cluster.proxies
    say('until shortly before the second round of the second server')
    time.sleep(PERIOD - (20 if FINDING == '7' else 45))
    if FINDING == '7':
        rule, post = slow_service(one, before_one, 's7')
        round_with_conflicts(before_two, one)
        end(one, rule, post, 's7')
    slow_service(one, before_one, 'crash')
    one.process.kill()
    one.process.wait()
    one.start()
    cluster.wait_until_ready(one)
    say('the first server crashed, and is back; asked for the port:', short(node_port(one, 'c', nodePort=PORT)))
    round_with_conflicts(before_two, one)
    freed = time.time()
    log = lambda: two.log(f'node port {PORT} appears to have leaked')
    say('log of the second server:', *log())
    time.sleep(max(0.0, freed + PERIOD - 10 - time.time()))
    rule, post = slow_service(one, before_one, 's8')
    once = len(log())
    until(lambda: len(log()) > once, 40)
    say('log of the second server:', *log()[once:])
    end(one, rule, post, 's8')
