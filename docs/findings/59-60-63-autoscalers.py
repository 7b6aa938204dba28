#!/usr/bin/env python3
"""Findings 59, 60 and 63, of the horizontal pod autoscaler; the argument says which. The proxy is the metrics API as well.

59: the PUT of the scale of `held` stands still until the Deployment is scaled to 0, which turns autoscaling off. It is refused, tried
again, and the Deployment has replicas. `free`, which was scaled to 0 before the autoscaler came, has none.
60: the autoscaler `again` is made anew under its name after its Deployment was scaled up by hand, and `other` under another name. Both
are to wait for their window of 60 s before they scale down.
63: the metrics API has samples of three pods of each Deployment, and none of the fourth. Of `haunted` it also has six samples of pods
that are gone. The three use four times what they are to use, so that 12 replicas are right."""
import sys
import time

from autoscaling import AUTOSCALERS, CONTROLLERS, DEPLOYMENTS, METRICS, PODS
from autoscaling import make_autoscaler, make_deployment, replicas_of, samples
from cluster import Cluster, say, until
from manager import Manager, make_ready
from proxy import Proxy, Rule

WINDOW = 60
FINDING = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)
    usage = {}  # Of each pod: the Deployment that it is of, and Mi.
    looks = []  # The Deployments whose metrics were asked for.

    def answer(path):
        """Of the pods of the Deployment that the selector names."""
        looks.append(path.split('app%3D')[1])
        return samples({name: mi for name, (of, mi) in usage.items() if f'app%3D{of}' in path})
    proxy.answers[METRICS] = answer

    def deployment(name, replicas):
        make_deployment(server, name, replicas)

    def replicas(name):
        return replicas_of(server, name)

    def scale(name, replicas):
        assert server.request('PATCH', f'{DEPLOYMENTS}/{name}', {'spec': {'replicas': replicas}})[0] == 200

    def autoscaler(name, of, least, most):
        """It may scale by many pods at once."""
        fast = {'policies': [{'type': 'Pods', 'value': 100, 'periodSeconds': 15}]}
        behavior = {'scaleUp': fast, 'scaleDown': {**fast, 'stabilizationWindowSeconds': WINDOW}}
        make_autoscaler(server, name, of, least, most, behavior)

    def run_pods(of, many):
        """What kubelets would do; the names of the pods."""
        def pods():
            return [pod for pod in server.request('GET', PODS)[1]['items'] if pod['metadata']['labels']['app'] == of]
        until(lambda: len(pods()) == many, 60) or sys.exit(f'there are no {many} pods of {of}')
        for pod in pods():
            make_ready(server, pod)
        return [pod['metadata']['name'] for pod in pods()]

    def scaled_to_zero():
        deployment('held', 1)
        deployment('free', 1)
        scale('free', 0)
        rule = Rule('PUT', 'deployments/held/scale', before=lambda: scale('held', 0))
        proxy.rules.append(rule)
        for name in ['held', 'free']:
            autoscaler(name, name, 3, 6)
        until(lambda: rule.times == 0, 60) or sys.exit('the autoscaler does not write')
        time.sleep(20)
        held, free = replicas('held'), replicas('free')
        say(f'59: 20 s after both were scaled to 0 `held` has {held} replicas, `free` has {free}')
        return held == 3 and free == 0

    def made_anew():
        for name in ['again', 'other']:
            deployment(name, 2)
            usage.update({pod: (name, 10) for pod in run_pods(name, 2)})
            autoscaler(name, name, 1, 8)
        until(lambda: replicas('again') == replicas('other') == 1, WINDOW + 60) or sys.exit('they are not scaled down')
        say('both were scaled down to 1; 60 s more')
        time.sleep(WINDOW)
        # Autoscalers look every 15 s. One that looks while it is gone forgets.
        looks.clear()
        until(lambda: 'again' in looks, 30) or sys.exit('the autoscaler does not look')
        for name, next_name in [('again', 'again'), ('other', 'anew')]:
            assert server.request('DELETE', f'{AUTOSCALERS}/{name}')[0] == 200
            scale(name, 4)
            autoscaler(next_name, name, 1, 8)
        begin, down = time.time(), {}
        while time.time() < begin + 2 * WINDOW and len(down) < 2:
            for name in ['again', 'other']:
                if name not in down and replicas(name) < 4:
                    down[name] = time.time() - begin
            time.sleep(0.2)
        say('60: scaled down from 4 after: ' + ', '.join(f'`{name}` {seconds:.0f} s' for name, seconds in down.items()))
        return down.get('again', 999) < WINDOW / 2 and down.get('other', 999) >= WINDOW - 1

    def samples_of_gone_pods():
        for name in ['haunted', 'plain']:
            deployment(name, 4)
            usage.update({pod: (name, 200) for pod in run_pods(name, 4)[:3]})
        usage.update({f'gone-{number}': ('haunted', 200) for number in range(6)})
        for name in ['haunted', 'plain']:
            autoscaler(name, name, 1, 90)
        found = {}
        for name in ['haunted', 'plain']:
            found[name] = until(lambda: replicas(name) != 4 and replicas(name), 60)
        say(f'63: it asks for {found}')
        return found['plain'] == 12 and found['haunted'] > 12

    with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), CONTROLLERS):
        shown = {'59': scaled_to_zero, '60': made_anew, '63': samples_of_gone_pods}[FINDING]()
        raise SystemExit(0 if shown else 1)
