"""A small control plane on this machine for the scripts beside it: an etcd and some kube-apiservers on loopback.

Nothing but Python's standard library is needed, with `etcd` and `kube-apiserver` on the PATH (or named by ETCD and
KUBE_APISERVER). All of it lives in a folder of its own, and ends with the script.
"""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import urlencode

TOKEN = 'admintoken'
BEGIN = time.time()
UNVERIFIED = ssl._create_unverified_context()  # Self-signed certificates, on loopback.

FLAGS = {
    'authorization-mode': 'AlwaysAllow',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-cluster-ip-range': '10.96.0.0/24',
    'disable-admission-plugins': 'ServiceAccount',
    'storage-media-type': 'application/json',
}


def say(*words):
    print(f'[{time.time() - BEGIN:7.3f}]', *words, flush=True)


def program(name):
    variable = name.upper().replace('-', '_')
    found = shutil.which(os.environ.get(variable, name))
    return found or sys.exit(f'{name} is not on the PATH; name it by {variable}')


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def until(condition, seconds=60, step=0.05):
    end = time.time() + seconds
    while time.time() < end:
        value = condition()
        if value:
            return value
        time.sleep(step)
    return None


class Etcd:
    def __init__(self, folder):
        self.port, peer = free_port(), free_port()
        url = f'http://127.0.0.1:{self.port}'
        log = open(f'{folder}/etcd.log', 'wb')
        self.process = subprocess.Popen(
            [program('etcd'), '--data-dir', f'{folder}/etcd', '--listen-client-urls', url,
             '--advertise-client-urls', url, '--listen-peer-urls', f'http://127.0.0.1:{peer}',
             '--initial-advertise-peer-urls', f'http://127.0.0.1:{peer}',
             '--initial-cluster', f'default=http://127.0.0.1:{peer}'], stdout=log, stderr=log)
        until(self.is_up) or sys.exit('etcd does not start')

    def call(self, path, body):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=10)
        c.request('POST', path, json.dumps(body), {'Content-Type': 'application/json'})
        return json.loads(c.getresponse().read())

    def is_up(self):
        try:
            return 'header' in self.call('/v3/kv/range', {'key': 'AA=='})
        except (OSError, ValueError):
            return False

    def range(self, prefix):
        """Keys and objects below a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        encode = lambda text: base64.b64encode(text.encode()).decode()
        found = self.call('/v3/kv/range', {'key': encode(prefix), 'range_end': encode(end)}).get('kvs', [])
        decode = base64.b64decode
        return {decode(kv['key']).decode(): json.loads(decode(kv.get('value', '')) or b'null') for kv in found}

    def kubernetes_endpoints(self):
        """The addresses in the Endpoints default/kubernetes; None if there are no such Endpoints."""
        found = self.range('/registry/services/endpoints/default/kubernetes').values()
        for endpoints in found:
            subsets = endpoints.get('subsets') or []
            return sorted(a['ip'] for subset in subsets for a in subset.get('addresses') or [])
        return None


class Server:
    """A kube-apiserver."""

    def __init__(self, folder, number, etcd_port, flags):
        self.folder, self.port = f'{folder}/apiserver-{number}', free_port()
        os.makedirs(self.folder)
        with open(f'{self.folder}/tokens.csv', 'w') as tokens:
            tokens.write(f'{TOKEN},admin,admin,system:masters\n')
        # The key of its own certificate, which it makes itself, signs tokens of ServiceAccounts as well as any.
        key = f'{folder}/apiserver-0/certs/apiserver.key'
        own = {
            'advertise-address': f'192.0.2.{11 + number}', 'bind-address': '127.0.0.1',
            'secure-port': str(self.port), 'cert-dir': f'{self.folder}/certs',
            'token-auth-file': f'{self.folder}/tokens.csv', 'etcd-servers': f'http://127.0.0.1:{etcd_port}',
            'service-account-key-file': key, 'service-account-signing-key-file': key,
        }
        self.flags = {**FLAGS, **own, **flags}
        self.process = None
        self.connections = threading.local()

    def start(self):
        log = open(f'{self.folder}/log', 'ab')
        arguments = [f'--{name}={value}' for name, value in self.flags.items()]
        self.process = subprocess.Popen([program('kube-apiserver'), *arguments], stdout=log, stderr=log)

    def is_ready(self):
        try:
            return self.request('GET', '/readyz')[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def request(self, method, path, body=None, kind=None, **query):
        """The code and the body of an answer."""
        headers = {'Authorization': f'Bearer {TOKEN}', 'Accept': 'application/json'}
        if body is not None:
            default = 'application/merge-patch+json' if method == 'PATCH' else 'application/json'
            headers['Content-Type'] = kind or default
        url = path + ('?' + urlencode(query) if query else '')
        for attempt in range(2):
            connection = getattr(self.connections, 'open', None)
            try:
                if connection is None:
                    connection = http.client.HTTPSConnection('127.0.0.1', self.port, context=UNVERIFIED, timeout=90)
                    self.connections.open = connection
                connection.request(method, url, None if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.connections.open = None
                if attempt:
                    raise
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode()

    def service(self, name, metadata=None, **spec):
        """Creates a Service in the namespace `default`."""
        body = {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': name, **(metadata or {})},
                'spec': {'ports': [{'port': 80}], **spec}}
        return self.request('POST', '/api/v1/namespaces/default/services', body)

    def services(self):
        return self.request('GET', '/api/v1/services')[1]['items']

    def addresses(self):
        """IPAddress objects, and the Services that they belong to."""
        items = self.request('GET', '/apis/networking.k8s.io/v1/ipaddresses')[1]['items']
        parent = lambda item: item['spec']['parentRef']
        return {i['metadata']['name']: f"{parent(i)['namespace']}/{parent(i)['name']}" for i in items}

    def log(self, *words):
        with open(f'{self.folder}/log', errors='replace') as lines:
            return [line.strip() for line in lines if any(word in line for word in words)]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)


class Cluster:
    """`with Cluster(servers=2) as cluster:`. With `proxy=EtcdProxy` each server has one of its own before etcd."""

    def __init__(self, servers=1, flags=None, per_server=None, proxy=None):
        self.folder = tempfile.mkdtemp(prefix='finding-')
        self.etcd, self.servers, self.proxies, self.proxy = None, [], [], proxy
        self.wanted, self.flags, self.per_server = servers, flags or {}, per_server or {}

    def __enter__(self):
        try:
            self.etcd = Etcd(self.folder)
            for number in range(self.wanted):
                flags = {**self.flags, **self.per_server.get(number, {})}
                before = self.proxy(self.etcd.port) if self.proxy else self.etcd
                self.proxies.append(before)
                server = Server(self.folder, number, before.port, flags)
                self.servers.append(server)
                server.start()
                # The others sign with its key.
                self.wait_until_ready(server)
            return self
        except BaseException:
            self.__exit__()
            raise

    def wait_until_ready(self, server):
        if not until(lambda: server.process.poll() is not None or server.is_ready(), 240):
            raise SystemExit('a kube-apiserver is not ready')
        if server.process.poll() is not None:
            raise SystemExit('a kube-apiserver has ended: ' + ''.join(server.log('')[-3:]))

    def __exit__(self, *_):
        processes = [s.process for s in self.servers] + [self.etcd and self.etcd.process]
        for process in filter(None, processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def short(answer):
    code, body = answer
    if not isinstance(body, dict):
        return f'{code} {str(body)[:120]}'
    if body.get('kind') == 'Status':
        return f"{code} {body.get('reason', '')}: {body.get('message', '')[:200]}"
    spec = body.get('spec', {})
    told = {name: spec[name] for name in ('type', 'clusterIPs') if name in spec}
    ports = [p['nodePort'] for p in spec.get('ports', []) if 'nodePort' in p]
    if ports:
        told['nodePorts'] = ports
    return f"{code} {body.get('kind')} {body.get('metadata', {}).get('name')} {told}"


def shared(services):
    """Addresses and node ports that more than one Service has."""
    owners = {}
    for service in services:
        spec, name = service['spec'], service['metadata']['name']
        items = {('address', a) for a in spec.get('clusterIPs', []) if a != 'None'}
        if spec.get('type') in ('NodePort', 'LoadBalancer'):
            items |= {('node port', p['nodePort']) for p in spec.get('ports', []) if p.get('nodePort')}
        for item in items:
            owners.setdefault(item, []).append(name)
    return {item: names for item, names in owners.items() if len(names) > 1}


def begin(call, *arguments, **named):
    """Runs a call beside what follows; `join` the thread, and find what it returned in `result`."""
    def run():
        try:
            thread.result = call(*arguments, **named)
        except (OSError, http.client.HTTPException) as error:
            thread.result = 0, str(error)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def together(*calls):
    """Runs calls at the same time; what they return."""
    results, go = [None] * len(calls), threading.Event()

    def run(at, call):
        go.wait()
        results[at] = call()
    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join()
    return results
