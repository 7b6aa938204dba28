#!/usr/bin/env python3
"""Finding 103: the leader of an etcd of three members is paused (SIGSTOP) for longer than leases last that a client keeps alive at another member. The new
leader gives them their whole time. The old one goes on, and revokes them: it has ticked, and so it does not ask whether it still leads. Needs an etcd from
3.4.34, 3.5.16 or 3.6.0 on (those before 3.4.31 and 3.5.13 do it always, and others not). TRIALS: 20 unless told, some 11 s each."""
import signal
import sys
import time

from cluster import say
from etcd_members import Members

TTL, LEASES = 5, 60


def trial(members, number):
    """Are leases gone after the old leader has gone on?"""
    old, other, prefix = members.leader(), members.follower(), f'trial-{number}-'
    leases = [other.grant(TTL, f'{prefix}{at}') for at in range(LEASES)]
    old.process.send_signal(signal.SIGSTOP)
    end = time.time() + TTL + 3
    while time.time() < end:
        kept = sum(map(other.keep_alive, leases))
        time.sleep(0.3)
    old.process.send_signal(signal.SIGCONT)
    # Shorter than a lease: whatever goes now was revoked.
    time.sleep(2)
    left = other.count(prefix)
    say(f'{old.name} led, and stood still: {kept} of {LEASES} leases were kept alive until it went on, {left} are there 2 s later')
    return kept == LEASES and left < LEASES


with Members(are_relayed=False) as members:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    lost = sum(trial(members, number) for number in range(trials))
    say(f'leases that lived were revoked in {lost} of {trials} trials')
raise SystemExit(0 if lost else 1)
