#!/usr/bin/env python3
"""Finding 88: a Job has made its pod, and a controller whose watch of pods has a gap sees that pod for the first time when it is already to go. That it
was made is never counted, so that the Job waits for it: for 5 minutes, and after these until something else happens to it."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, job
from proxy import Proxy, Rule

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
GONE = {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': 'Expired', 'code': 410}


def has_another_pod(misses):
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def names():
            return [pod['metadata']['name'] for pod in server.request('GET', PODS)[1]['items']]

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['job-controller'], verbosity=5) as manager:
            time.sleep(3)
            if misses:
                proxy.hold_watches('/api/v1/pods')
            assert server.request('POST', JOBS, job('work'))[0] == 201
            until(names, 30) or sys.exit('the Job has no pod')
            first, = names()
            if not misses:
                time.sleep(3)
            # No kubelet has it: nothing but the finalizer of Jobs keeps it after that.
            assert server.request('DELETE', f'{PODS}/{first}')[0] == 200
            if misses:
                proxy.rules.append(Rule('GET', '/api/v1/pods?allowWatchBookmarks', answer=(410, GONE)))
                proxy.cut_watches('/api/v1/pods')
            comes = until(lambda: [name for name in names() if name != first], SECONDS)
            status = server.request('GET', f'{JOBS}/work')[1]['status']
            seen = 'missed' if misses else 'seen'
            found = 'there is another pod' if comes else f'there is no pod {SECONDS} s later'
            say(f'that the pod was made is {seen}, it fails and is counted (failed: {status.get("failed")}):', found)
            for line in manager.log('still waiting on expectations')[-1:]:
                say('  its log:', line[line.index(']') + 2:])
            return bool(comes)


seen, missed = has_another_pod(False), has_another_pod(True)
raise SystemExit(0 if seen and not missed else 1)
