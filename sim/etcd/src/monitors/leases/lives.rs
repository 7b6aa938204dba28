//! A lease does not expire before its client may think so.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use wavetank_engine::{Check, Note, Property, Time, World};

use super::super::violated;
use crate::api::{LeaseId, Request, Response, Revision, Value};
use crate::observed::{Answered, CallId, Called};
use crate::server::{Committed, Restored};
use crate::state::Cause;

/// `lease-lives`: no key is deleted for the expiry of its lease before the TTL has passed since the
/// last grant or keep-alive that succeeded was sent, whether that is answered before the expiry or after it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaseLives<V> {
    /// By how much clocks may run fast, in thousandths.
    tolerance: u32,
    /// Grants and keep-alives under way: when they were sent, and for which lease.
    calls: BTreeMap<CallId, (Time, Option<LeaseId>)>,
    promised: BTreeMap<LeaseId, Time>,
    /// When keys went for the expiry of their lease.
    expired: BTreeMap<LeaseId, Time>,
    /// The newest revision that was looked at.
    revision: Revision,
    value: PhantomData<V>,
}

impl<V> LeaseLives<V> {
    /// Clocks of members may run fast by so many thousandths.
    pub fn new(tolerance: u32) -> LeaseLives<V> {
        LeaseLives {
            tolerance,
            calls: BTreeMap::new(),
            promised: BTreeMap::new(),
            expired: BTreeMap::new(),
            revision: 0,
            value: PhantomData,
        }
    }

    fn answered(&mut self, id: CallId, lease: Option<LeaseId>, ttl: Option<u64>) -> Check {
        let Some((sent, asked)) = self.calls.remove(&id) else {
            return Check::Idle;
        };
        let (Some(lease), Some(ttl)) = (lease.or(asked), ttl) else {
            return Check::Idle;
        };
        let wrong = |message: String| violated("lease", &lease.0.to_string(), message);
        // A new leader of v3.4 may say so of a lease whose grant it has not applied yet.
        if ttl == 0 {
            return Check::Idle;
        }
        let ttl = Duration::from_secs(ttl) * (1000 - self.tolerance) / 1000;
        if let Some(expired) = self.expired.get(&lease).filter(|at| **at < sent + ttl) {
            return wrong(format!(
                "lease {} has expired at {expired} s, and a keep-alive of {sent} s is told that it has {} s",
                lease.0,
                ttl.as_secs_f64()
            ));
        }
        let until = self.promised.entry(lease).or_default();
        *until = (*until).max(sent + ttl);
        Check::Idle
    }
}

impl<V: Value> Property for LeaseLives<V> {
    fn name(&self) -> &'static str {
        "lease-lives"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(called) = note.body.get::<Called<V>>() {
            let lease = match called.request {
                Request::LeaseGrant { .. } => None,
                Request::LeaseKeepAlive(id) => Some(id),
                _ => return Check::Idle,
            };
            self.calls.insert(called.id, (world.now(), lease));
        } else if let Some(Answered { id, result }) = note.body.get::<Answered<V>>() {
            return match result {
                Ok(Response::LeaseGrant { id: lease, ttl, .. }) => {
                    self.answered(*id, Some(*lease), Some(*ttl))
                }
                Ok(Response::LeaseKeepAlive { ttl, .. }) => self.answered(*id, None, Some(*ttl)),
                _ => self.answered(*id, None, None),
            };
        } else if note.body.get::<Restored>().is_some() {
            // What was granted since the backup is gone, and what has expired since is there again.
            self.promised.clear();
            self.expired.clear();
        } else if let Some(commit) = note.body.get::<Committed<V>>()
            && commit.revision > self.revision
        {
            self.revision = commit.revision;
            let Cause::Expiry(lease) = commit.cause else {
                return Check::Idle;
            };
            let now = world.now();
            self.expired.insert(lease, now);
            let Some(until) = self.promised.remove(&lease) else {
                return Check::Idle;
            };
            if now >= until {
                return Check::Held;
            }
            let key = commit.changes.first().map_or("", |change| &*change.key);
            let (lease, revision) = (lease.0, commit.revision);
            let message = format!(
                "lease {lease} expires at {now} s, was promised until {until} s: {key} is deleted \
                 at revision {revision}"
            );
            return violated("lease", &lease.to_string(), message);
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, bytes, delete, is_violated, leased, put};
    use super::*;

    #[test]
    fn an_expiry_before_its_time_is_found() {
        let mut bench = Bench::new();
        let mut monitor = LeaseLives::<Bytes>::new(1);
        let id = LeaseId(7);
        let granted = Response::LeaseGrant {
            revision: 1,
            id,
            ttl: 10,
        };
        let a = leased(put("/a", 2, "1"), 7);
        assert_eq!(bytes("1"), a.now.as_ref().expect("a put").value);
        let notes = [
            bench.called(1, Request::LeaseGrant { id: None, ttl: 10 }),
            bench.answered(1, Ok(granted)),
            bench.committed(2, vec![a.clone()]),
            bench.called(2, Request::LeaseKeepAlive(id)),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Idle);
        bench.at(5);
        let renewed = Response::LeaseKeepAlive {
            revision: 2,
            ttl: 10,
        };
        let again = [
            bench.called(3, Request::LeaseKeepAlive(id)),
            bench.answered(3, Ok(renewed)),
        ];
        bench.feed(&mut monitor, &again);
        let expired = [bench.caused(3, vec![delete(&a, 3)], Cause::Expiry(id))];
        bench.at(12);
        assert!(is_violated(&bench.feed(&mut monitor.clone(), &expired)));
        bench.at(15);
        assert_eq!(bench.feed(&mut monitor, &expired), Check::Held);
    }

    #[test]
    fn a_promise_that_comes_too_late_is_found() {
        let mut bench = Bench::new();
        let mut monitor = LeaseLives::<Bytes>::new(1);
        let id = LeaseId(7);
        let a = leased(put("/a", 2, "1"), 7);
        let before = [
            bench.committed(2, vec![a.clone()]),
            bench.called(1, Request::LeaseKeepAlive(id)),
            bench.caused(3, vec![delete(&a, 3)], Cause::Expiry(id)),
        ];
        bench.feed(&mut monitor, &before);
        bench.at(2);
        let answer = |ttl| [bench.answered(1, Ok(Response::LeaseKeepAlive { revision: 3, ttl }))];
        assert!(is_violated(&bench.feed(&mut monitor.clone(), &answer(10))));
        assert!(!is_violated(&bench.feed(&mut monitor, &answer(0))));
    }
}
