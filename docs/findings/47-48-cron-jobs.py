#!/usr/bin/env python3
"""Findings 47 and 48. 47: a CronJob is suspended over two times of its schedule that lie a minute apart, and resumed two minutes
later; it does not run, and one that has only the later time does. 48: a CronJob with a constant delay that is longer than its
starting deadline never runs."""
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import write_kubeconfig

CRON_JOBS = '/apis/batch/v1/namespaces/default/cronjobs'


def cron_job(name, schedule, **spec):
    template = pod_template({'app': name})
    template['spec']['restartPolicy'] = 'Never'
    return {'apiVersion': 'batch/v1', 'kind': 'CronJob', 'metadata': {'name': name},
            'spec': {'schedule': schedule, 'jobTemplate': {'spec': {'template': template}}, **spec}}


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def make(*args, **spec):
        assert server.request('POST', CRON_JOBS, cron_job(*args, **spec))[0] == 201

    def change(name, **what):
        return server.request('PATCH', f'{CRON_JOBS}/{name}', what)[0]

    def last(name):
        return server.request('GET', f'{CRON_JOBS}/{name}')[1].get('status', {}).get('lastScheduleTime')
    with Manager(cluster, kubeconfig, ['cronjob-controller']) as manager:
        until(lambda: manager.log('Starting cronjob controller'), 60)
        until(lambda: 3 < time.time() % 60 < 6, 70)
        minute = int(time.time() // 60 % 60)
        first, second = (minute + 1) % 60, (minute + 2) % 60
        begin = time.time()
        make('uneven', f'{first},{second} * * * *', suspend=True)
        make('even', f'{second} * * * *', suspend=True)
        make('late', '@every 30s', startingDeadlineSeconds=20)
        make('timely', '@every 30s', startingDeadlineSeconds=40)
        time.sleep(max(0, begin + 130 - time.time()))
        is_late = not last('late') and last('timely')
        say(f'48: after {time.time() - begin:.0f} s late ran last for {last("late")}, timely for {last("timely")}')
        time.sleep(max(0, begin + 245 - time.time()))
        for name in ['uneven', 'even']:
            change(name, spec={'suspend': False})
        say(f'47: resumed, {time.time() - begin:.0f} s after they were made')
        time.sleep(30)
        say(f'47: 30 s later uneven ran last for {last("uneven")}, even for {last("even")}')
        is_missed = last('even') and not last('uneven')
        raise SystemExit(0 if is_late and is_missed else 1)
