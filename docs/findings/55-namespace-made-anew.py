#!/usr/bin/env python3
"""Finding 55. A namespace is deleted and made again. One of two apiservers lags, and still has the one in mind that was being deleted: it
refuses the root certificate and the default ServiceAccount of the new one, and their controllers do not try again."""
import sys
import time

from cluster import Cluster, say, until
from etcd_proxy import EtcdProxy
from manager import Manager
from proxy import Proxy

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
CONTROLLERS = ['namespace-controller', 'root-ca-certificate-publisher-controller', 'serviceaccount-controller']
NAMESPACES = '/api/v1/namespaces'
WANTED = ['configmaps/kube-root-ca.crt', 'serviceaccounts/default']

with Cluster(servers=2, proxy=EtcdProxy) as cluster:
    first, second = cluster.servers
    # The balancer of the manager: watches that are open stay where they are.
    balancer = Proxy(first)
    kubeconfig = balancer.kubeconfig(f'{cluster.folder}/kubeconfig')

    def make(name):
        body = {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': name}}
        assert first.request('POST', NAMESPACES, body)[0] == 201

    def lacks(name):
        return [path for path in WANTED if first.request('GET', f'{NAMESPACES}/{name}/{path}')[0] == 404]

    def is_terminating(server):
        found = server.request('GET', f'{NAMESPACES}/again', resourceVersion='0')[1]
        return found.get('status', {}).get('phase') == 'Terminating'

    with Manager(cluster, kubeconfig, CONTROLLERS) as manager:
        make('again')
        until(lambda: not lacks('again'), 60) or sys.exit('nothing is made in a namespace')
        assert first.request('DELETE', f'{NAMESPACES}/again')[0] == 200
        until(lambda: is_terminating(second), 20) or sys.exit('the second apiserver does not hear of the deletion')
        cluster.proxies[1].hold_watches('/registry/namespaces')
        until(lambda: first.request('GET', f'{NAMESPACES}/again')[0] == 404, 60) or sys.exit('the namespace does not go')
        balancer.server = second
        make('again')
        time.sleep(3)
        cluster.proxies[1].release_watches('/registry/namespaces')
        until(lambda: not is_terminating(second), 20) or sys.exit('the second apiserver does not catch up')
        say('the second apiserver has caught up')
        make('other')
        time.sleep(SECONDS)
        say(f'{SECONDS} s later `again` lacks {lacks("again")}, `other` lacks {lacks("other")}')
        label = {'metadata': {'labels': {'touched': 'yes'}}}
        found = lacks('again') and not lacks('other')
        first.request('PATCH', f'{NAMESPACES}/again', label)
        until(lambda: not lacks('again'), 20)
        say(f'once it has a label `again` lacks {lacks("again")}')
        raise SystemExit(0 if found else 1)
