//! What `mutants` reports, and the verdict. The JSON form has a version.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::exit::Exit;
use crate::cli::human::{self, aligned, thousands};
use crate::head::build;
use crate::mutants::{Mutant, Tried, Unnoticed};

/// The version of the JSON form.
const VERSION: u32 = 1;

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// Something was violated.
    Noticed,
    /// Its place was reached, what followed was another run, and nothing was violated.
    NotNoticed,
    /// Its place was reached, and there were as many events as without it.
    SameEvents,
    /// Its place was not reached.
    NotReached,
}

/// One mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Row {
    pub name: String,
    pub what: String,
    pub area: String,
    pub place: String,
    pub outcome: Outcome,
    /// What noticed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<By>,
    /// What was tried: each with the number of its seeds.
    pub tried: Vec<(String, u64)>,
    /// It was given up before all was tried.
    pub out_of_patience: bool,
    pub seconds: f64,
    /// Why it is known to go unnoticed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub known: Option<String>,
}

/// What noticed a mutant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct By {
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    pub violated: String,
    /// Events of the run, or states of the search.
    pub size: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Report {
    pub version: u32,
    pub build: &'static str,
    pub exit_code: u8,
    /// Why the exit code is not 0, a sentence each.
    pub because: Vec<String>,
    pub mutants: usize,
    pub noticed: usize,
    pub seconds: f64,
    pub rows: Vec<Row>,
}

impl Row {
    pub fn new(mutant: &Mutant, tried: &Tried) -> Row {
        let outcome = match (&tried.noticed, tried.reached, tried.differs) {
            (Some(_), ..) => Outcome::Noticed,
            (None, false, _) => Outcome::NotReached,
            (None, true, false) => Outcome::SameEvents,
            (None, true, true) => Outcome::NotNoticed,
        };
        Row {
            name: mutant.name.to_owned(),
            what: mutant.what.to_owned(),
            area: mutant.area().to_owned(),
            place: format!("{}:{}", mutant.file, mutant.line),
            outcome,
            by: tried.noticed.as_ref().map(|noticed| By {
                target: noticed.target.clone(),
                seed: noticed.seed,
                violated: noticed.violated.clone(),
                size: noticed.size,
            }),
            tried: tried.targets.clone(),
            out_of_patience: tried.out_of_patience,
            seconds: tried.took.as_secs_f64(),
            known: Unnoticed::bundled().reason(mutant.name).map(str::to_owned),
        }
    }

    /// In one line, as it is done.
    pub fn line(&self) -> String {
        let seconds = human::duration(self.seconds);
        format!("{}: {} ({seconds})", self.name, self.came())
    }

    /// What came of it, in words.
    fn came(&self) -> String {
        match (&self.by, self.outcome) {
            (Some(by), _) => {
                let seed = by
                    .seed
                    .map_or(String::new(), |seed| format!(", seed {seed}"));
                let violated = by.violated.lines().next().unwrap_or_default();
                format!("{}{seed}: {violated}", by.target)
            }
            (None, Outcome::NotReached) => "not reached".to_owned(),
            (None, Outcome::SameEvents) => "NOT NOTICED, as many events as without it".to_owned(),
            (None, _) => "NOT NOTICED".to_owned(),
        }
    }

    /// What is not as it should be.
    fn shortcoming(&self) -> Option<String> {
        match (&self.known, &self.by) {
            (None, None) => Some(format!(
                "`{}` ({}) {}: {}",
                self.name,
                self.place,
                match self.outcome {
                    Outcome::NotReached => "was not reached",
                    _ => "went unnoticed",
                },
                self.what
            )),
            (Some(_), Some(_)) => Some(format!(
                "`{}` is noticed after all: take it out of scenarios/mutants-not-noticed.txt",
                self.name
            )),
            _ => None,
        }
    }
}

impl Report {
    pub fn new(rows: Vec<Row>, is_whole: bool, took: Duration) -> (Report, Exit) {
        let because: Vec<String> = rows.iter().filter_map(Row::shortcoming).collect();
        let exit = match (because.is_empty(), is_whole) {
            (false, _) => Exit::Violation,
            (true, false) => Exit::Interrupted,
            (true, true) => Exit::Clean,
        };
        let report = Report {
            version: VERSION,
            build: build(),
            exit_code: exit as u8,
            because,
            mutants: rows.len(),
            noticed: rows.iter().filter(|row| row.by.is_some()).count(),
            seconds: took.as_secs_f64(),
            rows,
        };
        (report, exit)
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut table = human::table(&["mutant", "events", "noticed by"]);
        for row in &self.rows {
            let size = row
                .by
                .as_ref()
                .map_or(String::new(), |by| thousands(by.size));
            let mut came = row.came();
            if let Some(why) = row.known.as_ref().filter(|_| row.by.is_none()) {
                came += &format!(": {why}");
            }
            table.add_row([row.name.clone(), size, came]);
        }
        let mut areas: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for row in &self.rows {
            let (all, noticed) = areas.entry(&row.area).or_default();
            *all += 1;
            *noticed += usize::from(row.by.is_some());
        }
        let mut totals = human::table(&["area", "mutants", "noticed"]);
        for (area, (all, noticed)) in areas {
            totals.add_row([area.to_owned(), all.to_string(), noticed.to_string()]);
        }
        let because = self.because.iter().map(|why| format!("  {why}\n"));
        format!(
            "{}\n\n{}\n\n{} of {} noticed ({:.1} %) in {}\n{}",
            aligned(table),
            aligned(totals),
            self.noticed,
            human::count(self.mutants as u64, "mutant"),
            100.0 * self.noticed as f64 / self.mutants.max(1) as f64,
            human::duration(self.seconds),
            because.collect::<String>()
        )
    }
}
