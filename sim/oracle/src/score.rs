//! How many steps are equal, and the list of those that may differ.

use std::collections::BTreeMap;
use std::fmt;

use crate::replay::Replayed;

/// The scores of several recordings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Score {
    /// What each came to.
    pub files: Vec<Replayed>,
    /// Show each difference.
    pub verbose: bool,
}

/// Steps that may differ, with a reason: a line `file step step …: reason`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known(BTreeMap<(String, u64), String>);

impl Replayed {
    /// How many steps are equal.
    pub fn equal(&self) -> u64 {
        self.steps - self.differences.len() as u64
    }

    /// The share of equal steps, in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.equal() as f64 / self.steps.max(1) as f64
    }
}

impl Score {
    /// How many steps differ.
    pub fn differences(&self) -> usize {
        self.files.iter().map(|file| file.differences.len()).sum()
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            writeln!(
                f,
                "{:<36} {:>4} of {:>4} equal ({:>5.1} %)",
                file.name,
                file.equal(),
                file.steps,
                file.percent()
            )?;
            if self.verbose {
                for difference in &file.differences {
                    let unequal = &difference.unequal;
                    writeln!(f, "  step {}: {}", difference.step, difference.what)?;
                    writeln!(f, "    at        {}", unequal.at)?;
                    writeln!(f, "    recorded  {}", unequal.recorded)?;
                    writeln!(f, "    simulated {}", unequal.simulated)?;
                }
            }
        }
        let steps: u64 = self.files.iter().map(|file| file.steps).sum();
        let equal: u64 = self.files.iter().map(Replayed::equal).sum();
        let percent = 100.0 * equal as f64 / steps.max(1) as f64;
        writeln!(f, "steps: {equal} equal of {steps} ({percent:.1} %)")
    }
}

impl Known {
    /// Reads the list; `#` begins a comment.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(text: &str) -> Result<Known, String> {
        let mut known = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || format!("line {}: wants `file step step …: reason`", at + 1);
            let (places, reason) = line.split_once(": ").ok_or_else(wrong)?;
            let mut words = places.split_whitespace();
            let file = words.next().ok_or_else(wrong)?;
            for step in words {
                let step = step.parse().map_err(|_| wrong())?;
                known.insert((file.to_owned(), step), reason.to_owned());
            }
        }
        Ok(Known(known))
    }

    /// The list that comes with the sources.
    pub fn bundled() -> &'static str {
        include_str!("../known-differences.txt")
    }

    /// The differences that the list does not name, as file and step.
    pub fn unlisted(&self, files: &[Replayed]) -> Vec<(String, u64)> {
        let differences = files.iter().flat_map(|file| {
            let steps = file.differences.iter();
            steps.map(|difference| (file.name.clone(), difference.step))
        });
        let is_listed = |place: &(String, u64)| self.0.contains_key(place);
        differences.filter(|place| !is_listed(place)).collect()
    }

    /// What does not agree with the list: differences that it does not name, and names that do not
    /// differ any more.
    pub fn disagreements(&self, files: &[Replayed]) -> Vec<String> {
        let differ = |file: &str, step: u64| {
            let file = files.iter().find(|replayed| replayed.name == *file);
            file.is_some_and(|file| file.differences.iter().any(|d| d.step == step))
        };
        let unlisted = self.unlisted(files).into_iter();
        let mut found: Vec<String> = unlisted
            .map(|(file, step)| format!("{file} {step} differs"))
            .collect();
        for (file, step) in self.0.keys() {
            if !differ(file, *step) {
                found.push(format!("{file} {step} does not differ any more"));
            }
        }
        found
    }
}
