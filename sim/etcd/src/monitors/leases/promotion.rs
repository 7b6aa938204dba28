//! A new leader keeps the time that a lease had.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::{Check, Note, Property, Time, World};

use super::super::violated;
use crate::api::LeaseId;
use crate::observed::{Promoted, Renewed};
use crate::server::{Appended, Applied};

/// A leader that has told nothing for so long may have stood still.
const LONG: Duration = Duration::from_secs(5);
/// Within that it has taken all that has come meanwhile, and has told what is left of leases.
const MOMENT: Duration = Duration::from_millis(10);

/// `promotion-keeps-deadline`: a new leader gives a lease no more than what was left of it when a
/// leader that kept the time last put into its log what the members have agreed on, and a slack for
/// how old a checkpoint may be by then.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PromotionKeepsDeadline {
    slack: Duration,
    /// The latest end that a leader has given it.
    ends: BTreeMap<LeaseId, Time>,
    /// Entries in the logs of leaders that keep the time, which nobody has applied, and since when
    /// they are there: or the last time before it when their leader was surely awake.
    appended: BTreeMap<(u64, u64), Time>,
    /// The same of the newest one that anybody has applied.
    agreed: Time,
    /// When a leader last told anything.
    told: Time,
    /// When one last told something after a long time, and when it had told something before.
    woke: Time,
    slept: Time,
}

impl PromotionKeepsDeadline {
    /// A checkpoint is made every second and tells rounded seconds; the rest of the slack is for
    /// how long it may be under way.
    pub fn new(slack: Duration) -> PromotionKeepsDeadline {
        PromotionKeepsDeadline {
            slack,
            ends: BTreeMap::new(),
            appended: BTreeMap::new(),
            agreed: Time::ZERO,
            told: Time::ZERO,
            woke: Time::ZERO,
            slept: Time::ZERO,
        }
    }

    /// A leader tells something. How late may its last checkpoint have been made, but for a second?
    fn awake(&mut self, now: Time) -> Time {
        if now.since(self.told) > LONG {
            self.woke = now;
            self.slept = self.told;
        }
        self.told = now;
        match now.since(self.woke) > MOMENT {
            true => now,
            false => self.slept,
        }
    }

    fn promoted(&mut self, now: Time, promoted: &Promoted) -> Check {
        let mut check = Check::Idle;
        let mut ends = BTreeMap::new();
        for (lease, left) in &promoted.leases {
            let seconds = Duration::from_secs(*left);
            if let Some(end) = self.ends.get(lease) {
                let limit = end.since(self.agreed) + self.slack;
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
            self.awake(now);
            self.ends.insert(*lease, now + Duration::from_secs(*ttl));
        } else if let Some(promoted) = note.body.get::<Promoted>() {
            return self.promoted(now, promoted);
        } else if let Some(Appended { term, index }) = note.body.get() {
            let since = self.awake(now);
            self.appended.insert((*term, *index), since);
        } else if let Some(Applied { term, index, .. }) = note.body.get()
            && let Some(since) = self.appended.remove(&(*term, *index))
            && self.agreed < since
        {
            self.agreed = since;
            // What was before it is applied, or will never be.
            self.appended.retain(|entry, _| *entry > (*term, *index));
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, is_violated};
    use super::*;
    use crate::raft::MemberId;

    /// A lease of 60 s begins; entries come to the log at these seconds, and those of index 8 and 9
    /// are applied at 30.
    fn after_entries_at<const N: usize>(seconds: [u64; N]) -> (Bench, PromotionKeepsDeadline) {
        let mut bench = Bench::new();
        let mut monitor = PromotionKeepsDeadline::new(Duration::from_secs(3));
        let lease = LeaseId(7);
        let begins = [bench.note(Renewed { lease, ttl: 60 })];
        bench.feed(&mut monitor, &begins);
        for (index, second) in (10 - N as u64..).zip(seconds) {
            bench.at(second);
            let appended = bench.note(Appended { term: 2, index });
            bench.feed(&mut monitor, &[appended]);
        }
        bench.at(30);
        for index in [8, 9] {
            let applied = bench.note(Applied {
                member: MemberId(0),
                term: 2,
                index,
                revision: 1,
            });
            bench.feed(&mut monitor, &[applied]);
        }
        bench.at(32);
        (bench, monitor)
    }

    fn gives(bench: &Bench, left: u64) -> [Note; 1] {
        let leases = vec![(LeaseId(7), left)];
        [bench.note(Promoted { leases })]
    }

    #[test]
    fn the_whole_time_again_is_found() {
        let (bench, mut monitor) = after_entries_at([24, 28, 29]);
        let held = bench.feed(&mut monitor.clone(), &gives(&bench, 31));
        assert_eq!(held, Check::Held);
        assert!(is_violated(&bench.feed(&mut monitor, &gives(&bench, 60))));
    }

    #[test]
    fn who_wakes_has_told_nothing_yet_of_what_is_left() {
        let (bench, mut monitor) = after_entries_at([1, 29]);
        let held = bench.feed(&mut monitor, &gives(&bench, 60));
        assert_eq!(held, Check::Held);
    }

    #[test]
    fn what_was_long_under_way_tells_nothing_of_what_is_left() {
        let (bench, mut monitor) = after_entries_at([1, 2]);
        let held = bench.feed(&mut monitor, &gives(&bench, 60));
        assert_eq!(held, Check::Held);
    }
}
