#!/usr/bin/env python3
"""Finding 29: an object whose only owner is gone is changed before the garbage collector's first DELETE arrives, and adopted before the
second. The proxy waits with each until that is done."""
from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

MAPS = '/api/v1/namespaces/default/configmaps'

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)

    def create(name, owner=None):
        metadata = {'name': name, **({'ownerReferences': [owner]} if owner else {})}
        code, made = server.request('POST', MAPS, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': metadata})
        assert code == 201, made
        return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': name, 'uid': made['metadata']['uid']}

    def change(what, **metadata):
        code, body = server.request('PATCH', f'{MAPS}/dependent', {'metadata': metadata})
        say(what, code)
    first, second = create('first'), create('second')
    create('dependent', first)
    proxy.rules += [
        Rule('DELETE', '/configmaps/dependent', before=lambda: change('before the first DELETE: a label', labels={'a': 'b'})),
        Rule('DELETE', '/configmaps/dependent', before=lambda: change('before the second: another owner', ownerReferences=[second])),
    ]
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')
    with Manager(cluster, kubeconfig, ['garbage-collector-controller']):
        server.request('DELETE', f'{MAPS}/first', {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'})
        gone = until(lambda: server.request('GET', f'{MAPS}/dependent')[0] == 404, 60)
        owner = server.request('GET', f'{MAPS}/second')[0] == 200
        say('the dependent is gone:', bool(gone), '- its owner is there:', owner)
        raise SystemExit(0 if gone and owner else 1)
