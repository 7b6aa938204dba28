#!/usr/bin/env python3
"""Finding 39: a Job is deleted and made again while the watch of Jobs stands still, and the Jobs are listed anew after that. The pods
of the first Job keep their finalizer. The proxy holds the watch of Jobs and cuts it; the server begins anew, so that nobody can
watch from where the watch was."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, is_tracked, job
from proxy import Proxy

JOBS, PODS = '/apis/batch/v1/namespaces/default/jobs', '/api/v1/namespaces/default/pods'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 120

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

    def pods():
        return {p['metadata']['name']: p for p in server.request('GET', PODS)[1]['items']}
    with Manager(cluster, kubeconfig, ['job-controller']):
        assert server.request('POST', JOBS, job('work'))[0] == 201
        first = list(until(pods, 30))[0]
        time.sleep(2)
        proxy.hold_watches('/apis/batch/v1/jobs')
        say('the watch of Jobs stands still; the Job is deleted and made again, and its pod is deleted')
        server.request('DELETE', f'{JOBS}/work', {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'})
        until(lambda: server.request('GET', f'{JOBS}/work')[0] == 404, 10)
        assert server.request('POST', JOBS, job('work'))[0] == 201
        server.request('DELETE', f'{PODS}/{first}')
        time.sleep(5)
        say('the server begins anew, and the watch of Jobs ends')
        server.process.kill()
        server.process.wait()
        server.start()
        cluster.wait_until_ready(server)
        proxy.cut_watches('/apis/batch/v1/jobs')
        until(lambda: len(pods()) > 1, 60) or sys.exit('the second Job is not seen')
        say('the second Job has a pod, so that the controller sees it')
        time.sleep(SECONDS)
        left = pods().get(first)
        is_left = bool(left and is_tracked(left))
        say(f'{SECONDS} s later the pod of the first Job', 'is there and has its finalizer' if is_left else 'is gone')
    if is_left:
        with Manager(cluster, kubeconfig, ['job-controller'], name='second'):
            went = until(lambda: first not in pods(), 60)
            say('a controller manager that begins anew', 'lets it go' if went else 'leaves it, too')
    raise SystemExit(0 if is_left else 1)
