#!/usr/bin/env python3
"""Finding 99: the partition of a StatefulSet holds all its pods back. The controller does not see yet the revision that the status calls the current one when another
template comes. The new template becomes the current revision, and a pod that is deleted comes back with it, also after the watch has caught up. The control is the
same with a watch that goes on."""
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, stateful_set
from proxy import Proxy

SETS, PODS = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods'
REVISIONS = '/apis/apps/v1/controllerrevisions'
STRATEGY = {'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'partition': 2}}}
NEW = {'spec': {'template': {'spec': {'containers': [{'name': 'c', 'image': 'new'}]}}}}


def images(is_held):
    """What the two pods have when both have been deleted after the template was changed, the second one after the watch went on."""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def found(path):
            code, body = server.request('GET', path)
            return body if code == 200 else None

        def status():
            return found(f'{SETS}/web').get('status', {})

        def replaced(name):
            """The image of the pod that takes the place of one that is deleted."""
            old = found(f'{PODS}/{name}')['metadata']['uid']
            assert server.request('DELETE', f'{PODS}/{name}?gracePeriodSeconds=0')[0] == 200
            new = until(lambda: (pod := found(f'{PODS}/{name}')) and pod['metadata']['uid'] != old and pod, 60)
            make_ready(server, new)
            return new['spec']['containers'][0]['image']

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['statefulset-controller']):
            time.sleep(5)  # It watches.
            held = proxy.hold_watches(REVISIONS) if is_held else None
            assert server.request('POST', SETS, stateful_set('web', replicas=2, **STRATEGY))[0] == 201
            for name in ('web-0', 'web-1'):
                make_ready(server, until(lambda name=name: found(f'{PODS}/{name}'), 60))
            until(lambda: status().get('readyReplicas') == 2, 30)
            before = status()['currentRevision']
            assert server.request('PATCH', f'{SETS}/web', NEW)[0] == 200
            until(lambda: status().get('updateRevision') != before, 30)
            time.sleep(2)
            is_current = status()['currentRevision'] == before
            first = replaced('web-0')
            if held:
                held.set()
                time.sleep(5)
            second = replaced('web-1')
            watch = 'stands still until one pod was replaced' if is_held else 'goes on'
            say(f'the watch of revisions {watch}: the current revision is the old one: {is_current}; the pods that are made come from {first!r} and {second!r}')
            return first, second


seen, unseen = images(False), images(True)
raise SystemExit(0 if seen == ('i', 'i') and unseen == ('new', 'new') else 1)
