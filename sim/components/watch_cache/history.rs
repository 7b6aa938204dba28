//! How much of the past apiservers leave in etcd.

use std::collections::BTreeMap;
use std::mem;

use wavetank_api::Object;
use wavetank_engine::{Check, Instant, Note, Property, Time, World};
use wavetank_etcd::{Committed, Etcd, Revision};

use crate::promises::violated;
use crate::view::ClusterView;

/// Clocks of servers may run fast by less than one part in this.
const FAST: u32 = 10;

/// The changes of the last `--etcd-compaction-interval` are preserved: that is for how long lists can be continued, and
/// watches begun.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LastChangesArePreserved {
    /// When each revision was made that is not compacted yet: the first time that a leader told of it.
    made: BTreeMap<Revision, Instant>,
    compacted: Revision,
}

impl LastChangesArePreserved {
    /// The leader that follows one that was cut off may tell of a revision again, many seconds later.
    fn told(&mut self, revision: Revision, now: Time) {
        self.made.entry(revision).or_insert(Instant(now));
    }
}

impl Property for LastChangesArePreserved {
    fn name(&self) -> &'static str {
        "last-changes-are-preserved"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            self.told(commit.revision, world.now());
        }
        let Some(member) = world.process::<Etcd<Object>>(note.process) else {
            return Check::Idle;
        };
        let compacted = member.store().compacted();
        if compacted <= self.compacted {
            return Check::Idle;
        }
        self.compacted = compacted;
        let kept = self.made.split_off(&(compacted + 1));
        let gone = mem::replace(&mut self.made, kept);
        let servers = ClusterView(world).apiservers();
        let intervals = servers.filter_map(|(_, server)| server.config().compaction);
        let (Some((newest, made)), Some(interval)) = (gone.last_key_value(), intervals.min())
        else {
            return Check::Idle;
        };
        let age = world.now().since(made.0);
        if age + interval / FAST >= interval {
            return Check::Held;
        }
        let (age, interval) = (age.as_secs_f64(), interval.as_secs_f64());
        let message = format!(
            "revision {newest} is {age:.1} s old and compacted; that of {interval:.1} s has to stay"
        );
        violated("etcd", "compaction", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_again_is_as_old_as_before() {
        let mut property = LastChangesArePreserved::default();
        for (revision, seconds) in [(64, 106), (64, 111), (65, 111)] {
            property.told(revision, Time::from_secs(seconds));
        }
        let made = |seconds| Instant(Time::from_secs(seconds));
        assert_eq!(
            property.made,
            BTreeMap::from([(64, made(106)), (65, made(111))])
        );
    }
}
