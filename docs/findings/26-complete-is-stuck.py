#!/usr/bin/env python3
"""Candidate 26: a Deployment whose rollout is complete is scaled up, and its new pod does not become ready. Its controller
syncs it without an end. Counts the syncs."""
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import Proxy

DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')
    with Manager(cluster, kubeconfig, ['deployment-controller', 'replicaset-controller']) as manager:
        labels = {'app': 'x'}
        code, body = server.request('POST', DEPLOYMENTS, {
            'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd'},
            'spec': {'replicas': 1, 'progressDeadlineSeconds': 3, 'selector': {'matchLabels': labels},
                     'template': pod_template(labels)}})
        assert code == 201, body
        pods = lambda: server.request('GET', '/api/v1/namespaces/default/pods')[1]['items']
        pod = until(pods, 60)[0]
        make_ready(server, pod)

        def reason():
            conditions = server.request('GET', f'{DEPLOYMENTS}/d')[1]['status'].get('conditions', [])
            return next((c['reason'] for c in conditions if c['type'] == 'Progressing'), None)
        say('Progressing:', until(lambda: reason() == 'NewReplicaSetAvailable' and reason(), 30))
        syncs = lambda: len(manager.log('Started syncing deployment'))
        time.sleep(5)
        before = syncs()
        time.sleep(10)
        say(f'complete, and past its deadline: {syncs() - before} syncs in 10 s')
        server.request('PATCH', f'{DEPLOYMENTS}/d', {'spec': {'replicas': 2}})
        until(lambda: len(pods()) == 2, 30)
        time.sleep(2)
        before = syncs()
        time.sleep(20)
        found = syncs() - before
        say(f'scaled to 2, the new pod is not ready: {found} syncs in 20 s; Progressing: {reason()}')
        for line in manager.log('Queueing up deployment', 'timed out')[-2:]:
            say('   log:', line[:200])
        raise SystemExit(0 if found > 20 else 1)
