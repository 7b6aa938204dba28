"""Between a controller manager and a kube-apiserver: passes requests on, and holds those that a script points at.

It speaks HTTP/1.1 over TLS with the certificate that the server made for itself, and reads no more of the requests than
method, path and length.
"""
import http.client
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cluster import TOKEN, UNVERIFIED, free_port


def write_kubeconfig(path, port):
    cluster = {'server': f'https://127.0.0.1:{port}', 'insecure-skip-tls-verify': True}
    config = {'apiVersion': 'v1', 'kind': 'Config', 'clusters': [{'name': 'c', 'cluster': cluster}],
              'users': [{'name': 'u', 'user': {'token': TOKEN}}],
              'contexts': [{'name': 'x', 'context': {'cluster': 'c', 'user': 'u'}}], 'current-context': 'x'}
    with open(path, 'w') as file:
        json.dump(config, file)


class Rule:
    """Requests of this method whose path holds this text. `before` and `after` are called when one comes, and when its
    answer is there; they may wait. If `lose` is set the answer is not passed on, if `refuse` is set the request is not: it
    is answered with 503, or as `answer` says: with a code and an object. `late` is an Event: the connection breaks at once, and the
    request is passed on when it is set."""

    def __init__(self, method, text, before=None, after=None, lose=False, refuse=False, answer=None, late=None, times=1):
        self.method, self.text, self.before, self.after = method, text, before, after
        self.lose, self.refuse, self.answer, self.late, self.times = lose, refuse, answer, late, times


class Proxy:
    def __init__(self, server):
        self.server, self.rules, self.port = server, [], free_port()
        self.flow = {}  # What a watch's path holds, and the Event that lets it pass.
        self.answers = {}  # What a path holds, and who gives the object with which the proxy answers it by itself.
        proxy, certs = self, f'{server.folder}/certs/apiserver'

        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def pass_on(self):
                proxy.pass_on(self)
            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

            def log_message(self, *_):
                pass
        self.listener = ThreadingHTTPServer(('127.0.0.1', self.port), Handler)
        self.listener.daemon_threads = True
        self.listener.handle_error = lambda *_: None  # A server or a client that has ended.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs + '.crt', certs + '.key')
        self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True)
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def kubeconfig(self, path):
        """Writes a kubeconfig for clients of the proxy."""
        write_kubeconfig(path, self.port)
        return path

    def hold_watches(self, text):
        """From now on watches whose path holds this text stand still; the Event lets them pass."""
        self.flow[text] = threading.Event()
        return self.flow[text]

    def cut_watches(self, text):
        """Those that were held end, and what they held is lost; others pass."""
        held = self.flow.pop(text)
        held.cut = True
        held.set()

    def rule(self, request):
        for rule in self.rules:
            if rule.times and rule.method == request.command and rule.text in request.path:
                rule.times -= 1
                return rule
        return None

    def pass_on(self, request):
        rule = self.rule(request)
        body = request.rfile.read(int(request.headers.get('Content-Length') or 0))
        if rule and rule.before:
            rule.before()
        if rule and rule.refuse:
            request.send_error(503)
            return
        if rule and rule.answer:
            self.answer_alone(request, *rule.answer)
            return
        for text, answer in self.answers.items():
            if text in request.path:
                self.answer_alone(request, 200, answer(request.path))
                return
        connection = http.client.HTTPSConnection('127.0.0.1', self.server.port, context=UNVERIFIED, timeout=600)
        skipped = ('host', 'content-length', 'connection', 'accept-encoding')
        # Bodies that a script can read.
        headers = {name: value for name, value in request.headers.items() if name.lower() not in skipped}
        asked = (request.command, request.path, body or None, headers)
        if rule and rule.late:
            threading.Thread(target=self.pass_on_late, args=(rule.late, connection, asked), daemon=True).start()
            request.close_connection = True
            return
        connection.request(*asked)
        answer = connection.getresponse()
        watch = 'watch=' in request.path
        text = None if watch else answer.read()
        if rule and rule.after:
            rule.after()
        if rule and rule.lose:
            request.close_connection = True
            return
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ('content-length', 'transfer-encoding', 'connection'):
                request.send_header(name, value)
        try:
            self.answer(request, answer, text)
        except OSError:
            request.close_connection = True
        connection.close()

    @staticmethod
    def pass_on_late(event, connection, asked):
        event.wait()
        connection.request(*asked)
        connection.getresponse().read()

    def answer_alone(self, request, code, body):
        text = json.dumps(body).encode()
        request.send_response(code)
        request.send_header('Content-Type', 'application/json')
        request.send_header('Content-Length', str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def answer(self, request, answer, text):
        if text is not None:
            request.send_header('Content-Length', str(len(text)))
            request.end_headers()
            request.wfile.write(text)
            return
        request.send_header('Transfer-Encoding', 'chunked')
        request.end_headers()
        while True:
            try:
                part = answer.read1(65536)
            except http.client.IncompleteRead:  # The server has ended.
                request.close_connection = True
                return
            for held, event in list(self.flow.items()):
                if held in request.path:
                    event.wait()
                    if getattr(event, 'cut', False):
                        request.close_connection = True
                        return
            request.wfile.write(b'%x\r\n%s\r\n' % (len(part), part))
            request.wfile.flush()
            if not part:
                return
