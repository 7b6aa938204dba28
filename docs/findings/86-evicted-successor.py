#!/usr/bin/env python3
"""Finding 86: a pod that has failed is evicted: no budget guards it any more. Before its server has written that, a StatefulSet would have put
another one in its place, which is ready and guarded by a budget that allows nothing. It goes instead: neither the update of the eviction nor
its deletion says which pod is meant. Two servers; the first one's transaction is held before etcd."""
import threading

from cluster import Cluster, say, until
from etcd_proxy import EtcdProxy, transaction

NAMESPACE = '/api/v1/namespaces/default'
PODS, BUDGETS = f'{NAMESPACE}/pods', '/apis/policy/v1/namespaces/default/poddisruptionbudgets'


def make(server, phase):
    spec = {'containers': [{'name': 'main', 'image': 'example.com/main'}], 'nodeName': 'n1'}
    pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'web-0', 'labels': {'app': 'web'}}, 'spec': spec}
    code, made = server.request('POST', PODS, pod)
    assert code == 201, made
    ready = {'type': 'Ready', 'status': 'True' if phase == 'Running' else 'False'}
    assert server.request('PATCH', f'{PODS}/web-0/status', {'status': {'phase': phase, 'conditions': [ready]}})[0] == 200
    return made['metadata']['uid']


def remove(server):
    server.request('DELETE', f'{PODS}/web-0', {'apiVersion': 'v1', 'kind': 'DeleteOptions', 'gracePeriodSeconds': 0})
    until(lambda: server.request('GET', f'{PODS}/web-0')[0] == 404, 20)


def evict(server):
    eviction = {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': 'web-0', 'namespace': 'default'}}
    return server.request('POST', f'{PODS}/web-0/eviction', eviction)


with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    one, other = cluster.servers
    budget = {'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'metadata': {'name': 'web'},
              'spec': {'minAvailable': 1, 'selector': {'matchLabels': {'app': 'web'}}}}
    assert other.request('POST', BUDGETS, budget)[0] == 201
    status = {'observedGeneration': 1, 'disruptionsAllowed': 0, 'currentHealthy': 1, 'desiredHealthy': 1, 'expectedPods': 1}
    assert other.request('PATCH', f'{BUDGETS}/web/status', {'status': status})[0] == 200
    make(other, 'Running')
    say('a pod that is ready is evicted:', evict(one)[0], ', as the budget says')
    remove(other)
    old = make(other, 'Failed')
    rule = cluster.proxies[0].hold(transaction('/registry/pods/default/web-0'))
    answers = []
    first = threading.Thread(target=lambda: answers.append(evict(one)[0]))
    first.start()
    rule.came.wait(30) or exit('the first server writes nothing')
    say('the first server was asked to evict a pod that has failed; what it writes is under way to etcd')
    remove(other)
    new = make(other, 'Running')
    say('in its place there is another one, which is ready')
    rule.release()
    first.join()
    code, found = other.request('GET', f'{PODS}/web-0')
    goes = found.get('metadata', {}).get('deletionTimestamp')
    reasons = [c.get('reason') for c in found.get('status', {}).get('conditions', []) if c['type'] == 'DisruptionTarget']
    say('the eviction is answered:', answers[0], '; the pod that is ready:', code, 'to go' if goes else 'to stay', *reasons)
    assert old != new
    raise SystemExit(0 if found.get('metadata', {}).get('uid') == new and goes else 1)
