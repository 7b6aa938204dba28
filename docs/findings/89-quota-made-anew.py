#!/usr/bin/env python3
"""Finding 89: a quota is deleted and made anew with what it allowed before, and the controller of quotas, whose watch has a gap, sees one in the place of the
other. It compares what they allow, and does nothing: the status of the new one is empty, so that it binds nobody until all are counted again."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager
from proxy import Proxy, Rule

NAMESPACE = '/api/v1/namespaces/default'
QUOTAS = f'{NAMESPACE}/resourcequotas'
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
GONE = {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'reason': 'Expired', 'code': 410}
QUOTA = {'apiVersion': 'v1', 'kind': 'ResourceQuota', 'metadata': {'name': 'few'}, 'spec': {'hard': {'count/configmaps': '2'}}}


def made(misses):
    """How many of five ConfigMaps are made, of which two are allowed."""
    with Cluster() as cluster:
        server, = cluster.servers
        proxy = Proxy(server)

        def allows():
            return server.request('GET', f'{QUOTAS}/few')[1].get('status', {}).get('hard')

        with Manager(cluster, proxy.kubeconfig(f'{cluster.folder}/kubeconfig'), ['resourcequota-controller']):
            assert server.request('POST', QUOTAS, QUOTA)[0] == 201
            until(allows, 60) or sys.exit('the quota is not counted')
            time.sleep(2)
            if misses:
                proxy.hold_watches('/api/v1/resourcequotas')
            assert server.request('DELETE', f'{QUOTAS}/few')[0] == 200
            assert server.request('POST', QUOTAS, QUOTA)[0] == 201
            if misses:
                proxy.rules.append(Rule('GET', '/api/v1/resourcequotas?allowWatchBookmarks', answer=(410, GONE)))
                time.sleep(1)
                proxy.cut_watches('/api/v1/resourcequotas')
            time.sleep(SECONDS)
            says = allows()
            config_map = {'apiVersion': 'v1', 'kind': 'ConfigMap'}
            posts = [server.request('POST', f'{NAMESPACE}/configmaps', {**config_map, 'metadata': {'name': f'c{n}'}}) for n in range(5)]
            count = sum(code == 201 for code, _ in posts)
            seen = 'missed' if misses else 'seen'
            say(f'that it was deleted is {seen}: {SECONDS} s later its status allows {says}, and {count} of 5 ConfigMaps are made')
            return count


seen, missed = made(False), made(True)
raise SystemExit(0 if seen == 2 and missed == 5 else 1)
