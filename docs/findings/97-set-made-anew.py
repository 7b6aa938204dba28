#!/usr/bin/env python3
"""Finding 97: a StatefulSet is deleted with its pods and made anew while the old pod ends. Nobody tells the new set when that has ended: it tries again after
twice the time that it has waited, up to 1000 s. The control waits for a pod of its own that ends."""
import sys
import time

from cluster import Cluster, say, until
from manager import Manager, stateful_set
from proxy import write_kubeconfig

SETS, POD = '/apis/apps/v1/namespaces/default/statefulsets', '/api/v1/namespaces/default/pods/web-0'
# Between two attempts: some 82 s and 164 s after the first.
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 90


def waits(is_made_anew):
    """So many seconds after the old pod has ended there is a new one."""
    with Cluster() as cluster:
        server, = cluster.servers
        kubeconfig = f'{cluster.folder}/kubeconfig'
        write_kubeconfig(kubeconfig, server.port)

        def pod():
            code, found = server.request('GET', POD)
            return found if code == 200 else None

        with Manager(cluster, kubeconfig, ['statefulset-controller', 'garbage-collector-controller']):
            assert server.request('POST', SETS, stateful_set('web'))[0] == 201
            old = until(pod, 60) or sys.exit('there is no pod')
            to = {'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': 'web-0'}, 'target': {'kind': 'Node', 'name': 'n1'}}
            assert server.request('POST', f'{POD}/binding', to)[0] == 201
            if is_made_anew:
                assert server.request('DELETE', f'{SETS}/web')[0] == 200
                until(lambda: pod()['metadata'].get('deletionTimestamp'), 60) or sys.exit('the pod does not go')
                assert server.request('POST', SETS, stateful_set('web'))[0] == 201
            else:
                assert server.request('DELETE', POD)[0] == 200
            time.sleep(SECONDS)
            now = {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'gracePeriodSeconds': 0}
            server.request('DELETE', POD, now)
            began = time.time()
            until(lambda: (pod() or old)['metadata']['uid'] != old['metadata']['uid'], 2 * SECONDS) or sys.exit('there is no new pod')
            waited = time.time() - began
            whose = 'the set before it' if is_made_anew else 'its own'
            say(f'a pod of {whose} ends after {SECONDS} s: the set makes a new one {waited:.0f} s later')
            return waited


own, other = waits(False), waits(True)
raise SystemExit(0 if own < 5 and other > 30 else 1)
