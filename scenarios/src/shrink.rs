//! Makes the trace of a violation smaller: its plan is simulated again and again with less in it,
//! and what stays shows the same violation for the same reason.

use std::time::Duration;

use wavetank_engine::drive::plan::{Plan, Planned};
use wavetank_engine::drive::shrink::{self, Attempt};
use wavetank_engine::drive::{Ending, Outcome};
use wavetank_engine::trace::Record;
use wavetank_engine::{Action, Fault, Time, World};

use crate::attribution::{Attribution, Suspect};
use crate::case::{Case, Options, run_plan};
use crate::head::Head;
use crate::stopwatch::Stopwatch;
use crate::trace_file::Trace;

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// At most so many simulations.
    pub attempts: u64,
    /// No simulation is begun after so much real time.
    pub time_box: Option<Duration>,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            attempts: 5_000,
            time_box: None,
        }
    }
}

/// How much there is to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Events.
    pub events: u64,
    /// Faults and operations from outside.
    pub actions: u64,
    /// Frames that took another time than usual.
    pub delays: u64,
    /// Choices that were not the first one.
    pub choices: u64,
    /// Processes.
    pub processes: u64,
    /// Virtual time.
    pub time: Time,
}

impl Size {
    fn of(plan: &Plan, outcome: &Outcome) -> Size {
        Size {
            events: outcome.tallies.events,
            actions: plan.actions.len() as u64,
            delays: plan.delays.values().map(|delays| delays.len() as u64).sum(),
            choices: plan.choices.values().filter(|value| **value > 0).count() as u64,
            processes: outcome.world.processes().len() as u64,
            time: outcome.at,
        }
    }
}

/// A trace made smaller.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The small trace.
    pub trace: Trace,
    /// What the violation is to be blamed on, before and after.
    pub attribution: Attribution,
    /// How large it was.
    pub before: Size,
    /// How large it is.
    pub after: Size,
    /// Simulations that it took.
    pub attempts: u64,
}

/// Makes a trace smaller; `None` if its plan, simulated again, does not show its violation.
pub fn shrink(case: &dyn Case, trace: &Trace, effort: Effort) -> Option<Shrunk> {
    let violation = trace.end().violation.as_ref()?;
    let plan = Plan::from_trace(trace.lines.iter());
    let options = trace.head.options.clone();
    let suspect = |options| Suspect {
        case,
        options,
        violation,
    };
    let before = Size::of(&plan, &suspect(&options).shown(&plan, Record::default())?);
    let attribution = suspect(&options).blame(&plan);
    let mut effort = Spent {
        effort,
        attempts: 0,
        clock: Stopwatch::start(),
    };
    let mut search = Search {
        suspect: suspect(&options),
        reason: &attribution,
        spent: &mut effort,
        record: Record::default(),
    };
    let mut plan = shrink::shrink(&plan, &mut search)?;
    let options = fewer(case, options, &mut plan, |options, plan| {
        let mut search = Search {
            suspect: suspect(options),
            reason: &attribution,
            spent: &mut effort,
            record: Record::default(),
        };
        search.may_go_on() && search.fails(plan).is_some()
    });
    let outcome = suspect(&options).shown(&plan, Record::default())?;
    let head = Head {
        shrunk: true,
        seed: trace.head.seed,
        ..Head::new(case, trace.head.seed, options)
    };
    Some(Shrunk {
        after: Size::of(&plan, &outcome),
        trace: Trace::of(head, &outcome),
        attribution,
        before,
        attempts: effort.attempts,
    })
}

/// Takes the smaller options that the case offers for as long as they fail, too.
fn fewer(
    case: &dyn Case,
    mut options: Options,
    plan: &mut Plan,
    mut fails: impl FnMut(&Options, &Plan) -> bool,
) -> Options {
    loop {
        let smaller = case.smaller(&options).into_iter().find_map(|smaller| {
            let world = case.world(&smaller).ok()?;
            let fitting = restrict(plan, &world);
            fails(&smaller, &fitting).then_some((smaller, fitting))
        });
        let Some(found) = smaller else { return options };
        (options, *plan) = found;
    }
}

/// The plan without what concerns processes that are not in this world.
fn restrict(plan: &Plan, world: &World) -> Plan {
    let known = |name: &str| world.find(name).is_some();
    let mut plan = plan.clone();
    for planned in &mut plan.actions {
        if let Action::Fault(
            Fault::Partition { left, right, .. } | Fault::Heal { left, right, .. },
        ) = &mut planned.action
        {
            left.retain(|name| known(name));
            right.retain(|name| known(name));
        }
    }
    plan.actions.retain(|planned: &Planned| match &planned.action {
        Action::Fault(fault) => fault.processes().into_iter().all(known),
        Action::Tell { process, .. } => known(process),
    });
    plan
}

struct Spent {
    effort: Effort,
    attempts: u64,
    clock: Stopwatch,
}

struct Search<'a> {
    suspect: Suspect<'a>,
    reason: &'a Attribution,
    spent: &'a mut Spent,
    record: Record,
}

impl Attempt for Search<'_> {
    fn fails(&mut self, plan: &Plan) -> Option<Time> {
        self.spent.attempts += 1;
        let record = std::mem::take(&mut self.record);
        let Suspect { case, options, .. } = self.suspect;
        let outcome = run_plan(case, options, plan, record).ok()?;
        let is_like = matches!(
            &outcome.ending,
            Ending::Violated(found) if found.is_like(self.suspect.violation)
        );
        self.record = outcome.record;
        (is_like && self.suspect.is_for(plan, self.reason)).then_some(outcome.at)
    }

    fn may_go_on(&self) -> bool {
        let Effort { attempts, time_box } = self.spent.effort;
        self.spent.attempts < attempts && !self.spent.clock.is_over(time_box)
    }
}
