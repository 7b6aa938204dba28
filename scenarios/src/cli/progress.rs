//! Progress on stderr: a bar on a terminal, a line now and then elsewhere.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::stopwatch::Stopwatch;
use crate::sweep::Watch;

use super::human;

/// Elsewhere than on a terminal the first line comes after so much time,
const FIRST_LINE: Duration = Duration::from_secs(5);
/// and each next one after twice as much as the one before, until they are so far apart.
const LINES_APART: Duration = Duration::from_secs(60);

/// When lines are due: soon at first, so that a short run shows that it goes on, and seldom later, so that a long one
/// does not fill a log.
pub(super) struct Pace {
    last: Stopwatch,
    wait: Duration,
}

impl Pace {
    pub fn new() -> Pace {
        Pace {
            last: Stopwatch::start(),
            wait: FIRST_LINE,
        }
    }

    /// Is a line due? Then the next one is not for a while.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.last.is_over(Some(self.wait));
        if is_due {
            self.last = Stopwatch::start();
            self.wait = (self.wait * 2).min(LINES_APART);
        }
        is_due
    }
}

/// Shows how a sweep gets on.
pub(super) enum Progress {
    Bar(ProgressBar),
    Lines {
        seeds: Option<u64>,
        pace: Mutex<Pace>,
    },
}

impl Progress {
    /// For a sweep over so many seeds, or without an end in sight.
    pub fn new(count: Option<u64>) -> Progress {
        if !io::stderr().is_terminal() {
            return Progress::Lines {
                seeds: count,
                pace: Mutex::new(Pace::new()),
            };
        }
        let (bar, template) = match count {
            Some(count) => (
                ProgressBar::new(count),
                "{elapsed} {wide_bar} {pos}/{len} seeds, {rate}, {msg}",
            ),
            None => (
                ProgressBar::no_length(),
                "{elapsed} {spinner} {pos} seeds, {rate}, {msg}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("a template that is well formed");
        let rate = |state: &ProgressState, to: &mut dyn fmt::Write| {
            // What cannot be shown is not worth an error.
            let _ = write!(to, "{:.0}/s", state.per_sec());
        };
        Progress::Bar(bar.with_style(style.with_key("rate", rate)))
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Progress {
    fn progress(&self, done: u64, violations: u64) {
        match self {
            Progress::Bar(bar) => {
                bar.set_position(done);
                bar.set_message(human::count(violations, "violation"));
            }
            Progress::Lines { seeds, pace } => {
                let mut pace = pace.lock().expect("nobody panics with it");
                if pace.is_due() {
                    let of = seeds.map_or(String::new(), |seeds| format!(" of {seeds}"));
                    let violations = human::count(violations, "violation");
                    eprintln!("{done}{of} seeds, {violations}");
                }
            }
        }
    }
}

/// One line now and then, about something without an end in sight.
pub(super) struct Ticker(Mutex<Pace>);

impl Ticker {
    pub fn new() -> Ticker {
        Ticker(Mutex::new(Pace::new()))
    }

    /// If it is time for a line, prints it.
    pub fn tick(&self, line: impl FnOnce() -> String) {
        // Whoever else is at it prints the line.
        let Ok(mut pace) = self.0.try_lock() else {
            return;
        };
        if pace.is_due() {
            eprintln!("{}", line());
        }
    }
}
