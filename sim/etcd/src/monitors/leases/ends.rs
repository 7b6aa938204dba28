//! A lease whose time is over is revoked.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use wavetank_engine::{Check, Note, Property, Status, Time, World};

use super::super::violated;
use crate::api::{LeaseId, Value};
use crate::observed::{Promoted, Renewed};
use crate::server::Etcd;

/// The lessor looks every 0.5 s, and what it proposed in vain comes up again after 7 s.
const REVOKED_WITHIN: Duration = Duration::from_secs(10);

/// `lease-ends`: some time after calm the leader has no lease whose time is over for long.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaseEnds<V> {
    within: Duration,
    ends: BTreeMap<LeaseId, Time>,
    value: PhantomData<V>,
}

impl<V: Value> LeaseEnds<V> {
    /// Judged so long after calm: a leader must have been found, and have revoked what is over.
    pub fn new(within: Duration) -> LeaseEnds<V> {
        LeaseEnds {
            within,
            ends: BTreeMap::new(),
            value: PhantomData,
        }
    }

    fn judge(&self, now: Time, exists: impl Fn(LeaseId) -> bool) -> Check {
        let mut check = Check::Idle;
        for (lease, end) in &self.ends {
            if *end + REVOKED_WITHIN >= now {
                continue;
            }
            if exists(*lease) {
                let lease = lease.0;
                let message = format!("lease {lease} was over at {end} s, and exists at {now} s");
                return violated("lease", &lease.to_string(), message);
            }
            check = Check::Held;
        }
        check
    }
}

impl<V: Value> Property for LeaseEnds<V> {
    fn name(&self) -> &'static str {
        "lease-ends"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = world.now();
        if let Some(Renewed { lease, ttl }) = note.body.get() {
            self.ends.insert(*lease, now + Duration::from_secs(*ttl));
        } else if let Some(Promoted { leases }) = note.body.get() {
            // The leader adds an election timeout.
            let end = |left: u64| now + Duration::from_secs(left + 1);
            self.ends = leases.iter().map(|(id, left)| (*id, end(*left))).collect();
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.within)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let up = world.processes().filter(|p| world.status(*p) == Status::Up);
        let members = up.filter_map(|p| world.process::<Etcd<V>>(p));
        let leaders = members.filter(|member| member.leads().is_some());
        match leaders.max_by_key(|member| member.leads()) {
            Some(leader) => self.judge(world.now(), |id| leader.state().leases.exists(id)),
            None => Check::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, is_violated};
    use super::*;

    #[test]
    fn a_lease_that_stays_is_found() {
        let mut bench = Bench::new();
        let mut monitor = LeaseEnds::<Bytes>::new(Duration::from_secs(20));
        let renewed = [(7, 10), (8, 100)].map(|(id, ttl)| {
            let lease = LeaseId(id);
            bench.note(Renewed { lease, ttl })
        });
        bench.feed(&mut monitor, &renewed);
        bench.at(30);
        let now = bench.world.now();
        assert_eq!(monitor.judge(now, |id| id == LeaseId(8)), Check::Held);
        assert!(is_violated(&monitor.judge(now, |_| true)));
        assert_eq!(monitor.deadline(&bench.world), Check::Idle, "nobody leads");
    }
}
