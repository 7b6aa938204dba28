//! Loops that wait (`apimachinery/pkg/util/wait`): a function runs again and again until a channel is closed,
//! or a condition is tried until it holds. `backoff` says how long a reflector waits, `poll` how a condition is
//! tried, `group` waits for several things, `retry` tries again what failed.
//!
//! A loop has one timer at a time (`clock.Timer`, reset before each use). Routines are short, so a loop is
//! written as its turns: each ends with the task of the next. When timer and channel are ready at once, Go takes
//! either, and looks at the channel before it runs anything: here the channel wins.

pub mod backoff;
mod group;
mod poll;
mod retry;

use std::fmt;
use std::future::Future;
use std::time::Duration;

use wavetank_engine::{Cell, Rx, Signal};

pub use group::{Member, wait_group};
pub use poll::poll_immediate_until;
pub use retry::{DEFAULT_BACKOFF, DEFAULT_RETRY, Steps, retry_on_conflict};

/// Jitter is drawn among so many values.
pub const JITTER: u64 = 1 << 16;
/// Jitter factors count thousandths.
const WHOLE: u128 = 1000;

/// `wait.Jitter`: `duration`, and up to `factor` thousandths of it on top, of which `drawn` out of [`JITTER`].
pub fn jitter(duration: Duration, factor: u32, drawn: u64) -> Duration {
    let most = duration.as_nanos() * u128::from(factor) / WHOLE;
    let more = most * u128::from(drawn) / u128::from(JITTER);
    duration + Duration::from_nanos(more as u64)
}

/// A channel that ends a loop when it is closed.
pub struct Stop {
    closed: Cell<bool>,
    signal: Signal,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signal.fmt(f)
    }
}

impl Stop {
    /// A channel with this name, which must be unique within a process.
    pub const fn new(name: &'static str) -> Stop {
        Stop::numbered(name, 0)
    }

    /// One of many channels of this name.
    pub const fn numbered(name: &'static str, number: u32) -> Stop {
        Stop {
            closed: Cell::numbered(name, number),
            signal: Signal::numbered(name, number),
        }
    }

    /// Closes it, for the life of the process.
    pub fn close(&self, rx: Rx) {
        rx.update(&self.closed, |closed| *closed = true);
        rx.raise(self.signal);
    }

    /// Is it closed? In place.
    pub fn is_closed(&self, rx: Rx) -> bool {
        rx.read(&self.closed)
    }

    /// Waits until it is.
    pub async fn closed(&self, rx: Rx) {
        rx.wait(self.signal).await;
    }
}

/// What comes after a turn of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Another one.
    Again,
    /// Nothing: it was stopped.
    Over,
}

/// How long a loop waits between two runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Every {
    period: Duration,
    /// In thousandths of the period.
    jitter: u32,
}

impl Every {
    /// `Until`, `NonSlidingUntil`: always so long.
    pub const fn period(period: Duration) -> Every {
        Every { period, jitter: 0 }
    }

    /// `JitterUntil`: so long and up to `factor` thousandths of it more, drawn each time
    /// (`jitteredBackoffManagerImpl`).
    pub const fn jittered(period: Duration, factor: u32) -> Every {
        Every {
            period,
            jitter: factor,
        }
    }

    /// The next wait (`BackoffManager.Backoff`).
    async fn draw(self, rx: Rx) -> Duration {
        match self.jitter {
            0 => self.period,
            factor => jitter(self.period, factor, rx.choose(JITTER).await),
        }
    }

    /// One turn of `BackoffUntil` with `sliding`: the timer starts when `run` has ended. If that says that the
    /// loop is over (upstream's functions then close the channel themselves), it is.
    pub async fn sliding(self, rx: Rx, stop: &Stop, run: impl Future<Output = Turn>) -> Turn {
        if stop.is_closed(rx) || run.await == Turn::Over {
            return Turn::Over;
        }
        let wait = self.draw(rx).await;
        after(rx.timeout(wait, stop.closed(rx)).await)
    }

    /// One turn of `BackoffUntil` without `sliding`: the timer starts before `run`, which is never interrupted.
    pub async fn non_sliding(self, rx: Rx, stop: &Stop, run: impl Future<Output = ()>) -> Turn {
        if stop.is_closed(rx) {
            return Turn::Over;
        }
        let wait = self.draw(rx).await;
        let tick = rx.timeout(wait, stop.closed(rx));
        let (stopped, ()) = rx.join(tick, run).await;
        after(stopped)
    }
}

/// What comes after a wait: the channel was closed meanwhile, or not.
fn after(stopped: Option<()>) -> Turn {
    match stopped {
        Some(()) => Turn::Over,
        None => Turn::Again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_adds_up_to_its_factor() {
        let period = Duration::from_secs(2);
        assert_eq!(jitter(period, 1200, 0), period);
        assert_eq!(
            jitter(period, 1200, JITTER / 2),
            Duration::from_millis(3200)
        );
        let most = jitter(period, 1200, JITTER - 1);
        assert!(most > Duration::from_millis(4399) && most < Duration::from_millis(4400));
    }
}
