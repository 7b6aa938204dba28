//! What a campaign goes round: a scenario with a release and a composition each.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use wavetank_releases::Release;

use crate::attribution::Attribution;
use crate::case::Case;
use crate::catalogue::{Catalogue, Composition};

use super::Standing;
use super::log::{Batch, Origin, Shown};

/// Which problems a leg has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Composed {
    /// Those of its release.
    Shipped,
    /// None that is known.
    Fixed,
    /// This one alone: the leg is over once it is found.
    Defect(String),
}

/// A scenario with a release and a composition.
pub struct Leg {
    /// `service-storm v1.20`, `service-storm v1.36 fixed`, `service-storm v1.36 memory-refuses`
    pub name: String,
    /// What is simulated.
    pub case: Box<dyn Case>,
    /// Which problems it has.
    pub composed: Composed,
}

/// The legs of these scenarios, or of all: each with its own release and with each other one that it can have, as shipped and with
/// all fixed; and with its own release, all fixed, each defect that it is to show.
///
/// # Errors
/// What cannot be opened.
pub fn legs(catalogue: &dyn Catalogue, scenarios: &[String]) -> Result<Vec<Leg>, String> {
    let mut all = Vec::new();
    for scenario in scenarios {
        of_releases(catalogue, scenario, &mut all)?;
        of_defects(catalogue, scenario, &mut all)?;
    }
    Ok(all)
}

fn of_releases(
    catalogue: &dyn Catalogue,
    scenario: &str,
    all: &mut Vec<Leg>,
) -> Result<(), String> {
    let open = |release: Option<&str>, fixed: bool| {
        let composition = Composition {
            release: release.map(str::to_owned),
            fixed,
            ..Composition::default()
        };
        catalogue.open(scenario, &composition)
    };
    let mut identities = Vec::new();
    let named = Release::TABLE.iter().map(|release| Some(release.name));
    for release in std::iter::once(None).chain(named) {
        for (fixed, composed) in [(false, Composed::Shipped), (true, Composed::Fixed)] {
            let case = match (open(release, fixed), release) {
                (Ok(case), _) => case,
                // Not each scenario can have each release.
                (Err(_), Some(_)) => continue,
                (Err(why), None) => return Err(why),
            };
            let identity = case.identity();
            if identities.contains(&identity) {
                continue;
            }
            identities.push(identity);
            let words = [Some(scenario), release, fixed.then_some("fixed")];
            all.push(Leg {
                name: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
                case,
                composed,
            });
        }
    }
    Ok(())
}

fn of_defects(catalogue: &dyn Catalogue, scenario: &str, all: &mut Vec<Leg>) -> Result<(), String> {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    for defect in catalogue.open(scenario, &fixed)?.missing_defects() {
        let composition = Composition {
            defects: vec![defect.name.clone()],
            ..fixed.clone()
        };
        all.push(Leg {
            name: format!("{scenario} {}", defect.name),
            case: catalogue.open(scenario, &composition)?,
            composed: Composed::Defect(defect.name),
        });
    }
    Ok(())
}

/// Over so many of its batches a leg's novelty is counted.
const RECENT: usize = 4;
/// A violation that is new counts as so many places.
const VIOLATION: u64 = 100;

/// What is known of a leg.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Runs of seeds of their own.
    pub seeds: u64,
    /// Runs of seeds that turn.
    pub varied: u64,
    events: u64,
    /// Where its runs have been.
    pub places: BTreeSet<u64>,
    /// Runs that showed something new, in the order in which they did.
    pub corpus: Vec<Origin>,
    /// What was new in the last batches, and how many events they took.
    recent: VecDeque<(u64, u64)>,
    quiet_batches: u64,
    /// The number of its last batch, counted from 1.
    pub last: u64,
    /// One for each property and blame.
    pub violations: Vec<Shown>,
    is_found: bool,
    /// There is nothing more to look for.
    pub is_over: bool,
}

impl Known {
    pub fn learn(&mut self, batch: Batch, leg: &Leg, number: u64) {
        self.seeds += batch.seeds;
        self.varied += batch.varied;
        self.events += batch.events;
        self.last = number;
        let violations = batch.violations.len() as u64;
        let new = batch.places.len() as u64 + VIOLATION * violations;
        self.recent.push_back((new, batch.events));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.quiet_batches = if new == 0 { self.quiet_batches + 1 } else { 0 };
        self.places.extend(batch.places);
        self.corpus.extend(batch.kept);
        self.violations.extend(batch.violations);
        if let Composed::Defect(name) = &leg.composed {
            let mut blames = self.violations.iter().map(|shown| &shown.attribution);
            self.is_found = blames.any(|blame| blames_it(blame, name));
        }
        // Where nothing is drawn every seed does the same.
        self.is_over = self.is_found || leg.case.explicit().is_some();
    }

    /// Who has found more for its events? One that has taken none has found nothing.
    pub fn compare_novelty(&self, other: &Known) -> Ordering {
        let sums = |known: &Known| {
            let recent = known.recent.iter();
            recent.fold((0_u128, 1_u128), |(new, events), (n, e)| {
                (new + u128::from(*n), events + u128::from(*e))
            })
        };
        let ((new, events), (other_new, other_events)) = (sums(self), sums(other));
        (new * other_events).cmp(&(other_new * events))
    }

    pub fn standing(&self, leg: &Leg) -> Standing {
        Standing {
            leg: leg.name.clone(),
            defect: match &leg.composed {
                Composed::Defect(name) => Some(name.clone()),
                Composed::Shipped | Composed::Fixed => None,
            },
            seeds: self.seeds,
            varied: self.varied,
            events: self.events,
            places: self.places.len(),
            corpus: self.corpus.len(),
            quiet_batches: self.quiet_batches,
            is_found: self.is_found,
            violations: self.violations.clone(),
        }
    }
}

fn blames_it(attribution: &Attribution, name: &str) -> bool {
    match attribution {
        Attribution::Each(names) | Attribution::Together(names) => {
            names.iter().any(|own| own == name)
        }
        Attribution::Known | Attribution::Nothing | Attribution::Unclear(_) => false,
    }
}
