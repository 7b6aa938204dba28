//! What a sweep counts.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::{Class, FaultKind};

use super::fold::SeedResult;

/// How often something happened, and in how many seeds it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often.
    pub total: u64,
    /// In how many seeds.
    pub seeds: u64,
}

impl Count {
    fn add(&mut self, times: u64) {
        self.total += times;
        self.seeds += u64::from(times > 0);
    }
}

/// What a sweep counted of one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyTotal {
    /// Its class.
    pub class: Class,
    /// How often it was put to the test and held (a `sometimes`: was reached).
    pub tested: Count,
    /// How often it was violated.
    pub violated: Count,
}

/// What a sweep counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Seeds.
    pub seeds: u64,
    /// Events.
    pub events: u64,
    /// Virtual time.
    pub simulated: Duration,
    /// Faults that found their target; budgeted ones are here even if they never did.
    pub injected: BTreeMap<FaultKind, Count>,
    /// Properties by name.
    pub properties: BTreeMap<&'static str, PropertyTotal>,
}

impl Totals {
    /// Nothing yet; these kinds of faults are in the budget.
    pub(super) fn new(budgeted: impl Iterator<Item = FaultKind>) -> Totals {
        Totals {
            injected: budgeted.map(|kind| (kind, Count::default())).collect(),
            ..Totals::default()
        }
    }

    pub(super) fn add(&mut self, result: &SeedResult) {
        let tallies = &result.tallies;
        self.seeds += 1;
        self.events += tallies.events;
        self.simulated += Duration::from_nanos(result.at.nanos());
        for (kind, times) in FaultKind::ALL.into_iter().zip(&tallies.injected) {
            if *times > 0 || self.injected.contains_key(&kind) {
                self.injected.entry(kind).or_default().add(*times);
            }
        }
        let counts = tallies.tested.iter().zip(&tallies.violated);
        for ((name, class), (tested, violated)) in result.properties.iter().zip(counts) {
            let total = self.properties.entry(name).or_insert(PropertyTotal {
                class: *class,
                tested: Count::default(),
                violated: Count::default(),
            });
            // A test that fails is one, too.
            total.tested.add(tested + violated);
            total.violated.add(*violated);
        }
    }

    pub(super) fn untested(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.properties
            .iter()
            .filter(|(_, p)| p.class == Class::Guarantee && p.tested.total == 0)
            .map(|(name, _)| *name)
    }
}
