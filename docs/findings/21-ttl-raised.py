#!/usr/bin/env python3
"""Candidate 21: the TTL of a finished Job is raised after its controller has looked for the last time, and before it
deletes the Job. The PATCH succeeds, and the Job goes. The proxy puts the PATCH at this moment."""
import time
from datetime import datetime, timezone

from cluster import Cluster, say, short, until
from manager import Manager, pod_template
from proxy import Proxy, Rule

JOBS = '/apis/batch/v1/namespaces/default/jobs'

def is_going(answer):
    code, job = answer
    return answer if code == 404 or 'deletionTimestamp' in job.get('metadata', {}) else None


with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    raised = []

    def raise_ttl():
        raised.append(server.request('PATCH', f'{JOBS}/j', {'spec': {'ttlSecondsAfterFinished': 3600}}))
    proxy.rules.append(Rule('GET', '/jobs/j', after=raise_ttl))
    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['ttl-after-finished-controller']):
        template = pod_template({'app': 'x'})
        template['spec']['restartPolicy'] = 'Never'
        code, body = server.request('POST', JOBS, {
            'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'j'},
            'spec': {'ttlSecondsAfterFinished': 3, 'template': template}})
        assert code == 201, body
        now = datetime.now(timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
        condition = lambda kind: {'type': kind, 'status': 'True', 'lastProbeTime': now, 'lastTransitionTime': now}
        finished = {'status': {'startTime': now, 'completionTime': now, 'succeeded': 1, 'ready': 0,
                               'uncountedTerminatedPods': {},
                               'conditions': [condition('SuccessCriteriaMet'), condition('Complete')]}}
        say('the Job is finished:', short(server.request('PATCH', f'{JOBS}/j/status', finished))[:120])
        begin = time.time()
        until(lambda: raised, 60)
        say(f'{time.time() - begin:.1f} s later its TTL was raised to 3600:', short(raised[0]))
        # It is deleted in the foreground, which nobody here brings to its end.
        code, job = until(lambda: is_going(server.request('GET', f'{JOBS}/j')), 20) or (None, None)
        if code is None:
            raise SystemExit('the Job stays')
        spec = job.get('spec', {})
        say('it is deleted all the same:', job.get('metadata', {}).get('deletionTimestamp', 'gone'), 'with the TTL',
            spec.get('ttlSecondsAfterFinished'))
