#!/usr/bin/env python3
"""Finding 104: sixty leases are over at once, and the leader of an etcd of three members proposes to revoke the first sixteen. What it says does not reach
the others for some seconds, who elect another leader: that gives the leases their whole time, and a client keeps them alive there. When the sixteen
proposals have timed out, the one that led proposes the next ones, as a follower, and its successor revokes them. TRIALS: 3 unless told, some 20 s each."""
import sys
import time

from cluster import say
from etcd_members import Members

TTL, LEASES = 5, 60


def trial(members, number):
    """Are leases gone that were kept alive?"""
    old, other, prefix = members.leader(), members.follower(), f'trial-{number}-'
    begin = time.time()
    leases = [old.grant(TTL, f'{prefix}{at}') for at in range(LEASES)]
    time.sleep(max(0.0, begin + TTL - 0.1 - time.time()))
    old.relay.flows.clear()
    new = members.leader(other_than=old)
    kept, left = LEASES, LEASES
    while time.time() < begin + TTL + 12 and kept == left == LEASES:
        if time.time() > begin + TTL + 3:
            old.relay.flows.set()
        alive, left = sum(map(other.keep_alive, leases)), other.count(prefix)
        kept = alive if left == LEASES else kept
        time.sleep(0.1)
    after = time.time() - begin - TTL
    say(f'{old.name} led, then {new.name}: all leases were kept alive, {left} of {LEASES} are there {after:.1f} s after they were over for {old.name}')
    return kept == LEASES and left < LEASES


with Members(are_relayed=True) as members:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    lost = sum(trial(members, number) for number in range(trials))
    say(f'leases that lived were revoked in {lost} of {trials} trials')
raise SystemExit(0 if lost else 1)
