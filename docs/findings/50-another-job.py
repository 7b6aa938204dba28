#!/usr/bin/env python3
"""Finding 50: a Job that a CronJob lists as active is deleted, and another one has its name before the controller looks: the controller
manager stands still meanwhile (SIGSTOP). The CronJob goes on listing it, and runs nothing more. One whose Job is only deleted runs."""
import signal
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, job, pod_template
from proxy import write_kubeconfig

BATCH = '/apis/batch/v1/namespaces/default'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 130
NAMES = ['taken', 'free']

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def make(name):
        template = pod_template({'app': name})
        template['spec']['restartPolicy'] = 'Never'
        spec = {'schedule': '* * * * *', 'concurrencyPolicy': 'Forbid', 'jobTemplate': {'spec': {'template': template}}}
        body = {'apiVersion': 'batch/v1', 'kind': 'CronJob', 'metadata': {'name': name}, 'spec': spec}
        assert server.request('POST', f'{BATCH}/cronjobs', body)[0] == 201

    def status(name):
        return server.request('GET', f'{BATCH}/cronjobs/{name}')[1].get('status', {})

    def active(name):
        return [(own['name'], own['uid']) for own in status(name).get('active', [])]
    # Nobody runs the Jobs: each stays active.
    with Manager(cluster, kubeconfig, ['cronjob-controller']) as manager:
        for name in NAMES:
            make(name)
        until(lambda: all(active(name) for name in NAMES), 90) or sys.exit('no Job was made')
        listed = {name: active(name) for name in NAMES}
        manager.process.send_signal(signal.SIGSTOP)
        for name in NAMES:
            path = f'{BATCH}/jobs/{listed[name][0][0]}'
            background = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Background'}
            server.request('DELETE', path, background)
            until(lambda path=path: server.request('GET', path)[0] == 404, 10) or sys.exit('the Job does not go')
        another = server.request('POST', f'{BATCH}/jobs', job(listed['taken'][0][0]))
        assert another[0] == 201
        manager.process.send_signal(signal.SIGCONT)
        say('both Jobs are deleted; one of the two names is another Job\'s; the controller manager goes on')
        time.sleep(SECONDS)
        stays, goes = active('taken') == listed['taken'], active('free') != listed['free']
        say(f'{SECONDS} s later `taken` lists', 'the Job that is gone' if stays else 'another, or none')
        say('`free` lists', 'another, or none' if goes else 'the Job that is gone')
        refused = [line for line in manager.log('prior execution is running') if 'taken' in line]
        say(f'log of `taken`: {len(refused)} times that a prior execution is running and Forbid')
    raise SystemExit(0 if stays and goes else 1)
