//! Violations that are the same: property, kind of object, and what is to blame. Of each the traces
//! of the first seed and of the shortest run stay on disk, so that a sweep full of violations does
//! not fill it.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wavetank_engine::trace::FoundViolation;

use crate::attribution::Attribution;

/// A violation under one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// Events until then.
    pub events: u64,
    /// What was violated.
    pub violation: FoundViolation,
    /// What is to blame.
    pub attribution: Attribution,
    /// Its trace, or why there is none. What a shard leaves has the name of the file alone.
    pub trace: Result<PathBuf, String>,
}

impl Found {
    /// Removes its trace.
    pub(super) fn forget(&self) {
        if let Ok(path) = &self.trace {
            // If it cannot be removed, there is a trace too many: no harm.
            let _ = fs::remove_file(path);
        }
    }

    fn is_same(&self, other: &Found) -> bool {
        self.violation.is_like(&other.violation) && self.attribution == other.attribution
    }
}

/// Violations that are the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// In how many seeds.
    pub seeds: u64,
    /// The one of the lowest seed.
    pub first: Found,
    /// The one after the fewest events; of several, the one of the lowest seed.
    pub shortest: Found,
}

impl Candidate {
    fn new(found: Found) -> Candidate {
        Candidate {
            seeds: 1,
            shortest: found.clone(),
            first: found,
        }
    }

    fn add(&mut self, found: Found) {
        self.seeds += 1;
        if found.events >= self.shortest.events {
            found.forget();
            return;
        }
        let longer = std::mem::replace(&mut self.shortest, found);
        if longer.seed != self.first.seed {
            longer.forget();
        }
    }

    fn merge(&mut self, other: Candidate) {
        self.seeds += other.seeds;
        if other.first.seed < self.first.seed {
            self.first = other.first;
        }
        let length = |found: &Found| (found.events, found.seed);
        if length(&other.shortest) < length(&self.shortest) {
            self.shortest = other.shortest;
        }
    }
}

/// The candidates of several sweeps over other seeds of the same case, as one sweep over all of these would have them.
pub(super) fn merged(all: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
    let mut merged: Vec<Candidate> = Vec::new();
    for candidate in all {
        match merged
            .iter_mut()
            .find(|c| c.first.is_same(&candidate.first))
        {
            Some(before) => before.merge(candidate),
            None => merged.push(candidate),
        }
    }
    merged.sort_by_key(|candidate| candidate.first.seed);
    merged
}

/// All candidates, in the order of their first seeds: that is the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    pub fn add(&mut self, found: Found) {
        match self.0.iter_mut().find(|c| c.first.is_same(&found)) {
            Some(candidate) => candidate.add(found),
            None => self.0.push(Candidate::new(found)),
        }
    }

    pub fn violations(&self) -> u64 {
        self.0.iter().map(|c| c.seeds).sum()
    }

    pub fn into_list(self) -> Vec<Candidate> {
        self.0
    }
}
