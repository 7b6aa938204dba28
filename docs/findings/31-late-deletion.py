#!/usr/bin/env python3
"""Finding 31: a DELETE of a StatefulSet's pod is held up on its way, and takes the pod that replaces the one it was meant for. The
proxy holds it; a second controller manager goes on where the first has ended."""
import sys
import threading

from cluster import Cluster, say, until
from manager import Manager, make_ready, stateful_set
from proxy import Proxy, Rule

SETS, PODS = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods'
CONTROLLERS = ['statefulset-controller']

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def pod():
        code, found = server.request('GET', f'{PODS}/web-0')
        return found if code == 200 else None

    def uid():
        found = pod()
        return found and found['metadata']['uid']
    came, go, gone = threading.Event(), threading.Event(), threading.Event()
    with Manager(cluster, kubeconfig, CONTROLLERS):
        assert server.request('POST', SETS, stateful_set('web'))[0] == 201
        make_ready(server, until(pod))
        first = uid()
        proxy.rules.append(Rule('DELETE', '/pods/web-0', before=lambda: (came.set(), go.wait()), after=gone.set))
        server.request('PATCH', f'{SETS}/web', {'spec': {'template': {'metadata': {'annotations': {'rollout': 'b'}}}}})
        came.wait(30) or sys.exit('the pod is not replaced')
        say('the DELETE of the first pod is on its way; its controller manager ends')
    with Manager(cluster, kubeconfig, CONTROLLERS):
        until(lambda: uid() not in (None, first), 60) or sys.exit('the second manager does not replace the pod')
        second = uid()
        make_ready(server, pod())
        say('the second controller manager has replaced the pod, and the new one is ready; the DELETE arrives')
        go.set()
        gone.wait(30)
        left = uid()
        say('the new pod', 'is there' if left == second else 'is gone')
        raise SystemExit(1 if left == second else 0)
