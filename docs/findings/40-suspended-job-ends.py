#!/usr/bin/env python3
"""Finding 40: a suspended Job is resumed and gets a pod, and is suspended again before the controller has written that it began. The
pod succeeds. The Job has no start, and an apiserver refuses that a Job without one is complete. The proxy holds the first write
of the status, and the watch of Jobs, until the pod has succeeded."""
import sys
import threading
import time

from cluster import Cluster, say, until
from manager import Manager, job
from proxy import Proxy, Rule

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def status():
        return server.request('GET', f'{JOBS}/work')[1].get('status', {})

    def conditions():
        return [c['type'] for c in status().get('conditions', []) if c['status'] == 'True']

    def suspend(whether):
        return server.request('PATCH', f'{JOBS}/work', {'spec': {'suspend': whether}})[0]
    with Manager(cluster, kubeconfig, ['job-controller']) as manager:
        assert server.request('POST', JOBS, job('work', suspend=True))[0] == 201
        until(lambda: 'Suspended' in conditions(), 30) or sys.exit('it is not suspended')
        time.sleep(2)
        came, goes_on = threading.Event(), threading.Event()

        def hold():
            came.set()
            goes_on.wait()
        proxy.rules.append(Rule('PUT', '/jobs/work/status', before=hold))
        assert suspend(False) == 200
        came.wait(30) or sys.exit('the controller writes no status')
        watch = proxy.hold_watches('/apis/batch/v1/jobs')
        pod = until(lambda: server.request('GET', PODS)[1]['items'], 30)[0]['metadata']['name']
        say('the Job is resumed and has a pod; the status is not written yet; it is suspended again')
        assert suspend(True) == 200
        binding = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': pod}, 'target': {'kind': 'Node', 'name': 'n1'}}
        assert server.request('POST', f'{PODS}/{pod}/binding', binding)[0] == 201
        server.request('PATCH', f'{PODS}/{pod}/status', {'status': {'phase': 'Succeeded'}})
        say('the pod has succeeded; the write is passed on, and a second later what the watch held')
        goes_on.set()
        time.sleep(1)
        watch.set()
        time.sleep(SECONDS)
        refused = manager.log('startTime is required for finished job')
        say(f'{SECONDS} s later: {conditions()}, startTime {status().get("startTime")}; refused {len(refused)} times in the log')
        for line in refused[-1:]:
            say('   log:', line[:300])
        is_stuck = 'Complete' not in conditions() and bool(refused)
        suspend(False)
        until(lambda: 'Complete' in conditions(), 90)
        say('after it is resumed:', conditions())
        raise SystemExit(0 if is_stuck else 1)
