//! A line of `scenarios/tests/pins.txt`: a seed that shows a defect.

use std::fs;
use std::path::{Path, PathBuf};

use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

/// A seed under which one defect shows, and that is clean without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pin {
    pub scenario: String,
    pub release: String,
    /// A defect that is on, or a fix that is off. Everything else is fixed.
    pub switch: String,
    pub seed: u64,
    pub property: String,
}

impl Pin {
    /// What a line of the table says.
    ///
    /// # Panics
    /// If it does not have the five columns.
    pub fn parse(line: &str) -> Pin {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [scenario, release, switch, seed, property] = columns[..] else {
            panic!("`{line}` is not: scenario, release, defect or fix, seed, property");
        };
        Pin {
            scenario: scenario.to_owned(),
            release: release.to_owned(),
            switch: switch.to_owned(),
            seed: seed.parse().expect("a seed is a number"),
            property: property.to_owned(),
        }
    }

    /// Its line.
    pub fn line(&self) -> String {
        let Pin {
            scenario,
            release,
            switch,
            seed,
            property,
        } = self;
        format!("{scenario:15} {release} {switch:30} {seed:>4} {property}")
    }

    /// Its scenario, in which all is fixed.
    pub fn fixed(&self) -> Box<dyn Case> {
        self.open(vec![], vec![])
    }

    /// Its scenario with its defect, or without its fix.
    pub fn switched(&self) -> Box<dyn Case> {
        let own = vec![self.switch.clone()];
        match self.switch.starts_with("fix-") {
            false => self.open(own, vec![]),
            true => self.open(vec![], own),
        }
    }

    fn open(&self, defects: Vec<String>, without: Vec<String>) -> Box<dyn Case> {
        let composition = Composition {
            fixed: true,
            release: Some(self.release.clone()),
            defects,
            without,
        };
        let opened = Kube::default().open(&self.scenario, &composition);
        opened.unwrap_or_else(|error| panic!("`{}`: {error}", self.line()))
    }
}

/// The property that this seed violates.
pub fn violated(case: &dyn Case, seed: u64) -> Option<String> {
    match run_seed(case, seed, None, Record::default()).ending {
        Ending::Clean => None,
        Ending::Violated(found) => Some(found.property),
    }
}

/// The file with the table.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pins.txt")
}

/// The lines of the table: a pin, or a comment.
///
/// # Panics
/// If it cannot be read.
pub fn read() -> Vec<Result<Pin, String>> {
    let text = fs::read_to_string(path()).expect("the table of pins");
    let is_pin = |line: &str| !line.starts_with('#') && !line.trim().is_empty();
    let lines = text.lines().map(|line| match is_pin(line) {
        true => Ok(Pin::parse(line)),
        false => Err(line.to_owned()),
    });
    lines.collect()
}
