//! What is known to differ from a real server, with the reason: `known-differences.txt` beside `Cargo.toml`.

use regex::Regex;
use wavetank_oracle::Difference;

/// The list. A line is `PATTERN => reason`; the pattern is looked for in the text of a difference.
#[derive(Clone, Debug)]
pub struct Known(Vec<(Regex, String)>);

impl Known {
    /// The list that comes with the sources.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn bundled() -> Result<Known, String> {
        Known::parse(include_str!("../../known-differences.txt"))
    }

    /// Reads a list; `#` begins a comment.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(text: &str) -> Result<Known, String> {
        let mut all = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: &str| format!("line {}: {why}", at + 1);
            let (pattern, reason) = line
                .split_once(" => ")
                .ok_or_else(|| wrong("wants `PATTERN => reason`"))?;
            let pattern = Regex::new(pattern).map_err(|error| wrong(&error.to_string()))?;
            all.push((pattern, reason.to_owned()));
        }
        Ok(Known(all))
    }

    /// The reason of a difference that is known.
    pub fn reason(&self, difference: &Difference) -> Option<&str> {
        let unequal = &difference.unequal;
        let text = format!(
            "{} at {} recorded {} simulated {}",
            difference.what, unequal.at, unequal.recorded, unequal.simulated
        );
        let known = self.0.iter().find(|(pattern, _)| pattern.is_match(&text));
        known.map(|(_, reason)| reason.as_str())
    }
}
