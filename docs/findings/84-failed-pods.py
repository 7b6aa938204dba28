#!/usr/bin/env python3
"""Finding 84. The pods of a namespace that goes cannot be deleted: one answer says 500. The controller of namespaces goes on to all else, as
if there were no pods: what guards a pod that runs, here a NetworkPolicy, is gone before it."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, pod_template
from proxy import Proxy, Rule

NAMESPACE = '/api/v1/namespaces/shop'
POLICIES = '/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies'
FAILED = {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': 'InternalError', 'code': 500, 'message': 'a webhook has failed'}


def run(fails):
    """Is the policy gone while the pod runs?"""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def is_there(path):
            return server.request('GET', path)[0] == 200

        def make(path, body):
            code, made = server.request('POST', path, body)
            assert code == 201, made

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['namespace-controller']):
            make('/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'shop'}})
            make(f'{NAMESPACE}/serviceaccounts', {'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'default'}})
            spec = {**pod_template({})['spec'], 'nodeName': 'n1'}
            make(f'{NAMESPACE}/pods', {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'db'}, 'spec': spec})
            server.request('PATCH', f'{NAMESPACE}/pods/db/status', {'status': {'phase': 'Running'}})
            policy = {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'metadata': {'name': 'deny-all'},
                      'spec': {'podSelector': {}, 'policyTypes': ['Ingress']}}
            make(POLICIES, policy)
            if fails:
                proxy.rules.append(Rule('DELETE', '/namespaces/shop/pods', answer=(500, FAILED)))
            assert server.request('DELETE', NAMESPACE)[0] == 200
            until(lambda: not is_there(f'{POLICIES}/deny-all'), 15)
            time.sleep(1)
            pod = server.request('GET', f'{NAMESPACE}/pods/db')[1]
            guarded = is_there(f'{POLICIES}/deny-all')
            say('the pod is', pod.get('status', {}).get('phase', 'gone'),
                'and to go' if pod.get('metadata', {}).get('deletionTimestamp') else 'and to stay',
                '; the policy', 'is there' if guarded else 'is gone')
            return pod.get('status', {}).get('phase') == 'Running' and not guarded


say('each request is answered')
if run(fails=False):
    sys.exit('the policy goes first in any case')
say('the deletion of the pods fails once')
sys.exit(0 if run(fails=True) else 1)
