//! How long dispatch may wait for slow watchers (`time_budget.go`).

use std::time::Duration;

use wavetank_engine::{Instant, Time};
use wavetank_version::Version;

use crate::cacher::gates;

/// `refreshPerSecond`: 50 ms a second.
const PER: u32 = 20;
/// `maxBudget`, and after how long it is reached.
const MOST: Duration = Duration::from_millis(100);
const ENOUGH: Duration = Duration::from_secs(2);

/// Time that was saved up.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Budget {
    saved: Duration,
    begun: bool,
    /// Up to when it is counted.
    counted: Instant,
    /// When it was taken.
    taken: Instant,
}

impl Budget {
    /// From the beginning of the cache on.
    pub fn begin(&mut self, now: Time) {
        if !std::mem::replace(&mut self.begun, true) {
            self.counted = Instant(now);
        }
    }

    /// `takeAvailable`. Until v1.20 a ticker adds once a second, v1.36 counts continuously.
    pub fn take_available(&mut self, now: Time, release: Version) -> Duration {
        let passed = now.since(self.counted.0);
        let passed = match release.has(gates::BUDGET_IS_CONTINUOUS) {
            true => passed,
            false => Duration::from_secs(passed.as_secs()),
        };
        self.counted = Instant(self.counted.0 + passed);
        self.taken = Instant(now);
        let earned = passed.min(ENOUGH) / PER;
        let available = (self.saved + earned).min(MOST);
        self.saved = Duration::ZERO;
        available
    }

    /// `returnUnused`: what was taken and not used.
    pub fn return_unused(&mut self, taken: Duration, now: Time) {
        if let Some(left) = taken.checked_sub(now.since(self.taken.0)) {
            self.saved = (self.saved + left).min(MOST);
        }
    }
}
