#!/usr/bin/env python3
"""Finding 9: the repair of one server takes the IPAddress of a Service that was just deleted and made again through another
one. Two servers, four clients that delete and create, for SECONDS."""
import sys
import threading
import time

from cluster import Cluster, say, shared, short

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 60
SERVICES = '/api/v1/namespaces/default/services'
ADDRESSES = '/apis/networking.k8s.io/v1/ipaddresses'

with Cluster(servers=2) as cluster:
    end, lost, made = threading.Event(), [], [0]

    def churn(server, client):
        at = 0
        while not end.is_set():
            name, at = f'w{client}-{at % 3}', at + 1
            server.request('DELETE', f'{SERVICES}/{name}')
            code, service = server.service(name)
            made[0] += 1
            if code != 201:
                continue
            address = service['spec']['clusterIP']
            time.sleep(0.02)
            if server.request('GET', f'{ADDRESSES}/{address}')[0] == 404:
                again = server.service(f'other{client}-{at}', clusterIP=address)
                lost.append((name, address, short(again)))
    clients = [threading.Thread(target=churn, args=(cluster.servers[at % 2], at)) for at in range(4)]
    for client in clients:
        client.start()
    time.sleep(SECONDS)
    end.set()
    for client in clients:
        client.join()
    say(f'{made[0]} Services were made anew; IPAddresses of living Services that were gone: {len(lost)}')
    for each in lost[:5]:
        say('  ', *each)
    say('shared by two Services at the end:', shared(cluster.servers[0].services()))
    for server in cluster.servers:
        for line in server.log('wrong reference')[:2]:
            say('   log:', line[:200])
    raise SystemExit(0 if lost else 1)
