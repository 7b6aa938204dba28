//! Real time: for figures, time boxes and progress, never for anything that reaches a world.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the one place that reads a real clock"
)]

use std::time::{Duration, Instant};

/// Measures real time from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// Has it run for longer than `limit`, if there is one?
    pub fn is_over(&self, limit: Option<Duration>) -> bool {
        limit.is_some_and(|limit| self.elapsed() >= limit)
    }
}
