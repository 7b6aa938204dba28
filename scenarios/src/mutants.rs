//! Mutants of the algorithms: is each noticed by a storm, a scope or a transcript?
//!
//! Here is the list of them, which the build reads out of the sources, and the list of those that nothing notices, with
//! the reason. `target` is what may notice one, `trial` what is tried for one and what came of it.

mod target;
mod trial;

use std::collections::BTreeMap;

pub use target::{Baseline, Seen, Target, targets};
pub use trial::{Effort, Noticed, Trial, Tried};

/// A change to an algorithm, as it is declared at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Where it stands, from the workspace's root.
    pub file: &'static str,
    /// In which line.
    pub line: u32,
}

include!(concat!(env!("OUT_DIR"), "/mutants.rs"));

impl Mutant {
    /// All of them, by file and line.
    pub fn all() -> &'static [Mutant] {
        MUTANTS
    }

    /// The part of the sources that it changes.
    pub fn area(&self) -> &'static str {
        let inside = self.file.strip_prefix("sim/").unwrap_or(self.file);
        match inside.strip_prefix("components/") {
            Some(component) => match component.split_once("/controllers/") {
                Some((_, controller)) => first(controller),
                None => first(component),
            },
            None => first(inside),
        }
    }
}

fn first(path: &'static str) -> &'static str {
    path.split_once('/').map_or(path, |(first, _)| first)
}

/// The mutants that nothing is known to notice, each with the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unnoticed(BTreeMap<String, String>);

impl Unnoticed {
    /// The list that comes with the sources.
    ///
    /// # Panics
    /// If it cannot be read, which a test looks after.
    pub fn bundled() -> Unnoticed {
        let text = include_str!("../mutants-not-noticed.txt");
        Unnoticed::parse(text).expect("it is read by a test")
    }

    /// Reads a list: a line `name: reason` each; `#` begins a comment.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(text: &str) -> Result<Unnoticed, String> {
        let mut all = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wants = |what: &str| format!("line {number}: {what}");
            let (name, reason) = line
                .split_once(": ")
                .ok_or_else(|| wants("wants `name: reason`"))?;
            if !MUTANTS.iter().any(|mutant| mutant.name == name) {
                return Err(wants(&format!("there is no mutant `{name}`")));
            }
            if all.insert(name.to_owned(), reason.to_owned()).is_some() {
                return Err(wants(&format!("`{name}` is there twice")));
            }
        }
        Ok(Unnoticed(all))
    }

    /// Why nothing notices it, if it is listed.
    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, reason)| (&**name, &**reason))
    }
}
