"""A kube-controller-manager with some controllers, for the scripts beside it."""
import subprocess

from cluster import program


class Manager:
    def __init__(self, cluster, kubeconfig, controllers, verbosity=4, name='manager', flags=()):
        self.log_path = f'{cluster.folder}/{name}.log'
        log = open(self.log_path, 'wb')
        self.process = subprocess.Popen(
            [program('kube-controller-manager'), f'--kubeconfig={kubeconfig}', '--leader-elect=false',
             '--secure-port=0', f'--controllers={",".join(controllers)}', f'-v={verbosity}',
             # Texts that a script can read.
             '--kube-api-content-type=application/json', '--kube-api-qps=200', '--kube-api-burst=400', *flags],
            stdout=log, stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def log(self, *words):
        with open(self.log_path, errors='replace') as lines:
            return [line.strip() for line in lines if any(word in line for word in words)]


def pod_template(labels):
    return {'metadata': {'labels': labels}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}


def stateful_set(name, claims=(), **spec):
    labels = {'app': name}
    claim = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}
    return {'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'metadata': {'name': name},
            'spec': {'replicas': 1, 'serviceName': name, 'selector': {'matchLabels': labels}, 'template': pod_template(labels),
                     'volumeClaimTemplates': [{'metadata': {'name': c}, 'spec': claim} for c in claims], **spec}}


def make_ready(server, pod):
    """What a kubelet would say of a pod that runs."""
    now = pod['metadata']['creationTimestamp']
    ready = {'type': 'Ready', 'status': 'True', 'lastTransitionTime': now}
    path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status"
    return server.request('PATCH', path, {'status': {'phase': 'Running', 'conditions': [ready]}})


def job(name, **spec):
    template = pod_template({'app': name})
    template['spec']['restartPolicy'] = 'Never'
    return {'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': name}, 'spec': {'template': template, **spec}}


def is_tracked(pod):
    """Does a Job hold the pod until it has counted it?"""
    return 'batch.kubernetes.io/job-tracking' in pod['metadata'].get('finalizers', [])
