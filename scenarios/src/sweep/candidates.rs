//! Violations that look alike. Of each kind the trace of the first seed and the shortest traces
//! stay on disk, so that a sweep full of violations does not fill it.

use std::fs;
use std::path::PathBuf;

use wavetank_engine::trace::FoundViolation;

/// So many traces of each kind stay, and are looked into.
pub const SHORTEST: usize = 3;

/// A violation under one seed.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// Events until then.
    pub events: u64,
    /// What was violated.
    pub violation: FoundViolation,
    /// Its trace, or why there is none.
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
}

/// Violations of one property by one kind of object.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// In how many seeds.
    pub seeds: u64,
    /// The one of the lowest seed.
    pub first: Found,
    /// The shortest ones, by events and then by seed.
    pub shortest: Vec<Found>,
}

impl Candidate {
    fn new(found: Found) -> Candidate {
        Candidate {
            seeds: 1,
            shortest: vec![found.clone()],
            first: found,
        }
    }

    fn add(&mut self, found: Found) {
        self.seeds += 1;
        let key = |f: &Found| (f.events, f.seed);
        let at = self.shortest.partition_point(|f| key(f) < key(&found));
        self.shortest.insert(at, found);
        if self.shortest.len() > SHORTEST
            && let Some(dropped) = self.shortest.pop()
            && dropped.seed != self.first.seed
        {
            dropped.forget();
        }
    }
}

/// All candidates, in the order of their first seeds: that is the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    pub fn add(&mut self, found: Found) {
        let alike = |c: &&mut Candidate| c.first.violation.is_like(&found.violation);
        match self.0.iter_mut().find(alike) {
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
