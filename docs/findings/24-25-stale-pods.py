#!/usr/bin/env python3
"""Candidates 24 and 25: the cache of pods of a controller manager stands still for more than five minutes, after which
expectations expire. A ReplicationController makes its pod once more (24); a ReplicaSet does not, as it waits until it sees
what it made. But it counts pods that it has deleted (25). The proxy holds the watch of pods."""
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy

SETS, PODS = '/apis/apps/v1/namespaces/default/replicasets', '/api/v1/namespaces/default/pods'
CONTROLLERS = '/api/v1/namespaces/default/replicationcontrollers'
EXPIRED = 315


def replica_set(name, replicas):
    labels = {'app': name}
    return {'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'metadata': {'name': name},
            'spec': {'replicas': replicas, 'selector': {'matchLabels': labels}, 'template': pod_template(labels)}}


with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    names = ['replicaset-controller', 'replicationcontroller-controller']
    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), names) as manager:
        def pods(app):
            return [p['metadata']['name'] for p in server.request('GET', PODS, labelSelector=f'app={app}')[1]['items']]
        assert server.request('POST', SETS, replica_set('deletes', 2))[0] == 201
        until(lambda: len(pods('deletes')) == 2, 30)
        time.sleep(3)
        held = proxy.hold_watches('/api/v1/pods')
        say('the watch of pods stands still from now on; pods of `deletes`:', pods('deletes'))
        labels = {'app': 'makes'}
        assert server.request('POST', CONTROLLERS, {
            'apiVersion': 'v1', 'kind': 'ReplicationController', 'metadata': {'name': 'makes'},
            'spec': {'replicas': 1, 'selector': labels, 'template': pod_template(labels)}})[0] == 201
        assert server.request('POST', SETS, replica_set('waits', 1))[0] == 201
        server.request('PATCH', f'{SETS}/deletes', {'spec': {'replicas': 1}})
        time.sleep(5)
        say({app: len(pods(app)) for app in ('makes', 'waits', 'deletes')})
        say(f'after {EXPIRED} s something of each changes, and `deletes` asks for two pods again')
        time.sleep(EXPIRED)
        touch = {'metadata': {'annotations': {'a': 'b'}}}
        server.request('PATCH', f'{CONTROLLERS}/makes', touch)
        server.request('PATCH', f'{SETS}/waits', touch)
        server.request('PATCH', f'{SETS}/deletes', {'spec': {'replicas': 2}})
        time.sleep(10)
        found = {app: len(pods(app)) for app in ('makes', 'waits', 'deletes')}
        say('24: the ReplicationController `makes` asks for one pod and has', found['makes'])
        say('    the ReplicaSet `waits` asks for one pod and has', found['waits'])
        say('25: the ReplicaSet `deletes` asks for two pods and has', found['deletes'])
        held.set()
        proxy.flow.clear()
        time.sleep(5)
        say('5 s after the watch goes on:', {app: len(pods(app)) for app in ('makes', 'waits', 'deletes')})
