#!/usr/bin/env python3
"""Finding 32: a StatefulSet is rolled out twice before the first rollout is complete, and its status is refused."""
from cluster import Cluster, say, until
from manager import Manager, make_ready, stateful_set
from proxy import Proxy

SETS, PODS = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods'

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')
    with Manager(cluster, kubeconfig, ['statefulset-controller']) as manager:
        def pod(rollout):
            code, found = server.request('GET', f'{PODS}/web-0')
            annotations = code == 200 and found['metadata'].get('annotations') or {}
            return found if code == 200 and annotations.get('rollout') == rollout else None

        def roll_out(rollout):
            server.request('PATCH', f'{SETS}/web', {'spec': {'template': {'metadata': {'annotations': {'rollout': rollout}}}}})
        assert server.request('POST', SETS, stateful_set('web'))[0] == 201
        make_ready(server, until(lambda: pod(None)))
        roll_out('b')
        found = until(lambda: pod('b'))
        say('the pod of B is there, and not ready; the set is rolled out to C')
        roll_out('c')
        make_ready(server, found)
        until(lambda: pod('c'))
        refused = manager.log('must be greater than or equal to 0')
        for line in refused[:2]:
            say('   log:', line[:300])
        raise SystemExit(0 if refused else 1)
