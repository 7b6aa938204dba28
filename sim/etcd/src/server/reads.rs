//! The way of a linearizable read (`v3_server.go` `linearizableReadLoop`): one round at a time asks
//! how far a quorum's leader has committed; all reads that came before it are answered once this
//! member has applied so far.

use std::time::Duration;

use wavetank_engine::{Caller, Cx, Name, Timer, mutant};
use wavetank_version::Defect;

use crate::EtcdDefect;
use crate::api::{EtcdError, LeaseId, Range, Response, Txn, Value};
use crate::gates;
use crate::raft::ReadContext;
use crate::state::State;

use super::Etcd;
use super::lessor::{Asker, LeaseAsk};
use super::writes::REQUEST_TIMEOUT;

/// `readIndexRetryTime`
const RETRY_AFTER: Duration = Duration::from_millis(500);
pub(super) const READ_RETRY: Timer = Timer::new(Name::new("read-index-retry"), 0);
pub(super) const READ_LIMIT: Timer = Timer::new(Name::new("read-index-timeout"), 0);

/// What is to be done once the round is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Ask<V> {
    Range(Caller, Range),
    Txn(Caller, Txn<V>),
    /// The leader makes sure that it leads before it renews a lease (etcd#15247).
    Lease(Asker, LeaseAsk),
    /// Or revokes some that are over.
    Revoke(Vec<LeaseId>),
}

/// Reads of this member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reads<V> {
    /// For the next round.
    queue: Vec<Ask<V>>,
    round: Option<Round<V>>,
    number: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Round<V> {
    /// The numbers under which it was asked for.
    numbers: Vec<u64>,
    asks: Vec<Ask<V>>,
    /// How far this member has to be.
    index: Option<u64>,
}

impl<V> Default for Reads<V> {
    fn default() -> Self {
        Reads {
            queue: Vec::new(),
            round: None,
            number: 0,
        }
    }
}

pub(crate) const STALE_READ_INDEX: Defect = Defect::known(
    "stale-read-index",
    "etcd#20418 (3.4.42, 3.5.28, 3.6.9)",
    "a repeated read index under its old number confirms a leader that has been replaced",
)
.of_etcd(gates::STALE_READ_INDEX);

impl<V: Value> Etcd<V> {
    /// Asks for the next round, unless one is under way.
    pub(super) fn read(&mut self, cx: &mut Cx<'_>, ask: Ask<V>) {
        match &mut self.reads.round {
            Some(round)
                if mutant!(
                    "read-joins-late",
                    "a read joins a round whose index was asked for before it"
                ) =>
            {
                round.asks.push(ask);
            }
            _ => self.reads.queue.push(ask),
        }
        self.begin_round(cx);
    }

    fn begin_round(&mut self, cx: &mut Cx<'_>) {
        if self.reads.round.is_some() || self.reads.queue.is_empty() {
            return;
        }
        self.reads.round = Some(Round {
            numbers: Vec::new(),
            asks: std::mem::take(&mut self.reads.queue),
            index: None,
        });
        self.reads.number += 1;
        self.ask_index(self.reads.number);
        if !self.config.is_single() {
            cx.arm(READ_LIMIT, REQUEST_TIMEOUT);
            if self.config.repeats_reads() {
                cx.arm(READ_RETRY, RETRY_AFTER);
            }
        }
    }

    fn ask_index(&mut self, number: u64) {
        let round = self.reads.round.as_mut().expect("it has begun");
        if !round.numbers.contains(&number) {
            round.numbers.push(number);
        }
        self.raft.read_index(ReadContext {
            member: self.config.me,
            number: u64::from(self.life) << 32 | number,
        });
    }

    /// No answer for [`RETRY_AFTER`], or a leader's term has begun in earnest: it is asked again,
    /// under another number since etcd#20418.
    pub(super) fn retry_round(&mut self, cx: &mut Cx<'_>) {
        let waits = self.reads.round.as_ref().is_some_and(|r| r.index.is_none());
        if !waits || !self.config.repeats_reads() {
            return;
        }
        if !self.config.has(EtcdDefect::StaleReadIndex) {
            self.reads.number += 1;
        }
        self.ask_index(self.reads.number);
        cx.arm(READ_RETRY, RETRY_AFTER);
    }

    /// The answer to a round.
    pub(super) fn confirm_round(&mut self, cx: &mut Cx<'_>, context: ReadContext, index: u64) {
        let number = context.number & u64::from(u32::MAX);
        if let Some(round) = &mut self.reads.round
            && context.number >> 32 == u64::from(self.life)
            && round.numbers.contains(&number)
            && round.index.is_none()
        {
            round.index = Some(index);
            if !self.config.is_single() {
                cx.disarm(READ_RETRY);
                cx.disarm(READ_LIMIT);
            }
        }
    }

    /// Answers the reads of a round that is confirmed, once enough is applied. Was there one?
    pub(super) fn serve_round(&mut self, cx: &mut Cx<'_>) -> bool {
        let index = self.reads.round.as_ref().and_then(|round| round.index);
        let waits = |index| {
            index > self.state.index
                && !mutant!(
                    "read-does-not-wait",
                    "a read is answered before the member has applied its index"
                )
        };
        if index.is_none_or(waits) {
            return false;
        }
        let round = self.reads.round.take().expect("it is confirmed");
        for ask in round.asks {
            match ask {
                Ask::Range(caller, range) => self.answer_range(cx, caller, &range),
                Ask::Txn(caller, txn) => self.answer_txn(cx, caller, &txn),
                Ask::Lease(asker, ask) => self.answer_lease(cx, asker, ask),
                Ask::Revoke(ids)
                    if self.raft.leads()
                        && !mutant!(
                            "nothing-is-revoked",
                            "a leader does not revoke leases that are over"
                        ) =>
                {
                    self.propose_revocations(cx, ids);
                }
                Ask::Revoke(_) => {}
            }
        }
        self.begin_round(cx);
        true
    }

    /// The round failed: so did everything in it.
    pub(super) fn fail_round(&mut self, cx: &mut Cx<'_>, error: EtcdError) {
        if self.reads.round.as_ref().is_none_or(|r| r.index.is_some()) {
            return;
        }
        cx.disarm(READ_RETRY);
        cx.disarm(READ_LIMIT);
        let round = self.reads.round.take().expect("it has begun");
        for ask in round.asks {
            match ask {
                Ask::Range(caller, _) | Ask::Txn(caller, _) => {
                    cx.reply(caller, Response::<V>::Error(error));
                }
                // Since etcd#15247 a client is told, who may try another member; a peer asks again.
                Ask::Lease(Asker::Client(caller), _) => {
                    cx.reply(caller, Response::<V>::Error(EtcdError::NotPrimary));
                }
                Ask::Lease(Asker::Peer(..), _) => {}
                Ask::Revoke(_) => {} // they come up again
            }
        }
        self.begin_round(cx);
    }

    pub(super) fn refuse_reads(&mut self, cx: &mut Cx<'_>, error: EtcdError) {
        cx.disarm(READ_RETRY);
        cx.disarm(READ_LIMIT);
        let Reads { queue, round, .. } = std::mem::take(&mut self.reads);
        for ask in round.into_iter().flat_map(|r| r.asks).chain(queue) {
            if let Ask::Range(caller, _)
            | Ask::Txn(caller, _)
            | Ask::Lease(Asker::Client(caller), _) = ask
            {
                cx.reply(caller, Response::<V>::Error(error));
            }
        }
    }

    pub(super) fn answer_range(&mut self, cx: &mut Cx<'_>, caller: Caller, range: &Range) {
        let response = match self.state.store.range(range) {
            Ok(ranged) => Response::Range(ranged),
            Err(error) => Response::Error(error),
        };
        cx.reply(caller, response);
    }

    pub(super) fn answer_txn(&mut self, cx: &mut Cx<'_>, caller: Caller, txn: &Txn<V>) {
        let State { store, leases, .. } = &mut self.state;
        let response = match store.txn(txn, leases, self.config.quirks()) {
            Ok((response, _)) => Response::Txn(response),
            Err(error) => Response::Error(error),
        };
        cx.reply(caller, response);
    }
}
