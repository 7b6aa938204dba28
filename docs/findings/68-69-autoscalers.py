#!/usr/bin/env python3
"""Findings 68 and 69, of the horizontal pod autoscaler; the argument says which.

68: three autoscalers select the pods of one Deployment, and say so. Nothing changes, and they write their status again and again: the
names come in another order. One that is alone and finds no metrics writes nothing.
69: an autoscaler may take one pod away each 15 s, and add one each 90 s to what was there. It has taken three away when the load comes:
what was there 90 s before and one more would be right. `together`, which may take three away at once, gets there."""
import sys
import time

from autoscaling import AUTOSCALERS, CONTROLLERS, METRICS, PODS
from autoscaling import make_autoscaler, make_deployment, replicas_of, samples
from cluster import Cluster, say, until
from manager import Manager, make_ready
from proxy import Proxy

FINDING = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    usage = {}  # Of each pod of a Deployment, in Mi.

    def pods():
        return server.request('GET', PODS)[1]['items']

    def answer(path):
        """Of the pods of the Deployment that the selector names."""
        all = {pod['metadata']['name']: pod['metadata']['labels']['app'] for pod in pods()}
        return samples({name: usage[of] for name, of in all.items() if f'app%3D{of}' in path})
    proxy.answers[METRICS] = answer

    def deployment(name, replicas):
        make_deployment(server, name, replicas)

    def replicas(name):
        return replicas_of(server, name)

    def autoscaler(name, of, most, behavior=None):
        make_autoscaler(server, name, of, 1, most, behavior)

    def run_pods():
        """What kubelets would do."""
        for pod in pods():
            if pod['status']['phase'] == 'Pending':
                make_ready(server, pod)

    def named_in_turn():
        usage.update(shared=50, alone=0)
        for name in usage:
            deployment(name, 2)
        for name in ['first', 'second', 'third']:
            autoscaler(name, 'shared', 4)
        autoscaler('alone', 'alone', 4)
        time.sleep(60)

        def written():
            return {own['metadata']['name']: own['metadata']['resourceVersion']
                    for own in server.request('GET', AUTOSCALERS)[1]['items']}
        counts, before, texts = dict.fromkeys(written(), 0), written(), set()
        for _ in range(360):
            time.sleep(0.5)
            now = written()
            for name in now:
                counts[name] += now[name] != before[name]
            before = now
            for condition in server.request('GET', f'{AUTOSCALERS}/first')[1]['status']['conditions']:
                texts.add(condition['message'])
        say(f'68: times that a status was written within 3 min: {counts}')
        for text in sorted(texts):
            say('68: first says:', text)
        return all(counts[name] > 3 for name in ['first', 'second', 'third']) and not counts['alone']

    def policy(value, period):
        return {'policies': [{'type': 'Pods', 'value': value, 'periodSeconds': period}]}

    def forgotten_events():
        limits = {'apart': policy(1, 15), 'together': policy(3, 15)}
        usage.update(dict.fromkeys(limits, 50))
        for name, down in limits.items():
            deployment(name, 8)
        until(lambda: len(pods()) == 16, 60)
        run_pods()
        for name, down in limits.items():
            autoscaler(name, name, 20, {'scaleUp': policy(1, 90), 'scaleDown': {**down, 'stabilizationWindowSeconds': 0}})
        time.sleep(20)
        usage['apart'] = 1
        until(lambda: replicas('apart') == 6, 90) or sys.exit('nothing is scaled down')
        usage['together'] = 1
        until(lambda: replicas('apart') == 5 and replicas('together') == 5, 90) or sys.exit('nothing is scaled down')
        usage.update(dict.fromkeys(limits, 400))
        time.sleep(2)
        run_pods()
        time.sleep(30)
        found = {name: replicas(name) for name in limits}
        say(f'69: of 8, less 3, scaled up within 30 s to {found}')
        return found['together'] == 9 and found['apart'] < 9

    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), CONTROLLERS):
        shown = {'68': named_in_turn, '69': forgotten_events}[FINDING]()
        raise SystemExit(0 if shown else 1)
