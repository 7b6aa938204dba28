#!/usr/bin/env python3
"""Finding 45: a pod that the controller has not seen yet is evicted, and forgotten. The proxy holds the controller's watch of pods, and
then lets it pass up to the first event of a pod that goes, as a slow watch may. Only the disruption controller runs."""
import sys
import threading
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import Proxy

PODS = '/api/v1/namespaces/default/pods'
BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'


class Slow(Proxy):
    """Lets the watch of pods pass while `passes` is set, event by event, and from `stops_at` on nothing."""

    def __init__(self, server):
        super().__init__(server)
        self.passes, self.stops_at = threading.Event(), None
        self.passes.set()

    def answer(self, request, answer, text):
        if text is not None or not request.path.startswith('/api/v1/pods'):
            super().answer(request, answer, text)
            return
        request.send_header('Transfer-Encoding', 'chunked')
        request.end_headers()
        while True:
            line = answer.readline()
            self.passes.wait()
            if self.stops_at and self.stops_at in line:
                say('the watch stands still before the first event of a pod that goes')
                threading.Event().wait()
            request.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))
            request.wfile.flush()
            if not line:
                return


with Cluster() as cluster:
    server, = cluster.servers
    proxy = Slow(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def make_pod(name):
        spec = {**pod_template({})['spec'], 'nodeName': 'n1'}
        pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name, 'labels': {'app': 'u'}}, 'spec': spec}
        make_ready(server, server.request('POST', PODS, pod)[1])

    def status():
        return server.request('GET', f'{BUDGETS}/b')[1].get('status', {})

    def told():
        return ', '.join(f'{name} {status().get(name)}' for name in ('currentHealthy', 'disruptionsAllowed', 'disruptedPods'))

    def evict(pod):
        body = {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': pod}}
        code = server.request('POST', f'{PODS}/{pod}/eviction', body)[0]
        say(f'{pod} is evicted: {code}; the budget:', told())
        return code

    with Manager(cluster, kubeconfig, ['disruption-controller']):
        for name in ('u0', 'u1', 'u2'):
            make_pod(name)
        body = {'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'metadata': {'name': 'b'},
                'spec': {'minAvailable': 2, 'selector': {'matchLabels': {'app': 'u'}}}}
        server.request('POST', BUDGETS, body)
        until(lambda: status().get('currentHealthy') == 3, 60) or sys.exit('the budget does not settle')
        say('three pods are ready, two are to be; the budget:', told())
        proxy.passes.clear()
        make_pod('u3')
        evict('u3')
        forgotten = until(lambda: not status().get('disruptedPods'), 30)
        say('the controller has not seen u3, and', 'forgets' if forgotten else 'notes', 'it; the budget:', told())
        proxy.stops_at = b'deletionTimestamp'
        proxy.passes.set()
        until(lambda: status()['currentHealthy'] == 4, 30)
        say('it has seen u3 become ready; the budget:', told())
        codes = [evict('u0'), evict('u1')]
        time.sleep(1)
        pods = server.request('GET', PODS)[1]['items']
        left = [p['metadata']['name'] for p in pods if not p['metadata'].get('deletionTimestamp')]
        say('pods that stay, where two are to be healthy:', left)
    raise SystemExit(0 if codes == [201, 201] and len(left) == 1 else 1)
