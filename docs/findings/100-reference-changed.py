#!/usr/bin/env python3
"""Finding 100: the reference of an object to its owner is changed in place, so that it names a kind of which there is no such object, by the same UID. The
collector does not look whether there is such an owner, and the object stays. One that is made with this reference goes at once, and so does the other one
when the controller manager begins anew."""
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import write_kubeconfig

MAPS = '/api/v1/namespaces/default/configmaps'


def reference(owner, kind):
    return [{'apiVersion': 'v1', 'kind': kind, 'name': 'owner', 'uid': owner['metadata']['uid']}]


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def make(name, references=()):
        metadata = {'name': name, 'ownerReferences': list(references)}
        code, made = server.request('POST', MAPS, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': metadata})
        assert code == 201, made
        return made

    def is_there(name):
        return server.request('GET', f'{MAPS}/{name}')[0] == 200

    def manager(name):
        return Manager(cluster, kubeconfig, ['garbage-collector-controller'], name=name)

    with manager('first'):
        time.sleep(5)
        owner = make('owner')
        changed = make('changed', reference(owner, 'ConfigMap'))
        time.sleep(2)
        changed['metadata']['ownerReferences'] = reference(owner, 'Secret')
        assert server.request('PUT', f'{MAPS}/changed', changed)[0] == 200
        make('made', reference(owner, 'Secret'))
        goes = until(lambda: not is_there('made'), 30)
        say('an object that is made with a reference to what is not there', 'goes' if goes else 'stays')
        time.sleep(60)
        stays = is_there('changed')
        say('a minute later, one whose reference was changed to that is', 'there' if stays else 'gone')
    with manager('second'):
        goes_later = until(lambda: not is_there('changed'), 30)
        say('a controller manager that begins anew', 'deletes it' if goes_later else 'leaves it')
raise SystemExit(0 if goes and stays and goes_later else 1)
