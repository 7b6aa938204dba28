#!/usr/bin/env python3
"""Finding 19: a dual-stack Service that gets no address of its second family leaves that of its first. One server, no
race. Which family is first is the order of a Go map, so about half of the refused requests leave one."""
import time

from cluster import Cluster, say, short, until

RANGES = '10.96.0.0/28,fd00:10:96::/124'

with Cluster(flags={'service-cluster-ip-range': RANGES}) as cluster:
    server, = cluster.servers
    six = 'fd00:10:96::5'
    holder = server.service('holder', ipFamilies=['IPv6'], ipFamilyPolicy='SingleStack', clusterIP=six, clusterIPs=[six])
    say('POST holder:', short(holder))
    begin = time.time()
    for at in range(8):
        four = f'10.96.0.{5 + at}'
        refused = server.service(f'dual{at}', ipFamilyPolicy='RequireDualStack', ipFamilies=['IPv4', 'IPv6'],
                                 clusterIP=four, clusterIPs=[four, six])
        say(f'POST dual{at} with {four} and {six}:', short(refused)[:110])
    exist = {s['metadata']['name'] for s in server.services()}
    left = {a: of for a, of in server.addresses().items() if of.split('/')[1] not in exist}
    say('IPAddresses of Services that do not exist:', left)
    if not left:
        raise SystemExit(1)
    four = next(iter(left))
    taken = lambda: server.service('single', clusterIP=four, clusterIPs=[four], ipFamilies=['IPv4'])
    say(f'POST single with {four}, which nobody has:', short(taken()))
    until(lambda: taken()[0] == 201, 120, 1)
    say(f'it could be had {time.time() - begin:.0f} s after the first refused request')
