//! What only a leader does.

use super::log::Entry;
use super::message::Body;
use super::progress::Progress;
use super::read_only::ReadContext;
use super::{Data, ELECTION_TICKS, MemberId, Output, Raft, Role};
use wavetank_engine::mutant;

impl<D: Data, S: Data> Raft<D, S> {
    pub(super) fn become_leader(&mut self) {
        self.reset(self.hard.term);
        self.role = Role::Leader;
        self.lead = Some(self.me);
        let last = self.log.last().1;
        self.progress = vec![Progress::new(last); usize::from(self.members)];
        self.append(None);
        self.broadcast_append();
    }

    pub(super) fn append(&mut self, data: Option<D>) {
        let index = self.log.last().1 + 1;
        let term = self.hard.term;
        self.log.push(Entry { term, index, data });
        if self.members > 1 {
            self.out.push(Output::Appended { term, index });
        }
        self.progress[usize::from(self.me.0)].accept(index);
        self.advance_commit();
    }

    /// A heartbeat interval is over.
    pub fn heartbeat_due(&mut self) {
        if !self.leads() {
            return;
        }
        self.beats += 1;
        if self.beats == ELECTION_TICKS {
            self.beats = 0;
            let me = usize::from(self.me.0);
            self.progress[me].active = true;
            let active = self.progress.iter().filter(|p| p.active).count();
            if active < self.quorum()
                && !mutant!(
                    "quorum-is-not-checked",
                    "a leader that hears of no majority goes on leading"
                )
            {
                return self.become_follower(self.hard.term, None);
            }
            for progress in &mut self.progress {
                progress.active = false;
                progress.give_snapshot_up();
            }
        }
        self.broadcast_heartbeat(self.reads.last());
    }

    fn broadcast_heartbeat(&mut self, context: Option<ReadContext>) {
        for to in self.others() {
            let matched = self.progress[usize::from(to.0)].matched;
            let beyond = matched < self.hard.commit
                && mutant!(
                    "heartbeat-commits-all",
                    "a heartbeat tells a follower to commit what it may not have"
                );
            let commit = if beyond {
                self.hard.commit
            } else {
                matched.min(self.hard.commit)
            };
            self.send(to, Body::Heartbeat { commit, context });
        }
    }

    pub(super) fn broadcast_append(&mut self) {
        for to in self.others() {
            self.send_append(to);
        }
    }

    fn send_append(&mut self, to: MemberId) {
        let progress = &mut self.progress[usize::from(to.0)];
        if progress.is_paused() {
            return;
        }
        let previous = progress.next - 1;
        let Some(term) = self.log.term(previous) else {
            if progress.active {
                self.out.push(Output::NeedsSnapshot(to));
            }
            return;
        };
        let entries: Vec<Entry<D>> = self.log.from(progress.next).cloned().collect();
        progress.sent(self.log.last().1);
        let body = Body::Append {
            previous: (term, previous),
            entries,
            commit: self.hard.commit,
        };
        self.send(to, body);
    }

    pub(super) fn step_leader(&mut self, from: MemberId, body: Body<D, S>) {
        let peer = usize::from(from.0);
        match body {
            Body::Propose(data) => {
                self.append(Some(data));
                self.broadcast_append();
            }
            Body::ReadIndex(context) => self.lead_read(from, context),
            Body::AppendAnswer { index, rejected } => {
                let progress = &mut self.progress[peer];
                progress.active = true;
                match rejected {
                    Some(hint) => {
                        if progress.reject(index, hint) {
                            self.send_append(from);
                        }
                    }
                    None => {
                        let paused = progress.is_paused();
                        if progress.accept(index) {
                            if self.advance_commit() {
                                self.broadcast_append();
                            } else if paused {
                                self.send_append(from);
                            }
                        }
                    }
                }
            }
            Body::HeartbeatAnswer { context } => {
                let progress = &mut self.progress[peer];
                progress.active = true;
                progress.resume();
                if progress.matched < self.log.last().1 {
                    self.send_append(from);
                }
                if let Some(context) = context
                    && (self.reads.acknowledge(context, from) >= self.quorum()
                        || mutant!(
                            "read-without-quorum",
                            "any answer to a heartbeat confirms a read"
                        ))
                {
                    for (context, index) in self.reads.advance(context) {
                        self.answer_read(context, index);
                    }
                }
            }
            _ => {}
        }
    }

    /// Commits what a quorum has, if it is of this term. Is there more than before?
    fn advance_commit(&mut self) -> bool {
        let mut matched: Vec<u64> = self.progress.iter().map(|p| p.matched).collect();
        matched.sort_unstable_by(|a, b| b.cmp(a));
        let index = matched[self.quorum() - 1];
        let is_new = index > self.hard.commit;
        let is_own = self.log.term(index) == Some(self.hard.term)
            || is_new
                && mutant!(
                    "old-term-commits",
                    "a leader counts copies of an entry of an earlier term (figure 8 of the Raft paper)"
                );
        if !is_new || !is_own {
            return false;
        }
        self.hard.commit = index;
        for (from, context) in std::mem::take(&mut self.postponed) {
            self.lead_read(from, context);
        }
        true
    }

    /// A read round of some member: this leader needs a quorum to confirm that it still leads, and
    /// an entry of its own term that is committed.
    pub(super) fn lead_read(&mut self, from: MemberId, context: ReadContext) {
        if self.log.term(self.hard.commit) != Some(self.hard.term)
            && !mutant!(
                "read-before-own-commit",
                "a leader confirms reads before it has committed anything in its term (etcd#7331)"
            )
        {
            self.postponed.push((from, context));
        } else if self.members == 1 {
            self.answer_read(context, self.hard.commit);
        } else {
            self.reads.add(context, self.hard.commit, self.me);
            self.broadcast_heartbeat(Some(context));
        }
    }

    fn answer_read(&mut self, context: ReadContext, index: u64) {
        if context.member == self.me {
            self.out.push(Output::ReadReady { context, index });
        } else {
            self.send(context.member, Body::ReadIndexAnswer { context, index });
        }
    }
}
