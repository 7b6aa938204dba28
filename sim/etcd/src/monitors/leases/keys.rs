//! The keys of a lease end with it.

use std::collections::BTreeMap;

use wavetank_engine::{Check, Note, Property, World};

use super::super::{Learned, Truth, violated};
use crate::api::{Change, LeaseId, Request, Response, Revision, Value};
use crate::observed::{Answered, CallId, Called};
use crate::server::Committed;
use crate::state::Cause;

/// `lease-keys-go-with-it`: when a lease expires, exactly its keys are deleted, in order and in one
/// revision; when a revocation is answered, none of them is left. No key comes to a lease that is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaseKeysGoWithIt<V: Value> {
    truth: Truth<V>,
    revocations: BTreeMap<CallId, LeaseId>,
    /// Leases that are over, and the revision at which that was known.
    over: BTreeMap<LeaseId, Revision>,
}

impl<V: Value> Default for LeaseKeysGoWithIt<V> {
    fn default() -> Self {
        LeaseKeysGoWithIt {
            truth: Truth::default(),
            revocations: BTreeMap::new(),
            over: BTreeMap::new(),
        }
    }
}

impl<V: Value> LeaseKeysGoWithIt<V> {
    fn expired(&self, lease: LeaseId, revision: Revision) -> Check {
        let Some(before) = self.truth.content(revision - 1) else {
            return Check::Idle;
        };
        let owned = before.values().filter(|kv| kv.lease == Some(lease));
        let changes = self.truth.changes(revision).unwrap_or_default();
        let gone = changes
            .iter()
            .map(|change| (&change.key, change.now.is_none()));
        if owned.map(|kv| (&kv.key, true)).eq(gone) {
            return Check::Held;
        }
        let lease = lease.0;
        let message = format!("revision {revision}, the end of lease {lease}, is not all its keys");
        violated("lease", &lease.to_string(), message)
    }

    /// Is a key put under a lease that is over?
    fn late(&self, commit: &Committed<V>) -> Option<Check> {
        let lease = |change: &Change<V>| change.now.as_ref().and_then(|kv| kv.lease);
        let is_over =
            |lease: &LeaseId| self.over.get(lease).is_some_and(|at| *at < commit.revision);
        let mut leases = commit.changes.iter().filter_map(lease);
        let lease = leases.find(is_over)?.0;
        let message = format!(
            "revision {} puts a key under lease {lease}, which is over",
            commit.revision
        );
        Some(violated("lease", &lease.to_string(), message))
    }

    fn revoked(&self, lease: LeaseId, revision: Revision) -> Check {
        let Some(after) = self.truth.content(revision) else {
            return Check::Idle;
        };
        let Some(left) = after.values().find(|kv| kv.lease == Some(lease)) else {
            return Check::Held;
        };
        let (key, lease) = (&left.key, lease.0);
        let message =
            format!("lease {lease} was revoked, and at revision {revision} {key} is left");
        violated("lease", &lease.to_string(), message)
    }
}

impl<V: Value> Property for LeaseKeysGoWithIt<V> {
    fn name(&self) -> &'static str {
        "lease-keys-go-with-it"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let learned = self.truth.learn(world, note);
        if let Some(commit) = note.body.get::<Committed<V>>() {
            return match commit.cause {
                Cause::Expiry(lease) if !matches!(learned, Learned::Conflict(_)) => {
                    self.over.insert(lease, commit.revision);
                    self.expired(lease, commit.revision)
                }
                _ => self.late(commit).unwrap_or(Check::Idle),
            };
        }
        if let Some(called) = note.body.get::<Called<V>>() {
            if let Request::LeaseRevoke(lease) = called.request {
                self.revocations.insert(called.id, lease);
            }
        } else if let Some(Answered { id, result }) = note.body.get::<Answered<V>>()
            && let Some(lease) = self.revocations.remove(id)
            && let Ok(Response::LeaseRevoke(revision)) = result
        {
            self.over.entry(lease).or_insert(*revision);
            return self.revoked(lease, *revision);
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, delete, is_violated, leased, put};
    use super::*;

    #[test]
    fn a_key_that_stays_or_goes_too_is_found() {
        let bench = Bench::new();
        let mut monitor = LeaseKeysGoWithIt::<Bytes>::default();
        let [a, b] = ["/a", "/b"].map(|key| leased(put(key, 2, "1"), 7));
        let c = put("/c", 3, "1");
        let notes = [
            bench.committed(2, vec![a.clone(), b.clone()]),
            bench.committed(3, vec![c.clone()]),
            bench.called(1, Request::LeaseRevoke(LeaseId(7))),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Idle);
        let ends = |of: &[_]| {
            let gone = of.iter().map(|change| delete(change, 4)).collect();
            [bench.caused(4, gone, Cause::Expiry(LeaseId(7)))]
        };
        let all = ends(&[a.clone(), b.clone()]);
        assert_eq!(bench.feed(&mut monitor.clone(), &all), Check::Held);
        for wrong in [
            vec![a.clone()],
            vec![b.clone(), a.clone()],
            vec![a.clone(), b.clone(), c],
        ] {
            assert!(is_violated(
                &bench.feed(&mut monitor.clone(), &ends(&wrong))
            ));
        }
        let late = [bench.committed(5, vec![leased(put("/d", 5, "1"), 7)])];
        let mut after = monitor.clone();
        bench.feed(&mut after, &ends(&[a.clone(), b.clone()]));
        assert!(is_violated(&bench.feed(&mut after, &late)));
        let answer = [bench.answered(1, Ok(Response::LeaseRevoke(3)))];
        assert!(is_violated(&bench.feed(&mut monitor, &answer)));
    }
}
