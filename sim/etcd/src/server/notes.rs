//! What members tell properties and stories.

use crate::api::Revision;
use crate::mvcc::Changes;
use crate::raft::MemberId;
use crate::state::Cause;

/// A revision was made: told by the leader, when a quorum has it. A leader that follows one that
/// was cut off may tell it once more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Committed<V> {
    /// The entry of the log that made it.
    pub index: u64,
    /// The revision.
    pub revision: Revision,
    /// Its changes, in order.
    pub changes: Changes<V>,
    /// Why.
    pub cause: Cause,
}

/// The leader of several members has put an entry into its log, and keeps the time of leases: it
/// has applied the first entry of its term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Appended {
    /// Its term.
    pub term: u64,
    /// The entry.
    pub index: u64,
}

/// A member of several has applied an entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Applied {
    /// Which member.
    pub member: MemberId,
    /// The term of the leader that put the entry into its log.
    pub term: u64,
    /// The entry.
    pub index: u64,
    /// Its revision now.
    pub revision: Revision,
}

/// A member that was too far behind has taken over the state of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Installed {
    /// Which member.
    pub member: MemberId,
    /// The last entry in it.
    pub index: u64,
    /// Its revision now.
    pub revision: Revision,
}

/// A member has begun anew with the state of a backup: revisions go back, or far ahead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Restored {
    /// Which member.
    pub member: MemberId,
    /// The number of the new cluster: members with the same one belong together.
    pub cluster: u64,
    /// Its revision now.
    pub revision: Revision,
}

/// A member of several leads from now on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Led {
    /// Which member.
    pub member: MemberId,
    /// In which term.
    pub term: u64,
}
