#!/usr/bin/env python3
"""Finding 90: a CronJob forbids that its Jobs run at once. A controller manager has made a Job, and ends before the status lists it. The next one begins
after the next time of the schedule: it sees that Job run, says that it is forgotten, and makes another one beside it."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy, Rule

CRON_JOBS, JOBS = '/apis/batch/v1/namespaces/default/cronjobs', '/apis/batch/v1/namespaces/default/jobs'
template = pod_template({'app': 'work'})
template['spec']['restartPolicy'] = 'Never'
CRON_JOB = {'apiVersion': 'batch/v1', 'kind': 'CronJob', 'metadata': {'name': 'work'},
            'spec': {'schedule': '* * * * *', 'concurrencyPolicy': 'Forbid', 'jobTemplate': {'spec': {'template': template}}}}


def minute():
    return int(time.time()) // 60


def run(is_listed):
    """The names of the Jobs that run in the end; whether the status could list the first of them."""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)
        kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')

        def jobs():
            return sorted(job['metadata']['name'] for job in server.request('GET', JOBS)[1]['items'])

        def listed():
            status = server.request('GET', f'{CRON_JOBS}/work')[1].get('status', {})
            return [job['name'] for job in status.get('active', [])]

        if not is_listed:
            proxy.rules.append(Rule('PUT', '/cronjobs/work/status', refuse=True, times=1000))
        with Manager(cluster, kubeconfig, ['cronjob-controller'], name='first'):
            assert server.request('POST', CRON_JOBS, CRON_JOB)[0] == 201
            until(jobs, 90) or sys.exit('no Job is made')
            if is_listed:
                until(listed, 20) or sys.exit('the Job is not listed')
        proxy.rules.clear()
        say('a Job was made, and the first controller manager has ended:', jobs(), 'listed as active:', listed())
        made = minute()
        until(lambda: minute() > made and time.time() % 60 > 3, 70)
        with Manager(cluster, kubeconfig, ['cronjob-controller'], name='second') as second:
            until(lambda: len(jobs()) > 1, 20)
            time.sleep(3)
            found = jobs()
            say('the second one has begun after the next time of the schedule:', found, 'listed as active:', listed())
            for line in second.log('did not create or forgot')[:1]:
                say('  its log:', line[line.index(']') + 2:])
            return found


listed, forgotten = run(True), run(False)
raise SystemExit(0 if len(listed) == 1 and len(forgotten) == 2 else 1)
