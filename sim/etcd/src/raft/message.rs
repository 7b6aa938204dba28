//! What members say to each other.

use super::log::Entry;
use super::read_only::ReadContext;

/// A message, with its sender's term; that of a pre-vote is the term it would begin.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Message<D, S> {
    /// The term.
    pub term: u64,
    /// What it says.
    pub body: Body<D, S>,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Body<D, S> {
    /// Vote for me.
    Vote {
        /// Only asked: would you?
        pre: bool,
        /// Term and index of my last entry.
        last: (u64, u64),
    },
    /// Yes or no.
    VoteAnswer {
        /// To a pre-vote.
        pre: bool,
        /// Yes.
        granted: bool,
    },
    /// Entries after `previous`.
    Append {
        /// Term and index of the entry before the first.
        previous: (u64, u64),
        /// The entries, perhaps none.
        entries: Vec<Entry<D>>,
        /// Up to where the leader's log is committed.
        commit: u64,
    },
    /// Up to where the sender's log is now the leader's, or that it does not fit.
    AppendAnswer {
        /// The last entry that fits, or the `previous` that does not.
        index: u64,
        /// It does not fit: the newest entry that might.
        rejected: Option<u64>,
    },
    /// I still lead.
    Heartbeat {
        /// Up to where the receiver's log is committed.
        commit: u64,
        /// The newest read round that waits for a quorum.
        context: Option<ReadContext>,
    },
    /// I know.
    HeartbeatAnswer {
        /// As in the heartbeat.
        context: Option<ReadContext>,
    },
    /// The state up to an entry.
    Snapshot {
        /// Its last entry.
        index: u64,
        /// That one's term.
        term: u64,
        /// The state.
        state: S,
    },
    /// A proposal, passed on to the leader.
    Propose(D),
    /// How far does a linearizable read have to be?
    ReadIndex(ReadContext),
    /// So far.
    ReadIndexAnswer {
        /// Which read.
        context: ReadContext,
        /// How far.
        index: u64,
    },
}

impl<D, S> Body<D, S> {
    /// The sender's log is the leader's up to `index`.
    pub(super) fn appended(index: u64) -> Body<D, S> {
        Body::AppendAnswer {
            index,
            rejected: None,
        }
    }

    /// Does the term of its message count? What is passed on to the leader has none.
    pub(super) fn has_term(&self) -> bool {
        !matches!(self, Body::Propose(_) | Body::ReadIndex(_))
    }

    /// In a word, for stories.
    pub fn verb(&self) -> &'static str {
        match self {
            Body::Vote { pre: true, .. } => "pre-vote",
            Body::Vote { .. } => "vote",
            Body::VoteAnswer { .. } => "vote-answer",
            Body::Append { .. } => "append",
            Body::AppendAnswer { .. } => "append-answer",
            Body::Heartbeat { .. } => "heartbeat",
            Body::HeartbeatAnswer { .. } => "heartbeat-answer",
            Body::Snapshot { .. } => "snapshot",
            Body::Propose(_) => "propose",
            Body::ReadIndex(_) => "read-index",
            Body::ReadIndexAnswer { .. } => "read-index-answer",
        }
    }
}
