#!/usr/bin/env python3
"""Findings 70 to 73, of the controller of tokens of ServiceAccounts; the argument says which.

70: the account `again` is made anew, and a Secret asks for a token of it, while the watch of accounts stands still. The Secret gets a
token of the old account, and is deleted when the watch goes on. That of `other`, which stays, is not.
71: the accounts `again` and `gone` are deleted while the watch is broken, and `again` is made anew. The Secret of `gone` goes, that of
`again` stays with a token of the old account.
72: two Secrets to which their accounts refer are deleted, that of `unseen` while the watch is broken. `unseen` refers to it for ever.
73: two Secrets are deleted to which their accounts refer. The PUT that takes the reference from `refused` is refused once with 503."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

CORE = '/api/v1/namespaces/default'
FINDING = sys.argv[1] if len(sys.argv) > 1 else sys.exit(__doc__)

with Cluster() as cluster:
    server, = cluster.servers
    proxy = Proxy(server)

    def account(name):
        code, body = server.request('POST', f'{CORE}/serviceaccounts', {
            'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': name}})
        assert code == 201, body
        return body['metadata']['uid']

    def delete(path):
        assert server.request('DELETE', f'{CORE}/{path}')[0] == 200

    def secret(of):
        """Asks for a token of the account."""
        code, body = server.request('POST', f'{CORE}/secrets', {
            'apiVersion': 'v1', 'kind': 'Secret', 'type': 'kubernetes.io/service-account-token',
            'metadata': {'name': f'token-{of}', 'annotations': {'kubernetes.io/service-account.name': of}}})
        assert code == 201, body

    def uid_in(of):
        """The UID of the account that the Secret has a token of; nothing if it has none, or is not there."""
        code, body = server.request('GET', f'{CORE}/secrets/token-{of}')
        return body['metadata']['annotations'].get('kubernetes.io/service-account.uid') if code == 200 else None

    def refer(of):
        body = {'secrets': [{'name': f'token-{of}'}]}
        assert server.request('PATCH', f'{CORE}/serviceaccounts/{of}', body)[0] == 200

    def refers(of):
        return bool(server.request('GET', f'{CORE}/serviceaccounts/{of}')[1].get('secrets'))

    def have_tokens(*names):
        until(lambda: all(uid_in(name) for name in names), 60) or sys.exit('there are no tokens')

    def break_watch(kind, meanwhile):
        proxy.hold_watches(f'/{kind}?')
        meanwhile()
        # A server that begins anew cannot tell by its watch cache what was before.
        server.process.kill()
        server.process.wait()
        server.start()
        cluster.wait_until_ready(server)
        proxy.cut_watches(f'/{kind}?')

    def filled_for_the_old_one():
        for name in ['again', 'other']:
            account(name)
        time.sleep(3)
        flow = proxy.hold_watches('/serviceaccounts?')
        delete('serviceaccounts/again')
        new = account('again')
        for name in ['again', 'other']:
            secret(name)
        have_tokens('again', 'other')
        is_old = uid_in('again') != new
        proxy.flow.clear()
        flow.set()
        gone = until(lambda: uid_in('again') is None, 30)
        say(f'70: the token was of the account before: {is_old}; then the Secret was gone: {bool(gone)}; '
            f'that of `other` is there: {bool(uid_in("other"))}')
        return is_old and gone and uid_in('other')

    def stays_for_the_old_one():
        for name in ['again', 'gone']:
            account(name)
            secret(name)
        have_tokens('again', 'gone')
        new = []

        def meanwhile():
            for name in ['again', 'gone']:
                delete(f'serviceaccounts/{name}')
            new.append(account('again'))
        break_watch('serviceaccounts', meanwhile)
        went = until(lambda: uid_in('gone') is None, 120)
        time.sleep(60)
        say(f'71: the Secret of `gone` went: {bool(went)}; 60 s later that of `again` is there: {bool(uid_in("again"))}, '
            f'with the UID of the account that is there: {uid_in("again") in new}')
        return went and uid_in('again') and uid_in('again') not in new

    def refers_for_ever():
        for name in ['unseen', 'seen']:
            account(name)
            secret(name)
            refer(name)
        have_tokens('unseen', 'seen')
        break_watch('secrets', lambda: delete('secrets/token-unseen'))
        time.sleep(30)
        delete('secrets/token-seen')
        until(lambda: not refers('seen'), 60)
        time.sleep(60)
        say(f'72: a minute later `unseen` refers to its Secret: {refers("unseen")}; `seen`: {refers("seen")}')
        for line in manager.log('Unexpected object type')[:1]:
            say('72: the manager says', line[-150:])
        return refers('unseen') and not refers('seen')

    def refused_once():
        for name in ['refused', 'plain']:
            account(name)
            secret(name)
            refer(name)
        have_tokens('refused', 'plain')
        time.sleep(3)
        rule = Rule('PUT', 'serviceaccounts/refused', refuse=True)
        proxy.rules.append(rule)
        for name in ['refused', 'plain']:
            delete(f'secrets/token-{name}')
        until(lambda: not refers('plain'), 60)
        time.sleep(60)
        say(f'73: a minute later `refused` refers to its Secret: {refers("refused")}, `plain`: {refers("plain")}')
        return rule.times == 0 and refers('refused') and not refers('plain')

    kubeconfig = proxy.kubeconfig(f'{cluster.folder}/kubeconfig')
    flags = [f'--service-account-private-key-file={server.folder}/certs/apiserver.key']
    with Manager(cluster, kubeconfig, ['serviceaccount-token-controller'], flags=flags) as manager:
        shown = {'70': filled_for_the_old_one, '71': stays_for_the_old_one, '72': refers_for_ever, '73': refused_once}[FINDING]()
        raise SystemExit(0 if shown else 1)
