#!/usr/bin/env python3
"""Finding 79: a request that takes the last finalizer of an object deletes what was made anew under its name, whatever holds
that. Two servers; the transaction in which the first one deletes is held before etcd."""
from cluster import Cluster, say
from etcd_proxy import EtcdProxy, transaction
import threading

PATH = '/api/v1/namespaces/default/configmaps'
WITHOUT = {'metadata': {'finalizers': None}}


def thing(finalizer):
    return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'thing', 'finalizers': [finalizer]}}


with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    one, other = cluster.servers
    old = other.request('POST', PATH, thing('example.com/old'))[1]['metadata']['uid']
    other.request('DELETE', f'{PATH}/thing')
    say('the ConfigMap', old, 'is being deleted, and a finalizer holds it')
    rule = cluster.proxies[0].hold(transaction('/registry/configmaps/default/thing'))
    answers = []
    first = threading.Thread(target=lambda: answers.append(one.request('PATCH', f'{PATH}/thing', WITHOUT)))
    first.start()
    rule.came.wait(30) or exit('the first server deletes nothing')
    say('the first server was asked to take the finalizer away; its deletion is under way to etcd')
    other.request('PATCH', f'{PATH}/thing', WITHOUT)
    say('the second server was asked for the same; the ConfigMap:', other.request('GET', f'{PATH}/thing')[0])
    new = other.request('POST', PATH, thing('example.com/new'))[1]['metadata']['uid']
    say('it was made anew:', new, 'with a finalizer of its own, and nobody asks for its deletion')
    rule.release()
    first.join()
    code, answer = answers[0]
    say('the first request is answered:', code, 'with the UID', answer.get('metadata', {}).get('uid'))
    code, found = other.request('GET', f'{PATH}/thing')
    say('the ConfigMap that was made anew:', code)
    raise SystemExit(0 if code == 404 else 1)
