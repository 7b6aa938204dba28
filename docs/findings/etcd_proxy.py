"""Between a kube-apiserver and etcd: passes all on, and holds requests or watches that a script points at, or cuts connections.

It reads frames of HTTP/2 and nothing inside them but the keys, which stand there as they are. A kube-apiserver has a connection for
each resource.
"""
import socket
import struct
import threading
import time

from cluster import free_port

DATA, PREFACE = 0, 24


def transaction(key):
    """A transaction names the key in its comparison and in what it does; a range names it once."""
    return lambda payload: payload.count(key.encode()) >= 2


def names(key):
    return lambda payload: key.encode() in payload


class Rule:
    """The request at which this is true for the `nth` time is held until `release`; or its connection is cut: `before` it is
    passed on, or `after`."""

    def __init__(self, is_meant, nth=1, cut=None):
        self.is_meant, self.nth, self.cut = is_meant, nth, cut
        self.came, self.go = threading.Event(), threading.Event()

    def release(self):
        self.go.set()


class Connection:
    def __init__(self, client, server):
        self.client, self.server = client, server
        self.locks = {client: threading.Lock(), server: threading.Lock()}
        self.keys = {}  # Of a stream that stays open: the key of its first request. These are watches.
        self.mute = False

    def send(self, to, frames):
        with self.locks[to]:
            to.sendall(frames)

    def cut(self):
        for end in (self.client, self.server):
            try:
                # A reset, as of a connection that breaks.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


class EtcdProxy:
    def __init__(self, etcd_port):
        self.etcd_port, self.port = etcd_port, free_port()
        self.rules, self.held = [], {}  # Of a prefix of keys whose watches stand still: their frames.
        self.lock, self.flows = threading.Lock(), threading.Event()
        self.flows.set()
        listener = socket.create_server(('127.0.0.1', self.port), backlog=256)
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def stall(self):
        """From now on nothing passes, in neither direction."""
        self.flows.clear()

    def go_on(self):
        self.flows.set()

    def hold(self, is_meant, **how):
        rule = Rule(is_meant, **how)
        with self.lock:
            self.rules.append(rule)
        return rule

    def hold_watches(self, prefix):
        """From now on watches of keys with this prefix bring nothing."""
        with self.lock:
            self.held.setdefault(prefix.encode(), [])

    def release_watches(self, prefix):
        with self.lock:
            for connection, frame in self.held.pop(prefix.encode(), []):
                connection.send(connection.client, frame)

    def accept(self, listener):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(('127.0.0.1', self.etcd_port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(client, server)
            for work in (self.requests, self.answers):
                threading.Thread(target=self.run, args=(work, connection), daemon=True).start()

    @staticmethod
    def run(work, connection):
        try:
            work(connection)
        except (OSError, EOFError):
            connection.cut()

    def requests(self, connection):
        preface = read(connection.client, PREFACE)
        connection.send(connection.server, preface)
        for frame, kind, flags, stream in frames(connection.client):
            self.flows.wait()
            payload = frame[9:]
            if kind == DATA and payload:
                key = first_key(payload)
                if key and not flags & 1:
                    connection.keys.setdefault(stream, key)
                rule = self.rule(payload)
                if rule:
                    threading.Thread(target=self.meet, args=(rule, connection, frame), daemon=True).start()
                    continue
            connection.send(connection.server, frame)

    def rule(self, payload):
        with self.lock:
            for rule in self.rules:
                if rule.nth > 0 and rule.is_meant(payload):
                    rule.nth -= 1
                    if rule.nth == 0:
                        return rule
        return None

    @staticmethod
    def meet(rule, connection, frame):
        connection.mute = rule.cut is not None
        rule.came.set()
        if rule.cut is None:
            rule.go.wait()
        try:
            if rule.cut != 'before':
                connection.send(connection.server, frame)
        except OSError:
            return
        if rule.cut:
            time.sleep(0.2)
            connection.cut()

    def answers(self, connection):
        for frame, kind, _, stream in frames(connection.server):
            self.flows.wait()
            if connection.mute:
                continue
            key = connection.keys.get(stream, b'')
            with self.lock:
                held = next((held for prefix, held in self.held.items() if key.startswith(prefix)), None)
                if held is not None and kind == DATA:
                    held.append((connection, frame))
                    continue
            connection.send(connection.client, frame)


def read(end, count):
    got = b''
    while len(got) < count:
        part = end.recv(count - len(got))
        if not part:
            raise EOFError
        got += part
    return got


def frames(end):
    """The frames that come; the kind, the flags and the stream of each."""
    while True:
        head = read(end, 9)
        yield head + read(end, int.from_bytes(head[:3], 'big')), head[3], head[4], int.from_bytes(head[5:9], 'big') & 0x7fffffff


def first_key(payload):
    """The first key of a request; the byte before it is its length."""
    at = payload.find(b'/registry/')
    return payload[at:at + payload[at - 1]] if at > 0 else None
