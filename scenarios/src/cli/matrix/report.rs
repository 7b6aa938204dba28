//! What `matrix` reports, and the verdict. The JSON form has a version, as that of `run`.

use serde::Serialize;

use crate::case::{Case, Flip, Hidden};
use crate::head::build;
use crate::sweep::{Ended, Swept};

use super::super::args::MatrixArgs;
use super::super::exit::Exit;
use super::super::human;
use super::super::report::Violation;

/// The version of the JSON form.
const VERSION: u32 = 1;

/// The verdict on a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// Clean when fixed, and every defect was found.
    AllFound,
    Wanting,
    Interrupted,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Report {
    pub version: u32,
    pub case: String,
    /// Of the fixed case.
    pub identity: serde_json::Value,
    pub build: &'static str,
    pub verdict: Verdict,
    pub exit_code: u8,
    /// Why the verdict is not better, one sentence each.
    pub because: Vec<String>,
    /// The seeds that were asked for.
    pub seeds: String,
    /// The fixed case first, then each defect.
    pub rows: Vec<Row>,
    /// Defects that the options of the scenario hide, and that were not looked for.
    pub left_out: Vec<Hidden>,
}

/// What came out of one sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// All is fixed, and nothing was found.
    Clean,
    /// The defect was found, and is to blame.
    Found,
    /// The defect is on, and was not found.
    NotFound,
    /// Something was found that no defect of the row explains.
    Unexplained,
    /// Nothing was found, but guarantees were not put to the test.
    Untested,
    /// It was not run to its end, and nothing was found until then.
    Interrupted,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Row {
    /// The defect that is on; none in the fixed case.
    pub defect: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    pub outcome: Outcome,
    /// Seeds that were run.
    pub seeds: u64,
    /// Seeds that showed the defect (in the fixed case: anything).
    pub hit: u64,
    /// Events of all seeds.
    pub events: u64,
    /// Guarantees that no seed put to the test.
    pub untested: Vec<String>,
    /// Scopes that show for certain what no seed showed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
    pub violations: Vec<Hit>,
}

/// Violations that are the same, and the trace of one made smaller.
#[derive(Debug, Serialize)]
pub(super) struct Hit {
    #[serde(flatten)]
    pub violation: Violation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<Small>,
}

#[derive(Debug, Serialize)]
pub(super) struct Small {
    pub events: u64,
    pub trace: String,
}

impl Hit {
    /// Is this defect to blame?
    pub fn is_of(&self, defect: &str) -> bool {
        self.violation
            .explained_by
            .iter()
            .any(|name| name == defect)
    }

    /// The events of the smallest trace there is.
    pub fn events(&self) -> u64 {
        let shrunk = self.shrunk.as_ref().map(|small| small.events);
        shrunk.unwrap_or(self.violation.events)
    }

    /// The smallest trace there is, if one could be written.
    pub fn trace(&self) -> Option<&str> {
        let shrunk = self.shrunk.as_ref().map(|small| small.trace.as_str());
        shrunk.or(self.violation.trace.as_deref())
    }
}

impl Row {
    pub fn new(defect: Option<&Flip>, swept: &Swept, violations: Vec<Hit>) -> Row {
        let is_of = |hit: &&Hit| match defect {
            Some(defect) => hit.is_of(&defect.name),
            None => true,
        };
        let hit: u64 = violations
            .iter()
            .filter(is_of)
            .map(|hit| hit.violation.seeds)
            .sum();
        let all: u64 = violations.iter().map(|hit| hit.violation.seeds).sum();
        // Whoever stops at the third hit has not had the time for the rest.
        let untested = match (defect, swept.ended) {
            (None, Ended::AllSeeds) => swept.untested().into_iter().map(String::from).collect(),
            _ => Vec::new(),
        };
        let outcome = match defect {
            _ if all > hit || (defect.is_none() && hit > 0) => Outcome::Unexplained,
            Some(_) if hit > 0 => Outcome::Found,
            _ if swept.ended == Ended::Stopped => Outcome::Interrupted,
            Some(_) => Outcome::NotFound,
            None if !untested.is_empty() => Outcome::Untested,
            None => Outcome::Clean,
        };
        Row {
            defect: defect.map(|defect| defect.name.clone()),
            about: defect.map(|defect| defect.about.clone()),
            outcome,
            seeds: swept.totals.seeds,
            hit,
            events: swept.totals.events,
            untested,
            shown_by: Vec::new(),
            violations,
        }
    }

    /// Did no seed show the defect?
    pub fn is_missed(&self) -> bool {
        self.outcome == Outcome::NotFound
    }

    fn scopes(&self) -> String {
        match &self.shown_by[..] {
            [] => String::new(),
            [scope] => format!("; the scope `{scope}` shows it"),
            scopes => format!("; the scopes `{}` show it", scopes.join("`, `")),
        }
    }

    /// What is not as it should be.
    fn shortcoming(&self) -> Option<String> {
        let seeds = self.seeds;
        match (&self.defect, self.outcome) {
            (None, Outcome::Unexplained) => {
                Some("fixed it is not clean: see its violations".to_owned())
            }
            (Some(defect), Outcome::Unexplained) => Some(format!(
                "with `{defect}` a violation was found that it does not explain"
            )),
            (Some(defect), Outcome::NotFound) => Some(format!(
                "`{defect}` was not found under {}{}",
                human::count(seeds, "seed"),
                self.scopes()
            )),
            (_, Outcome::Untested) => Some(format!(
                "never put to the test: {}",
                self.untested.join(", ")
            )),
            _ => None,
        }
    }
}

impl Report {
    /// The verdict on these rows, and how the command ends.
    pub fn new(
        fixed: &dyn Case,
        args: &MatrixArgs,
        rows: Vec<Row>,
        is_whole: bool,
    ) -> (Report, Exit) {
        let because: Vec<String> = rows.iter().filter_map(Row::shortcoming).collect();
        let (verdict, exit) = match (because.is_empty(), is_whole) {
            (false, _) => (Verdict::Wanting, Exit::Violation),
            (true, false) => (Verdict::Interrupted, Exit::Interrupted),
            (true, true) => (Verdict::AllFound, Exit::Clean),
        };
        let left_out = match args.defect.is_empty() {
            true => fixed.hidden_defects(),
            false => Vec::new(),
        };
        let report = Report {
            version: VERSION,
            case: fixed.name().to_owned(),
            identity: fixed.identity(),
            build: build(),
            verdict,
            exit_code: exit as u8,
            because,
            seeds: args.seeds.to_string(),
            rows,
            left_out,
        };
        (report, exit)
    }
}
