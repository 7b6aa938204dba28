//! What members say to each other, the timers of Raft, and how committed entries become state.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Cx, Keepalive, Name, Rx, Task, Timer, Transport, mutant};
use wavetank_version::{Defect, Listed};

use crate::EtcdDefect;
use crate::api::{EtcdError, Response, Value};
use crate::gates;
use crate::mvcc::route;
use crate::raft::{ELECTION_TICKS, MemberId, Message, Output};
use crate::state::{Op, Proposal, State};

use super::lessor::{LeaseAnswer, LeaseAsk};
use super::notes::{Appended, Applied, Committed, Installed, Led};
use super::{ELECTION_LENGTH, Etcd};

/// The members' connections to each other (`rafthttp`): a stream that is silent for 5 s is given
/// up (`ConnReadTimeout`), dialling takes 1 s more than an election (`DialTimeout`).
pub static PEER: Transport = Transport {
    name: Name::new("raft"),
    dial_timeout: Duration::from_secs(2),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(5),
        limit: Duration::from_secs(5),
        idle: true,
    }),
    window: None,
};

/// `--heartbeat-interval`
const TICK: Duration = Duration::from_millis(100);
pub(super) const ELECTION: Timer = Timer::new(Name::new("election"), 0);
pub(super) const HEARTBEAT: Timer = Timer::new(Name::new("heartbeat"), 0);
/// A leader has not ticked for three ticks.
pub(super) const INACTIVE: Timer = Timer::new(Name::new("inactive"), 0);
/// A process that wakes from a pause has noticed all that was due by then.
const NOTICED_WITHIN: Duration = Duration::from_millis(1);
/// A batch of the backend is written so often (`backendBatchInterval`).
const FLUSH_EVERY: Duration = Duration::from_millis(100);
pub(super) const FLUSH: Timer = Timer::new(Name::new("flush"), 0);
/// How long an entry is noted as applied before it is, with etcd#13766: an apply under load.
const APPLY_TAKES: Duration = Duration::from_millis(5);
pub(super) const APPLY: Timer = Timer::new(Name::new("apply"), 0);

/// What a member sends to another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Peer<V: Value> {
    /// Of Raft, with the sender's cluster: a restored one is another.
    Raft(u64, Message<Arc<Proposal<V>>, State<V>>),
    /// A question to the leader's lessor, with the sender's number for it.
    Lease(u64, LeaseAsk),
    /// The answer.
    LeaseAnswer(u64, LeaseAnswer),
    /// A backup: an operator copies the file.
    Backup(State<V>),
}

pub(crate) const CRASH_LOSES_ENTRIES: Defect = Defect::known(
    "crash-loses-entries",
    "etcd#13766 (3.5.3)",
    "a crash between noting an entry as applied and applying it loses it on that member",
)
.of_etcd(gates::CRASH_LOSES_ENTRIES);

pub(crate) const MEMBERS_SKIP_RANGES: Defect = Defect::known(
    "members-skip-ranges",
    "etcd#18667 (3.7)",
    "a range of a transaction is checked only by the member that was asked: one at a compacted revision makes it the only one that refuses",
)
.of_etcd(gates::EVERY_LINE);

impl<V: Value> Etcd<V> {
    /// Does all that follows from what has just happened.
    pub(super) fn drive(&mut self, cx: &mut Cx<'_>) {
        loop {
            self.apply_committed(cx);
            self.follow_leadership(cx);
            let served = self.serve_round(cx);
            let handed = self.hand_over();
            let outputs = self.raft.take_outputs();
            if outputs.is_empty() && !served && !handed {
                break;
            }
            for output in outputs {
                self.carry_out(cx, output);
            }
        }
        self.keep_timers(cx);
        self.keep_watches(cx);
    }

    fn carry_out(&mut self, cx: &mut Cx<'_>, output: Output<Arc<Proposal<V>>, State<V>>) {
        match output {
            Output::Send(to, message) => self.say(cx, to, Peer::Raft(self.cluster, message)),
            Output::NeedsSnapshot(to) => {
                self.raft.snapshot(to, self.state.index, self.state.clone());
            }
            Output::Install { index, state } => self.install(cx, index, state),
            Output::Appended { term, index } => {
                if self.lessor.is_primary() {
                    cx.note(Appended { term, index });
                }
            }
            Output::ReadReady { context, index } => self.confirm_round(cx, context, index),
        }
    }

    pub(super) fn say(&self, cx: &mut Cx<'_>, to: MemberId, what: Peer<V>) {
        cx.cast(self.config.members[usize::from(to.0)], &PEER, what);
    }

    pub(super) fn hear(&mut self, cx: &mut Cx<'_>, from: MemberId, what: &Peer<V>) {
        match what {
            Peer::Raft(cluster, message) if *cluster == self.cluster => {
                let in_lease = self.in_lease(cx);
                self.raft.step(from, message.clone(), in_lease);
            }
            Peer::Raft(..) => {}
            Peer::Lease(number, ask) => self.asked_by_peer(cx, from, *number, *ask),
            Peer::Backup(state) => self.keep_backup(state),
            Peer::LeaseAnswer(number, answer) => self.answered_by_leader(cx, *number, answer),
        }
    }

    /// Has anything been heard of a leader within the last election timeout?
    fn in_lease(&self, cx: &mut Cx<'_>) -> bool {
        let rest = TICK * self.election_ticks.saturating_sub(ELECTION_TICKS);
        self.raft.leads() || cx.remaining(ELECTION).is_some_and(|left| left > rest)
    }

    /// Raft's timers. The only member of a cluster needs none.
    fn keep_timers(&mut self, cx: &mut Cx<'_>) {
        let (restart, redraw) = self.raft.take_timer();
        if self.config.is_single() {
            return;
        }
        if self.raft.leads() {
            if redraw {
                cx.disarm(ELECTION);
                self.tick(cx);
            }
        } else if redraw {
            cx.disarm(HEARTBEAT);
            cx.disarm(INACTIVE);
            cx.spawn(Task::new(ELECTION_LENGTH, ()));
        } else if restart && self.election_ticks > 0 {
            cx.arm(ELECTION, TICK * self.election_ticks);
        }
    }

    pub(super) fn heartbeat(&mut self, cx: &mut Cx<'_>) {
        self.tick(cx);
        self.raft.heartbeat_due();
    }

    fn tick(&self, cx: &mut Cx<'_>) {
        cx.arm(HEARTBEAT, TICK);
        if self.config.trusts_ticks() {
            cx.arm(INACTIVE, TICK * 3);
        }
    }

    /// Has it ticked within three ticks (`server.go` `isActive`)? Only a leader's ticks are told
    /// apart: who does not lead any more goes on to tick.
    pub(super) fn is_active(&self, cx: &mut Cx<'_>) -> bool {
        // What was due during a pause comes a moment after it.
        let runs = |left| left > NOTICED_WITHIN;
        !self.raft.leads() || cx.remaining(INACTIVE).is_some_and(runs)
    }

    /// The driver has drawn the length of the election timer; how long is it, if it is needed?
    fn drawn(&mut self, ticks: u32) -> Option<Duration> {
        let first = self.election_ticks == 0;
        self.election_ticks = ELECTION_TICKS + ticks;
        // A member that starts does not wait for a leader that is not there
        // (`--initial-election-tick-advance`).
        let skipped = if first { ELECTION_TICKS - 1 } else { 0 };
        (!self.raft.leads()).then(|| TICK * (self.election_ticks - skipped))
    }

    fn follow_leadership(&mut self, cx: &mut Cx<'_>) {
        let lead = self.raft.lead();
        if lead == self.known_lead {
            return;
        }
        let led = self.known_lead == Some(self.config.me);
        self.known_lead = lead;
        if led {
            self.demote(cx);
        }
        if lead == Some(self.config.me) {
            self.blame_last_leader();
            if !self.config.is_single() {
                cx.note(Led {
                    member: self.config.me,
                    term: self.raft.term(),
                });
            }
        }
        if lead.is_some() {
            self.fail_round(cx, EtcdError::LeaderChanged);
            self.ask_leader_again(cx);
        }
    }

    fn apply_committed(&mut self, cx: &mut Cx<'_>) {
        while !self.applying && self.state.index < self.raft.committed() {
            if self.raft.log().get(self.state.index + 1).is_none() {
                return; // a snapshot is about to be installed
            }
            if self.flushed.is_some() {
                self.applying = true;
                cx.arm(APPLY, APPLY_TAKES);
                return;
            }
            self.apply_next(cx);
        }
    }

    /// Applies the next entry of the log.
    pub(super) fn apply_next(&mut self, cx: &mut Cx<'_>) {
        self.applying = false;
        let index = self.state.index + 1;
        let Some(entry) = self.raft.log().get(index).cloned() else {
            return; // a snapshot was installed meanwhile
        };
        self.state.index = index;
        match &entry.data {
            Some(proposal) => self.apply(cx, index, proposal),
            None => {
                // What was asked of a leader before this entry may be lost (`firstCommitInTerm`).
                self.retry_round(cx);
                if self.raft.leads() && entry.term == self.raft.term() {
                    self.promote(cx);
                }
            }
        }
        if !self.config.is_single() {
            cx.note(Applied {
                member: self.config.me,
                term: entry.term,
                index,
                revision: self.state.store.revision(),
            });
        }
        let sizes = self.config.sizes;
        if index - self.raft.log().cut() >= sizes.snapshot_count + sizes.catch_up_entries {
            let on_disk = self.flushed.as_ref().map_or(index, |state| state.index);
            let keep_from = index - sizes.catch_up_entries;
            self.raft.cut_log(keep_from.min(on_disk));
        }
    }

    fn apply(&mut self, cx: &mut Cx<'_>, index: u64, proposal: &Arc<Proposal<V>>) {
        let op = self.as_applied_here(proposal);
        let response = match self.state.apply(&op, self.config.quirks()) {
            Err(error) => Response::Error(error),
            Ok((response, changes)) => {
                self.follow_lease(cx, &proposal.op);
                if !changes.is_empty() {
                    let revision = self.state.store.revision();
                    self.watches.notify(revision, &changes);
                    if self.raft.leads() {
                        cx.note(Committed {
                            index,
                            revision,
                            changes,
                            cause: proposal.cause,
                        });
                    }
                }
                response
            }
        };
        self.answer_proposal(cx, proposal, response);
    }

    /// With etcd#18667 the ranges of a transaction are left out where nobody waits for them, and
    /// with them the checks that they bring.
    fn as_applied_here<'a>(&self, proposal: &'a Proposal<V>) -> Cow<'a, Op<V>> {
        match &proposal.op {
            Op::Txn(txn)
                if !self.awaits(proposal) && self.config.has(EtcdDefect::MembersSkipRanges) =>
            {
                Cow::Owned(Op::Txn(route::without_ranges(txn)))
            }
            op => Cow::Borrowed(op),
        }
    }

    fn install(&mut self, cx: &mut Cx<'_>, index: u64, state: State<V>) {
        self.state = state;
        self.state.index = index;
        if let Some(flushed) = &mut self.flushed {
            *flushed = self.state.clone();
        }
        if mutant!(
            "snapshot-without-leases",
            "a member that gets a snapshot forgets all leases"
        ) {
            self.state.leases = crate::leases::Leases::default();
        }
        self.watches.restore();
        cx.note(Installed {
            member: self.config.me,
            index,
            revision: self.state.store.revision(),
        });
    }

    /// The backend's batch goes to disk. With etcd#13766 it says that an entry is applied which is
    /// not in it yet.
    pub(super) fn flush(&mut self, cx: &mut Cx<'_>) {
        if let Some(flushed) = &mut self.flushed {
            *flushed = self.state.clone();
            flushed.index += u64::from(self.applying);
            cx.arm(FLUSH, FLUSH_EVERY);
        }
    }

    /// Begins a life with what is on disk.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>) {
        self.life += 1;
        self.raft.restart();
        let loses = self.config.defects.contains(EtcdDefect::CrashLosesEntries);
        // Nobody can tell that a cluster of one has lost what it had not answered yet.
        if self.life > 1 && !self.config.is_single() {
            EtcdDefect::CrashLosesEntries.passed(loses);
        }
        if loses {
            let flushed = self.flushed.take().unwrap_or_default();
            self.state = flushed.clone();
            self.flushed = Some(flushed);
            cx.arm(FLUSH, FLUSH_EVERY);
        }
        if self.config.is_single() {
            self.raft.election_due();
        }
        self.write_content(cx);
        self.drive(cx);
    }
}

/// Draws the length of the election timer: uniform between one and two election timeouts.
pub(super) async fn election_length<V: Value>(rx: Rx) {
    let drawn = rx.choose_apart(u64::from(ELECTION_TICKS)).await as u32;
    let length = rx.process(move |etcd: &mut Etcd<V>| etcd.drawn(drawn));
    if let Some(length) = length {
        rx.arm(ELECTION, length);
    }
}
