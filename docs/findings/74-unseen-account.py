#!/usr/bin/env python3
"""Finding 74: a namespace is made while the watches of accounts and ConfigMaps stand still. The manager makes its default account and its
root certificate, somebody deletes them, and the watches break before they show either. Nobody makes them again; a label on the
namespace does. In `other` both are deleted when the watches are there again, and are made again at once."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

CONTROLLERS = ['serviceaccount-controller', 'root-ca-certificate-publisher-controller']
WHAT = ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)

    def namespace(name):
        code, body = server.request('POST', '/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': name}})
        assert code == 201, body

    def has(name):
        return [what for what in WHAT if server.request('GET', f'/api/v1/namespaces/{name}/{what}')[0] == 200]

    def delete(name):
        for what in WHAT:
            assert server.request('DELETE', f'/api/v1/namespaces/{name}/{what}')[0] == 200

    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')
    flags = [f'--root-ca-file={server.folder}/certs/apiserver.crt']
    with Manager(cluster, kubeconfig, CONTROLLERS, flags=flags):
        namespace('other')
        until(lambda: has('other') == WHAT, 60) or sys.exit('the namespace is not furnished')
        time.sleep(3)
        held = ['/serviceaccounts?', '/configmaps?']
        for text in held:
            proxy.hold_watches(text)
        namespace('unseen')
        until(lambda: has('unseen') == WHAT, 60) or sys.exit('the namespace is not furnished')
        delete('unseen')
        # The server's cache of these does not reach back so far, as where there are many writes; that of namespaces does.
        expired = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure', 'reason': 'Expired', 'code': 410,
                   'message': 'too old resource version'}
        for text in held:
            proxy.rules.append(Rule('GET', text, answer=(410, expired)))
            proxy.cut_watches(text)
        time.sleep(30)
        delete('other')
        until(lambda: has('other') == WHAT, 60)
        time.sleep(SECONDS)
        unseen, other = has('unseen'), has('other')
        say(f'74: {SECONDS} s later `unseen` has {unseen}, `other` has {other}')
        server.request('PATCH', '/api/v1/namespaces/unseen', {'metadata': {'labels': {'look': 'again'}}})
        mended = until(lambda: has('unseen') == WHAT, 20)
        say(f'after a label on it: {has("unseen")}')
        raise SystemExit(0 if not unseen and other == WHAT and mended else 1)
