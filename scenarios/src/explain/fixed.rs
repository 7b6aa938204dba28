//! Against the fixed algorithm: the plan is simulated with what is to blame the other way, and the two runs are laid
//! beside each other.

use wavetank_engine::drive::Ending;
use wavetank_engine::drive::plan::Plan;
use wavetank_engine::drive::replay::Fit;
use wavetank_engine::trace::Record;

use super::history::{Happened, Historian, History};
use crate::attribution::Attribution;
use crate::case::{Case, Options, run_plan};
use crate::head::Head;
use crate::replay::in_words;
use crate::trace_file::Trace;

/// Where the run with the fix leaves the one without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// What is the other way: the names of defects and fixes.
    pub flipped: Vec<String>,
    /// How the run ends then.
    pub ends: String,
    /// The first difference, if there is any.
    pub parts: Option<Parts>,
}

/// The first event at which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Its number, from 0: so many are alike.
    pub event: usize,
    /// What happens as it is,
    pub here: String,
    /// and what with the fix.
    pub fixed: String,
    /// The last event that is alike and of which something is told: in words.
    pub last_alike: Option<String>,
}

/// The switches that a comparison takes: one that explains the violation by itself, or all that do together.
pub(super) fn switches(attribution: &Attribution) -> Vec<String> {
    match attribution {
        Attribution::Each(names) => names.iter().take(1).cloned().collect(),
        Attribution::Together(names) => names.clone(),
        _ => Vec::new(),
    }
}

/// Simulates the plan both ways and compares; `None` if these cannot be flipped.
pub(super) fn compare(
    case: &dyn Case,
    options: &Options,
    plan: &Plan,
    flipped: Vec<String>,
) -> Option<Fixed> {
    let names: Vec<&str> = flipped.iter().map(String::as_str).collect();
    let other = case.flipped(&names)?;
    let (here, _) = simulate(case, options, plan)?;
    let (fixed, ends) = simulate(other.as_ref(), options, plan)?;
    Some(Fixed {
        flipped,
        ends,
        parts: parts(&here, &fixed),
    })
}

/// The history of what comes of a plan, and how it ends.
fn simulate(case: &dyn Case, options: &Options, plan: &Plan) -> Option<(History, String)> {
    let outcome = run_plan(case, options, plan, Record::default()).ok()?;
    let ends = match &outcome.ending {
        Ending::Clean => format!("no violation, to {} s", outcome.at),
        Ending::Violated(found) => format!("violation of {}", in_words(found)),
    };
    let trace = Trace::of(Head::new(case, 0, options.clone()), &outcome);
    let followed = Historian::new(case).follow(case, &trace, Fit::ByName);
    followed.ok().map(|(history, _)| (history, ends))
}

fn parts(here: &History, fixed: &History) -> Option<Parts> {
    let both = here.events.iter().zip(&fixed.events);
    let alike = both
        .take_while(|(here, fixed)| is_alike(here, fixed))
        .count();
    let words = |history: &History| match alike < history.events.len() {
        true => history.label(alike),
        false => "the run is over".to_owned(),
    };
    if alike == here.events.len() && alike == fixed.events.len() {
        return None;
    }
    let told = here.events[..alike]
        .iter()
        .rposition(|event| !event.told.is_empty());
    Some(Parts {
        event: alike,
        here: words(here),
        fixed: words(fixed),
        last_alike: told.map(|event| here.label(event)),
    })
}

fn is_alike(here: &Happened, fixed: &Happened) -> bool {
    let of = |event: &Happened| (event.at, event.name.clone(), event.told.clone());
    of(here) == of(fixed) && here.body == fixed.body
}
