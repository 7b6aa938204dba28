//! From a trace to an understanding: what led to its violation, told step by step; which faults it needs; and where a
//! run with what is to blame fixed goes another way.
//!
//! `history` observes a replay, `story` chooses what is told, `faults` and `fixed` simulate the plan again, `futures` goes
//! on otherwise from worlds along the trace, `export`, `perfetto` and `shiviz` write for other programs, `page` for a
//! browser. What messages mean is said by a case ([`Meaning`]). Nothing here prints.

mod export;
mod faults;
mod fixed;
mod functions;
mod futures;
mod history;
mod lasting;
mod meaning;
pub(crate) mod page;
mod perfetto;
mod shiviz;
mod story;

use std::collections::BTreeSet;

use wavetank_engine::drive::plan::Plan;
use wavetank_engine::drive::story::concerns;
use wavetank_engine::trace::{FoundViolation, Record};

use crate::attribution::{Attribution, Suspect};
use crate::case::Case;
use crate::replay::{Unfollowed, in_words};
use crate::trace_file::Trace;

use history::{Historian, History, Kind};
use story::Step;

pub use faults::Struck;
pub use fixed::{Fixed, Parts};
pub use futures::{Chance, Chances, Effort, futures};
pub use meaning::{Meaning, Reading, Unknown, Written};
pub use shiviz::PARSER;

/// How much is told, and asked.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// So many steps.
    pub steps: usize,
    /// Of at most so many faults it is asked whether they are needed.
    pub faults: u64,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted {
            steps: 24,
            faults: 200,
        }
    }
}

/// Why a trace ends in its violation.
#[derive(Debug)]
pub struct Explanation {
    /// The violation.
    pub violation: FoundViolation,
    /// What it is to be blamed on.
    pub blame: Attribution,
    /// The faults that struck.
    pub faults: Vec<Struck>,
    /// Does it still come without all that are not needed, one by one? `None` if there are no two of these.
    pub goes_without: Option<bool>,
    /// Is it known which are needed? Not if the plan, simulated again, does not show the violation.
    pub repeats: bool,
    /// The comparison with the fixed algorithm, if something is to blame.
    pub fixed: Option<Fixed>,
    history: History,
    slice: Vec<Option<u32>>,
    steps: Vec<Step>,
}

/// Why there is no explanation.
#[derive(Debug)]
pub enum Unexplained {
    /// The trace holds no violation.
    NoViolation,
    /// It could not be followed.
    Unfollowed(Unfollowed),
}

/// Explains the violation of a trace.
///
/// # Errors
/// [`Unexplained`].
pub fn explain(case: &dyn Case, trace: &Trace, wanted: Wanted) -> Result<Explanation, Unexplained> {
    let violation = trace.end().violation.clone();
    let violation = violation.ok_or(Unexplained::NoViolation)?;
    let followed = Historian::new(case).follow(case, trace, trace.head.fit());
    let (history, followed) = followed.map_err(Unexplained::Unfollowed)?;
    let violation = followed.violation.unwrap_or(violation);
    let (direct, slice) = sliced(&history, &violation);
    let mut faults = faults::struck(&history, &slice);
    let plan = Plan::from_trace(trace.lines.iter());
    let suspect = Suspect {
        case,
        options: &trace.head.options,
        violation: &violation,
    };
    let repeats = suspect.shown(&plan, Record::default()).is_some();
    let blame = match repeats {
        true => suspect.blame(&plan),
        false => Attribution::Unclear("its plan, simulated again, does not show it".to_owned()),
    };
    let mut goes_without = None;
    if repeats {
        faults::ask(&suspect, &plan, &history, &mut faults, wanted.faults);
        goes_without = faults::goes_without(&suspect, &plan, &history, &faults);
    }
    let needed = faults.iter().filter(|fault| fault.needed == Some(true));
    let needed: BTreeSet<usize> = needed.map(|fault| fault.event).collect();
    let steps = story::steps(&history, &slice, &direct.all, &needed, wanted.steps);
    let flips = fixed::switches(&blame);
    let fixed = match flips.is_empty() {
        true => None,
        false => fixed::compare(case, &trace.head.options, &plan, flips),
    };
    Ok(Explanation {
        violation,
        blame,
        faults,
        goes_without,
        repeats,
        fixed,
        history,
        slice,
        steps,
    })
}

/// What is told of the object of a violation, and over how many events each leads to it.
fn sliced(history: &History, violation: &FoundViolation) -> (Direct, Vec<Option<u32>>) {
    let direct = direct(history, violation);
    let ends = direct.last.iter().copied();
    let last = history.events.len().checked_sub(1);
    let slice = history.causes.slice(last.into_iter().chain(ends));
    (direct, slice)
}

/// From how many of its events the violation of a trace follows.
///
/// # Errors
/// [`Unexplained`].
pub fn leading(case: &dyn Case, trace: &Trace) -> Result<usize, Unexplained> {
    let violation = trace.end().violation.as_ref();
    let violation = violation.ok_or(Unexplained::NoViolation)?;
    let followed = Historian::new(case).follow(case, trace, trace.head.fit());
    let (history, _) = followed.map_err(Unexplained::Unfollowed)?;
    let (_, slice) = sliced(&history, violation);
    Ok(slice.iter().flatten().count())
}

/// All that happened in a trace, for programs that show traces.
#[derive(Debug)]
pub struct Whole {
    history: History,
    violation: Option<FoundViolation>,
}

impl Whole {
    /// A trace, replayed to its end.
    ///
    /// # Errors
    /// [`Unfollowed`].
    pub fn of(case: &dyn Case, trace: &Trace) -> Result<Whole, Unfollowed> {
        let (history, followed) = Historian::new(case).follow(case, trace, trace.head.fit())?;
        let violation = followed.violation;
        Ok(Whole { history, violation })
    }

    /// As Chrome's trace events in JSON.
    pub fn perfetto(&self) -> String {
        let violation = self.violation.as_ref().map(in_words);
        perfetto::perfetto(&self.history, violation.as_deref())
    }

    /// As a log with vector clocks, which [`PARSER`] reads.
    pub fn shiviz(&self) -> String {
        shiviz::shiviz(&self.history)
    }
}

/// The events at which something was told about what a violation concerns or somebody read a key of it, and the last
/// that was told of each of these objects.
struct Direct {
    all: BTreeSet<usize>,
    last: BTreeSet<usize>,
}

fn direct(history: &History, violation: &FoundViolation) -> Direct {
    let FoundViolation {
        object, message, ..
    } = violation;
    let named = history.about.iter();
    // The key of the object, too: what deletes it tells of nothing else.
    let is_key = |known: &str| {
        let rest = known.strip_suffix(object.as_str());
        rest.is_some_and(|rest| rest.starts_with('/') && rest.ends_with('/'))
    };
    let named = named.filter(|(known, _)| concerns(known, object, message) || is_key(known));
    let (mut all, mut last) = (BTreeSet::new(), BTreeSet::new());
    for (_, about) in named {
        all.extend(about.iter().copied());
        last.extend(about.last().copied());
    }
    let is_direct = |(_, event): &(u64, usize)| all.contains(event);
    let written = history.written.iter();
    let keys = written.filter(|(_, writes)| writes.iter().any(is_direct));
    let reads = keys.filter_map(|(key, _)| history.read.get(key));
    let reads: BTreeSet<usize> = reads.flatten().copied().collect();
    all.extend(reads);
    Direct { all, last }
}

impl Explanation {
    /// Events of the trace.
    pub fn events(&self) -> usize {
        self.history.events.len()
    }

    /// Those that lead to the violation, with over how many others.
    fn sliced(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let slice = self.slice.iter().enumerate();
        slice.filter_map(|(event, distance)| Some((event, (*distance)?)))
    }

    /// How many these are.
    pub fn leading(&self) -> usize {
        self.sliced().count()
    }

    /// The number of a line in the story, from 1.
    fn step(&self, event: usize, line: usize) -> Option<usize> {
        let mut steps = self.steps.iter();
        let at = steps.position(|step| (step.event, step.line) == (event, line));
        at.map(|at| at + 1)
    }

    fn is_needed(&self, event: usize) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| fault.event == event && fault.needed == Some(true))
    }

    /// An event in words, by its number from 1: what was told, or its name.
    pub fn in_words(&self, event: usize) -> String {
        self.history.label(event - 1)
    }

    /// When a fault struck, in seconds.
    pub fn at(&self, event: usize) -> f64 {
        self.history.events[event].at.secs_f64()
    }

    /// The story: numbered, each step with the routine in which it happens and the steps that it follows from.
    pub fn story(&self) -> Vec<String> {
        let steps = (1..).zip(&self.steps).map(|(number, step)| {
            let happened = &self.history.events[step.event];
            let told = &happened.told[step.line];
            let at = happened.at.secs_f64();
            let (who, text) = (&told.who, &told.text);
            let first = format!("{number:>3} {at:>12.6} s  {who:<6} {text}");
            let place = told.place.iter().map(|place| match told.function {
                Some(function) => format!("in {function}, of {place}"),
                None => format!("in {place}"),
            });
            let after: Vec<String> = step.after.iter().map(ToString::to_string).collect();
            let after = (!after.is_empty()).then(|| format!("after {}", after.join(", ")));
            let needed = told.kind == Kind::Fault && self.is_needed(step.event);
            let needed = needed.then(|| "without it the violation does not come".to_owned());
            let rest: Vec<String> = place.chain(after).chain(needed).collect();
            match rest.is_empty() {
                true => first,
                false => format!("{first}\n{:>25}{}", "", rest.join("; ")),
            }
        });
        steps.collect()
    }
}
