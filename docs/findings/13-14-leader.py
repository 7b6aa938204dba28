#!/usr/bin/env python3
"""Findings 13 and 14: kube-schedulers that elect a leader, each behind a relay that holds requests or answers.

13: the answer to a renewal is 3 s late, then the leader is cut off. Another one leads; the cut ends, and the old leader frees
the lock of its successor. 14: the answer is 4.6 s late, then the leader is cut off: it leads on when another one does."""
import os
import socket
import subprocess
import sys
import threading
import time

from cluster import Cluster, program, say, until
from proxy import write_kubeconfig

FINDING = sys.argv[1] if len(sys.argv) > 1 else '13'
LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler'


class Relay:
    """Passes bytes on; each direction waits while its Event is not set."""

    def __init__(self, to):
        self.requests, self.answers = threading.Event(), threading.Event()
        self.requests.set()
        self.answers.set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(to,), daemon=True).start()

    def accept(self, to):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(('127.0.0.1', to))
            for source, sink, gate in ((client, server, self.requests), (server, client, self.answers)):
                threading.Thread(target=self.pump, args=(source, sink, gate), daemon=True).start()

    @staticmethod
    def pump(source, sink, gate):
        try:
            while data := source.recv(65536):
                gate.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Candidate:
    def __init__(self, cluster, number):
        self.relay = Relay(cluster.servers[0].port)
        config = f'{cluster.folder}/scheduler-{number}.kubeconfig'
        write_kubeconfig(config, self.relay.port)
        self.log_path = f'{cluster.folder}/scheduler-{number}.log'
        log = open(self.log_path, 'wb')
        flags = ['--kubeconfig', config, '--authentication-kubeconfig', config, '--authorization-kubeconfig', config]
        self.process = subprocess.Popen(
            [program('kube-scheduler'), *flags, '--authentication-skip-lookup=true', '--leader-elect=true',
             '--secure-port=0', '-v=2'], stdout=log, stderr=log, env={**os.environ, 'POD_NAME': f'scheduler-{number}'})

    def says(self, *words):
        with open(self.log_path, errors='replace') as lines:
            return any(word in line for line in lines for word in words)


def watch_lease(lease, history, end):
    while not end.is_set():
        now = lease()
        state = (now.get('holderIdentity'), now.get('leaseTransitions'))
        if not history or history[-1][1:] != state:
            history.append((time.time(), *state))
        time.sleep(0.02)


def main():
    with Cluster() as cluster:
        server, = cluster.servers
        spec = lambda: server.request('GET', LEASE)[1].get('spec', {})
        candidates = []
        history, end = [], threading.Event()
        try:
            for number in range(2 if FINDING == '13' else 5):
                candidates.append(Candidate(cluster, number))
                time.sleep(1)
            leads = lambda: [c for c in candidates if c.says('uccessfully acquired lease')]
            leader = (until(leads, 60) or sys.exit('nobody leads'))[0]
            time.sleep(4)
            me = spec()['holderIdentity']
            threading.Thread(target=watch_lease, args=(spec, history, end), daemon=True).start()
            renewed = spec()['renewTime']
            until(lambda: spec()['renewTime'] != renewed, 5, 0.01)
            time.sleep(0.9)
            leader.relay.answers.clear()
            renewed = spec()['renewTime']
            until(lambda: spec()['renewTime'] != renewed, 6, 0.005)
            begin = time.time()
            late = 3.0 if FINDING == '13' else 4.6
            say(f'a renewal was stored; its answer is {late} s late')
            time.sleep(late)
            leader.relay.requests.clear()
            leader.relay.answers.set()
            say('the answer gets through; the leader is cut off from now on')
            until(lambda: spec().get('holderIdentity') not in (me, '', None), 40, 0.01)
            taken = time.time() - begin
            say(f'+{taken:.2f} s: another one holds the lock')
            if FINDING == '13':
                time.sleep(0.6)
                leader.relay.requests.set()
                time.sleep(6)
                for at, holder, transitions in history:
                    who = 'the old leader' if holder == me else holder and 'the successor' or 'nobody'
                    say(f'   +{at - begin:6.2f} s: {who}, transitions {transitions}')
                found = any(not holder for _, holder, _ in history)
                say('the old leader freed the lock of its successor:', found)
            else:
                until(lambda: leader.says('ailed to renew', 'lost lease') or leader.process.poll() is not None, 30, 0.01)
                stops = time.time() - begin
                found = stops > taken
                say(f'+{stops:.2f} s: the old leader stops; both led for {max(0.0, stops - taken):.2f} s')
            return 0 if found else 1
        finally:
            end.set()
            for candidate in candidates:
                candidate.process.kill()
                candidate.process.wait()


raise SystemExit(main())
