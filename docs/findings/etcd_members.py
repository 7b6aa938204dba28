"""An etcd of three members on loopback, whose leader can be paused, or not be heard by the others."""
import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

from cluster import free_port, program, until


def text(s):
    return base64.b64encode(s.encode()).decode()


class Relay:
    """Passes on what goes over connections to a port, or lets it wait."""

    def __init__(self, to_port):
        self.to_port, self.flows = to_port, threading.Event()
        self.flows.set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(('127.0.0.1', self.to_port))
            except OSError:
                client.close()
                continue
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=ends, daemon=True).start()

    def pass_on(self, source, to):
        try:
            while data := source.recv(65536):
                self.flows.wait()
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Member:
    def __init__(self, folder, name, is_relayed):
        self.folder, self.name, self.port, self.listens = folder, name, free_port(), free_port()
        self.relay = Relay(self.listens) if is_relayed else None
        self.peer = self.relay.port if is_relayed else self.listens

    def start(self, members):
        log = open(f'{self.folder}/{self.name}.log', 'wb')
        client, listen = f'http://127.0.0.1:{self.port}', f'http://127.0.0.1:{self.listens}'
        # OpenShift's copy of etcd has another timeout of requests unless it is told upstream's.
        environment = os.environ | {'OPENSHIFT_ETCD_HARDWARE_DELAY_TIMEOUT': '5'}
        self.process = subprocess.Popen(
            [program('etcd'), '--name', self.name, '--data-dir', f'{self.folder}/{self.name}', '--listen-client-urls', client,
             '--advertise-client-urls', client, '--listen-peer-urls', listen,
             '--initial-advertise-peer-urls', f'http://127.0.0.1:{self.peer}',
             '--initial-cluster', ','.join(f'{m.name}=http://127.0.0.1:{m.peer}' for m in members)],
            stdout=log, stderr=log, env=environment)

    def call(self, path, body):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=2)
        c.request('POST', f'/v3/{path}', json.dumps(body), {'Content-Type': 'application/json'})
        return json.loads(c.getresponse().read().decode().splitlines()[0])

    def leads(self):
        try:
            status = self.call('maintenance/status', {})
            return status.get('leader') == status['header']['member_id']
        except (OSError, ValueError, KeyError, http.client.HTTPException):
            return False

    def grant(self, ttl, key):
        lease = self.call('lease/grant', {'TTL': ttl})['ID']
        self.call('kv/put', {'key': text(key), 'value': text('x'), 'lease': lease})
        return lease

    def keep_alive(self, lease):
        try:
            return int(self.call('lease/keepalive', {'ID': lease})['result'].get('TTL', 0)) > 0
        except (OSError, ValueError, KeyError, IndexError, http.client.HTTPException):
            return False

    def count(self, prefix):
        found = self.call('kv/range', {'key': text(prefix), 'range_end': text(f'{prefix}~'), 'count_only': True})
        return int(found.get('count', 0))


class Members:
    """With relays what the others send for can be held; they are slower than without."""

    def __init__(self, are_relayed):
        self.are_relayed = are_relayed

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        self.all = [Member(self.folder, f'e{n}', self.are_relayed) for n in range(3)]
        for member in self.all:
            member.start(self.all)
        return self

    def __exit__(self, *_):
        for member in self.all:
            member.process.kill()
            member.process.wait()
        shutil.rmtree(self.folder)

    def leader(self, other_than=None):
        leads = lambda: next((m for m in self.all if m is not other_than and m.leads()), None)
        return until(leads, 30) or sys.exit('no member leads')

    def follower(self):
        leader = self.leader()
        return next(m for m in self.all if m is not leader)
