//! The runs of a batch, on all cores: new seeds, and seeds that turn away from a run that has shown something new. Which they are is known before the first begins, and what they found is put together in
//! their order: so it does not matter which is done first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use wavetank_engine::drive::plan::Odd;
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::{Ending, Limits, Outcome, Run, Turned, places};
use wavetank_engine::trace::{FoundViolation, Record};
use wavetank_engine::{Time, World};

use crate::attribution::{Depth, attribute};
use crate::case::{Options, run_seed_unless, simulate};
use crate::head::Head;
use crate::trace_file::{self, Trace};

use super::leg::{Known, Leg};
use super::log::{Batch, Origin, Shown};

/// So many runs are a batch.
const RUNS: u64 = 32;
/// Once something has shown something new, so many of them turn away from that.
const VARIED: u64 = 16;
/// They turn away from so many runs, the last that have shown something new.
const NEWEST: usize = 8;
/// What is to blame is asked of so many violations of one property and kind of object in a batch.
const ASKED: usize = 2;

/// A batch that is to be run.
pub(super) struct Runner<'a> {
    pub leg: &'a Leg,
    pub known: &'a Known,
    pub first_seed: u64,
    pub traces: &'a Path,
    pub jobs: usize,
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// What a run came to.
struct Ran {
    origin: Origin,
    events: u64,
    places: BTreeSet<u64>,
    violated: Option<(FoundViolation, Trace)>,
}

impl Runner<'_> {
    /// Runs it; `None` if somebody asked to stop before it was done.
    ///
    /// # Errors
    /// If a trace cannot be written, or if there can be no threads.
    pub fn run(&self) -> Result<Option<Batch>, String> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs)
            .build()
            .map_err(|error| format!("cannot start threads: {error}"))?;
        pool.install(|| {
            let origins = self.origins();
            let all: Option<Vec<Ran>> = origins.into_par_iter().map(|of| self.one(of)).collect();
            all.map(|all| self.fold(all)).transpose()
        })
    }

    /// What is run.
    fn origins(&self) -> Vec<Origin> {
        if self.leg.case.explicit().is_some() {
            return vec![Origin::seed(self.first_seed)];
        }
        let corpus = &self.known.corpus;
        let varied = if corpus.is_empty() { 0 } else { VARIED };
        let first = self.first_seed.wrapping_add(self.known.seeds);
        let seeds = (0..RUNS - varied).map(|n| Origin::seed(first.wrapping_add(n)));
        let newest = corpus.iter().rev().take(NEWEST).cycle();
        let turned = newest.zip(0..varied);
        let turned = turned.map(|(of, n)| self.turned(of, self.known.varied + n));
        seeds.chain(turned).collect()
    }

    /// The same until some moment of the storm, and then something else.
    fn turned(&self, of: &Origin, n: u64) -> Origin {
        let case = self.leg.case.as_ref();
        let storm = case.fault_schedule(&case.derive(of.seed)).storm;
        let mut draw = Stream::new(n, "turns");
        let (at, seed) = (draw.within(0, storm.nanos()), draw.below(u64::MAX));
        let before = of.turns.iter().filter(|(earlier, _)| *earlier < at);
        Origin {
            seed: of.seed,
            turns: before.copied().chain([(at, seed)]).collect(),
        }
    }

    fn one(&self, origin: Origin) -> Option<Ran> {
        if (self.stop)() {
            return None;
        }
        let case = self.leg.case.as_ref();
        let options = case.derive(origin.seed);
        let outcome = self.simulate(&origin, &options)?;
        let violated = match &outcome.ending {
            Ending::Clean => None,
            Ending::Violated(violation) => {
                let mut head = Head::new(case, origin.seed, options);
                // Its seed alone does not lead there.
                head.shrunk = !origin.turns.is_empty();
                Some((violation.clone(), Trace::of(head, &outcome)))
            }
        };
        Some(Ran {
            origin,
            events: outcome.tallies.events,
            places: places(&outcome.record, &outcome.world),
            violated,
        })
    }

    fn simulate(&self, origin: &Origin, options: &Options) -> Option<Outcome> {
        let case = self.leg.case.as_ref();
        if origin.turns.is_empty() {
            let outcome = run_seed_unless(case, origin.seed, None, Record::default(), self.stop);
            return outcome.ok();
        }
        let turns = origin.turns.iter();
        let turns = turns.map(|(at, seed)| (Time::from_nanos(*at), *seed));
        let run = |world: World, limits: Limits, record: Record| {
            let schedule = case.fault_schedule(options);
            let choices = Turned::new(origin.seed, turns.clone(), &world, schedule);
            let outcome = Run::new(world, choices, limits, record).finish();
            (outcome, Odd::default())
        };
        let simulated = simulate(case, options, Record::default(), &run);
        let simulated = simulated.expect("a case accepts its own options");
        Some(simulated.judged(case, options).0)
    }

    fn fold(&self, all: Vec<Ran>) -> Result<Batch, String> {
        let varied = all.iter().filter(|ran| !ran.origin.turns.is_empty());
        let varied = varied.count() as u64;
        let mut batch = Batch {
            leg: self.leg.name.clone(),
            seeds: all.len() as u64 - varied,
            varied,
            events: all.iter().map(|ran| ran.events).sum(),
            places: Vec::new(),
            kept: Vec::new(),
            violations: Vec::new(),
        };
        let mut reached = BTreeSet::new();
        for ran in &all {
            let before = reached.len();
            let new = ran.places.difference(&self.known.places);
            reached.extend(new.copied());
            // A run that ends in a violation is short: what turns away from it mostly shows the same.
            if reached.len() > before && ran.violated.is_none() {
                batch.kept.push(ran.origin.clone());
            }
        }
        batch.places = reached.into_iter().collect();
        batch.violations = self.violations(&all)?;
        Ok(batch)
    }

    /// Those that are new by property or blame. Each trace is on disk before it is asked what is to blame, which may take long.
    fn violations(&self, all: &[Ran]) -> Result<Vec<Shown>, String> {
        let mut alike: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut asked = Vec::new();
        for ran in all {
            let Some((violation, trace)) = &ran.violated else {
                continue;
            };
            let before = alike
                .entry((&violation.property, &violation.kind))
                .or_default();
            *before += 1;
            if *before <= ASKED {
                asked.push((ran, violation, trace, self.write(&ran.origin, trace)?));
            }
        }
        let shown: Vec<Shown> = asked
            .into_par_iter()
            .map(|(ran, violation, trace, path)| Shown {
                origin: ran.origin.clone(),
                events: ran.events,
                violation: violation.clone(),
                attribution: attribute(self.leg.case.as_ref(), trace, Depth::Each),
                trace: path.file_name().unwrap_or_default().into(),
            })
            .collect();
        let mut new: Vec<Shown> = Vec::new();
        for shown in shown {
            let mut known = self.known.violations.iter().chain(&new);
            if known.any(|known| is_same(known, &shown)) {
                // If it cannot be removed, there is a trace too many: no harm.
                let _ = fs::remove_file(self.traces.join(&shown.trace));
            } else {
                new.push(shown);
            }
        }
        Ok(new)
    }

    fn write(&self, origin: &Origin, trace: &Trace) -> Result<PathBuf, String> {
        let property = trace.end().violation.as_ref();
        let property = property.map_or("clean", |violation| &*violation.property);
        let stem = trace_file::file_stem(&self.leg.name, property, trace.head.seed);
        let turns = origin.turns.iter();
        let turns = turns.map(|(at, seed)| format!("-{at}-{seed}"));
        let stem = stem + &turns.collect::<String>();
        trace_file::write(self.traces, &stem, &trace.to_bytes()).map_err(|error| {
            let traces = self.traces.display();
            format!("cannot write the trace into `{traces}`: {error}")
        })
    }
}

fn is_same(one: &Shown, other: &Shown) -> bool {
    one.violation.is_like(&other.violation) && one.attribution == other.attribution
}
