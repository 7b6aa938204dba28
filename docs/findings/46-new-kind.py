#!/usr/bin/env python3
"""Finding 46 with nothing refused, delayed or lost: a budget over the pods of a kind that is new. The mapper of kinds of a controller
manager is made anew every 30 s. Until then no sync of the budget succeeds; the second one is the last. Only the disruption
controller runs."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, make_ready, pod_template
from proxy import write_kubeconfig

PODS, SETS = '/api/v1/namespaces/default/pods', '/apis/apps/v1/namespaces/default/replicasets'
BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
THINGS = '/apis/example.com/v1/namespaces/default/things'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 90


def owner(version, kind, name, uid):
    return [{'apiVersion': version, 'kind': kind, 'name': name, 'uid': uid, 'controller': True}]


with Cluster() as cluster:
    server, = cluster.servers
    kubeconfig = f'{cluster.folder}/kubeconfig'
    write_kubeconfig(kubeconfig, server.port)

    def make(path, body):
        code, made = server.request('POST', path, body)
        assert code == 201, made
        return made

    def make_pods(app, owners):
        for number in range(2):
            template = pod_template({'app': app})
            metadata = {'name': f'{app}-{number}', 'labels': {'app': app}, 'ownerReferences': owners}
            pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': metadata, 'spec': {**template['spec'], 'nodeName': 'n1'}}
            make_ready(server, make(PODS, pod))

    def make_budget(name, app):
        spec = {'selector': {'matchLabels': {'app': app}}, 'maxUnavailable': 1}
        make(BUDGETS, {'apiVersion': 'policy/v1', 'kind': 'PodDisruptionBudget', 'metadata': {'name': name}, 'spec': spec})

    def reason(name):
        conditions = server.request('GET', f'{BUDGETS}/{name}')[1].get('status', {}).get('conditions', [])
        return conditions[0]['reason'] if conditions else None

    def define():
        schema = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
        scale = {'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas'}
        version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema},
                   'subresources': {'status': {}, 'scale': scale}}
        names = {'plural': 'things', 'singular': 'thing', 'kind': 'Thing', 'listKind': 'ThingList'}
        make(DEFINITIONS, {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
                           'metadata': {'name': 'things.example.com'},
                           'spec': {'group': 'example.com', 'scope': 'Namespaced', 'names': names, 'versions': [version]}})
        until(lambda: server.request('GET', THINGS)[0] == 200, 30) or sys.exit('the kind is not served')

    with Manager(cluster, kubeconfig, ['disruption-controller']):
        say('the manager asks for the Scale of something else, and so knows what kinds there are')
        spec = {'replicas': 2, 'selector': {'matchLabels': {'app': 'known'}}, 'template': pod_template({'app': 'known'})}
        gone = owner('apps/v1', 'Deployment', 'gone', '00000000-0000-0000-0000-000000000000')
        known = make(SETS, {'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'spec': spec,
                            'metadata': {'name': 'known', 'ownerReferences': gone}})
        make_pods('known', owner('apps/v1', 'ReplicaSet', 'known', known['metadata']['uid']))
        make_budget('known', 'known')
        until(lambda: reason('known') == 'SufficientPods', 60) or sys.exit('the first budget does not settle')

        say('a kind is defined; once it is served, one object of it, two pods and a budget are made')
        define()
        thing = make(THINGS, {'apiVersion': 'example.com/v1', 'kind': 'Thing', 'metadata': {'name': 'new'}, 'spec': {'replicas': 2}})
        make_pods('new', owner('example.com/v1', 'Thing', 'new', thing['metadata']['uid']))
        make_budget('new', 'new')
        until(lambda: reason('new'), 30)
        say(f'the budget says {reason("new")}')
        time.sleep(SECONDS)
        late = reason('new')
        code, _ = server.request('POST', f'{PODS}/new-0/eviction',
                                 {'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': 'new-0'}})
        say(f'an eviction of one of the pods is answered {code}')
        make_budget('later', 'new')
        until(lambda: reason('later'), 30)
        say(f'{SECONDS} s later it says {late}, and one that is made then says {reason("later")}')
        shown = late == 'SyncFailed' and reason('later') == 'SufficientPods'
        server.request('PATCH', f'{BUDGETS}/new', {'metadata': {'annotations': {'touched': 'true'}}})
        until(lambda: reason('new') == 'SufficientPods', 30)
        say(f'an annotation is written on the first: it says {reason("new")}')
    raise SystemExit(0 if shown else 1)
