#!/usr/bin/env python3
"""Finding 85: a pod of a Job is deleted, and ends with an exit code for which the Job's policy says FailJob. The Job has another pod, and the
request that deletes that one fails once. What was decided is not written, the finalizer of the pod that has ended goes all the same, and the
pod with it: the Job goes on as if nothing had been decided."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, is_tracked, job
from proxy import Proxy, Rule

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'
FAILED = {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': 'InternalError', 'code': 500, 'message': 'a webhook has failed'}
POLICY = {'rules': [{'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [42]}}]}


def run(fails):
    """Does the Job go on?"""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def pods():
            return server.request('GET', PODS)[1]['items']

        def status():
            return server.request('GET', f'{JOBS}/work')[1].get('status', {})

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['job-controller']):
            assert server.request('POST', JOBS, job('work', completions=2, parallelism=2, podFailurePolicy=POLICY))[0] == 201
            until(lambda: len(pods()) == 2, 30) or sys.exit('it has no two pods')
            for pod in pods():
                name = pod['metadata']['name']
                binding = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name}, 'target': {'kind': 'Node', 'name': 'n1'}}
                assert server.request('POST', f'{PODS}/{name}/binding', binding)[0] == 201
                assert server.request('PATCH', f'{PODS}/{name}/status', {'status': {'phase': 'Running'}})[0] == 200
            until(lambda: status().get('active') == 2, 30)
            time.sleep(2)
            first = pods()[0]['metadata']['name']
            if fails:
                proxy.rules.append(Rule('DELETE', '/pods/', answer=(500, FAILED)))
            # Somebody drains the node: the pod is to go, ends with 42, and the kubelet says so and deletes it for good.
            assert server.request('DELETE', f'{PODS}/{first}')[0] == 200
            ended = {'name': 'c', 'image': 'i', 'imageID': '', 'ready': False, 'restartCount': 0, 'state': {'terminated': {'exitCode': 42}}}
            patched = server.request('PATCH', f'{PODS}/{first}/status', {'status': {'phase': 'Failed', 'containerStatuses': [ended]}})
            assert patched[0] == 200, patched
            server.request('DELETE', f'{PODS}/{first}', {'apiVersion': 'v1', 'kind': 'DeleteOptions', 'gracePeriodSeconds': 0})
            assert any(pod['metadata']['name'] == first and is_tracked(pod) for pod in pods()), 'the finalizer does not hold it'
            until(lambda: all(pod['metadata']['name'] != first for pod in pods()), 30) or sys.exit('it stays')
            # Pods that go are to be ended by a kubelet; here there is none.
            until(lambda: 'FailureTarget' in [c['type'] for c in status().get('conditions', [])], 40)
            is_told = [c['type'] for c in status().get('conditions', [])]
            going = [bool(pod['metadata'].get('deletionTimestamp')) for pod in pods()]
            say('the pod that ended with 42 is gone; the Job:', is_told or 'no condition', 'failed', status().get('failed'),
                'active', status().get('active'), '; its pods:', ['to go' if goes else 'to stay' for goes in going])
            return 'FailureTarget' not in is_told and len(going) == 2


say('each request is answered')
if run(fails=False):
    sys.exit('the Job goes on in any case')
say('the deletion of the other pod fails once')
sys.exit(0 if run(fails=True) else 1)
