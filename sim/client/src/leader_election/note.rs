//! What candidates tell properties and stories.

use std::sync::Arc;

use super::lock::{Lock, Unlocked};

/// What a candidate for a lock tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OfElection {
    /// The lock.
    pub lock: Lock,
    /// What it tells.
    pub note: ElectionNote,
}

/// What a candidate tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ElectionNote {
    /// It begins an attempt to get or keep the lock.
    Tries,
    /// The attempt succeeded.
    Holds,
    /// It begins to lead.
    Leads {
        /// As whom.
        identity: Arc<str>,
        /// How often the lock changed hands.
        transitions: u32,
    },
    /// It could not renew the lock in time.
    Lost,
    /// What it does as leader is cancelled, or has ended.
    Ends,
    /// It writes that nobody holds the lock.
    Releases {
        /// Who it is.
        identity: Arc<str>,
    },
    /// That is written.
    Released,
    /// It finds that another holds the lock, and leaves it to him.
    LeavesToOther,
    /// It could not release the lock.
    NotReleased {
        /// Who it is.
        identity: Arc<str>,
        /// Why.
        why: Unlocked,
    },
    /// It should no longer lead, and does; `again` from the second look on.
    LeadsTooLong {
        /// Not for the first time.
        again: bool,
    },
}
