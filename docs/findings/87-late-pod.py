#!/usr/bin/env python3
"""Finding 87: the request that makes the pod of a Job is under way when its connection breaks. The controller makes another pod, with which the
Job is complete. Then the request arrives: the pod runs, and nobody takes the tracking finalizer from it, also not once it has succeeded."""
import sys
import threading
import time

from cluster import Cluster, say, until
from manager import Manager, is_tracked, job
from proxy import Proxy, Rule

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)

    def pods():
        return {pod['metadata']['name']: pod for pod in server.request('GET', PODS)[1]['items']}

    def conditions():
        status = server.request('GET', f'{JOBS}/work')[1].get('status', {})
        return [c['type'] for c in status.get('conditions', []) if c['status'] == 'True']

    def succeed(name):
        binding = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name}, 'target': {'kind': 'Node', 'name': 'n1'}}
        assert server.request('POST', f'{PODS}/{name}/binding', binding)[0] == 201
        assert server.request('PATCH', f'{PODS}/{name}/status', {'status': {'phase': 'Succeeded'}})[0] == 200

    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['job-controller']):
        arrives = threading.Event()
        proxy.rules.append(Rule('POST', '/pods', late=arrives))
        assert server.request('POST', JOBS, job('work'))[0] == 201
        until(pods, 60) or sys.exit('the controller does not try again')
        first, = pods()
        succeed(first)
        until(lambda: 'Complete' in conditions(), 60) or sys.exit('the Job is not complete')
        say('the first request was under way when its connection broke; the Job is complete with another pod:', conditions())
        arrives.set()
        until(lambda: len(pods()) == 2, 30) or sys.exit('the first request makes no pod')
        late, = (name for name in pods() if name != first)
        say('the first request has arrived: there is another pod,', pods()[late]['status']['phase'])
        time.sleep(SECONDS / 2)
        is_left_to_run = not pods()[late]['metadata'].get('deletionTimestamp')
        say(f'{SECONDS // 2} s later it is', 'to run' if is_left_to_run else 'to go')
        succeed(late)
        time.sleep(SECONDS / 2)
        is_held = is_tracked(pods()[late])
        say(f'{SECONDS // 2} s after it has succeeded it', 'has' if is_held else 'has not', 'the tracking finalizer')
        server.request('DELETE', f'{PODS}/{late}')
        is_gone = until(lambda: late not in pods(), 20)
        say('deleted, it is', 'gone' if is_gone else 'held')
        raise SystemExit(0 if is_left_to_run and is_held else 1)
