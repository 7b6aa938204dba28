//! What may notice a mutant: a storm under seeds, the search of a scope, a recorded transcript, a recording of controllers.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;

use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;
use wavetank_engine::{Class, mutant};
use wavetank_models::{Ended, Explorer, Recovery, Reduction};
use wavetank_oracle::controllers::{self, Conformed};
use wavetank_oracle::corpus::{self, Recording};
use wavetank_oracle::{Known, Replayed, replay};
use wavetank_releases::Release;

use crate::case::{Case, run_seed_unless};
use crate::catalogue::{Catalogue, Composition};
use crate::quiet::quietly;
use crate::search::Search;
use crate::stopwatch::Stopwatch;

/// Something that may notice a mutant. Everything known is fixed in it.
pub struct Target {
    /// Its name, with the release if that is not the scenario's own.
    pub name: String,
    what: What,
}

enum What {
    Storm(Box<dyn Case>),
    Scope(Box<dyn Case>),
    Transcript(Box<Recording>, Known),
    Controllers(Box<Recording>, Known),
}

/// What one run of a target came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// What was violated, if anything was: a property, or a step of a transcript.
    pub violated: Option<String>,
    /// Events, states or steps.
    pub size: u64,
    /// Real time that it took.
    pub took: Duration,
    /// It was stopped before its end, and has seen nothing until then.
    pub stopped: bool,
    /// Guarantees that a search has put to the test.
    pub(super) tested: Vec<String>,
}

/// What a target comes to without any mutant.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Baseline {
    /// For each seed that was run; a scope and a transcript have one.
    pub seen: Vec<Seen>,
}

impl Baseline {
    /// Was anything violated?
    pub fn violated(&self) -> Option<&str> {
        let mut all = self.seen.iter();
        all.find_map(|seen| seen.violated.as_deref())
    }

    /// How long one seed takes, or the whole if there are no seeds.
    pub fn cost(&self) -> Duration {
        let took: Duration = self.seen.iter().map(|seen| seen.took).sum();
        took / u32::try_from(self.seen.len().max(1)).unwrap_or(u32::MAX)
    }
}

/// All that is bundled: each scenario with its own release and with each other one of Kubernetes that it can have, each
/// scope, each transcript, each recording of controllers.
///
/// # Errors
/// What cannot be opened.
pub fn targets(catalogue: &dyn Catalogue) -> Result<Vec<Target>, String> {
    let mut all = Vec::new();
    let fixed = |release: Option<&str>| Composition {
        release: release.map(str::to_owned),
        fixed: true,
        ..Composition::default()
    };
    for scenario in catalogue.scenarios() {
        let own = catalogue.open(&scenario.name, &fixed(None))?;
        let mut identities = vec![own.identity()];
        all.push(Target::new(&scenario.name, What::Storm(own)));
        for release in Release::TABLE {
            let Ok(case) = catalogue.open(&scenario.name, &fixed(Some(release.name))) else {
                continue;
            };
            let identity = case.identity();
            if identities.contains(&identity) {
                continue;
            }
            identities.push(identity);
            let name = format!("{} {}", scenario.name, release.name);
            all.push(Target::new(&name, What::Storm(case)));
        }
    }
    for scope in catalogue.scopes() {
        let case = catalogue.open(&scope.name, &fixed(None))?;
        all.push(Target::new(&scope.name, What::Scope(case)));
    }
    let known = Known::parse(Known::bundled())?;
    for recording in corpus::bundled()? {
        let name = format!("transcript {}", recording.name);
        let what = What::Transcript(Box::new(recording), known.clone());
        all.push(Target::new(&name, what));
    }
    let known = Known::parse(controllers::KNOWN)?;
    for recording in controllers::bundled()? {
        let name = format!("controllers {}", recording.name);
        let what = What::Controllers(Box::new(recording), known.clone());
        all.push(Target::new(&name, what));
    }
    Ok(all)
}

impl Target {
    fn new(name: &str, what: What) -> Target {
        let name = name.to_owned();
        Target { name, what }
    }

    /// Is it a storm, which seeds choose?
    pub fn has_seeds(&self) -> bool {
        matches!(self.what, What::Storm(_))
    }

    /// What it comes to without any mutant, under the first of its seeds.
    pub fn baseline(&self, seeds: u64, stop: &dyn Fn() -> bool) -> Baseline {
        let seeds = match self.has_seeds() {
            true => 0..seeds,
            false => 0..1,
        };
        let seen = seeds.take_while(|_| !stop());
        let seen = seen.map(|seed| self.run(seed, None, stop)).collect();
        Baseline { seen }
    }

    /// The seeds in these bounds that there are.
    pub fn seeds(&self, seeds: Range<u64>) -> Range<u64> {
        match self.has_seeds() {
            true => seeds,
            false => 0..u64::from(seeds.start == 0),
        }
    }

    /// Runs it under this seed, and compares with what it comes to without a mutant, where that says more.
    pub fn run(&self, seed: u64, without: Option<&Seen>, stop: &dyn Fn() -> bool) -> Seen {
        let clock = Stopwatch::start();
        let seen = match &self.what {
            What::Storm(case) => storm(case.as_ref(), seed, stop),
            What::Scope(case) => scope(case.as_ref(), without, stop),
            What::Transcript(recording, known) => replayed(known, || replay(recording)),
            What::Controllers(recording, known) => {
                // One difference is enough, and what a mutant makes of the rest may be long.
                let goes_on =
                    |played: &Conformed| !stop() && known.unlisted(&[played.replayed()]).is_empty();
                let played = || controllers::replay_while(recording, goes_on);
                let seen = replayed(known, || played().map(|played| played.replayed()));
                Seen {
                    stopped: seen.violated.is_none() && stop(),
                    ..seen
                }
            }
        };
        let took = clock.elapsed();
        Seen { took, ..seen }
    }
}

fn storm(case: &dyn Case, seed: u64, stop: &dyn Fn() -> bool) -> Seen {
    match run_seed_unless(case, seed, None, Record::default(), stop) {
        Err(_) => Seen {
            stopped: true,
            ..Seen::default()
        },
        Ok(outcome) => Seen {
            violated: match outcome.ending {
                Ending::Violated(violation) => Some(violation.property),
                Ending::Clean => None,
            },
            size: outcome.tallies.events,
            ..Seen::default()
        },
    }
}

fn scope(case: &dyn Case, without: Option<&Seen>, stop: &dyn Fn() -> bool) -> Seen {
    let search = match quietly(|| Search::of(case)) {
        Ok(search) => search,
        Err(why) => {
            return Seen {
                violated: Some(why),
                ..Seen::default()
            };
        }
    };
    let recovery = search.calm.map(Recovery::within);
    // `stop` is for this thread; the search asks from another one.
    let over = AtomicBool::new(false);
    let (told, heard) = channel();
    let mutant = mutant::current();
    let explored = std::thread::scope(|threads| {
        let (over, search, recovery) = (&over, &search, &recovery);
        threads.spawn(move || {
            let explorer = Explorer {
                model: &search.model,
                recovery: recovery.as_ref(),
                // What it finds is there; that it finds all is not needed.
                reduction: Reduction::ORDERS,
                threads: 1,
                watch: &|_| !over.load(Relaxed),
            };
            let explore = || quietly(|| explorer.run_from(search.starts()));
            let explored = mutant::with(mutant, explore);
            // Who waits for it waits for no other.
            let _ = told.send(explored);
        });
        loop {
            match heard.recv_timeout(Duration::from_millis(20)) {
                Ok(explored) => return explored,
                Err(_) => over.store(stop(), Relaxed),
            }
        }
    });
    let of = |class| explored.coverage.properties(&search.model, class).reached;
    let tested: Vec<String> = of(Class::Guarantee);
    let lost = without.and_then(|without| {
        let mut before = without.tested.iter();
        let lost = before.find(|property| !tested.contains(property))?;
        Some(format!("`{lost}` is not put to the test any more"))
    });
    let violated = match &explored.ended {
        Ended::Violated(found) => Some(found.violation.property.clone()),
        Ended::Complete => lost,
        Ended::Stopped => None,
    };
    Seen {
        stopped: matches!(explored.ended, Ended::Stopped),
        size: explored.progress.unique,
        violated,
        tested,
        ..Seen::default()
    }
}

fn replayed(known: &Known, replay: impl FnOnce() -> Result<Replayed, String>) -> Seen {
    let replayed = match quietly(replay) {
        Ok(replayed) => replayed,
        Err(why) => {
            return Seen {
                violated: Some(why),
                ..Seen::default()
            };
        }
    };
    let steps = replayed.steps;
    let unlisted = known.unlisted(&[replayed]);
    Seen {
        violated: unlisted.first().map(|(_, step)| format!("step {step}")),
        size: steps,
        ..Seen::default()
    }
}
