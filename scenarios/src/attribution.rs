//! What a violation is to be blamed on: its plan is simulated again with one switch flipped at a
//! time, and where the violation is gone, that switch explains it.

use std::fmt;

use serde::{Deserialize, Serialize};
use wavetank_engine::drive::plan::{Odd, Plan};
use wavetank_engine::drive::{Ending, Outcome};
use wavetank_engine::trace::{FoundViolation, Record};

use crate::case::{Case, Options, run_plan, run_plan_and_count};
use crate::trace_file::Trace;

/// What a violation is to be blamed on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// Each of these defects or missing fixes alone: without it the violation is gone.
    Each(Vec<String>),
    /// Only without all of these is it gone.
    Together(Vec<String>),
    /// It is gone when all that is known is fixed; by what, nobody asked.
    Known,
    /// No known bug explains it: a candidate finding.
    Nothing,
    /// It could not be found out.
    Unclear(String),
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribution::Each(names) => f.write_str(&names.join(" or ")),
            Attribution::Together(names) => f.write_str(&names.join(" together with ")),
            Attribution::Known => f.write_str("what is known: all of it fixed, it is gone"),
            Attribution::Nothing => f.write_str("none: candidate finding"),
            Attribution::Unclear(why) => write!(f, "unclear: {why}"),
        }
    }
}

/// How much is asked about what is to blame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// Each switch is flipped alone, and if that explains nothing, all of them, then fewer: dozens
    /// of simulations a violation.
    #[default]
    Each,
    /// All are flipped at once: does anything that is known explain it?
    All,
}

/// A plan of a violation, as far as blame is concerned.
pub(crate) struct Suspect<'a> {
    pub case: &'a dyn Case,
    pub options: &'a Options,
    pub violation: &'a FoundViolation,
}

impl Suspect<'_> {
    /// Simulates a plan on the case itself; the outcome if it shows the violation.
    pub fn shown(&self, plan: &Plan, record: Record) -> Option<Outcome> {
        let outcome = run_plan(self.case, self.options, plan, record).ok()?;
        is_shown(&outcome, self.violation).then_some(outcome)
    }

    /// The same, with what was odd in it.
    pub fn shown_with_odd(&self, plan: &Plan) -> Option<(Outcome, Odd)> {
        let (outcome, odd) =
            run_plan_and_count(self.case, self.options, plan, Record::default()).ok()?;
        is_shown(&outcome, self.violation).then_some((outcome, odd))
    }

    /// Is the violation gone with these switches the other way? `None` if they cannot be flipped.
    fn is_gone(&self, plan: &Plan, flips: &[&str]) -> Option<bool> {
        let flipped = self.case.flipped(flips)?;
        let outcome = run_plan(flipped.as_ref(), self.options, plan, Record::default()).ok()?;
        Some(!is_shown(&outcome, self.violation))
    }

    /// As deeply as wanted.
    fn ask(&self, plan: &Plan, depth: Depth) -> Attribution {
        if self.shown(plan, Record::default()).is_none() {
            let why = "its plan, simulated again, does not show it";
            return Attribution::Unclear(why.to_owned());
        }
        match depth {
            Depth::Each => self.blame(plan),
            Depth::All if self.is_known(plan) => Attribution::Known,
            Depth::All => Attribution::Nothing,
        }
    }

    /// Is it gone when all that is known is fixed?
    fn is_known(&self, plan: &Plan) -> bool {
        let flips = self.case.flips();
        let names: Vec<&str> = flips.iter().map(|flip| flip.name.as_str()).collect();
        !names.is_empty() && self.is_gone(plan, &names) == Some(true)
    }

    /// What is to blame for the violation that a plan shows.
    pub fn blame(&self, plan: &Plan) -> Attribution {
        let flips = self.case.flips();
        let names: Vec<&str> = flips.iter().map(|flip| flip.name.as_str()).collect();
        let alone: Vec<String> = names
            .iter()
            .filter(|name| self.is_gone(plan, &[name]) == Some(true))
            .map(|name| (*name).to_owned())
            .collect();
        if !alone.is_empty() {
            return Attribution::Each(alone);
        }
        if names.len() < 2 || self.is_gone(plan, &names) != Some(true) {
            return Attribution::Nothing;
        }
        let mut needed = names.clone();
        for name in names {
            let fewer: Vec<&str> = needed.iter().copied().filter(|n| *n != name).collect();
            if self.is_gone(plan, &fewer) == Some(true) {
                needed = fewer;
            }
        }
        Attribution::Together(needed.into_iter().map(str::to_owned).collect())
    }

    /// Does a plan that shows the violation still do so for the same reason?
    pub fn is_for(&self, plan: &Plan, reason: &Attribution) -> bool {
        match reason {
            Attribution::Each(names) => names
                .iter()
                .any(|name| self.is_gone(plan, &[name]) == Some(true)),
            Attribution::Together(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                self.is_gone(plan, &names) == Some(true)
            }
            Attribution::Known => self.is_known(plan),
            Attribution::Nothing => !self.is_known(plan),
            Attribution::Unclear(_) => true,
        }
    }
}

fn is_shown(outcome: &Outcome, violation: &FoundViolation) -> bool {
    matches!(&outcome.ending, Ending::Violated(found) if found.is_like(violation))
}

/// What the violation at the end of a trace is to be blamed on.
pub fn attribute(case: &dyn Case, trace: &Trace, depth: Depth) -> Attribution {
    let Some(violation) = &trace.end().violation else {
        return Attribution::Unclear("the trace holds no violation".to_owned());
    };
    let suspect = Suspect {
        case,
        options: &trace.head.options,
        violation,
    };
    suspect.ask(&Plan::from_trace(trace.lines.iter()), depth)
}
