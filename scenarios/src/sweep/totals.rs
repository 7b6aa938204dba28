//! What a sweep counts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wavetank_engine::drive::Missed;
use wavetank_engine::{Action, Class, FaultKind, Time};

use super::fold::SeedResult;

/// How often something happened, and in how many seeds it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

    fn merge(&mut self, other: Count) {
        self.total += other.total;
        self.seeds += other.seeds;
    }
}

/// What a sweep counted of one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyTotal {
    /// Its class.
    pub class: Class,
    /// How often it was put to the test and held (a `sometimes`: was reached).
    pub tested: Count,
    /// How often it was violated.
    pub violated: Count,
}

/// What became of a fault, or of a command, that is planned for every seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTotal {
    /// When it is to strike, or to be told.
    pub at: Time,
    /// What.
    pub action: Action,
    /// In how many seeds it struck something, or somebody heard it.
    pub struck: u64,
    /// In how many it did not.
    pub missed: u64,
    /// What there was in place of its target, in the first of these.
    pub why: String,
}

/// What a sweep counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Seeds.
    pub seeds: u64,
    /// Events.
    pub events: u64,
    /// Virtual time.
    pub simulated: Duration,
    /// Faults that found their target; budgeted ones are here even if they never did.
    pub injected: BTreeMap<FaultKind, Count>,
    /// The faults and commands of the plan, in its order.
    #[serde(default)]
    pub planned: Vec<PlannedTotal>,
    /// Properties by name.
    pub properties: BTreeMap<Cow<'static, str>, PropertyTotal>,
}

impl Totals {
    /// Nothing yet; these kinds of faults are in the budget, and these faults in the plan.
    pub(super) fn new(
        budgeted: impl Iterator<Item = FaultKind>,
        planned: impl Iterator<Item = (Time, Action)>,
    ) -> Totals {
        let planned = planned.map(|(at, action)| PlannedTotal {
            at,
            action,
            struck: 0,
            missed: 0,
            why: String::new(),
        });
        Totals {
            injected: budgeted.map(|kind| (kind, Count::default())).collect(),
            planned: planned.collect(),
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
        // What was not due yet struck nothing, and missed nothing.
        let due = self.planned.iter_mut().filter(|own| own.at < result.at);
        for planned in due {
            let is_it =
                |missed: &&Missed| (missed.at, &missed.action) == (planned.at, &planned.action);
            match tallies.missed.iter().find(is_it) {
                Some(missed) if planned.missed == 0 => {
                    planned.missed = 1;
                    planned.why.clone_from(&missed.why);
                }
                Some(_) => planned.missed += 1,
                None => planned.struck += 1,
            }
        }
        let counts = tallies.tested.iter().zip(&tallies.violated);
        for ((name, class), (tested, violated)) in result.properties.iter().zip(counts) {
            let total = self.property(Cow::Borrowed(name), *class);
            // A test that fails is one, too.
            total.tested.add(tested + violated);
            total.violated.add(*violated);
        }
    }

    /// What another sweep over other seeds of the same case has counted, too.
    pub(super) fn merge(&mut self, other: &Totals) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.simulated += other.simulated;
        for (kind, count) in &other.injected {
            self.injected.entry(*kind).or_default().merge(*count);
        }
        if self.planned.is_empty() {
            self.planned.clone_from(&other.planned);
        } else {
            for (own, other) in self.planned.iter_mut().zip(&other.planned) {
                if own.missed == 0 {
                    own.why.clone_from(&other.why);
                }
                own.struck += other.struck;
                own.missed += other.missed;
            }
        }
        for (name, own) in &other.properties {
            let total = self.property(name.clone(), own.class);
            total.tested.merge(own.tested);
            total.violated.merge(own.violated);
        }
    }

    fn property(&mut self, name: Cow<'static, str>, class: Class) -> &mut PropertyTotal {
        self.properties.entry(name).or_insert(PropertyTotal {
            class,
            tested: Count::default(),
            violated: Count::default(),
        })
    }

    /// What of the plan struck nothing, or was heard by nobody, in any seed.
    pub(super) fn in_vain(&self) -> impl Iterator<Item = &PlannedTotal> + '_ {
        let all = self.planned.iter();
        all.filter(|planned| planned.struck == 0 && planned.missed > 0)
    }

    pub(super) fn untested(&self) -> impl Iterator<Item = &str> + '_ {
        self.properties
            .iter()
            .filter(|(_, p)| p.class == Class::Guarantee && p.tested.total == 0)
            .map(|(name, _)| &**name)
    }
}

#[cfg(test)]
mod tests {
    use wavetank_engine::Fault;

    use super::*;

    fn planned(struck: u64, missed: u64, why: &str) -> Totals {
        let process = "a1".to_owned();
        let planned = PlannedTotal {
            at: Time::ZERO,
            action: Action::Fault(Fault::Crash { process }),
            struck,
            missed,
            why: why.to_owned(),
        };
        Totals {
            planned: vec![planned],
            ..Totals::default()
        }
    }

    #[test]
    fn what_strikes_in_one_shard_is_not_planned_in_vain() {
        let mut all = Totals::default();
        all.merge(&planned(0, 0, ""));
        assert_eq!(all.in_vain().count(), 0, "its time never came");
        all.merge(&planned(0, 2, "a1 is down"));
        assert_eq!(all.in_vain().count(), 1);
        all.merge(&planned(1, 1, "a1 is off"));
        assert_eq!(all.in_vain().count(), 0);
        assert_eq!(all.planned, planned(1, 3, "a1 is down").planned);
    }
}
