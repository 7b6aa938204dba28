//! Many seeds of one case, in parallel. What comes out does not depend on the number of threads:
//! seeds are folded in their order, and without [`Sweep::keep_going`] everything after the lowest
//! violating seed (or the [`Sweep::enough`] lowest) is discarded.

mod candidates;
mod fold;
mod part;
mod shard;
mod totals;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wavetank_engine::drive::{Ending, Outcome};
use wavetank_engine::trace::Record;

use crate::attribution::{Attribution, Depth, attribute};
use crate::case::{Case, run_seed_unless};
use crate::head::Head;
use crate::seeds::Seeds;
use crate::stopwatch::Stopwatch;
use crate::trace_file::{self, Trace};

pub use candidates::{Candidate, Found};
pub use part::{Asked, EXTENSION, Merged, Part, merge};
pub use shard::{Shard, parse_shard};
pub use totals::{Count, PlannedTotal, PropertyTotal, Totals};

use fold::{Fold, SeedResult};

/// More threads than so many a core only cost memory.
const MOST_PER_CORE: usize = 8;

/// Sees how a sweep gets on.
pub trait Watch: Sync {
    /// So many seeds are done, with so many violations among them.
    fn progress(&self, done: u64, violations: u64);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: u64, _: u64) {}
}

/// A sweep that is to be made.
#[derive(Clone, Copy)]
pub struct Sweep<'a> {
    /// What is simulated.
    pub case: &'a dyn Case,
    /// Under which seeds.
    pub seeds: Seeds,
    /// Of these, under those of this shard.
    pub shard: Shard,
    /// On how many threads; 0 is one a core.
    pub jobs: usize,
    /// Go on after violations.
    pub keep_going: bool,
    /// Else end after so many seeds that show one.
    pub enough: usize,
    /// How much is asked about what is to blame.
    pub blame: Depth,
    /// Begin no seed after so much real time.
    pub time_box: Option<Duration>,
    /// Where the traces of violations go.
    pub out: &'a Path,
    /// Write the traces of clean seeds, too.
    pub all_traces: bool,
    /// Begin no seed once this is set.
    pub stop: Option<&'a AtomicBool>,
}

/// Why a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Every seed was run.
    AllSeeds,
    /// A seed violated a guarantee, or as many did as were enough.
    Violation,
    /// The time box was over.
    TimeBox,
    /// Somebody asked it to stop.
    Stopped,
}

/// What a sweep found.
#[derive(Clone, Debug)]
pub struct Swept {
    /// What was counted.
    pub totals: Totals,
    /// Violations by property, kind of object and blame, in the order of their first seeds.
    pub candidates: Vec<Candidate>,
    /// Why it ended.
    pub ended: Ended,
    /// Real time that it took.
    pub took: Duration,
}

impl Swept {
    /// Guarantees that no seed put to the test.
    pub fn untested(&self) -> Vec<&str> {
        self.totals.untested().collect()
    }

    /// Faults of the plan that struck nothing in any seed.
    pub fn in_vain(&self) -> Vec<&PlannedTotal> {
        self.totals.in_vain().collect()
    }
}

impl<'a> Sweep<'a> {
    /// A sweep on all cores that stops at the first violation.
    pub fn new(case: &'a dyn Case, seeds: impl Into<Seeds>, out: &'a Path) -> Sweep<'a> {
        Sweep {
            case,
            seeds: seeds.into(),
            shard: Shard::WHOLE,
            jobs: 0,
            keep_going: false,
            enough: 1,
            blame: Depth::Each,
            time_box: None,
            out,
            all_traces: false,
            stop: None,
        }
    }

    /// How many seeds there are to run.
    pub fn count(&self) -> u64 {
        self.shard.share(self.seeds.count)
    }

    /// On how many threads: no more than there are seeds, or than can be of use on this machine.
    fn threads(&self) -> usize {
        let cores = available_parallelism().map_or(1, usize::from);
        let wanted = if self.jobs == 0 { cores } else { self.jobs };
        let seeds = usize::try_from(self.count()).unwrap_or(usize::MAX);
        wanted.min(seeds).min(MOST_PER_CORE * cores).max(1)
    }

    /// Runs it. The trace of a violation is on disk before anybody hears of it.
    ///
    /// # Errors
    /// If there can be no threads, or if the trace of a clean seed cannot be written.
    pub fn run(&self, watch: &dyn Watch) -> Result<Swept, String> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads())
            .build()
            .map_err(|error| format!("cannot start threads: {error}"))?;
        let work = Work {
            sweep: self,
            watch,
            clock: Stopwatch::start(),
            next: AtomicU64::new(0),
            end: AtomicU64::new(self.count()),
            fold: Mutex::new(Fold::new(self)),
            unwritten: Mutex::new(None),
        };
        pool.broadcast(|_| work.worker());
        if let Some(why) = work.unwritten.lock().expect("no worker panicked").take() {
            return Err(why);
        }
        let ended = work.ended();
        let fold = work.fold.into_inner().expect("no worker panicked");
        Ok(fold.finish(ended, work.clock.elapsed()))
    }
}

/// A sweep that is under way. Its seeds are counted from 0 here.
struct Work<'a> {
    sweep: &'a Sweep<'a>,
    watch: &'a dyn Watch,
    clock: Stopwatch,
    next: AtomicU64,
    /// No seed from here on matters.
    end: AtomicU64,
    fold: Mutex<Fold>,
    /// Why the trace of a clean seed could not be written.
    unwritten: Mutex<Option<String>>,
}

impl Work<'_> {
    fn worker(&self) {
        let mut record = Record::default();
        while !self.is_stopped() && !self.clock.is_over(self.sweep.time_box) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.end.load(Ordering::Relaxed) {
                return;
            }
            let Ok((result, used)) = self.one(index, record) else {
                return;
            };
            record = used;
            let mut fold = self.fold.lock().expect("no worker panicked");
            fold.add(index, result);
            if let Some(end) = fold.end() {
                self.end.fetch_min(end, Ordering::Relaxed);
            }
            self.watch.progress(fold.done(), fold.violations());
        }
    }

    fn is_stopped(&self) -> bool {
        let stop = self.sweep.stop;
        stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn ended(&self) -> Ended {
        let fold = self.fold.lock().expect("no worker panicked");
        if fold.is_closed() {
            Ended::Violation
        } else if fold.done() == self.sweep.count() {
            Ended::AllSeeds
        } else if self.is_stopped() {
            Ended::Stopped
        } else {
            Ended::TimeBox
        }
    }

    /// One seed; an error is that somebody asked to stop.
    fn one(&self, index: u64, record: Record) -> Result<(SeedResult, Record), Record> {
        let seed = self.sweep.seeds.first + self.sweep.shard.place(index);
        let case = self.sweep.case;
        let outcome = run_seed_unless(case, seed, None, record, &|| self.is_stopped())?;
        let found = match &outcome.ending {
            Ending::Clean => {
                if self.sweep.all_traces
                    && let Err(why) = self.keep(&self.trace(seed, &outcome), "clean")
                {
                    self.end.store(0, Ordering::Relaxed);
                    *self.unwritten.lock().expect("no worker panicked") = Some(why);
                }
                None
            }
            Ending::Violated(violation) => {
                let trace = self.trace(seed, &outcome);
                // On disk first: looking for what is to blame may take long.
                let kept = self.keep(&trace, &violation.property);
                Some(Found {
                    seed,
                    events: outcome.tallies.events,
                    violation: violation.clone(),
                    attribution: match self.is_stopped() {
                        false => attribute(case, &trace, self.sweep.blame),
                        true => Attribution::Unclear("interrupted".to_owned()),
                    },
                    trace: kept,
                })
            }
        };
        let properties = outcome.world.properties();
        let result = SeedResult {
            at: outcome.at,
            properties: properties.map(|p| (p.name(), p.class())).collect(),
            tallies: outcome.tallies,
            found,
        };
        Ok((result, outcome.record))
    }

    fn trace(&self, seed: u64, outcome: &Outcome) -> Trace {
        let case = self.sweep.case;
        Trace::of(Head::new(case, seed, case.derive(seed)), outcome)
    }

    fn keep(&self, trace: &Trace, ending: &str) -> Result<PathBuf, String> {
        let stem = trace_file::file_stem(self.sweep.case.name(), ending, trace.head.seed);
        trace_file::write(self.sweep.out, &stem, &trace.to_bytes()).map_err(|error| {
            let out = self.sweep.out.display();
            format!("cannot write the trace into `{out}`: {error}")
        })
    }
}
