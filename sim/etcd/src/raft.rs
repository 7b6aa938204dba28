//! The consensus of etcd's members: Raft as `go.etcd.io/raft` runs it under etcd, with its leader
//! check (CheckQuorum), pre-vote where the release has it, and read index. Engine-free: messages go
//! in and out, whoever drives it keeps the two timers.
//!
//! `raft/log.rs` is the log, `raft/progress.rs` what a leader knows of a follower,
//! `raft/read_only.rs` the leader's queue of read rounds, `raft/message.rs` what members say. What
//! an entry means, and what a snapshot holds, does not belong here: `D` and `S` stand for them.
//! Membership does not change, and a proposal is never too large.

mod leader;
mod log;
mod message;
mod progress;
mod read_only;

use std::fmt;
use std::hash::Hash;
use wavetank_engine::mutant;

pub use log::{Entry, Log};
pub use message::{Body, Message};
pub use progress::Progress;
pub use read_only::{ReadContext, ReadOnly};

/// A member, by its place in the list of all members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemberId(pub u8);

/// What entries and snapshots may be.
pub trait Data: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {}
impl<T: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static> Data for T {}

/// `raft.StateType`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names of Raft")]
pub enum Role {
    Follower,
    PreCandidate,
    Candidate,
    Leader,
}

/// What a member keeps through a crash, beside its log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hard {
    /// The newest term that it has seen.
    pub term: u64,
    /// For whom it voted in that term.
    pub vote: Option<MemberId>,
    /// Up to where the log is committed, as far as it knows.
    pub commit: u64,
}

/// What else the release decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Ask before standing for election (default from 3.5 on).
    pub pre_vote: bool,
}

/// What the member that drives it has to do next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output<D, S> {
    /// Send this.
    Send(MemberId, Message<D, S>),
    /// This member's log does not reach back far enough for that one: send it the state, with
    /// [`Raft::snapshot`].
    NeedsSnapshot(MemberId),
    /// A snapshot arrived that is newer than what is committed: install it.
    Install {
        /// The last entry in it.
        index: u64,
        /// The state.
        state: S,
    },
    /// This member leads others, and has put an entry of its own term at the end of its log.
    Appended {
        /// The term.
        term: u64,
        /// Where.
        index: u64,
    },
    /// A read round of this member may read once it has applied up to `index`.
    ReadReady {
        /// Which.
        context: ReadContext,
        /// How far.
        index: u64,
    },
}

/// One member's view.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Raft<D: Data, S: Data> {
    me: MemberId,
    members: u8,
    config: Config,
    hard: Hard,
    log: Log<D>,
    role: Role,
    lead: Option<MemberId>,
    votes: Vec<Option<bool>>,
    progress: Vec<Progress>,
    reads: ReadOnly,
    /// Reads that came before the leader had committed anything in its term.
    postponed: Vec<(MemberId, ReadContext)>,
    /// Heartbeats since the leader last looked for its quorum.
    beats: u32,
    /// The election timer starts anew.
    restart_timer: bool,
    /// And with another random length.
    redraw_timer: bool,
    out: Vec<Output<D, S>>,
}

/// So many heartbeats are one election timeout (`--heartbeat-interval` 100 ms,
/// `--election-timeout` 1 s).
pub const ELECTION_TICKS: u32 = 10;

impl<D: Data, S: Data> Raft<D, S> {
    /// A member that has never run.
    pub fn new(me: MemberId, members: u8, config: Config) -> Raft<D, S> {
        Raft {
            me,
            members,
            config,
            hard: Hard::default(),
            log: Log::default(),
            role: Role::Follower,
            lead: None,
            votes: Vec::new(),
            progress: Vec::new(),
            reads: ReadOnly::default(),
            postponed: Vec::new(),
            beats: 0,
            restart_timer: true,
            redraw_timer: true,
            out: Vec::new(),
        }
    }

    /// It starts again with what it kept: as a follower that knows of no leader.
    pub fn restart(&mut self) {
        *self = Raft {
            hard: Hard {
                vote: self.hard.vote.filter(|_| {
                    !mutant!(
                        "vote-is-not-kept",
                        "a restart forgets for whom a member voted"
                    )
                }),
                ..self.hard
            },
            log: self.log.clone(),
            ..Raft::new(self.me, self.members, self.config)
        };
    }

    /// It starts again from a state that comes from elsewhere: a backup.
    pub fn begin_at(&mut self, index: u64) {
        *self = Raft::new(self.me, self.members, self.config);
        self.hard = Hard {
            term: 1,
            vote: None,
            commit: index,
        };
        self.log.reset(index, 1);
    }

    /// This member.
    pub fn me(&self) -> MemberId {
        self.me
    }

    /// Its role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Does it think that it leads?
    pub fn leads(&self) -> bool {
        self.role == Role::Leader
    }

    /// Who leads, as far as it knows.
    pub fn lead(&self) -> Option<MemberId> {
        self.lead
    }

    /// Its term.
    pub fn term(&self) -> u64 {
        self.hard.term
    }

    /// Up to where the log is committed, as far as it knows.
    pub fn committed(&self) -> u64 {
        self.hard.commit
    }

    /// The log.
    pub fn log(&self) -> &Log<D> {
        &self.log
    }

    /// Cuts the log: entries up to `index` go.
    pub fn cut_log(&mut self, index: u64) {
        self.log.compact(index);
    }

    /// What is to be done now.
    pub fn take_outputs(&mut self) -> Vec<Output<D, S>> {
        std::mem::take(&mut self.out)
    }

    /// Is the election timer to start anew, and with another random length? (Asked once.)
    pub fn take_timer(&mut self) -> (bool, bool) {
        (
            std::mem::take(&mut self.restart_timer),
            std::mem::take(&mut self.redraw_timer),
        )
    }

    /// The election timer fired.
    pub fn election_due(&mut self) {
        if self.role != Role::Leader {
            self.restart_timer = true;
            self.campaign(self.config.pre_vote);
        }
    }

    /// Takes a proposal. `Err` returns it: nobody leads that could take it.
    ///
    /// # Errors
    /// The proposal, if this member knows of no leader.
    pub fn propose(&mut self, data: D) -> Result<(), D> {
        match (self.role, self.lead) {
            (Role::Leader, _) => {
                self.append(Some(data));
                self.broadcast_append();
                Ok(())
            }
            (Role::Follower, Some(lead)) => {
                self.send(lead, Body::Propose(data));
                Ok(())
            }
            _ => Err(data),
        }
    }

    /// Asks how far a linearizable read has to be. Without a leader the question is lost.
    pub fn read_index(&mut self, context: ReadContext) {
        match (self.role, self.lead) {
            (Role::Leader, _) => self.lead_read(self.me, context),
            (Role::Follower, Some(lead)) => self.send(lead, Body::ReadIndex(context)),
            _ => {}
        }
    }

    /// The state for a member that is too far behind; `index` is the last entry in it.
    pub fn snapshot(&mut self, to: MemberId, index: u64, state: S) {
        let term = self.log.term(index).expect("applied entries have one");
        self.progress[usize::from(to.0)].await_snapshot(index);
        self.send(to, Body::Snapshot { index, term, state });
    }

    /// A message arrived. `in_lease`: was anything heard of a leader within the last election
    /// timeout?
    pub fn step(&mut self, from: MemberId, message: Message<D, S>, in_lease: bool) {
        let Message { term, body } = message;
        if term > self.hard.term {
            match &body {
                Body::Vote { .. } if self.lead.is_some() && in_lease => return,
                // A pre-vote is about a term that may never be; so is a yes to one.
                Body::Vote { pre: true, .. }
                | Body::VoteAnswer {
                    pre: true,
                    granted: true,
                } => {}
                Body::Append { .. } | Body::Heartbeat { .. } | Body::Snapshot { .. } => {
                    self.become_follower(term, Some(from));
                }
                _ => self.become_follower(term, None),
            }
        } else if term < self.hard.term && body.has_term() {
            match body {
                // Tells a leader that was cut off for long that its time is over.
                Body::Append { .. } | Body::Heartbeat { .. } => {
                    self.send(from, Body::appended(0));
                }
                Body::Vote { pre: true, .. } => {
                    let granted = false;
                    self.send(from, Body::VoteAnswer { pre: true, granted });
                }
                _ => {}
            }
            return;
        }
        match body {
            Body::Vote { pre, last } => self.vote(from, term, pre, last),
            body => match self.role {
                Role::Leader => self.step_leader(from, body),
                Role::Candidate | Role::PreCandidate => self.step_candidate(from, body),
                Role::Follower => self.step_follower(from, body),
            },
        }
    }

    fn vote(&mut self, from: MemberId, term: u64, pre: bool, last: (u64, u64)) {
        let free = self.hard.vote == Some(from)
            || (self.hard.vote.is_none() && self.lead.is_none())
            || (pre && term > self.hard.term)
            || !pre
                && mutant!(
                    "vote-twice",
                    "a member votes for a second candidate of a term"
                );
        let up_to_date = last >= self.log.last()
            || free
                && mutant!(
                    "vote-without-log",
                    "a member votes for a candidate whose log lacks entries of its own"
                );
        let granted = free && up_to_date;
        if granted && !pre {
            self.restart_timer = true;
            self.hard.vote = Some(from);
        }
        // A yes to a pre-vote is for the term that was asked about, a no tells this member's own.
        let term = if granted { term } else { self.hard.term };
        let body = Body::VoteAnswer { pre, granted };
        self.out.push(Output::Send(from, Message { term, body }));
    }

    fn step_candidate(&mut self, from: MemberId, body: Body<D, S>) {
        match body {
            Body::Append { .. } | Body::Heartbeat { .. } | Body::Snapshot { .. } => {
                self.become_follower(self.hard.term, Some(from));
                self.step_follower(from, body);
            }
            Body::VoteAnswer { pre, granted } if pre == (self.role == Role::PreCandidate) => {
                self.votes[usize::from(from.0)].get_or_insert(granted);
                self.tally();
            }
            _ => {}
        }
    }

    fn step_follower(&mut self, from: MemberId, body: Body<D, S>) {
        match body {
            Body::Append {
                previous,
                entries,
                commit,
            } => {
                self.hear(from);
                self.take_entries(from, previous, entries, commit);
            }
            Body::Heartbeat { commit, context } => {
                self.hear(from);
                self.commit_to(commit);
                self.send(from, Body::HeartbeatAnswer { context });
            }
            Body::Snapshot { index, term, state } => {
                self.hear(from);
                self.take_snapshot(from, index, term, state);
            }
            Body::Propose(data) => {
                // Without a leader it is lost.
                if let Some(lead) = self.lead {
                    self.send(lead, Body::Propose(data));
                }
            }
            Body::ReadIndexAnswer { context, index } => {
                self.out.push(Output::ReadReady { context, index });
            }
            _ => {}
        }
    }

    fn hear(&mut self, from: MemberId) {
        self.restart_timer = true;
        self.lead = Some(from);
    }

    fn take_entries(
        &mut self,
        from: MemberId,
        previous: (u64, u64),
        entries: Vec<Entry<D>>,
        commit: u64,
    ) {
        let (term, index) = previous;
        if index < self.hard.commit {
            return self.send(from, Body::appended(self.hard.commit));
        }
        if self.log.term(index) != Some(term)
            && !(index <= self.log.last().1
                && mutant!(
                    "append-over-conflict",
                    "a follower appends after an entry of another term"
                ))
        {
            let hint = self.log.last().1.min(index);
            let rejected = Some(hint);
            return self.send(from, Body::AppendAnswer { index, rejected });
        }
        let newest = index + entries.len() as u64;
        self.log.extend(entries);
        let beyond = commit > newest
            && mutant!(
                "commit-beyond-append",
                "a follower commits entries that the leader has not just confirmed"
            );
        self.commit_to(if beyond { commit } else { commit.min(newest) });
        self.send(from, Body::appended(newest));
    }

    fn take_snapshot(&mut self, from: MemberId, index: u64, term: u64, state: S) {
        if index <= self.hard.commit {
            return self.send(from, Body::appended(self.hard.commit));
        }
        if self.log.term(index) == Some(term) {
            // It has these entries already, and only did not know that they are committed.
            self.commit_to(index);
            return self.send(from, Body::appended(self.hard.commit));
        }
        self.log.reset(index, term);
        self.hard.commit = index;
        self.out.push(Output::Install { index, state });
        self.send(from, Body::appended(index));
    }

    fn commit_to(&mut self, index: u64) {
        self.hard.commit = self.hard.commit.max(index.min(self.log.last().1));
    }

    fn campaign(&mut self, pre: bool) {
        if pre {
            self.role = Role::PreCandidate;
            self.lead = None;
        } else {
            self.reset(self.hard.term + 1);
            self.role = Role::Candidate;
            self.hard.vote = Some(self.me);
        }
        self.votes = vec![None; usize::from(self.members)];
        self.votes[usize::from(self.me.0)] = Some(true);
        if self.tally() {
            return;
        }
        let term = self.hard.term + u64::from(pre);
        let last = self.log.last();
        for to in self.others() {
            let body = Body::Vote { pre, last };
            self.out.push(Output::Send(to, Message { term, body }));
        }
    }

    /// Counts the votes; is the election decided?
    fn tally(&mut self) -> bool {
        let of = |what| {
            self.votes
                .iter()
                .filter(|vote| **vote == Some(what))
                .count()
        };
        if of(true) >= self.quorum() {
            match self.role {
                Role::PreCandidate => self.campaign(false),
                _ => self.become_leader(),
            }
            true
        } else if of(false) >= self.quorum() {
            self.become_follower(self.hard.term, None);
            true
        } else {
            false
        }
    }

    fn become_follower(&mut self, term: u64, lead: Option<MemberId>) {
        self.reset(term);
        self.role = Role::Follower;
        self.lead = lead;
    }

    fn reset(&mut self, term: u64) {
        if term != self.hard.term {
            self.hard.term = term;
            let keeps = self.hard.vote.is_some()
                && mutant!(
                    "vote-outlives-term",
                    "a new term begins with the vote of the last one"
                );
            self.hard.vote = self.hard.vote.filter(|_| keeps);
        }
        self.lead = None;
        self.votes.clear();
        self.progress.clear();
        self.reads = ReadOnly::default();
        self.postponed.clear();
        self.beats = 0;
        self.restart_timer = true;
        self.redraw_timer = true;
    }

    fn quorum(&self) -> usize {
        let short = self.members > 1
            && mutant!(
                "quorum-of-less",
                "one member less than a majority is a quorum"
            );
        usize::from(self.members) / 2 + usize::from(!short)
    }

    fn others(&self) -> impl Iterator<Item = MemberId> + use<D, S> {
        let me = self.me;
        (0..self.members).map(MemberId).filter(move |id| *id != me)
    }

    fn send(&mut self, to: MemberId, body: Body<D, S>) {
        let term = self.hard.term;
        self.out.push(Output::Send(to, Message { term, body }));
    }
}
