//! How often a leader looks at an autoscaler.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_components::promises::violated;
use wavetank_engine::{Check, Note, Property, Time, World};

use super::super::controller::{CONTROLLER, RESYNC_PERIOD};
use super::super::notes::LooksAt;
use super::{Remembered, remembered};
use crate::somebody_runs;

/// What a look takes while all is well, and more.
const A_LOOK_TAKES: Duration = Duration::from_secs(5);

/// When each autoscaler was looked at, the last two times, by its UID.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LooksInTime {
    after: Duration,
    /// Since when all is settled.
    settled: Option<Time>,
    looks: BTreeMap<Remembered, [Option<Time>; 2]>,
}

impl LooksInTime {
    pub fn after(after: Duration) -> LooksInTime {
        LooksInTime {
            after,
            settled: None,
            looks: BTreeMap::new(),
        }
    }
}

impl Property for LooksInTime {
    fn name(&self) -> &'static str {
        "autoscalers-are-looked-at-in-time"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let looks = note.body.get::<LooksAt>().is_some();
        (!looks).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(LooksAt { autoscaler, uid }) = note.body.get() else {
            return Check::Idle;
        };
        // The queue goes by timers, which a clock that jumps does not change.
        let now = world.now();
        let key = remembered(world, note, uid);
        let looks = self.looks.entry(key).or_default();
        let [before, last] = *looks;
        *looks = [last, Some(now)];
        if before.is_some_and(|before| now.since(before) < RESYNC_PERIOD) {
            let message = format!("{autoscaler} is looked at three times within 15 s");
            return violated("autoscaler", autoscaler, message);
        }
        let last = last.filter(|last| self.settled.is_some_and(|settled| *last > settled));
        let Some(waited) = last.map(|last| now.since(last)) else {
            return Check::Idle;
        };
        if waited > RESYNC_PERIOD + A_LOOK_TAKES {
            let seconds = waited.as_secs();
            let message = format!("{autoscaler} is looked at only after {seconds} s");
            return violated("autoscaler", autoscaler, message);
        }
        Check::Held
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if somebody_runs(world, CONTROLLER) {
            self.settled = Some(world.now());
        }
        Check::Idle
    }
}
