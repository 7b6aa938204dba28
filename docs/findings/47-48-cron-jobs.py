#!/usr/bin/env python3
"""Findings 47 and 48. 47: a CronJob is deleted without its Jobs and made again; the name of its next Job is taken by one of these.
The controller does not look at it again. 48: a CronJob is suspended over two times of its schedule that lie a minute apart, and
resumed two minutes later. It does not run; one that has only the later of these times does."""
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy

CRON_JOBS, JOBS = '/apis/batch/v1/namespaces/default/cronjobs', '/apis/batch/v1/namespaces/default/jobs'


def cron_job(name, schedule, **spec):
    template = pod_template({'app': name})
    template['spec']['restartPolicy'] = 'Never'
    return {'apiVersion': 'batch/v1', 'kind': 'CronJob', 'metadata': {'name': name},
            'spec': {'schedule': schedule, 'jobTemplate': {'spec': {'template': template}}, **spec}}


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = Proxy(server).kubeconfig(f'{cluster.folder}/kubeconfig')

    def make(*args, **spec):
        assert server.request('POST', CRON_JOBS, cron_job(*args, **spec))[0] == 201

    def last(name):
        return server.request('GET', f'{CRON_JOBS}/{name}')[1].get('status', {}).get('lastScheduleTime')

    def jobs():
        return [j['metadata']['name'] for j in server.request('GET', JOBS)[1]['items']]
    with Manager(cluster, kubeconfig, ['cronjob-controller', 'garbage-collector-controller']) as manager:
        until(lambda: manager.log('Starting cronjob controller'), 60)
        until(lambda: 3 < time.time() % 60 < 6, 70)
        minute = int(time.time() // 60 % 60)
        first, second = (minute + 1) % 60, (minute + 2) % 60
        make('uneven', f'{first},{second} * * * *', suspend=True)
        make('even', f'{second} * * * *', suspend=True)
        begin = time.time()
        make('again', '@every 20s')
        until(lambda: last('again'), 40)
        say('47: made, and has run:', jobs())
        options = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Orphan'}
        server.request('DELETE', f'{CRON_JOBS}/again', options)
        until(lambda: server.request('GET', f'{CRON_JOBS}/again')[0] == 404, 20)
        make('again', '@every 20s')
        say(f'47: deleted without its Job and made again, {time.time() - begin:.0f} s after it was made at first')
        time.sleep(120)
        is_stuck = not last('again')
        say(f'47: 120 s later it ran last for {last("again")}; Jobs: {jobs()}')
        server.request('PATCH', f'{CRON_JOBS}/again', {'metadata': {'annotations': {'look': 'again'}}})
        woken = until(lambda: last('again'), 30)
        say(f'47: annotated, it runs: {woken}')
        time.sleep(max(0, begin + 250 - time.time()))
        for name in ['uneven', 'even']:
            server.request('PATCH', f'{CRON_JOBS}/{name}', {'spec': {'suspend': False}})
        say(f'48: resumed, {time.time() - begin:.0f} s after they were made')
        time.sleep(30)
        say(f'48: 30 s later uneven ran last for {last("uneven")}, even for {last("even")}')
        raise SystemExit(0 if is_stuck and woken and last('even') and not last('uneven') else 1)
