//! What `run` reports, for people and programs alike. The JSON form has a version; fields may be
//! added to it, but none is removed or changes its meaning without a new one.

use serde::Serialize;
use wavetank_engine::Class;
use wavetank_engine::trace::FoundViolation;

use crate::attribution::Attribution;
use crate::sweep::Count;

/// The version of the JSON form.
pub(super) const VERSION: u32 = 1;

/// The verdict on a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    Clean,
    /// The violation that the scenario expects was found, and no other.
    FoundAsExpected,
    Violated,
    Incomplete,
    Interrupted,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Report {
    pub version: u32,
    pub case: String,
    pub identity: serde_json::Value,
    pub build: &'static str,
    pub verdict: Verdict,
    pub exit_code: u8,
    /// Why the verdict is not better, one sentence each.
    pub because: Vec<String>,
    /// The seeds that were asked for.
    pub seeds: String,
    pub totals: Totals,
    pub faults: Vec<Fault>,
    pub planned: Vec<Planned>,
    pub properties: Vec<Property>,
    pub violations: Vec<Violation>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Totals {
    pub seeds: u64,
    pub events: u64,
    pub simulated_seconds: f64,
    pub real_seconds: f64,
    pub simulated_per_real_second: f64,
    pub events_per_real_second: f64,
}

/// How often, and in how many seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Often {
    pub times: u64,
    pub seeds: u64,
}

impl From<Count> for Often {
    fn from(count: Count) -> Often {
        Often {
            times: count.total,
            seeds: count.seeds,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Fault {
    pub kind: &'static str,
    #[serde(flatten)]
    pub injected: Often,
}

/// What became of what is planned for every seed.
#[derive(Debug, Serialize)]
pub(super) struct Planned {
    pub at_seconds: f64,
    pub what: String,
    /// In how many seeds it struck something, or somebody heard it.
    pub struck: u64,
    /// In how many it did not.
    pub missed: u64,
    /// What there was in its place in the first of these.
    pub why: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Property {
    pub name: String,
    pub class: &'static str,
    pub tested: Often,
    pub violated: Often,
}

/// Violations that are the same: property, kind of object and attribution.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Violation {
    /// The shortest one: `property`, `kind`, `object` and `message`.
    #[serde(flatten)]
    pub what: FoundViolation,
    pub expected: bool,
    pub attribution: String,
    pub explained_by: Vec<String>,
    /// What each of these is.
    pub explanations: Vec<String>,
    /// In how many seeds.
    pub seeds: u64,
    pub first_seed: u64,
    pub shortest_seed: u64,
    /// Events of the shortest one.
    pub events: u64,
    /// The trace of the shortest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// How to replay it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// The same made smaller, which is then what the story is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smaller: Option<Smaller>,
    pub story: Vec<String>,
}

/// A trace that was made smaller.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Smaller {
    pub trace: String,
    pub events: u64,
    /// What happens in it, which may be to others. The story is of this one.
    pub message: Option<String>,
}

/// The names that an attribution consists of.
pub(super) fn explained_by(attribution: &Attribution) -> Vec<String> {
    match attribution {
        Attribution::Each(names) | Attribution::Together(names) => names.clone(),
        Attribution::Known | Attribution::Nothing | Attribution::Unclear(_) => Vec::new(),
    }
}

pub(super) fn class(class: Class) -> &'static str {
    match class {
        Class::Guarantee => "guarantee",
        Class::Observation => "observation",
        Class::Sometimes => "sometimes",
    }
}
