//! The leader's queue of read rounds that wait for a quorum to confirm it (`read_only.go`).

use super::MemberId;

/// Names a read round: who asked, and its own number for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReadContext {
    /// The member that asked.
    pub member: MemberId,
    /// Its number.
    pub number: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Round {
    context: ReadContext,
    /// What was committed when it was asked for.
    index: u64,
    acks: Vec<MemberId>,
}

/// The queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ReadOnly {
    queue: Vec<Round>,
}

impl ReadOnly {
    /// A round begins. One that waits already is not queued again.
    pub(super) fn add(&mut self, context: ReadContext, index: u64, me: MemberId) {
        if self.queue.iter().any(|round| round.context == context) {
            return;
        }
        self.queue.push(Round {
            context,
            index,
            acks: vec![me],
        });
    }

    /// The newest round.
    pub(super) fn last(&self) -> Option<ReadContext> {
        self.queue.last().map(|round| round.context)
    }

    /// A member has confirmed the leader for this round; by how many is it now?
    pub(super) fn acknowledge(&mut self, context: ReadContext, from: MemberId) -> usize {
        let found = self.queue.iter_mut().find(|round| round.context == context);
        found.map_or(0, |round| {
            if !round.acks.contains(&from) {
                round.acks.push(from);
            }
            round.acks.len()
        })
    }

    /// This round and all before it are confirmed.
    pub(super) fn advance(&mut self, context: ReadContext) -> Vec<(ReadContext, u64)> {
        let at = self.queue.iter().position(|round| round.context == context);
        let done = at.map_or(0, |at| at + 1);
        let rounds = self.queue.drain(..done);
        rounds.map(|round| (round.context, round.index)).collect()
    }
}
