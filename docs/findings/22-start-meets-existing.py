#!/usr/bin/env python3
"""Candidate 22: two servers start at the same time over Services that have no IPAddress, as after an upgrade from bitmaps
or a restore. One makes the IPAddress, the other is answered AlreadyExists, and its start fails."""
import base64
import sys
import time

from cluster import Cluster, say, until

SERVICES = int(sys.argv[1]) if len(sys.argv) > 1 else 200

with Cluster(servers=2, flags={'service-cluster-ip-range': '10.96.0.0/16'}) as cluster:
    for at in range(SERVICES):
        code, body = cluster.servers[at % 2].service(f's{at}')
        assert code == 201, body
    for server in cluster.servers:
        server.process.kill()
        server.process.wait()
    encode = lambda text: base64.b64encode(text.encode()).decode()
    gone = cluster.etcd.call('/v3/kv/deleterange', {
        'key': encode('/registry/ipaddresses/'), 'range_end': encode('/registry/ipaddresses0')})
    say(f"{SERVICES} Services; {gone.get('deleted')} IPAddresses deleted in etcd; both servers start")
    begin = time.time()
    for server in cluster.servers:
        open(f'{server.folder}/log', 'w').close()
        server.start()
    ended = lambda: [at for at, s in enumerate(cluster.servers) if s.process.poll() is not None]
    ready = lambda: [at for at, s in enumerate(cluster.servers) if s.process.poll() is None and s.is_ready()]
    until(lambda: ended() or len(ready()) == 2, 150, 0.2)
    say(f'{time.time() - begin:.0f} s later: ready: {ready()}, ended: {ended()}')
    for at, server in enumerate(cluster.servers):
        for line in server.log('already exists', 'initial IP and Port allocation', 'ipallocator-repair-controller')[-6:]:
            say(f'   log of {at}:', line[:260])
    say('IPAddresses:', len(cluster.etcd.range('/registry/ipaddresses/')))
    raise SystemExit(0 if ended() else 1)
