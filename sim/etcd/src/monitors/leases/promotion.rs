//! A new leader keeps the time that a lease had.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::{Check, Note, Property, Time, World};

use super::super::violated;
use crate::api::LeaseId;
use crate::observed::{Promoted, Renewed};
use crate::server::Applied;

/// `promotion-keeps-deadline`: a new leader gives a lease no more than what was left of it when the
/// members last agreed on anything, and a slack for how old a checkpoint may be by then.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PromotionKeepsDeadline {
    slack: Duration,
    /// The latest end that a leader has given it.
    ends: BTreeMap<LeaseId, Time>,
    /// The newest entry that anybody has applied.
    index: u64,
    /// When that was, and when an entry before it was, at another time.
    applied: [Time; 2],
}

impl PromotionKeepsDeadline {
    /// A checkpoint is made every second and tells rounded seconds; the rest of the slack is for
    /// how long it may be under way.
    pub fn new(slack: Duration) -> PromotionKeepsDeadline {
        PromotionKeepsDeadline {
            slack,
            ends: BTreeMap::new(),
            index: 0,
            applied: [Time::ZERO; 2],
        }
    }

    fn promoted(&mut self, now: Time, promoted: &Promoted) -> Check {
        let [last, before] = self.applied;
        // What is applied in this very event was agreed on before.
        let agreed = if last == now { before } else { last };
        let mut check = Check::Idle;
        let mut ends = BTreeMap::new();
        for (lease, left) in &promoted.leases {
            let seconds = Duration::from_secs(*left);
            if let Some(end) = self.ends.get(lease) {
                let limit = end.since(agreed) + self.slack;
                if seconds > limit {
                    let (lease, limit) = (lease.0, limit.as_secs());
                    let message = format!(
                        "the new leader gives lease {lease} {left} s, of which at most {limit} s \
                         were left"
                    );
                    check = violated("lease", &lease.to_string(), message);
                } else if check == Check::Idle {
                    check = Check::Held;
                }
            }
            // An election timeout more.
            ends.insert(*lease, now + seconds + Duration::from_secs(1));
        }
        self.ends = ends;
        check
    }
}

impl Property for PromotionKeepsDeadline {
    fn name(&self) -> &'static str {
        "promotion-keeps-deadline"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = world.now();
        if let Some(Renewed { lease, ttl }) = note.body.get() {
            self.ends.insert(*lease, now + Duration::from_secs(*ttl));
        } else if let Some(promoted) = note.body.get::<Promoted>() {
            return self.promoted(now, promoted);
        } else if let Some(applied) = note.body.get::<Applied>()
            && applied.index > self.index
        {
            self.index = applied.index;
            if self.applied[0] < now {
                self.applied = [now, self.applied[0]];
            }
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, is_violated};
    use super::*;
    use crate::raft::MemberId;

    #[test]
    fn the_whole_time_again_is_found() {
        let mut bench = Bench::new();
        let mut monitor = PromotionKeepsDeadline::new(Duration::from_secs(3));
        let lease = LeaseId(7);
        let begins = [bench.note(Renewed { lease, ttl: 60 })];
        bench.feed(&mut monitor, &begins);
        bench.at(30);
        let applied = bench.note(Applied {
            member: MemberId(0),
            index: 9,
            revision: 1,
        });
        bench.feed(&mut monitor, &[applied]);
        bench.at(32);
        let gives = |left| {
            let leases = vec![(lease, left)];
            [bench.note(Promoted { leases })]
        };
        assert_eq!(bench.feed(&mut monitor.clone(), &gives(31)), Check::Held);
        assert!(is_violated(&bench.feed(&mut monitor, &gives(60))));
    }
}
