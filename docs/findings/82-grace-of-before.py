#!/usr/bin/env python3
"""Finding 82: a DELETE decides by the pod that it finds first how long it has, and keeps to that when the pod was bound since,
or is another one. Two servers; the transaction in which the first one marks the pod is held before etcd."""
from cluster import Cluster, say
from etcd_proxy import EtcdProxy, transaction
import threading

PATH = '/api/v1/namespaces/default/pods'


def pod(name):
    spec = {'terminationGracePeriodSeconds': 30, 'containers': [{'name': 'main', 'image': 'example.com/main'}]}
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': name}, 'spec': spec}


def bind(server, name):
    target = {'apiVersion': 'v1', 'kind': 'Node', 'name': 'n1'}
    binding = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name}, 'target': target}
    return server.request('POST', f'{PATH}/{name}/binding', binding)[0]


def run(server, name):
    return server.request('PATCH', f'{PATH}/{name}/status', {'status': {'phase': 'Running'}})[0]


def left(server, name):
    code, found = server.request('GET', f'{PATH}/{name}')
    return code, found.get('metadata', {}).get('deletionGracePeriodSeconds')


with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    one, other = cluster.servers
    for name in ('plain', 'bound'):
        say('the pod', name, 'is made:', other.request('POST', PATH, pod(name))[0])
    say('plain is bound:', bind(other, 'plain'), 'runs:', run(other, 'plain'))
    say('plain is deleted:', one.request('DELETE', f'{PATH}/plain')[0], 'and is there, with seconds left:', left(other, 'plain'))
    rule = cluster.proxies[0].hold(transaction('/registry/pods/default/bound'))
    answers = []
    first = threading.Thread(target=lambda: answers.append(one.request('DELETE', f'{PATH}/bound')))
    first.start()
    rule.came.wait(30) or exit('the first server marks nothing')
    say('the first server was asked to delete the other one, which nobody has bound yet; what it writes is under way to etcd')
    say('bound is bound:', bind(other, 'bound'), 'runs:', run(other, 'bound'))
    rule.release()
    first.join()
    code, answer = answers[0]
    say('the first request is answered:', code, 'of the Node', answer.get('spec', {}).get('nodeName'),
        answer.get('status', {}).get('phase'))
    code, seconds = left(other, 'bound')
    say('the pod that runs:', code, 'seconds left:', seconds)
    raise SystemExit(0 if code == 404 else 1)
