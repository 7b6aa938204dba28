//! Makes the trace of a violation smaller: its plan is simulated again and again with less in it,
//! and what stays shows the same violation for the same reason.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use wavetank_engine::drive::Outcome;
use wavetank_engine::drive::plan::{Odd, Plan, Planned};
use wavetank_engine::drive::shrink::{self, Attempt};
use wavetank_engine::trace::{FoundViolation, Record};
use wavetank_engine::{Action, Fault, Time, World};

use crate::attribution::{Attribution, Suspect};
use crate::case::{Case, Options};
use crate::head::Head;
use crate::stopwatch::Stopwatch;
use crate::trace_file::Trace;

/// How long to try.
#[derive(Clone, Copy)]
pub struct Effort {
    /// At most so many simulations.
    pub attempts: u64,
    /// No simulation is begun after so much real time,
    pub time_box: Option<Duration>,
    /// or once this is set.
    pub stop: Option<&'static AtomicBool>,
    /// Is told, after each simulation, how many there were and how many events the smallest trace has so far.
    pub watch: Option<&'static (dyn Fn(u64, u64) + Sync)>,
}

impl fmt::Debug for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effort")
            .field("attempts", &self.attempts)
            .field("time_box", &self.time_box)
            .finish_non_exhaustive()
    }
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            attempts: 5_000,
            time_box: None,
            stop: None,
            watch: None,
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
    /// Choices that had another answer than usual.
    pub choices: u64,
    /// Processes.
    pub processes: u64,
    /// Virtual time.
    pub time: Time,
}

impl Size {
    /// Of what came of a plan. What is odd is counted in what happened, so that it is the same whether or not the plan
    /// says of what is usual that it is.
    fn of(plan: &Plan, outcome: &Outcome, odd: Odd) -> Size {
        Size {
            events: outcome.tallies.events,
            actions: plan.actions.len() as u64,
            delays: odd.latencies,
            choices: odd.choices,
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
    /// What its violation is to be blamed on.
    pub attribution: Attribution,
    /// What it was to be blamed on before. The small trace is for the same reason, but what else explained the large one
    /// may have gone with what went, and in less of a run something more may be needed.
    pub attribution_before: Attribution,
    /// How large it was.
    pub before: Size,
    /// How large it is.
    pub after: Size,
    /// Simulations that it took.
    pub attempts: u64,
    /// Was all tried? Else the effort was over before.
    pub is_whole: bool,
}

/// Makes a trace smaller; `None` if its plan, simulated again, does not show its violation.
pub fn shrink(case: &dyn Case, trace: &Trace, effort: Effort) -> Option<Shrunk> {
    let mut search = Search {
        case,
        violation: trace.end().violation.as_ref()?,
        reason: Attribution::Nothing,
        options: trace.head.options.clone(),
        effort,
        attempts: 0,
        clock: Stopwatch::start(),
        record: Record::default(),
        smallest: trace.end().events,
    };
    let mut plan = Plan::from_trace(trace.lines.iter());
    let before = search.size(&plan)?;
    search.reason = search.suspect().blame(&plan);
    // All that follows takes less time in a smaller world.
    search.take_smaller_options(&mut plan);
    let mut plan = shrink::shrink(&plan, &mut search)?;
    if search.take_smaller_options(&mut plan) {
        // In a smaller world more of the plan may be superfluous.
        plan = shrink::shrink(&plan, &mut search)?;
    }
    let is_whole = search.may_go_on();
    let after = search.size(&plan)?;
    let outcome = search.suspect().shown(&plan, Record::default())?;
    let attribution = search.suspect().blame(&plan);
    let head = Head {
        shrunk: true,
        ..Head::new(case, trace.head.seed, search.options)
    };
    Some(Shrunk {
        after,
        trace: Trace::of(head, &outcome),
        attribution,
        attribution_before: search.reason,
        before,
        attempts: search.attempts,
        is_whole,
    })
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
    plan.actions
        .retain(|planned: &Planned| match &planned.action {
            Action::Fault(fault) => fault.processes().into_iter().all(known),
            Action::Command { process, .. } => known(process),
        });
    plan
}

struct Search<'a> {
    case: &'a dyn Case,
    violation: &'a FoundViolation,
    reason: Attribution,
    options: Options,
    effort: Effort,
    attempts: u64,
    clock: Stopwatch,
    record: Record,
    smallest: u64,
}

impl Search<'_> {
    fn suspect(&self) -> Suspect<'_> {
        Suspect {
            case: self.case,
            options: &self.options,
            violation: self.violation,
        }
    }

    /// How much there is to what comes of a plan, if it shows the violation.
    fn size(&self, plan: &Plan) -> Option<Size> {
        let (outcome, odd) = self.suspect().shown_with_odd(plan)?;
        Some(Size::of(plan, &outcome, odd))
    }

    /// Takes the smaller options that the case offers, for as long as they fail, too. Were there
    /// any?
    fn take_smaller_options(&mut self, plan: &mut Plan) -> bool {
        let before = self.options.clone();
        while let Some(fitting) = self
            .case
            .smaller(&self.options)
            .into_iter()
            .find_map(|smaller| self.try_options(smaller, plan))
        {
            *plan = fitting;
        }
        self.options != before
    }

    /// The plan that fails under these options, which then stay.
    fn try_options(&mut self, options: Options, plan: &Plan) -> Option<Plan> {
        // One is left for the plan itself.
        if !self.may_go_on() || self.attempts + 1 >= self.effort.attempts {
            return None;
        }
        let fitting = restrict(plan, &self.case.world(&options).ok()?);
        let before = std::mem::replace(&mut self.options, options);
        if self.fails(&fitting).is_some() {
            return Some(fitting);
        }
        self.options = before;
        None
    }
}

impl Attempt for Search<'_> {
    fn fails(&mut self, plan: &Plan) -> Option<Time> {
        self.attempts += 1;
        if let Some(watch) = self.effort.watch {
            watch(self.attempts, self.smallest);
        }
        let record = std::mem::take(&mut self.record);
        let outcome = self.suspect().shown(plan, record)?;
        let (at, events) = (outcome.at, outcome.tallies.events);
        self.record = outcome.record;
        let fails = self.suspect().is_for(plan, &self.reason);
        if fails {
            self.smallest = self.smallest.min(events);
        }
        fails.then_some(at)
    }

    fn may_go_on(&self) -> bool {
        let is_stopped = self.effort.stop.is_some_and(|stop| stop.load(Relaxed));
        self.attempts < self.effort.attempts
            && !self.clock.is_over(self.effort.time_box)
            && !is_stopped
    }
}
