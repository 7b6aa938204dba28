#!/usr/bin/env python3
"""Finding 91: an owner is deleted and is to leave its dependents. The collector takes the finalizer from it, and the answer is lost. Before it tries again
another owner of that name is there, which is to leave its dependents, too. The collector takes the finalizer from that one, whose dependents have not
been released yet: they are collected."""
import sys
import threading
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

MAPS = '/api/v1/namespaces/default/configmaps'
ORPHAN = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Orphan'}


def config_map(name, owner=None):
    found = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}}
    if owner:
        reference = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': owner['name'], 'uid': owner['uid']}
        found['metadata']['ownerReferences'] = [reference]
    return found


def is_kept(is_lost):
    """Is the dependent of the second owner there in the end?"""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def get(name):
            code, found = server.request('GET', f'{MAPS}/{name}')
            return found['metadata'] if code == 200 else None

        def make(name, owner=None):
            code, found = server.request('POST', MAPS, config_map(name, owner))
            assert code == 201, found
            return found['metadata']

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['garbage-collector-controller']):
            time.sleep(5)
            first = make('owner')
            is_there, may_go_on, may_release = threading.Event(), threading.Event(), threading.Event()

            def hold():
                is_there.set()
                may_go_on.wait(60)

            if is_lost:
                # The finalizer goes, and nobody hears of it; then the collector asks for the owner again.
                proxy.rules.append(Rule('PATCH', '/configmaps/owner', lose=True, after=lambda: proxy.rules.append(
                    Rule('GET', '/configmaps/owner', before=hold))))
            time.sleep(1)
            assert server.request('DELETE', f'{MAPS}/owner', ORPHAN)[0] == 200
            until(lambda: not get('owner'), 30) or sys.exit('the first owner stays')
            if is_lost:
                is_there.wait(30) or sys.exit('the collector does not ask again')
            second = make('owner')
            make('dependent', second)
            time.sleep(1)
            # Who has many dependents takes a while to release them: here it is one request that does.
            proxy.rules.append(Rule('PATCH', '/configmaps/dependent', before=lambda: may_release.wait(60)))
            assert server.request('DELETE', f'{MAPS}/owner', ORPHAN)[0] == 200
            time.sleep(2)
            say('the second owner waits until its dependent is released:', bool(get('owner')))
            may_go_on.set()
            time.sleep(5)
            say('some seconds later the second owner is', 'there' if get('owner') else 'gone', 'and its dependent', 'there' if get('dependent') else 'gone')
            may_release.set()
            time.sleep(5)
            kept = get('dependent')
            say('in the end the dependent is', 'there' if kept else 'gone')
            return bool(kept)


heard, lost = is_kept(False), is_kept(True)
raise SystemExit(0 if heard and not lost else 1)
