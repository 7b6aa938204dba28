//! What is tried for one mutant: first what its place was reached in, the cheapest first; then more seeds.

use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use wavetank_engine::mutant::{self, Given};

use super::Mutant;
use super::target::{Baseline, Seen, Target};
use crate::stopwatch::Stopwatch;

/// How far a trial goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// So many seeds of each storm are run without a mutant, to see which places they reach,
    pub profiled: u64,
    /// and at most so many with one.
    pub seeds: u64,
    /// No more is begun for a mutant after so much real time.
    pub patience: Duration,
}

/// A target, what it comes to without any mutant, and the mutants whose places it reaches.
pub struct Trial<'a> {
    target: &'a Target,
    baseline: Baseline,
    reached: BTreeSet<&'static str>,
}

/// What noticed a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Noticed {
    /// The target.
    pub target: String,
    /// The seed, if it has some.
    pub seed: Option<u64>,
    /// What was violated.
    pub violated: String,
    /// Events until then, or states.
    pub size: u64,
}

/// What came of a mutant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tried {
    /// What noticed it, if anything did.
    pub noticed: Option<Noticed>,
    /// Was its place reached while it was on?
    pub reached: bool,
    /// Did anything that was tried have another number of events or states than without it?
    pub differs: bool,
    /// What was tried, each with the number of its seeds.
    pub targets: Vec<(String, u64)>,
    /// Real time that it took.
    pub took: Duration,
    /// Was it the patience that ended it?
    pub out_of_patience: bool,
}

/// So many seeds of a storm are tried before those of the next.
const CHUNK: u64 = 10;
/// A mutant whose place nothing is known to reach is tried under so many seeds of each storm, to see whether one does.
const SEEDS_TO_REACH: u64 = 20;

impl<'a> Trial<'a> {
    /// Runs a target without any mutant, and records which places it reaches.
    pub fn of(target: &'a Target, effort: &Effort, stop: &dyn Fn() -> bool) -> Trial<'a> {
        let given = Given::recording();
        let baseline = mutant::with(given.clone(), || target.baseline(effort.profiled, stop));
        Trial {
            target,
            baseline,
            reached: given.reached(),
        }
    }

    /// The target's name.
    pub fn name(&self) -> &str {
        &self.target.name
    }

    /// What it comes to without any mutant.
    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Does it reach the place of this one?
    pub fn reaches(&self, mutant: &str) -> bool {
        self.reached.contains(mutant)
    }
}

impl Mutant {
    /// Tries these targets until one notices it.
    pub fn try_all(&self, trials: &[Trial<'_>], effort: &Effort, stop: &dyn Fn() -> bool) -> Tried {
        let mut all: Vec<&Trial<'_>> = trials.iter().collect();
        all.sort_by_key(|trial| trial.baseline.cost());
        let reaching: Vec<&Trial<'_>> = all
            .iter()
            .filter(|trial| trial.reaches(self.name))
            .copied()
            .collect();
        let (all, seeds) = match reaching.is_empty() {
            true => (all, effort.seeds.min(SEEDS_TO_REACH)),
            false => (reaching, effort.seeds),
        };
        let mut attempt = Attempt {
            mutant: self,
            clock: Stopwatch::start(),
            patience: effort.patience,
            stop,
            tried: Tried::default(),
        };
        let mut from = 0;
        while from < seeds {
            let until = match from {
                0 => effort.profiled.clamp(1, seeds),
                _ => (from + CHUNK).min(seeds),
            };
            for trial in &all {
                for seed in trial.target.seeds(from..until) {
                    if attempt.is_over() {
                        return attempt.end();
                    }
                    attempt.run(trial, seed);
                }
            }
            from = until;
        }
        attempt.end()
    }
}

/// A mutant that is tried.
struct Attempt<'a> {
    mutant: &'a Mutant,
    clock: Stopwatch,
    patience: Duration,
    stop: &'a dyn Fn() -> bool,
    tried: Tried,
}

impl Attempt<'_> {
    fn is_over(&mut self) -> bool {
        let impatient = self.clock.is_over(Some(self.patience));
        self.tried.out_of_patience |= impatient && self.tried.noticed.is_none();
        self.tried.noticed.is_some() || impatient || (self.stop)()
    }

    fn end(mut self) -> Tried {
        self.tried.took = self.clock.elapsed();
        self.tried
    }

    fn run(&mut self, trial: &Trial<'_>, seed: u64) {
        let target = trial.target;
        let without = trial.baseline.seen.get(seed as usize);
        let given = Given::from(Some(self.mutant.name));
        let (clock, patience, stop) = (self.clock, self.patience, self.stop);
        let over = || stop() || clock.is_over(Some(patience));
        let run = || mutant::with(given.clone(), || target.run(seed, without, &over));
        // A panic that no world catches is noticed, too.
        let seen = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Seen {
            violated: Some("a panic outside of the world".to_owned()),
            ..Seen::default()
        });
        self.tried.reached |= given.reached().contains(self.mutant.name);
        let differs = |without: &Seen| without.size != seen.size && !seen.stopped;
        self.tried.differs |= without.is_some_and(differs);
        match self.tried.targets.last_mut() {
            Some((name, seeds)) if *name == target.name => *seeds += 1,
            _ => self.tried.targets.push((target.name.clone(), 1)),
        }
        self.tried.out_of_patience |= seen.stopped && !(self.stop)();
        if let Some(violated) = seen.violated {
            self.tried.noticed = Some(Noticed {
                target: target.name.clone(),
                seed: target.has_seeds().then_some(seed),
                violated,
                size: seen.size,
            });
        }
    }
}
