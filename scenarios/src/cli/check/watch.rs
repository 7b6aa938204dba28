//! Sees how far a search is: tells of it, and ends it at its limits.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wavetank_models::Progress;

use crate::stopwatch::Stopwatch;

use super::super::args::CheckArgs;
use super::super::human;
use super::super::progress::Ticker;
use super::words::size;

const MIB: u64 = 1 << 20;

/// Sees how far a search is: tells of it, and ends it at its limits.
pub(super) struct Watch<'a> {
    name: &'a str,
    pub(super) args: &'a CheckArgs,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    pub(super) clock: Stopwatch,
    told: Ticker,
    memory: Memory,
    /// How far the search was.
    last: Mutex<Progress>,
    /// The places of switches that were passed.
    passed: Mutex<BTreeSet<&'static str>>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        name: &'a str,
        args: &'a CheckArgs,
        interrupted: &'a (dyn Fn() -> bool + Sync),
    ) -> Watch<'a> {
        Watch {
            name,
            args,
            interrupted,
            clock: Stopwatch::start(),
            told: Ticker::new(),
            memory: Memory::default(),
            last: Mutex::default(),
            passed: Mutex::default(),
        }
    }

    pub(super) fn pass(&self, places: Vec<&'static str>) {
        self.places().extend(places);
    }

    pub(super) fn passed(&self) -> BTreeSet<&'static str> {
        self.places().clone()
    }

    pub(super) fn places(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn last(&self) -> MutexGuard<'_, Progress> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the search is, and how far it may have to go.
    pub(super) fn line(&self, progress: &Progress, memory: u64) -> String {
        let seconds = self.clock.elapsed().as_secs_f64();
        let rate = progress.unique as f64 / seconds;
        let healing = match progress.healing {
            0 => String::new(),
            steps => format!(", {} steps of recovery", human::thousands(steps)),
        };
        let mut line = format!(
            "{}: {} states, {} a second, {} generated{healing}, longest path {}, frontier {}, {} MiB",
            self.name,
            human::thousands(progress.unique),
            human::thousands(rate as u64),
            human::thousands(progress.generated),
            human::thousands(progress.depth),
            human::thousands(progress.frontier),
            human::thousands(memory),
        );
        if let Some(estimate) = &progress.estimate {
            let left = estimate.states.saturating_sub(progress.unique) as f64 / rate;
            line += &format!(
                "; {}, {} to go",
                size(estimate, progress.unique),
                human::duration(left)
            );
        }
        line
    }

    pub(super) fn goes_on(&self, progress: &Progress) -> bool {
        let memory = self.memory.mebibytes();
        self.told.tick(|| self.line(progress, memory));
        *self.last() = *progress;
        let too_many = self
            .args
            .max_states
            .is_some_and(|most| progress.unique >= most);
        // Threads that are under way take some more before they end.
        let near = self.args.memory * 95 / 100;
        !too_many && memory < near && !(self.interrupted)()
    }
}

/// The memory of this process is looked at so often: a search may take a gigabyte in some seconds.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How much memory this process has, as it was lately.
#[derive(Default)]
pub(super) struct Memory(Mutex<(Option<Stopwatch>, u64)>);

impl Memory {
    /// In MiB; 0 where the system does not say.
    pub(super) fn mebibytes(&self) -> u64 {
        let mut looked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (clock, memory) = &mut *looked;
        if clock
            .as_ref()
            .is_none_or(|clock| clock.is_over(Some(LOOK_EVERY)))
        {
            let stats = memory_stats::memory_stats();
            *memory = stats.map_or(0, |stats| stats.physical_mem as u64 / MIB);
            *clock = Some(Stopwatch::start());
        }
        *memory
    }
}
