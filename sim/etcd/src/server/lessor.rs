//! When leases are over (`server/lease/lessor.go`, `v3_server.go` `LeaseRenew`): only the leader
//! knows, by its own clock; a new one gives each its whole time again. How those that are over are
//! revoked is in `lessor/expiry.rs`, how other members ask the leader in `lessor/forward.rs`.

mod expiry;
mod forward;

use std::time::Duration;

use wavetank_engine::{Caller, Cx, Name, Timer, mutant};
use wavetank_version::{Defect, Listed};

use crate::EtcdDefect;
use crate::api::{EtcdError, Key, LeaseId, Value};
use crate::gates;
use crate::leases::Lease;
use crate::observed::{Promoted, Renewed};
use crate::raft::MemberId;
use crate::state::{Cause, Op};

use super::Etcd;

use expiry::{Batch, EXPIRY_EVERY};
pub(super) use expiry::{EXPIRY, HANDOVER};
pub(crate) use expiry::{
    FIX_DEPOSED_REVOKES_NO_MORE, FIX_REVOKE_WHAT_IS_OVER, FIX_TICKS_ARE_NO_PROOF,
};

/// The time of a lease is over.
pub(super) const LEASE: Name = Name::new("lease");
/// What `Promote` adds to the time of each lease: an election timeout.
const PROMOTE_EXTENDS: Duration = Duration::from_secs(1);
/// Without etcd#9395: what is left of each lease is agreed on so often.
pub(super) const CHECKPOINT: Timer = Timer::new(Name::new("checkpoint"), 0);
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
/// A question to the leader is asked again.
pub(super) const ASK_AGAIN: Timer = Timer::new(Name::new("ask-leader"), 0);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(500);
pub(super) const FORWARD: Name = Name::new("ask-leader-timeout");

/// What only the leader's lessor can say or do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LeaseAsk {
    /// Give it its whole time again.
    Renew(LeaseId),
    /// How long does it have, and, if wanted, which keys?
    TimeToLive(LeaseId, bool),
}

/// Its answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "as in the responses of the API")]
pub enum LeaseAnswer {
    Renewed {
        ttl: u64,
    },
    TimeToLive {
        ttl: i64,
        granted: u64,
        keys: Vec<Key>,
    },
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Asker {
    Client(Caller),
    Peer(MemberId, u64),
}

/// What a member's lessor knows beside the leases themselves. A crash empties it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Lessor {
    /// It keeps the time: it is the leader's.
    primary: bool,
    /// Leases whose time is over, until they are revoked (`expired`).
    over: Vec<LeaseId>,
    /// Those of them that the next pass of the loop finds.
    due: Vec<LeaseId>,
    /// Those about to be proposed for revocation.
    handed: Vec<LeaseId>,
    /// Leases of which not all could be proposed at once.
    batches: Vec<Batch>,
    /// Renewals that came too late, and wait for the revocation.
    late: Vec<(Asker, LeaseId)>,
    /// Those that wait until all agree that there is no checkpoint of the lease any more.
    clearing: Vec<(Asker, LeaseId)>,
    /// Questions to the leader.
    forwards: Vec<Forward>,
    number: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Forward {
    number: u64,
    caller: Caller,
    ask: LeaseAsk,
}

impl Lessor {
    /// Is it the leader's, that keeps the time?
    pub(super) fn is_primary(&self) -> bool {
        self.primary
    }
}

const fn timer_of(id: LeaseId) -> Timer {
    Timer::new(LEASE, id.0)
}

pub(crate) const OLD_LEADER_REVOKES: Defect = Defect::known(
    "old-leader-revokes",
    "etcd#15247 (3.4.31, 3.5.13)",
    "a leader that was paused revokes and renews leases before it knows of its successor",
)
.of_etcd(gates::OLD_LEADER_REVOKES);

pub(crate) const PROMOTION_RESTARTS_LEASES: Defect = Defect::open(
    "promotion-restarts-leases",
    "etcd#9395 (never fixed; checkpoints help only above 300 s)",
    "each new leader gives every lease its whole TTL again. Off: all leases are checkpointed, every second",
)
.of_etcd(gates::EVERY_LINE);

/// The leader's side: the clock.
impl<V: Value> Etcd<V> {
    /// This member has applied the entry with which its own term as leader begins.
    pub(super) fn promote(&mut self, cx: &mut Cx<'_>) {
        self.lessor.primary = true;
        let left = |lease: &Lease| lease.remaining.unwrap_or(lease.ttl);
        let all = self.state.leases.iter();
        let leases: Vec<_> = all.map(|(id, lease)| (id, left(lease))).collect();
        for (id, left) in &leases {
            EtcdDefect::PromotionRestartsLeases.passed(self.restarts_leases());
            let shorter = mutant!(
                "promotion-shortens-leases",
                "a new leader gives leases half of what is left of them"
            );
            let left = Duration::from_secs(*left) / (1 + u32::from(shorter));
            cx.arm(timer_of(*id), left + PROMOTE_EXTENDS);
        }
        cx.note(Promoted { leases });
        self.keep_time(cx);
        self.ask_leader_again(cx);
    }

    /// Another leads, or nobody.
    pub(super) fn demote(&mut self, cx: &mut Cx<'_>) {
        self.lessor.primary = false;
        self.lessor.over.clear();
        self.lessor.due.clear();
        for (id, _) in self.state.leases.iter() {
            cx.disarm(timer_of(id));
        }
        cx.disarm(EXPIRY);
        cx.disarm(CHECKPOINT);
        let late = std::mem::take(&mut self.lessor.late);
        let clearing = std::mem::take(&mut self.lessor.clearing);
        for (asker, id) in late.into_iter().chain(clearing) {
            self.tell_asker(cx, asker, LeaseAsk::Renew(id), Err(EtcdError::NotPrimary));
        }
    }

    /// Is it not told how much of a lease is left? That makes a difference to whom is promoted.
    fn restarts_leases(&self) -> bool {
        let defects = self.config.defects;
        defects.contains(EtcdDefect::PromotionRestartsLeases)
    }

    /// Runs the loops while there is a lease.
    fn keep_time(&mut self, cx: &mut Cx<'_>) {
        if !self.lessor.primary || self.state.leases.is_empty() {
            return;
        }
        if cx.remaining(EXPIRY).is_none() {
            cx.arm(EXPIRY, EXPIRY_EVERY);
        }
        if !self.restarts_leases() && cx.remaining(CHECKPOINT).is_none() {
            cx.arm(CHECKPOINT, CHECKPOINT_EVERY);
        }
    }

    /// An operation was applied that may concern leases.
    pub(super) fn follow_lease(&mut self, cx: &mut Cx<'_>, op: &Op<V>) {
        if !self.lessor.primary {
            return;
        }
        match op {
            Op::LeaseGrant(id, _) => {
                let ttl = self.state.leases.get(*id).map_or(0, |lease| lease.ttl);
                let early = mutant!(
                    "lease-ends-early",
                    "a lease that was granted ends a second before its time"
                );
                cx.arm(timer_of(*id), Duration::from_secs(ttl - u64::from(early)));
                cx.note(Renewed { lease: *id, ttl });
                self.keep_time(cx);
            }
            Op::LeaseRevoke(id) => {
                cx.disarm(timer_of(*id));
                self.lessor.over.retain(|over| over != id);
                self.lessor.due.retain(|due| due != id);
                let is_it = |(_, waits): &mut (Asker, LeaseId)| waits == id;
                let mut waiting: Vec<_> = self.lessor.late.extract_if(.., is_it).collect();
                waiting.extend(self.lessor.clearing.extract_if(.., is_it));
                for (asker, id) in waiting {
                    let ask = LeaseAsk::Renew(id);
                    let ttl = match mutant!(
                        "late-keep-alive-succeeds",
                        "a keep-alive that waited for the end of its lease is told that it lives"
                    ) {
                        true => crate::leases::MIN_TTL,
                        false => 0,
                    };
                    self.tell_asker(cx, asker, ask, Ok(LeaseAnswer::Renewed { ttl }));
                }
            }
            Op::LeaseCheckpoint(left) => {
                for (id, _) in left.iter().filter(|(_, left)| left.is_none()) {
                    let is_it = |(_, waits): &mut (Asker, LeaseId)| waits == id;
                    let waiting = self.lessor.clearing.extract_if(.., is_it);
                    for (asker, id) in waiting.collect::<Vec<_>>() {
                        self.renew(cx, asker, id);
                    }
                }
            }
            _ => {}
        }
    }

    /// How long a lease has; `None`: its time is over. Its timer may run all the same, for the next
    /// attempt to revoke it.
    fn left(&self, cx: &mut Cx<'_>, id: LeaseId) -> Option<Duration> {
        let running = self.lessor.over.binary_search(&id).is_err();
        let left = running.then(|| cx.remaining(timer_of(id))).flatten();
        left.filter(|left| !left.is_zero())
    }

    /// All leases, the one that ends first in front (`lessor.go` `Leases`). Where the time is not
    /// kept they all last for ever, and upstream tells them in the order of a map.
    pub(super) fn list_leases(&self, cx: &mut Cx<'_>) -> Vec<LeaseId> {
        let mut ids: Vec<_> = self.state.leases.iter().map(|(id, _)| id).collect();
        if self.lessor.primary {
            ids.sort_by_cached_key(|id| self.left(cx, *id));
        }
        ids
    }

    pub(super) fn checkpoint(&mut self, cx: &mut Cx<'_>) {
        self.keep_time(cx);
        let ids = self.state.leases.iter().map(|(id, _)| id);
        let mut all: Vec<_> = ids.map(|id| (id, None)).collect();
        for (id, left) in cx.timers(LEASE) {
            if let Ok(at) = all.binary_search_by_key(&LeaseId(id), |(id, _)| *id) {
                all[at].1 = Some(left.as_secs() + 1);
            }
        }
        // The timer of one that is over is for the next attempt to revoke it. It is told as well, or
        // a new leader would give it what was left of it before.
        for id in &self.lessor.over {
            if let Ok(at) = all.binary_search_by_key(id, |(id, _)| *id) {
                all[at].1 = Some(1);
            }
        }
        self.propose(cx, None, Cause::Internal, Op::LeaseCheckpoint(all));
    }

    /// Gives a lease its whole time again, and tells who asked.
    fn renew(&mut self, cx: &mut Cx<'_>, asker: Asker, id: LeaseId) {
        let Some(lease) = self.state.leases.get(id) else {
            return;
        };
        let ttl = lease.ttl;
        if self.lessor.over.contains(&id)
            && !mutant!(
                "over-is-renewed",
                "a lease that is over is renewed before its revocation is through"
            )
        {
            return self.lessor.late.push((asker, id));
        }
        if !mutant!(
            "renewal-is-not-armed",
            "a keep-alive is answered, and the lease ends when it would have"
        ) {
            cx.arm(timer_of(id), Duration::from_secs(ttl));
        }
        cx.note(Renewed { lease: id, ttl });
        let answer = Ok(LeaseAnswer::Renewed { ttl });
        self.tell_asker(cx, asker, LeaseAsk::Renew(id), answer);
    }

    /// What the leader's lessor says.
    pub(super) fn answer_lease(&mut self, cx: &mut Cx<'_>, asker: Asker, ask: LeaseAsk) {
        if !self.lessor.primary {
            return self.tell_asker(cx, asker, ask, Err(EtcdError::NotPrimary));
        }
        let answer = match ask {
            LeaseAsk::Renew(id) => match self.state.leases.get(id) {
                None => LeaseAnswer::Renewed { ttl: 0 },
                Some(_) if self.left(cx, id).is_none() => {
                    self.lessor.late.push((asker, id));
                    return;
                }
                Some(lease) if !self.restarts_leases() => {
                    // As `Renew` does with `le.cp`, and also where the last checkpoint is still
                    // under way: the next leader must not go by what was left before. Once this
                    // is proposed a next leader may give the whole time.
                    let ttl = lease.ttl;
                    cx.note(Renewed { lease: id, ttl });
                    self.lessor.clearing.push((asker, id));
                    let whole = Op::LeaseCheckpoint(vec![(id, None)]);
                    self.propose(cx, None, Cause::Internal, whole);
                    return;
                }
                Some(_) => return self.renew(cx, asker, id),
            },
            LeaseAsk::TimeToLive(id, keys) => match self.state.leases.get(id) {
                None => LeaseAnswer::TimeToLive {
                    ttl: -1,
                    granted: 0,
                    keys: Vec::new(),
                },
                Some(lease) => LeaseAnswer::TimeToLive {
                    ttl: self.left(cx, id).map_or(0, |left| left.as_secs() as i64),
                    granted: lease.ttl,
                    keys: if keys { lease.keys.clone() } else { Vec::new() },
                },
            },
        };
        self.tell_asker(cx, asker, ask, Ok(answer));
    }
}
