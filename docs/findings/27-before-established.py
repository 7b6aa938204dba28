#!/usr/bin/env python3
"""Finding 27: a definition of custom resources that is deleted before it is established leaves its objects. First one
server with `--apiserver-count=2`, which waits 5 s before it establishes; then, with the default, a plain race."""
from cluster import Cluster, say, until

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
PREFIX = '/registry/storm.example/'


def definition(plural):
    kind = plural[:-1].capitalize()
    schema = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
    version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}
    names = {'plural': plural, 'singular': plural[:-1], 'kind': kind, 'listKind': kind + 'List'}
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
            'metadata': {'name': f'{plural}.storm.example'},
            'spec': {'group': 'storm.example', 'scope': 'Namespaced', 'names': names, 'versions': [version]}}


def apply(server, plural):
    """Server-side apply, as soon as the definition is served: a POST would wait for two seconds."""
    thing = {'apiVersion': 'storm.example/v1', 'kind': plural[:-1].capitalize(), 'metadata': {'name': 'a'}}
    path = f'/apis/storm.example/v1/namespaces/default/{plural}/a'
    once = lambda: server.request('PATCH', path, thing, 'application/apply-patch+yaml', fieldManager='me')
    return until(lambda: (lambda answer: answer[0] == 201 and answer)(once()), 3, 0.0005)


def round_of(server, etcd, plural):
    """Is an object of it left when the definition is gone? None if there was none in time."""
    server.request('POST', CRDS, definition(plural))
    applied = apply(server, plural)
    server.request('DELETE', f'{CRDS}/{plural}.storm.example')
    gone = until(lambda: server.request('GET', f'{CRDS}/{plural}.storm.example')[0] == 404, 90)
    assert gone, 'the definition does not go'
    return applied and any(key.startswith(f'{PREFIX}{plural}/') for key in etcd.range(PREFIX))


with Cluster(flags={'apiserver-count': '2'}) as cluster:
    server, = cluster.servers
    left = round_of(server, cluster.etcd, 'things')
    say('--apiserver-count=2: left when the definition is gone:', sorted(cluster.etcd.range(PREFIX)))
    server.request('POST', CRDS, definition('things'))
    path = '/apis/storm.example/v1/namespaces/default/things/a'
    until(lambda: server.request('GET', path)[0] == 200, 10)
    say('made anew, the definition has it again: GET a:', server.request('GET', path)[0])

with Cluster() as cluster:
    server, = cluster.servers
    rounds = [round_of(server, cluster.etcd, f'racers{at}s') for at in range(100)]
    say(f'the default: left in {sum(bool(r) for r in rounds)} of {len(rounds)} rounds')
    raise SystemExit(0 if left else 1)
