//! What `check` reports, for people and programs alike. The JSON form has a version; fields may be
//! added to it, but none is removed or changes its meaning without a new one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wavetank_engine::trace::FoundViolation;

use crate::replay::in_words as violation_in_words;

use super::exit::Exit;
use super::human;

/// The version of the JSON form.
pub(super) const VERSION: u32 = 2;

/// The verdict on a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// Every state within the bounds was visited, and none violates a guarantee.
    Clean,
    /// The same, but something that the scope promises was not put to the test in any of them.
    Untested,
    /// The violation that the scope expects was found.
    FoundAsExpected,
    Violated,
    /// Every state was visited, and the expected violation is not among them.
    NotFound,
    /// A violation was found that the scope says it cannot find.
    FoundAfterAll,
    /// There are more states than the limits allow, or some were other machines' to search.
    Incomplete,
    Interrupted,
}

/// The one switch that was turned in a fixed world, by what the scope says of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Turned {
    Shows(String),
    CannotShow(String),
}

impl Turned {
    pub fn switch(&self) -> &str {
        let (Turned::Shows(switch) | Turned::CannotShow(switch)) = self;
        switch
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Checked {
    pub version: u32,
    pub case: String,
    #[serde(flatten, skip_deserializing)]
    pub turned: Option<Turned>,
    pub identity: serde_json::Value,
    pub build: String,
    pub verdict: Verdict,
    /// Why the verdict is not better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// How far the search goes.
    pub bounds: String,
    pub figures: Figures,
    pub coverage: Coverage,
    /// On how many machines it was searched, if on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

impl Checked {
    /// Is it as the scope says?
    fn is_as_said(&self) -> bool {
        matches!(self.verdict, Verdict::Clean | Verdict::FoundAsExpected)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Figures {
    /// Different ones.
    pub states: u64,
    /// Of a reduced search: those that were passed through.
    pub passed: u64,
    /// With those that were known.
    pub generated: u64,
    /// In steps.
    pub longest_path: u64,
    /// Of all runs to recovery.
    pub recovery_steps: u64,
    pub seconds: f64,
    pub states_per_second: f64,
    pub generated_per_second: f64,
    /// What a visited state takes.
    pub bytes_per_state: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Coverage {
    /// Faults that injected.
    pub faults: Vec<String>,
    pub planned: Vec<String>,
    /// Guarantees that were put to the test.
    pub tested: Vec<String>,
    pub sometimes: Vec<String>,
    /// Switches whose places in the code were passed, on or off.
    pub places: Vec<String>,
    /// Those of them that the scope cannot show, with the reason,
    pub cannot_show: BTreeMap<String, String>,
    /// and those of which it says nothing, if it says what it shows.
    pub unshown: Vec<String>,
    /// How often each kind of event happened,
    pub events: Vec<(String, u64)>,
    /// and how often one happened out of turn.
    pub deviations: u64,
    /// How many different things the properties remembered, all together.
    pub remembered: usize,
    /// Guarantees that were not.
    pub untested: Vec<String>,
    /// What else was not reached.
    pub missed: Vec<String>,
    /// Switches whose places in the code were not passed.
    #[serde(default)]
    pub missed_places: Vec<String>,
}

/// What several machines searched.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Shards {
    pub of: u64,
    /// States that each of them searched, added up.
    pub searched: u64,
    /// Is the number of different ones exact? It is estimated where there are many.
    pub exact: bool,
}

/// A counterexample.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Found {
    #[serde(flatten)]
    pub what: FoundViolation,
    pub expected: bool,
    /// The cycle in which it comes back for ever, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
    pub events: u64,
    pub trace: String,
    pub replay: String,
    pub story: Vec<String>,
}

/// How the command ends: as its worst scope.
pub(super) fn exit(all: &[Checked]) -> Exit {
    let any = |verdicts: &[Verdict]| all.iter().any(|one| verdicts.contains(&one.verdict));
    if any(&[Verdict::Violated]) {
        Exit::Violation
    } else if any(&[Verdict::Interrupted]) {
        Exit::Interrupted
    } else if any(&[
        Verdict::Incomplete,
        Verdict::Untested,
        Verdict::NotFound,
        Verdict::FoundAfterAll,
    ]) {
        Exit::Incomplete
    } else {
        Exit::Clean
    }
}

/// The verdict in one line, with its bounds.
pub(super) fn verdict(checked: &Checked) -> String {
    let states = human::count(checked.figures.states, "state");
    let bounds = &checked.bounds;
    match checked.verdict {
        Verdict::Clean => format!("no violation within {bounds}, {states}"),
        Verdict::Untested => {
            format!("no violation, but not all put to the test within {bounds}, {states}")
        }
        Verdict::FoundAsExpected => format!("the expected violation was found within {bounds}"),
        Verdict::Violated => format!("violated within {bounds}"),
        Verdict::NotFound => format!("nothing found within {bounds}, {states}"),
        Verdict::FoundAfterAll => {
            format!("found within {bounds}, although the scope says that it cannot")
        }
        Verdict::Incomplete => format!("incomplete: nothing found in {states} of {bounds}"),
        Verdict::Interrupted => format!("interrupted: nothing found in {states}"),
    }
}

/// The report for people.
pub(super) fn in_words(checked: &Checked) -> String {
    if let Some(turned) = &checked.turned {
        return human::paragraph(&of_turned(checked, turned));
    }
    let mut text = human::paragraph(&format!("{}: {}", checked.case, verdict(checked)));
    let mut line = |name: &str, value: &str| text += &human::fact(name, value);
    if let Some(why) = &checked.because {
        line("because", why);
    }
    line("size", &size(&checked.figures));
    line("speed", &speed(&checked.figures));
    if let Some(shards) = &checked.shards {
        line("shards", &overlap(shards, checked.figures.states));
    }
    covered(&checked.coverage, &mut line);
    let Some(found) = &checked.found else {
        return text;
    };
    line(
        "stopped",
        "at the first violation: what else there is was not searched",
    );
    let what = format!("VIOLATION of {}", violation_in_words(&found.what));
    text += &format!("\n{}", human::headline(&what, found.expected));
    let mut line = |name: &str, value: &str| text += &human::fact(name, value);
    line("events", &human::thousands(found.events));
    if let Some(cycle) = &found.cycle {
        line("cycle", cycle);
    }
    line("trace", &found.trace);
    text += &human::command("replay", &found.replay);
    text + &human::story(&found.story)
}

/// What came of all scopes together, if there were several.
pub(super) fn total(all: &[Checked]) -> Option<String> {
    let scopes: Vec<&Checked> = all.iter().filter(|one| one.turned.is_none()).collect();
    if scopes.len() < 2 {
        return None;
    }
    let clean = scopes.iter().filter(|one| one.verdict == Verdict::Clean);
    let states = all.iter().map(|one| one.figures.states).sum();
    let seconds = all.iter().map(|one| one.figures.seconds).sum();
    let switches = match all.len() - scopes.len() {
        0 => String::new(),
        turned => {
            let as_said = all
                .iter()
                .filter(|one| one.turned.is_some() && one.is_as_said());
            format!(
                "; {} of {} found or missed as the scopes say",
                as_said.count(),
                human::count(turned as u64, "switch")
            )
        }
    };
    Some(human::paragraph(&format!(
        "{}, {} of them clean{switches}; {} in {} of searching",
        human::count(scopes.len() as u64, "scope"),
        clean.count(),
        human::count(states, "state"),
        human::duration(seconds),
    )))
}

fn size(figures: &Figures) -> String {
    let passed = match figures.passed {
        0 => String::new(),
        passed => format!("{} passed through, ", human::thousands(passed)),
    };
    format!(
        "{}, {passed}{} generated, longest path {}",
        human::count(figures.states, "state"),
        human::thousands(figures.generated),
        human::count(figures.longest_path, "step"),
    )
}

/// What was searched by more than one machine.
fn overlap(shards: &Shards, states: u64) -> String {
    let twice = shards.searched.saturating_sub(states);
    let percent = 100.0 * twice as f64 / states.max(1) as f64;
    format!(
        "{}, which searched {} altogether, {} ({percent:.0} %) of them again{}",
        shards.of,
        human::count(shards.searched, "state"),
        human::thousands(twice),
        if shards.exact {
            ""
        } else {
            "; how many states differ is an estimate"
        },
    )
}

fn speed(figures: &Figures) -> String {
    let healing = match figures.recovery_steps {
        0 => String::new(),
        steps => format!(
            ", {} of recovery a state",
            human::count(steps / figures.states.max(1), "step")
        ),
    };
    format!(
        "{}, {} states and {} generated a second, {:.0} bytes a state{healing}",
        human::duration(figures.seconds),
        human::thousands(figures.states_per_second as u64),
        human::thousands(figures.generated_per_second as u64),
        figures.bytes_per_state,
    )
}

/// What was reached and what was not, a line each.
fn covered(coverage: &Coverage, line: &mut impl FnMut(&str, &str)) {
    let Coverage {
        faults,
        tested,
        sometimes,
        places,
        cannot_show,
        unshown,
        deviations,
        remembered,
        untested,
        missed,
        missed_places,
        ..
    } = coverage;
    let count = |number: usize, what| human::count(number as u64, what);
    let reached = format!(
        "{} struck, {} put to the test, {} marked `sometimes`, the code of {}, {} out of turn; the properties were \
         in {}",
        count(faults.len(), "fault"),
        count(tested.len(), "guarantee"),
        count(sometimes.len(), "situation"),
        match places.len() {
            1 => "1 defect or fix".to_owned(),
            places => format!("{places} defects and fixes"),
        },
        human::count(*deviations, "event"),
        count(*remembered, "different state"),
    );
    line("reached", &reached);
    if !untested.is_empty() {
        line("untested", &untested.join(", "));
    }
    for missed in missed {
        line("unreached", missed);
    }
    if !missed_places.is_empty() {
        let places = format!(
            "the code in which it matters whether these are on: {}",
            missed_places.join(", ")
        );
        line("unreached", &places);
    }
    for (switch, why) in cannot_show {
        line("not found", &format!("{switch}, because {why}"));
    }
    if !unshown.is_empty() {
        let places = format!(
            "the code of these was reached, and the scope does not say whether it finds them: {}",
            unshown.join(", ")
        );
        line("unclaimed", &places);
    }
}

/// What came of a switch, in one line: what its violation looks like is in its trace.
fn of_turned(checked: &Checked, turned: &Turned) -> String {
    let (case, seconds) = (&checked.case, human::duration(checked.figures.seconds));
    let switch = turned.switch();
    let says = match (turned, &checked.found) {
        (Turned::Shows(_), Some(_)) => "shows",
        (Turned::Shows(_), None) => "DOES NOT SHOW",
        (Turned::CannotShow(_), Some(_)) => "SHOWS AFTER ALL",
        (Turned::CannotShow(_), None) => "cannot show",
    };
    let what = match &checked.found {
        Some(found) => format!(
            "{}, {}, {}",
            found.what.property,
            human::count(found.events, "event"),
            found.trace
        ),
        None => verdict(checked),
    };
    format!("{case}: {says} {switch} in {seconds}: {what}")
}
