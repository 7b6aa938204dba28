#!/usr/bin/env python3
"""Finding 37: the POST of Endpoints is late, and their Service is deleted meanwhile. Another controller manager has begun by then, and
looked for what is left. The Endpoints stay. The proxy holds the POST; the first manager is killed."""
import sys
import threading
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule, write_kubeconfig

ENDPOINTS = '/api/v1/namespaces/default/endpoints'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    held, go = threading.Event(), threading.Event()

    def hold():
        held.set()
        go.wait()
    proxy.rules.append(Rule('POST', '/default/endpoints', before=hold))
    direct = f'{cluster.folder}/direct'
    write_kubeconfig(direct, server.port)
    exists = lambda name: server.request('GET', f'{ENDPOINTS}/{name}')[0] == 200
    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['endpoints-controller']):
        assert server.service('late', selector={'app': 'late'})[0] == 201
        held.wait(30) or sys.exit('no Endpoints were to be made')
    say('the first manager is gone, its POST is under way; the Service is deleted')
    server.request('DELETE', '/api/v1/namespaces/default/services/late')
    with Manager(cluster, direct, ['endpoints-controller'], name='second'):
        assert server.service('timely', selector={'app': 'timely'})[0] == 201
        until(lambda: exists('timely'), 30) or sys.exit('the second manager does nothing')
        server.request('DELETE', '/api/v1/namespaces/default/services/timely')
        went = until(lambda: not exists('timely'), 30)
        say('the second manager works: the Endpoints of a Service that goes', 'go' if went else 'stay')
        go.set()
        until(lambda: exists('late'), 10) or sys.exit('the POST did not arrive')
        time.sleep(SECONDS)
        stays = exists('late')
        say(f'{SECONDS} s after the POST arrived the Endpoints `late`', 'are there' if stays else 'are gone')
    if stays:
        with Manager(cluster, direct, ['endpoints-controller'], name='third'):
            say('a manager that begins anew', 'deletes them' if until(lambda: not exists('late'), 30) else 'leaves them, too')
    raise SystemExit(0 if stays and went else 1)
