#!/usr/bin/env python3
"""Findings 61 and 62. No pod and no metrics are needed.

61: the autoscaler `moved` is for the Deployment `first`, and then for one that is not there. Another one for `first` says for as long
as that is so that two autoscalers select its pods. `alone`, whose predecessor was deleted and not moved, does not.
62: two autoscalers of the Deployment `shared` allow 1 to 4 and 5 to 8 replicas, and scale it up and down."""
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy

DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
AUTOSCALERS = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
CONTROLLERS = ['deployment-controller', 'replicaset-controller', 'horizontal-pod-autoscaler-controller']

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')

    def post(path, body):
        code, answer = server.request('POST', path, body)
        assert code == 201, answer

    def deployment(name, replicas):
        labels = {'app': name}
        post(DEPLOYMENTS, {
            'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
            'spec': {'replicas': replicas, 'selector': {'matchLabels': labels}, 'template': pod_template(labels)}})

    def target(name):
        return {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': name}

    def autoscaler(name, of, least, most):
        post(AUTOSCALERS, {
            'apiVersion': 'autoscaling/v2', 'kind': 'HorizontalPodAutoscaler', 'metadata': {'name': name},
            'spec': {'scaleTargetRef': target(of), 'minReplicas': least, 'maxReplicas': most}})

    def reason(name):
        """Why the autoscaler does not scale, or does."""
        status = server.request('GET', f'{AUTOSCALERS}/{name}')[1].get('status', {})
        found = [own['reason'] for own in status.get('conditions', []) if own['type'] == 'ScalingActive']
        return found[0] if found else None

    with Manager(cluster, kubeconfig, CONTROLLERS) as manager:
        for name, replicas in [('first', 2), ('alone', 2), ('shared', 3)]:
            deployment(name, replicas)
        for name in ['first', 'alone']:
            autoscaler(f'before-{name}', name, 1, 4)
            until(lambda: reason(f'before-{name}'), 60)
        server.request('PATCH', f'{AUTOSCALERS}/before-first', {'spec': {'scaleTargetRef': target('nowhere')}})
        server.request('DELETE', f'{AUTOSCALERS}/before-alone')
        autoscaler('low', 'shared', 1, 4)
        autoscaler('high', 'shared', 5, 8)
        time.sleep(20)
        for name in ['first', 'alone']:
            autoscaler(f'after-{name}', name, 1, 4)
        seen = []
        for _ in range(600):
            time.sleep(0.1)
            replicas = server.request('GET', f'{DEPLOYMENTS}/shared')[1]['spec']['replicas']
            if seen[-1:] != [replicas]:
                seen.append(replicas)
        moved, deleted = reason('after-first'), reason('after-alone')
        say(f'61: 60 s later after-first says {moved}, after-alone {deleted}')
        say(f'62: the replicas of `shared` within 60 s: {seen}')
        stuck = moved == 'AmbiguousSelector' and deleted != 'AmbiguousSelector'
        raise SystemExit(0 if stuck and len(seen) > 3 else 1)
