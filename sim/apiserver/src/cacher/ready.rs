//! Is a cache filled (`ready.go`)? Until v1.20 who needs it waits; v1.36 refuses, and says when to
//! come again.

use std::time::Duration;

use wavetank_api::{Reason, Status};
use wavetank_engine::{Instant, Rx, Time, mutant};
use wavetank_version::Defect;

use super::Cacher;
use crate::CacheDefect;
use crate::cacher::gates;
use crate::options::StoreError;

const STOPPED: &str = "apiserver cacher is stopped";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum State {
    #[default]
    Pending,
    Ready,
    Stopped,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Ready {
    state: State,
    /// How often it became ready.
    generation: u64,
    /// Since when it is what it is.
    since: Instant,
}

impl Ready {
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    pub fn is_stopped(&self) -> bool {
        self.state == State::Stopped
    }

    /// The generation, if it is ready.
    pub fn generation(&self) -> Option<u64> {
        self.is_ready().then_some(self.generation)
    }

    /// What upstream's `newReady` does: from when it is counted how long the cache has not been ready.
    pub fn begin(&mut self, now: Time) {
        if self.since == Instant::default() {
            self.since = Instant(now);
        }
    }

    pub fn set(&mut self, ready: bool, now: Time) {
        let (from, to) = match ready {
            true => (State::Pending, State::Ready),
            false => (State::Ready, State::Pending),
        };
        if self.state == from {
            self.state = to;
            self.since = Instant(now);
            let counts = ready
                && !mutant!(
                    "refill-is-not-counted",
                    "a watch cache that was filled anew is taken for the same"
                );
            self.generation += u64::from(counts);
        }
    }

    pub fn stop(&mut self) {
        self.state = State::Stopped;
    }

    fn refusal(&self, now: Time) -> Status {
        let message = match self.state {
            State::Stopped => STOPPED,
            State::Pending | State::Ready => "storage is (re)initializing",
        };
        Status::new_too_many_requests(message, retry_after(now.since(self.since.0)))
    }
}

/// `calculateRetryAfterForUnreadyCache`: e to the 0.06 of the seconds, whole ones within 1 and 30.
/// Here: after so many milliseconds it is 2, 3, … (machines differ in the last bit of `exp`).
const STEPS: [u64; 29] = [
    11_553, 18_311, 23_105, 26_824, 29_863, 32_432, 34_658, 36_621, 38_377, 39_965, 41_416, 42_750,
    43_985, 45_135, 46_210, 47_221, 48_173, 49_074, 49_929, 50_743, 51_518, 52_259, 52_968, 53_648,
    54_302, 54_931, 55_537, 56_122, 56_687,
];

fn retry_after(down: Duration) -> u32 {
    let passed = STEPS.partition_point(|step| u128::from(*step) <= down.as_millis());
    1 + passed as u32
}

pub(crate) const STOPPED_CACHE_IS_WAITED_FOR: Defect = Defect::known(
    "stopped-cache-is-waited-for",
    "k/k PR #108414 (1.24)",
    "a request that finds a watch cache torn down waits for ever until it is filled",
)
.until(gates::STOPPED_CACHE_REFUSES)
.fits_only(gates::RESILIENT_INITIALISATION.before());

impl Cacher {
    /// Ready, and in which generation.
    ///
    /// # Errors
    /// 429, on v1.36 at once; 503 if it is stopped.
    pub(super) async fn generation(self, rx: Rx) -> Result<u64, StoreError> {
        if self.config.release.has(gates::RESILIENT_INITIALISATION) {
            self.check_ready(rx)?;
        }
        loop {
            if let Some(generation) = rx.look(&self.cell(), |cache| cache.ready.generation()) {
                return Ok(generation);
            }
            if self.is_stopped(rx)
                && !self
                    .config
                    .defects
                    .has(CacheDefect::StoppedCacheIsWaitedFor)
            {
                let status = Status::of(Reason::ServiceUnavailable, STOPPED);
                return Err(status.into());
            }
            rx.changed(self.changed()).await;
        }
    }

    /// # Errors
    /// 429 if it is not ready.
    pub(super) fn check_ready(self, rx: Rx) -> Result<(), StoreError> {
        rx.update_at(&self.cell(), |cache, now| match cache.ready.is_ready() {
            true => Ok(()),
            false => Err(cache.ready.refusal(now).into()),
        })
    }
}
