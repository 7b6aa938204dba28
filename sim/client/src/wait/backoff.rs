//! How long to wait between attempts (`apimachinery/pkg/util/wait/backoff.go`), as the reflectors of each
//! release do. Pure and free of time: that so much time has passed comes in from a timer, how much jitter
//! from whoever draws it.

use std::time::Duration;

use wavetank_version::Version;

use super::jitter;
use crate::gates;

/// The fixed period of v1.16.
pub const PERIOD: Duration = Duration::from_secs(1);
/// The first delay of v1.20 and v1.36.
pub const FIRST: Duration = Duration::from_millis(800);
/// The longest, before jitter.
pub const LONGEST: Duration = Duration::from_secs(30);
/// The jitter factor of v1.20 and v1.36, in thousandths.
const FACTOR: u32 = 1000;
/// After so long it begins anew.
pub const RESET_AFTER: Duration = Duration::from_secs(120);

/// A back-off manager.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Backoff {
    release: Version,
    /// The next delay, before jitter.
    next: Duration,
    /// [`RESET_AFTER`] has passed.
    is_over: bool,
}

/// What to do with the timer that says that [`RESET_AFTER`] has passed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rearm {
    /// Begin again to count.
    Now,
    /// Go on.
    No,
}

impl Backoff {
    /// The manager of a reflector. Its timer runs from the beginning ([`Backoff::begins`]).
    pub fn new(release: Version) -> Backoff {
        Backoff {
            release,
            next: FIRST,
            is_over: false,
        }
    }

    /// Must the timer be armed when the manager is made?
    pub fn begins(&self) -> Rearm {
        match self.release.has(gates::BACKOFF_HAS_ITS_CLOCK) {
            true => Rearm::Now,
            // The first delay begins to count; nothing is to be forgotten before it.
            false => Rearm::No,
        }
    }

    /// [`RESET_AFTER`] has passed on the timer.
    pub fn over(&mut self) {
        self.is_over = true;
    }

    /// The next delay, with `drawn` out of [`JITTER`](super::JITTER) on top.
    ///
    /// v1.20 counts from the last delay (`exponentialBackoffManagerImpl`). v1.36 counts from when it last
    /// began anew (`backoffManager.Step`), however many failures there were since.
    pub fn step(&mut self, drawn: u64) -> (Duration, Rearm) {
        if !self.release.has(gates::REFLECTORS_BACK_OFF) {
            return (PERIOD, Rearm::No);
        }
        let anew = std::mem::take(&mut self.is_over);
        if anew {
            self.next = FIRST;
        }
        let base = self.next;
        self.next = (base * 2).min(LONGEST);
        let rearm = match self.release.has(gates::BACKOFF_HAS_ITS_CLOCK) && !anew {
            true => Rearm::No,
            false => Rearm::Now,
        };
        (jitter(base, FACTOR, drawn), rearm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::JITTER;
    use proptest::prelude::*;
    use wavetank_releases::{V1_16, V1_20, V1_36};

    fn delays(release: Version, count: usize) -> Vec<f64> {
        let mut backoff = Backoff::new(release);
        (0..count)
            .map(|_| backoff.step(0).0.as_secs_f64())
            .collect()
    }

    #[test]
    fn delays_double_up_to_30_s_and_are_one_second_in_v1_16() {
        assert_eq!(delays(V1_16, 3), [1.0; 3]);
        for release in [V1_20, V1_36] {
            let expected = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0];
            assert_eq!(delays(release, 8), expected);
        }
    }

    #[test]
    fn jitter_adds_less_than_the_delay_itself() {
        let mut backoff = Backoff::new(V1_20);
        let (most, _) = backoff.step(JITTER - 1);
        assert!(most > FIRST * 199 / 100 && most < FIRST * 2);
    }

    /// `backoffManager` and `exponentialBackoffManagerImpl` with a clock, as upstream has them.
    struct Clocked {
        release: Version,
        next: Duration,
        last: Duration,
    }

    impl Clocked {
        fn step(&mut self, now: Duration) -> Duration {
            let anew = now - self.last > RESET_AFTER;
            if anew {
                self.next = FIRST;
            }
            if anew || self.release == V1_20 {
                self.last = now;
            }
            let delay = self.next;
            self.next = (delay * 2).min(LONGEST);
            delay
        }
    }

    proptest! {
        #[test]
        fn a_timer_does_what_a_clock_would(
            gaps in prop::collection::vec(1..200u64, 1..30),
            old in any::<bool>(),
        ) {
            let release = if old { V1_20 } else { V1_36 };
            let mut backoff = Backoff::new(release);
            let mut clocked = Clocked { release, next: FIRST, last: Duration::ZERO };
            let mut now = Duration::ZERO;
            // When the timer was armed.
            let mut armed = (backoff.begins() == Rearm::Now).then_some(now);
            for gap in gaps {
                now += Duration::from_secs(gap);
                if armed.is_some_and(|armed| now - armed > RESET_AFTER) {
                    armed = None;
                    backoff.over();
                }
                let (delay, rearm) = backoff.step(0);
                if rearm == Rearm::Now {
                    armed = Some(now);
                }
                prop_assert_eq!(delay, clocked.step(now));
            }
        }
    }
}
