#!/usr/bin/env python3
"""Finding 41: pods of a Job are being deleted, the Job is deleted, and the requests that take the finalizer off its pods are refused for
a moment. Nobody tries again. The proxy refuses them."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, is_tracked, job
from proxy import Proxy, Rule

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 180

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def tracked():
        return [p['metadata']['name'] for p in server.request('GET', PODS)[1]['items'] if is_tracked(p)]
    with Manager(cluster, kubeconfig, ['job-controller']) as manager:
        assert server.request('POST', JOBS, job('work', parallelism=3, completions=3))[0] == 201
        until(lambda: len(tracked()) == 3, 30)
        time.sleep(2)
        for pod in tracked():
            server.request('DELETE', f'{PODS}/{pod}')
        say('the pods are being deleted, and their finalizer holds them:', len(tracked()))
        rule = Rule('PATCH', '/pods/', refuse=True, times=1000)
        proxy.rules.append(rule)
        server.request('DELETE', f'{JOBS}/work', {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'})
        until(lambda: rule.times < 1000, 10) or sys.exit('no pod is patched')
        time.sleep(2)
        refused, rule.times = 1000 - rule.times, 0
        say(f'the Job is deleted; {refused} PATCH of pods were refused, and from now on none is')
        time.sleep(SECONDS)
        left = tracked()
        say(f'{SECONDS} s later {len(left)} of 3 pods have the finalizer')
    if left:
        with Manager(cluster, kubeconfig, ['job-controller'], name='second'):
            went = until(lambda: not tracked(), 60)
            say('a controller manager that begins anew', 'takes it off' if went else 'leaves it, too')
    raise SystemExit(0 if left else 1)
