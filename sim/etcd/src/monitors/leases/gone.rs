//! A lease that is gone does not come back: what keep-alives and revocations are answered, in the order of their calls.
//! It is the part of `strictly-serializable` that revisions say nothing of.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{EtcdError, LeaseId, Request, Response};
use crate::observed::{Answered, CallId, Called};

/// Which leases clients know to be gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GoneLeases {
    known: BTreeSet<LeaseId>,
    /// Calls under way: the lease, and whether it was known to be gone when the call was made.
    calls: BTreeMap<CallId, (LeaseId, bool)>,
}

impl GoneLeases {
    /// A client is about to ask.
    pub fn called<V>(&mut self, called: &Called<V>) {
        if let Request::LeaseKeepAlive(lease) | Request::LeaseRevoke(lease) = called.request {
            let is_gone = self.known.contains(&lease);
            self.calls.insert(called.id, (lease, is_gone));
        }
    }

    /// A client has an answer: does it fit? `None` if it says nothing of a lease.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn answered<V>(&mut self, answered: &Answered<V>) -> Option<Result<(), String>> {
        let (lease, was_gone) = self.calls.remove(&answered.id)?;
        let (lives, is_gone) = match &answered.result {
            Ok(Response::LeaseKeepAlive { ttl, .. }) => (*ttl > 0, *ttl == 0),
            Ok(Response::LeaseRevoke(_)) => (true, true),
            Err(EtcdError::LeaseNotFound) => (false, true),
            _ => return None,
        };
        if is_gone {
            self.known.insert(lease);
        }
        Some(match lives && was_gone {
            true => Err(format!(
                "finds lease {}, which was known to be gone before",
                lease.0
            )),
            false => Ok(()),
        })
    }

    /// A backup was restored: what is gone may be there again.
    pub fn forget(&mut self) {
        *self = GoneLeases::default();
    }
}
