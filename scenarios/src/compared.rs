//! A run beside the same run without faults: what was done in it is done again, with nothing injected, and its case says
//! whether the two ended as differently as they may.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_engine::drive::plan::{FromPlan, Odd, Plan};
use wavetank_engine::drive::{Applying, Choices, Ending, Limits, Outcome, Run, Turn};
use wavetank_engine::trace::{FoundViolation, Line, Record, TraceWhat};
use wavetank_engine::{Check, Entry, ProcId, Report, Sent, Time, World};

use crate::case::{Case, Options, simulate};

/// A run, and what its case compares of it.
pub(crate) struct Simulated {
    pub outcome: Outcome,
    pub odd: Odd,
    pub compared: Option<Json>,
}

impl Simulated {
    /// Nothing is compared where something else was found.
    pub fn of(case: &dyn Case, outcome: Outcome, odd: Odd) -> Simulated {
        let is_clean = outcome.ending == Ending::Clean;
        Simulated {
            compared: is_clean.then(|| case.ending(&outcome.world)).flatten(),
            outcome,
            odd,
        }
    }

    /// The verdict, with what only another run shows.
    pub fn judged(self, case: &dyn Case, options: &Options) -> (Outcome, Odd) {
        let Simulated {
            mut outcome,
            odd,
            compared,
        } = self;
        let said = compared.map(|own| beside(case, options, &outcome, &own));
        for (property, check) in said.into_iter().flatten() {
            let place = |world: &World| world.properties().position(|own| own.name() == property);
            let at = place(&outcome.world).expect("what is compared is a property of the world");
            match check {
                Check::Idle => {}
                Check::Held => outcome.tallies.tested[at] += 1,
                Check::Violated(violation) => {
                    outcome.tallies.violated[at] += 1;
                    outcome.ending = Ending::Violated(FoundViolation {
                        property: property.to_owned(),
                        kind: violation.kind.to_owned(),
                        object: violation.object,
                        message: violation.message,
                    });
                }
            }
        }
        (outcome, odd)
    }
}

/// What is said of the end of a run beside that of the same run without faults.
fn beside(
    case: &dyn Case,
    options: &Options,
    outcome: &Outcome,
    own: &Json,
) -> Vec<(&'static str, Check)> {
    let undisturbed = Undisturbed::of(case, outcome);
    let run = |world: World, limits: Limits, record: Record| {
        let choices = undisturbed.clone();
        let outcome = Run::new(world, choices, limits, record).finish();
        (outcome, Odd::default())
    };
    let other = simulate(case, options, Record::default(), &run);
    match other.expect("its options are those of the run").compared {
        None => Vec::new(),
        Some(other) => case.compare(&other, own),
    }
}

/// The choices of a run, for one without faults: everybody is told the same at the same time, and draws the same in the
/// same turn. Frames take as long as usual.
#[derive(Clone, Debug)]
struct Undisturbed {
    actions: FromPlan,
    /// What was drawn, by who draws for what.
    drawn: BTreeMap<String, VecDeque<u64>>,
}

impl Undisturbed {
    fn of(case: &dyn Case, outcome: &Outcome) -> Undisturbed {
        let name = |process: ProcId| outcome.world.name(process).to_owned();
        let lines: Vec<Line> = outcome.record.lines(&name, outcome.end()).collect();
        let mut drawn: BTreeMap<String, VecDeque<u64>> = BTreeMap::new();
        for line in &lines {
            if let Line::Event(event) = line
                && let TraceWhat::Choice(name, value) = &event.what
            {
                drawn.entry(drawer(name)).or_default().push_back(*value);
            }
        }
        let plan = Plan::from_trace(lines.iter()).undisturbed(&|action| case.is_fault(action));
        let mut plan = Plan {
            delays: BTreeMap::new(),
            choices: BTreeMap::new(),
            ..plan
        };
        // What came right after an event comes at its time: that event may not be.
        for planned in &mut plan.actions {
            planned.after = None;
        }
        Undisturbed {
            actions: FromPlan::new(&plan),
            drawn,
        }
    }
}

/// `choose p1/act.0 of 3` of `choose p1.2/act#7.0 of 3`: whichever life it is, and however many of its routines run.
fn drawer(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let (process, rest) = name.split_once('/').unwrap_or((name, ""));
    kept.push_str(
        process
            .rsplit_once('.')
            .map_or(process, |(process, _)| process),
    );
    kept.push('/');
    let (routine, rest) = rest.split_once('#').unwrap_or((rest, ""));
    kept.push_str(routine);
    kept.push_str(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    kept
}

impl Choices for Undisturbed {
    fn latency(&mut self, sent: Sent) -> Duration {
        self.actions.latency(sent)
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        let name = world.render(&world.entry_name(entry));
        let drawn = self.drawn.get_mut(&drawer(&name));
        match drawn.and_then(VecDeque::pop_front) {
            Some(drawn) => drawn % domain.max(1),
            None => self.actions.choose(world, entry, domain),
        }
    }

    fn next_turn(&self) -> Option<Time> {
        self.actions.next_turn()
    }

    fn applying(&mut self, world: &World, what: Applying<'_>) {
        self.actions.applying(world, what);
    }

    fn turn(&mut self, world: &World) -> Turn {
        self.actions.turn(world)
    }

    fn applied(&mut self, world: &World, entry: Option<&Entry>, report: &Report) {
        self.actions.applied(world, entry, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_draws_is_the_same_in_each_life_and_routine() {
        assert_eq!(drawer("choose p1.2/act#7.0 of 3"), "choose p1/act.0 of 3");
        assert_eq!(drawer("choose p1.2/act#17.1 of 3"), "choose p1/act.1 of 3");
    }
}
