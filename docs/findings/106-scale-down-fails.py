#!/usr/bin/env python3
"""Finding 106: in the middle of a rollout a webhook for ReplicaSets cannot be called for some seconds. The controller cannot scale the old set down, and nobody
is told: the rollout stands still when the webhook is long gone, until its deadline (10 minutes, unless the Deployment says otherwise)."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import write_kubeconfig

DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
SETS = '/apis/apps/v1/namespaces/default/replicasets'
PODS = '/api/v1/namespaces/default/pods'
WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
# How long the rollout is looked at after that.
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

# Nobody listens there.
WEBHOOK = {
    'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': 'ValidatingWebhookConfiguration', 'metadata': {'name': 'down'},
    'webhooks': [{
        'name': 'down.example.com', 'clientConfig': {'url': 'https://127.0.0.1:1/'}, 'failurePolicy': 'Fail', 'sideEffects': 'None',
        'admissionReviewVersions': ['v1'], 'timeoutSeconds': 1,
        'rules': [{'apiGroups': ['apps'], 'apiVersions': ['v1'], 'operations': ['UPDATE'], 'resources': ['replicasets']}]}]}

with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)
    with Manager(cluster, kubeconfig, ['deployment-controller', 'replicaset-controller']):
        def listed(path, of):
            return server.request('GET', f'{path}?labelSelector=app%3D{of}')[1]['items']

        def sizes(of):
            """What the sets ask for, the oldest first."""
            return [own['spec']['replicas'] for own in sorted(listed(SETS, of), key=lambda own: int(own['metadata']['annotations'][
                'deployment.kubernetes.io/revision']))]

        def roll_out(name, is_down):
            labels = {'app': name}
            code, body = server.request('POST', DEPLOYMENTS, {
                'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
                'spec': {'replicas': 1, 'selector': {'matchLabels': labels}, 'template': pod_template(labels)}})
            assert code == 201, body
            until(lambda: len(listed(PODS, name)) == 1, 60) or sys.exit('there is no pod')
            first, = listed(PODS, name)
            make_ready(server, first)
            status = f'{DEPLOYMENTS}/{name}'
            until(lambda: server.request('GET', status)[1]['status'].get('availableReplicas') == 1, 30) or sys.exit('it is not available')
            server.request('PATCH', status, {'spec': {'template': {'metadata': {'annotations': {'version': '2'}}}}})
            until(lambda: len(listed(PODS, name)) == 2, 30) or sys.exit('there is no new pod')
            if is_down:
                assert server.request('POST', WEBHOOKS, WEBHOOK)[0] == 201
                # Servers hear of it by a watch.
                time.sleep(3)
            for pod in listed(PODS, name):
                if pod['metadata']['uid'] != first['metadata']['uid']:
                    make_ready(server, pod)
            time.sleep(5)
            if is_down:
                assert server.request('DELETE', f'{WEBHOOKS}/down')[0] == 200
            time.sleep(SECONDS)
            now = sizes(name)
            say(f'{name}: {SECONDS} s later the old set asks for {now[0]} pods, and the new one for {now[1]}')
            return now

        free, held = roll_out('free', False), roll_out('held', True)
        server.request('PATCH', f'{DEPLOYMENTS}/held', {'metadata': {'annotations': {'look': 'again'}}})
        brought_on = until(lambda: sizes('held') == [0, 1], 30)
        say(f'held: {"an annotation brings it on" if brought_on else "an annotation does not bring it on"}')
        raise SystemExit(0 if free == [0, 1] and held == [1, 1] and brought_on else 1)
