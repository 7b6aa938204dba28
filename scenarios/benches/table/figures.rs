//! The table of figures: a row for each, as text and as JSON, and two tables compared.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Events in a second, of one core.
    Events,
    /// States in a second, of all cores.
    States,
}

/// A figure, and what a bare event loop did beside it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub unit: Unit,
    /// So many in a second.
    pub rate: f64,
    /// Events of a bare loop in a second, just before and after: the mean.
    pub bare: f64,
}

impl Row {
    pub const HEAD: &str =
        "                                               a second          bare events for each";

    /// Measures with a yardstick before and after.
    pub fn beside(name: &str, unit: Unit, bare: fn() -> f64, measure: &dyn Fn() -> f64) -> Row {
        let before = bare();
        let rate = measure();
        Row {
            name: name.to_owned(),
            unit,
            rate,
            bare: f64::midpoint(before, bare()),
        }
    }

    /// What it does for one event of a bare loop.
    fn relative(&self) -> f64 {
        self.rate / self.bare
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Events => "events",
            Unit::States => "states",
        };
        let each = self.relative().recip();
        write!(
            f,
            "{:<40} {:>14.0} {unit} {each:>14.1}",
            self.name, self.rate
        )
    }
}

/// All figures of a build.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    pub rows: Vec<Row>,
}

impl Table {
    /// One that was kept.
    ///
    /// # Errors
    /// If the file cannot be read, or is no table.
    pub fn of_file(file: &str) -> Result<Table, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        serde_json::from_str(&text)
            .map_err(|error| format!("{file}: it is no table that `--keep` wrote: {error}"))
    }

    /// Keeps it in a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, file: &str) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).expect("it is a tree");
        std::fs::write(file, text + "\n").map_err(|error| format!("{file}: {error}"))
    }

    /// How much faster each figure is than in an older table, by the clock and by the bare loop.
    pub fn compared(&self, before: &Table) -> String {
        let mut out = String::from(
            "against what was kept:                    by the clock    by a bare loop\n",
        );
        let mut ratios = Vec::new();
        for row in &self.rows {
            let mut older = before.rows.iter();
            let Some(old) = older.find(|old| (&old.name, old.unit) == (&row.name, row.unit)) else {
                out += &format!("{:<40} is new\n", row.name);
                continue;
            };
            let (clock, ratio) = (row.rate / old.rate, row.relative() / old.relative());
            out += &format!("{:<40} {clock:>12.2} x {ratio:>15.2} x\n", row.name);
            ratios.push(ratio);
        }
        for old in &before.rows {
            if self.rows.iter().all(|row| row.name != old.name) {
                out += &format!("{:<40} was not measured\n", old.name);
            }
        }
        ratios.sort_by(f64::total_cmp);
        if let Some(median) = ratios.get(ratios.len() / 2) {
            out += &format!("{:<40} {:>14} {median:>15.2} x", "the median", "");
        }
        out
    }
}
