//! Puts the results of seeds together in the order of the seeds, whoever finishes first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_engine::drive::Tallies;
use wavetank_engine::{Action, Class, Time};

use super::candidates::{Candidates, Found};
use super::{Ended, Sweep, Swept, Totals};

/// What became of one seed.
pub(super) struct SeedResult {
    pub at: Time,
    pub properties: Vec<(&'static str, Class)>,
    pub tallies: Tallies,
    pub found: Option<Found>,
}

pub(super) struct Fold {
    /// After so many violations no more is added.
    enough: usize,
    /// Seeds that showed one, finished early or not.
    hits: BTreeSet<u64>,
    /// The next seed to add, counted from 0.
    next: u64,
    /// Finished before a smaller one was.
    early: BTreeMap<u64, SeedResult>,
    /// Enough violations have ended the sweep.
    closed: bool,
    totals: Totals,
    candidates: Candidates,
}

impl Fold {
    pub fn new(sweep: &Sweep<'_>) -> Fold {
        let options = sweep.case.derive(sweep.seeds.first);
        let schedule = sweep.case.fault_schedule(&options);
        let budgeted = schedule.budgets.iter().filter(|b| b.max > 0);
        // Of a scene all is chosen: its faults are no plan of somebody, and may stand in for others.
        let is_scene = sweep.case.explicit().is_some();
        let planned = schedule.directed.iter().filter(|_| !is_scene);
        // The end of a fault strikes nothing.
        let planned = planned.filter(|(_, action)| match action {
            Action::Fault(fault) => fault.kind().is_some(),
            Action::Command { .. } => true,
        });
        let planned = planned.cloned();
        Fold {
            enough: match sweep.keep_going {
                true => usize::MAX,
                false => sweep.enough.max(1),
            },
            hits: BTreeSet::new(),
            next: 0,
            early: BTreeMap::new(),
            closed: false,
            totals: Totals::new(budgeted.map(|b| b.kind), planned),
            candidates: Candidates::default(),
        }
    }

    pub fn add(&mut self, index: u64, result: SeedResult) {
        if result.found.is_some() {
            self.hits.insert(index);
        }
        self.early.insert(index, result);
        while !self.closed
            && let Some(result) = self.early.remove(&self.next)
        {
            self.next += 1;
            self.totals.add(&result);
            if let Some(found) = result.found {
                self.candidates.add(found);
                self.closed = self.violations() >= self.enough as u64;
            }
        }
    }

    /// From here on no seed matters: enough below it have shown a violation.
    pub fn end(&self) -> Option<u64> {
        self.hits.iter().nth(self.enough - 1).map(|last| last + 1)
    }

    /// Have enough violations ended the sweep?
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Seeds added.
    pub fn done(&self) -> u64 {
        self.totals.seeds
    }

    pub fn violations(&self) -> u64 {
        self.candidates.violations()
    }

    pub fn finish(self, ended: Ended, took: Duration) -> Swept {
        for discarded in self.early.into_values().filter_map(|result| result.found) {
            discarded.forget();
        }
        Swept {
            totals: self.totals,
            candidates: self.candidates.into_list(),
            ended,
            took,
        }
    }
}
