//! How leases that are over are found and revoked (`lease/lessor.go` `runLoop`, `server.go`
//! `revokeExpiredLeases`), and whether this member makes sure first that it leads.

use std::collections::VecDeque;
use std::time::Duration;

use wavetank_engine::{Cx, Name, Timer, mutant};
use wavetank_version::Defect;

use crate::EtcdDefect;
use crate::api::{LeaseId, Value};
use crate::server::Etcd;
use crate::server::reads::Ask;
use crate::server::writes::REQUEST_TIMEOUT;
use crate::state::{Cause, Op};

use super::{LEASE, timer_of};

/// `runLoop` looks for leases that are over every 500 ms, at most 500 of them at a time.
pub(in crate::server) const EXPIRY: Timer = Timer::new(Name::new("lessor"), 0);
pub(super) const EXPIRY_EVERY: Duration = Duration::from_millis(500);
const EXPIRY_LIMIT: usize = 500;
/// What it found is handed to another goroutine, which proposes to revoke them.
pub(in crate::server) const HANDOVER: Timer = Timer::new(Name::new("expired"), 0);
/// Through a channel, the server's loop and one more goroutine: meanwhile others read messages.
const HANDOVER_TAKES: Duration = Duration::from_millis(1);
/// A revocation that was proposed is proposed again (`ExpiredLeasesRetryInterval`).
const EXPIRY_RETRY: Duration = REQUEST_TIMEOUT;

/// Leases that were found over together, and are revoked some at a time (the channel of
/// `revokeExpiredLeases`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Batch {
    /// Proposals of which nothing has come yet.
    under_way: Vec<u64>,
    rest: VecDeque<LeaseId>,
}

pub(crate) const FIX_REVOKE_WHAT_IS_OVER: Defect = Defect::fix(
    "fix-revoke-what-is-over",
    "FINDINGS.md, 102",
    "a leader that was deposed and is elected again revokes no lease that it found over before, and that lives by now",
)
.of_etcd(&[]);

pub(crate) const FIX_TICKS_ARE_NO_PROOF: Defect = Defect::fix(
    "fix-ticks-are-no-proof",
    "FINDINGS.md, 103",
    "a leader asks the others whether it leads before it revokes or renews leases, also if it has ticked lately",
)
.of_etcd(&[]);

pub(crate) const FIX_DEPOSED_REVOKES_NO_MORE: Defect = Defect::fix(
    "fix-deposed-revokes-no-more",
    "FINDINGS.md, 104",
    "a leader that was deposed proposes no further revocations, of which it makes only some at a time",
)
.of_etcd(&[]);

impl<V: Value> Etcd<V> {
    pub(in crate::server) fn lease_over(&mut self, id: LeaseId) {
        if self.lessor.primary {
            for ids in [&mut self.lessor.over, &mut self.lessor.due] {
                // One that is not revoked in time is over once more.
                if let Err(at) = ids.binary_search(&id) {
                    ids.insert(at, id);
                }
            }
        }
    }

    /// Whoever wakes from a pause finds all that was due meanwhile at once, in some order. Upstream
    /// has no timer for each lease: it compares with the clock, so that none is missed because its
    /// turn has not come yet.
    fn notice_late_timers(&mut self, cx: &mut Cx<'_>) {
        let late = cx.timers(LEASE).filter(|(_, left)| left.is_zero());
        let mut ids: Vec<_> = late.map(|(id, _)| LeaseId(id)).collect();
        ids.sort_unstable();
        for id in ids {
            cx.disarm(timer_of(id));
            self.lease_over(id);
        }
    }

    /// One pass of the loop.
    pub(in crate::server) fn expire(&mut self, cx: &mut Cx<'_>) {
        self.keep_time(cx);
        self.notice_late_timers(cx);
        let found = self.lessor.due.len().min(EXPIRY_LIMIT);
        if found == 0 {
            return;
        }
        for id in self.lessor.due.drain(..found) {
            cx.arm(timer_of(id), EXPIRY_RETRY);
            if !mutant!(
                "expiry-is-lost",
                "a lease that is over is not revoked at the first attempt"
            ) {
                self.lessor.handed.push(id);
            }
        }
        match self.config.is_single() {
            true => self.revoke_expired(cx), // nobody else can lead meanwhile
            false => cx.arm(HANDOVER, HANDOVER_TAKES),
        }
    }

    /// The goroutine that revokes. Since etcd#15247 it makes sure first that this member leads.
    pub(in crate::server) fn revoke_expired(&mut self, cx: &mut Cx<'_>) {
        let ids = std::mem::take(&mut self.lessor.handed);
        match self.takes_itself_for_leader(cx) {
            true => self.propose_revocations(cx, ids),
            false => self.read(cx, Ask::Revoke(ids)),
        }
    }

    /// Is nobody asked whether this member leads (`ensureLeadership`)? Who has woken from a pause has
    /// ticked before it has read what came meanwhile.
    pub(in crate::server) fn takes_itself_for_leader(&self, cx: &mut Cx<'_>) -> bool {
        self.config.has_among_others(EtcdDefect::OldLeaderRevokes)
            || (self.config.trusts_ticks()
                && self.is_active(cx)
                && !self.config.has(EtcdDefect::FixTicksAreNoProof))
    }

    pub(in crate::server) fn propose_revocations(&mut self, cx: &mut Cx<'_>, ids: Vec<LeaseId>) {
        let under_way = Vec::new();
        let rest = ids.into();
        self.go_on_revoking(cx, Batch { under_way, rest });
    }

    fn go_on_revoking(&mut self, cx: &mut Cx<'_>, mut batch: Batch) {
        let limit = self.config.sizes.pending_revokes as usize;
        while batch.under_way.len() < limit
            && let Some(id) = batch.rest.pop_front()
        {
            // Upstream asks whether it leads, and not whether it has led all the while.
            let lives = self.raft.leads() && self.lessor.over.binary_search(&id).is_err();
            if self.state.leases.exists(id)
                && !(lives && self.config.has(EtcdDefect::FixRevokeWhatIsOver))
            {
                let proposed = self.propose(cx, None, Cause::Expiry(id), Op::LeaseRevoke(id));
                batch.under_way.extend(proposed);
            }
        }
        if !batch.rest.is_empty() {
            self.lessor.batches.push(batch);
        }
    }

    /// Something has come of a proposal for which no client waits: it makes room for another one of
    /// its batch. Upstream does not look whether this member still leads.
    pub(in crate::server) fn was_revoked(&mut self, cx: &mut Cx<'_>, number: u64) {
        let batches = &mut self.lessor.batches;
        let Some(at) = batches.iter().position(|b| b.under_way.contains(&number)) else {
            return;
        };
        let mut batch = batches.remove(at);
        batch.under_way.retain(|other| *other != number);
        if self.raft.leads() || !self.config.has(EtcdDefect::FixDeposedRevokesNoMore) {
            self.go_on_revoking(cx, batch);
        }
    }
}
