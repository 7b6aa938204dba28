//! The way of a proposal (`v3_server.go` `processInternalRaftRequestOnce`): it is handed to the
//! leader, and whoever waits for it is answered when this member has applied it, or after
//! [`REQUEST_TIMEOUT`].

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Caller, Cx, Name, Timer};

use crate::api::{EtcdError, LeaseId, Response, Value};
use crate::state::{Cause, Op, Proposal};

use super::Etcd;

/// `ReqTimeout`: 5 s and two election timeouts.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(7);
/// How far the numbers are apart that members give to leases.
const LEASES_OF_A_MEMBER: u64 = 1_000_000_000;
pub(super) const PROPOSAL: Name = Name::new("proposal");

/// Proposals of this member that are not applied yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Writes<V> {
    number: u64,
    waiting: Vec<Waiting>,
    /// Nobody led when they came: they wait for a leader.
    held: Vec<Arc<Proposal<V>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    number: u64,
    caller: Option<Caller>,
    /// This member has become leader since.
    leader_failed: bool,
}

impl<V> Default for Writes<V> {
    fn default() -> Self {
        Writes {
            number: 0,
            waiting: Vec::new(),
            held: Vec::new(),
        }
    }
}

impl<V: Value> Etcd<V> {
    /// Proposes it, and tells its number here, unless too much waits already.
    pub(super) fn propose(
        &mut self,
        cx: &mut Cx<'_>,
        caller: Option<Caller>,
        cause: Cause,
        op: Op<V>,
    ) -> Option<u64> {
        if self.raft.committed() > self.state.index + self.config.sizes.apply_backlog {
            if let Some(caller) = caller {
                cx.reply(caller, Response::<V>::Error(EtcdError::TooManyRequests));
            }
            return None;
        }
        self.writes.number += 1;
        let number = self.writes.number;
        let proposal = Arc::new(Proposal {
            member: self.config.me,
            life: self.life,
            number,
            cause,
            op,
        });
        self.writes.waiting.push(Waiting {
            number,
            caller,
            leader_failed: false,
        });
        // A single member applies it before this event is over.
        if !self.config.is_single() {
            cx.arm(Timer::new(PROPOSAL, number), REQUEST_TIMEOUT);
        }
        if let Err(proposal) = self.raft.propose(proposal) {
            self.writes.held.push(proposal);
        }
        Some(number)
    }

    /// There is a leader again: it gets what waited for it. Was there anything?
    pub(super) fn hand_over(&mut self) -> bool {
        if self.raft.lead().is_none() || self.writes.held.is_empty() {
            return false;
        }
        for proposal in std::mem::take(&mut self.writes.held) {
            if let Err(proposal) = self.raft.propose(proposal) {
                self.writes.held.push(proposal);
            }
        }
        true
    }

    /// Does anybody wait here for what comes of it?
    pub(super) fn awaits(&self, proposal: &Proposal<V>) -> bool {
        let mut waiting = self.writes.waiting.iter();
        (proposal.member, proposal.life) == (self.config.me, self.life)
            && waiting.any(|w| w.number == proposal.number)
    }

    pub(super) fn refuse_writes(&mut self, cx: &mut Cx<'_>, error: EtcdError) {
        for waiting in std::mem::take(&mut self.writes.waiting) {
            cx.disarm(Timer::new(PROPOSAL, waiting.number));
            if let Some(caller) = waiting.caller {
                cx.reply(caller, Response::<V>::Error(error));
            }
        }
    }

    /// This member has applied a proposal: whoever waits for it here is answered.
    pub(super) fn answer_proposal(
        &mut self,
        cx: &mut Cx<'_>,
        proposal: &Proposal<V>,
        response: Response<V>,
    ) {
        if (proposal.member, proposal.life) != (self.config.me, self.life) {
            return;
        }
        let waiting = &mut self.writes.waiting;
        let Some(at) = waiting.iter().position(|w| w.number == proposal.number) else {
            return; // its time was over
        };
        let caller = waiting.remove(at).caller;
        if !self.config.is_single() {
            cx.disarm(Timer::new(PROPOSAL, proposal.number));
        }
        match caller {
            Some(caller) => cx.reply(caller, response),
            None => self.was_revoked(cx, proposal.number),
        }
    }

    pub(super) fn proposal_timed_out(&mut self, cx: &mut Cx<'_>, number: u64) {
        let waiting = &mut self.writes.waiting;
        let Some(at) = waiting.iter().position(|w| w.number == number) else {
            return;
        };
        let late = waiting.remove(at);
        let held = self.writes.held.iter().position(|p| p.number == number);
        let error = match held {
            Some(at) => {
                self.writes.held.remove(at);
                EtcdError::DeadlineExceeded
            }
            None if late.leader_failed => EtcdError::TimeoutLeaderFailed,
            None if self.raft.lead().is_none() => EtcdError::TimeoutConnectionLost,
            None => EtcdError::Timeout,
        };
        match late.caller {
            Some(caller) => cx.reply(caller, Response::<V>::Error(error)),
            None => self.was_revoked(cx, number),
        }
    }

    /// This member leads now: proposals that are late may be so because the last leader failed.
    pub(super) fn blame_last_leader(&mut self) {
        for waiting in &mut self.writes.waiting {
            waiting.leader_failed = true;
        }
    }

    /// A number for a lease that nobody else gives. As with `idutil` the member is part of it, and
    /// it is above all that clients choose for themselves; unlike there it can be read.
    pub(super) fn next_lease(&mut self) -> LeaseId {
        self.granted += 1;
        LeaseId((u64::from(self.config.me.0) + 1) * LEASES_OF_A_MEMBER + self.granted)
    }
}
