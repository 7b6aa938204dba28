"""Deployments, autoscalers and what a metrics API says of their pods, for the scripts beside it."""
import time

from manager import pod_template

DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
AUTOSCALERS = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
PODS = '/api/v1/namespaces/default/pods'
METRICS = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods'
CONTROLLERS = ['deployment-controller', 'replicaset-controller', 'horizontal-pod-autoscaler-controller']


def samples(usage):
    """A PodMetricsList of what pods use, in Mi, by their names."""
    items = [{'metadata': {'name': name, 'namespace': 'default'}, 'timestamp': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
              'window': '30s', 'containers': [{'name': 'c', 'usage': {'memory': f'{mi}Mi'}}]} for name, mi in usage.items()]
    return {'kind': 'PodMetricsList', 'apiVersion': 'metrics.k8s.io/v1beta1', 'metadata': {}, 'items': items}


def post(server, path, body):
    code, answer = server.request('POST', path, body)
    assert code == 201, answer


def make_deployment(server, name, replicas):
    """Each of its pods asks for 100Mi of memory."""
    template = pod_template({'app': name})
    template['spec']['containers'][0]['resources'] = {'requests': {'memory': '100Mi'}}
    post(server, DEPLOYMENTS, {
        'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': name},
        'spec': {'replicas': replicas, 'selector': {'matchLabels': {'app': name}}, 'template': template}})


def make_autoscaler(server, name, of, least, most, behavior=None):
    """Of memory: half of what is asked for is to be used."""
    memory = {'name': 'memory', 'target': {'type': 'Utilization', 'averageUtilization': 50}}
    post(server, AUTOSCALERS, {
        'apiVersion': 'autoscaling/v2', 'kind': 'HorizontalPodAutoscaler', 'metadata': {'name': name},
        'spec': {'scaleTargetRef': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': of}, 'minReplicas': least,
                 'maxReplicas': most, 'metrics': [{'type': 'Resource', 'resource': memory}], 'behavior': behavior or {}}})


def replicas_of(server, name):
    return server.request('GET', f'{DEPLOYMENTS}/{name}')[1]['spec']['replicas']
