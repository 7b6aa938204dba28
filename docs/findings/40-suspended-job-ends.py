#!/usr/bin/env python3
"""Finding 40: the pod of a Job, which was being deleted, succeeds while the Job is suspended. The Job has no start then, and an
apiserver refuses that a Job without one is complete."""
import time

from cluster import Cluster, say, until
from manager import Manager, job
from proxy import write_kubeconfig

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def status():
        return server.request('GET', f'{JOBS}/work')[1].get('status', {})

    def conditions():
        return [c['type'] for c in status().get('conditions', []) if c['status'] == 'True']
    with Manager(cluster, kubeconfig, ['job-controller']) as manager:
        assert server.request('POST', JOBS, job('work'))[0] == 201
        pod = until(lambda: server.request('GET', PODS)[1]['items'], 30)[0]['metadata']['name']
        binding = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': pod}, 'target': {'kind': 'Node', 'name': 'n1'}}
        assert server.request('POST', f'{PODS}/{pod}/binding', binding)[0] == 201
        server.request('PATCH', f'{PODS}/{pod}/status', {'status': {'phase': 'Running'}})
        time.sleep(2)
        say('somebody deletes the pod, which has some seconds to end, and suspends the Job')
        server.request('DELETE', f'{PODS}/{pod}')
        time.sleep(2)
        server.request('PATCH', f'{JOBS}/work', {'spec': {'suspend': True}})
        until(lambda: 'Suspended' in conditions(), 30)
        time.sleep(2)
        say('the Job is suspended; startTime:', status().get('startTime'))
        server.request('PATCH', f'{PODS}/{pod}/status', {'status': {'phase': 'Succeeded'}})
        say('the pod ends, and has succeeded')
        time.sleep(60)
        refused = manager.log('startTime is required for finished job')
        say(f'60 s later: {conditions()}; refused {len(refused)} times in the log')
        for line in refused[-1:]:
            say('   log:', line[:300])
        is_stuck = 'Complete' not in conditions() and bool(refused)
        server.request('PATCH', f'{JOBS}/work', {'spec': {'suspend': False}})
        until(lambda: 'Complete' in conditions(), 90)
        say('after it is resumed:', conditions())
        raise SystemExit(0 if is_stuck else 1)
