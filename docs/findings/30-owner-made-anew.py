#!/usr/bin/env python3
"""Finding 30: an owner is deleted and made again under its name while the garbage collector's watch of it stands still, and its kind is
listed anew after that. What the first one owned stays. The proxy holds the watch of ConfigMaps and cuts it; the server begins anew, so
that nobody can watch from where the watch was. A Secret of an owner that is only deleted goes."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy

MAPS, SECRETS = '/api/v1/namespaces/default/configmaps', '/api/v1/namespaces/default/secrets'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 120
NAMES = ['anew', 'gone']
BACKGROUND = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'}

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def make(name):
        code, own = server.request('POST', MAPS, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}})
        assert code == 201
        return own['metadata']['uid']

    def exists(name):
        return server.request('GET', f'{SECRETS}/{name}')[0] == 200

    def manager(name):
        return Manager(cluster, kubeconfig, ['garbage-collector-controller'], name=name)
    with manager('first') as first:
        until(lambda: first.log('all resource monitors have synced', 'Caches are synced'), 60) or sys.exit('it does not begin')
        for name in NAMES:
            owner = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': name, 'uid': make(name)}
            body = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': name, 'ownerReferences': [owner]}}
            assert server.request('POST', SECRETS, body)[0] == 201
        time.sleep(5)
        proxy.hold_watches('/api/v1/configmaps')
        say('the watch of ConfigMaps stands still; both are deleted, and one is made again')
        for name in NAMES:
            server.request('DELETE', f'{MAPS}/{name}', BACKGROUND)
        make('anew')
        time.sleep(5)
        say('the server begins anew, and the watch ends')
        server.process.kill()
        server.process.wait()
        server.start()
        cluster.wait_until_ready(server)
        proxy.cut_watches('/api/v1/configmaps')
        went = until(lambda: not exists('gone'), SECONDS)
        say('what the one owned that is gone', 'goes' if went else 'stays, too')
        time.sleep(SECONDS)
        stays = exists('anew')
        say(f'{SECONDS} s later what the first one of the other name owned', 'is there' if stays else 'is gone')
    if stays:
        with manager('second'):
            say('a controller manager that begins anew', 'deletes it' if until(lambda: not exists('anew'), 60) else 'leaves it, too')
    raise SystemExit(0 if stays and went else 1)
