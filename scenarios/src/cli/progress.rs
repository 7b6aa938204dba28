//! Progress on stderr: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::seeds::Seeds;
use crate::stopwatch::Stopwatch;
use crate::sweep::Watch;

/// Elsewhere than on a terminal, at most one line in so much time.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Shows how a sweep gets on.
pub(super) enum Progress {
    Bar(ProgressBar),
    Lines {
        seeds: Option<u64>,
        last: Mutex<Stopwatch>,
    },
}

impl Progress {
    /// For a sweep over these seeds, or without an end in sight.
    pub fn new(seeds: Option<Seeds>) -> Progress {
        let count = seeds.map(|seeds| seeds.count);
        if !io::stderr().is_terminal() {
            return Progress::Lines {
                seeds: count,
                last: Mutex::new(Stopwatch::start()),
            };
        }
        let (bar, template) = match count {
            Some(count) => (
                ProgressBar::new(count),
                "{elapsed} {wide_bar} {pos}/{len} seeds, {per_sec}, {msg}",
            ),
            None => (
                ProgressBar::no_length(),
                "{elapsed} {spinner} {pos} seeds, {per_sec}, {msg}",
            ),
        };
        let style = ProgressStyle::with_template(template).expect("a template that is well formed");
        Progress::Bar(bar.with_style(style))
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
                bar.set_message(format!("{violations} violations"));
            }
            Progress::Lines { seeds, last } => {
                let mut last = last.lock().expect("nobody panics with it");
                if last.is_over(Some(LINE_EVERY)) {
                    *last = Stopwatch::start();
                    let of = seeds.map_or(String::new(), |seeds| format!(" of {seeds}"));
                    eprintln!("{done}{of} seeds, {violations} violations");
                }
            }
        }
    }
}

/// One line now and then, about something without an end in sight.
pub(super) struct Ticker(Mutex<Stopwatch>);

impl Ticker {
    pub fn new() -> Ticker {
        Ticker(Mutex::new(Stopwatch::start()))
    }

    /// If it is time for a line, prints it.
    pub fn tick(&self, line: impl FnOnce() -> String) {
        // Whoever else is at it prints the line.
        let Ok(mut last) = self.0.try_lock() else {
            return;
        };
        if last.is_over(Some(LINE_EVERY)) {
            *last = Stopwatch::start();
            eprintln!("{}", line());
        }
    }
}
