//! A draft whose opening was played: what is chosen from there on is simulated again and again.

use std::sync::OnceLock;
use std::time::Duration;

use wavetank_engine::drive::near::Near;
use wavetank_engine::drive::plan::{FromPlan, Odd, Plan};
use wavetank_engine::drive::{Choices, Ending, Limits, Outcome, Run};
use wavetank_engine::trace::{FoundViolation, Record};
use wavetank_engine::{Time, World};

use super::Draft;
use crate::attribution::Attribution;
use crate::case::Case;
use crate::head::Head;
use crate::quiet::quietly;
use crate::trace_file::Trace;

/// Neighbours of a plan come to the violation a little later than it.
const SOON: Duration = Duration::from_secs(10);
/// What is to blame is asked in full when a scene is finished.
const LATE: Duration = Duration::from_secs(60);

/// A draft and its world.
pub(super) struct Stage {
    case: Box<dyn Case>,
    world: World,
    /// When the run begins.
    from: Time,
    /// A plan that does not show the violation by then does not show it.
    soon: Time,
    /// Nor does it with what is to blame the other way, if that has not come by then.
    late: Time,
    violation: FoundViolation,
    /// Without one of these sets of switches the violation has to be gone; with none of them it has to stay when all that
    /// is known is fixed.
    flips: Vec<Flipped>,
    stays: bool,
}

/// The same with some switches the other way, opened when somebody asks.
struct Flipped {
    names: Vec<String>,
    world: OnceLock<Option<World>>,
}

/// What a plan came to that shows the violation.
pub(super) struct Shown {
    /// All that was chosen.
    pub plan: Plan,
    /// What happened.
    pub trace: Trace,
    /// Events until the violation.
    pub events: u64,
    /// When it came.
    pub at: Time,
}

impl Stage {
    /// Plays the opening.
    ///
    /// # Errors
    /// Why there is none.
    pub fn new(
        base: &dyn Case,
        draft: &Draft,
        violation: &FoundViolation,
        reason: &Attribution,
    ) -> Result<Stage, String> {
        let case = base.staged(draft)?;
        let options = case.derive(0);
        let world = case.world(&options)?;
        let all = || case.flips().into_iter().map(|flip| flip.name).collect();
        let flips = match reason {
            Attribution::Each(names) => names.iter().map(|name| vec![name.clone()]).collect(),
            Attribution::Together(names) => vec![names.clone()],
            Attribution::Known | Attribution::Nothing => vec![all()],
            Attribution::Unclear(_) => Vec::new(),
        };
        let flips = flips.into_iter().map(|names| Flipped {
            names,
            world: OnceLock::new(),
        });
        let until = case.until(&options);
        Ok(Stage {
            from: draft.from,
            soon: until.min(draft.violated + SOON),
            late: until.min(draft.violated + LATE),
            flips: flips.collect(),
            stays: *reason == Attribution::Nothing,
            violation: violation.clone(),
            case,
            world,
        })
    }

    fn simulate(&self, world: &World, until: Time, choices: impl Choices) -> Outcome {
        let limits = Limits::until(until);
        quietly(|| Run::new(world.clone(), choices, limits, Record::default()).finish())
    }

    fn is_shown(&self, outcome: &Outcome) -> bool {
        matches!(&outcome.ending, Ending::Violated(found) if found.is_like(&self.violation))
    }

    /// The names of all processes.
    pub fn names(&self) -> Vec<String> {
        let all = self.world.processes();
        all.map(|process| self.world.name(process).to_owned())
            .collect()
    }

    /// What a plan comes to, and what is odd in it.
    pub fn run(&self, plan: &Plan) -> (Outcome, Odd) {
        let mut choices = FromPlan::new(plan);
        let outcome = self.simulate(&self.world, self.soon, &mut choices);
        (outcome, choices.odd())
    }

    /// What a plan comes to, if that is the violation, for its reason.
    pub fn shows(&self, plan: &Plan) -> Option<Shown> {
        let (outcome, _) = self.run(plan);
        if !self.is_shown(&outcome) || !self.is_for_the_reason(plan) {
            return None;
        }
        Some(self.shown(&outcome, plan.clone()))
    }

    /// The same of a neighbour of a plan.
    pub fn shows_near(&self, plan: &Plan, n: u64) -> Option<Shown> {
        let outcome = self.simulate(&self.world, self.soon, Near::new(plan, n, self.from));
        if !self.is_shown(&outcome) {
            return None;
        }
        let trace = self.trace(&outcome);
        let mut chosen = Plan::from_trace(trace.lines.iter());
        chosen.calm = plan.calm;
        let (again, _) = self.run(&chosen);
        if !self.is_shown(&again) || !self.is_for_the_reason(&chosen) {
            return None;
        }
        Some(self.shown(&again, chosen))
    }

    fn trace(&self, outcome: &Outcome) -> Trace {
        let options = self.case.derive(0);
        Trace::of(Head::new(self.case.as_ref(), 0, options), outcome)
    }

    fn shown(&self, outcome: &Outcome, plan: Plan) -> Shown {
        Shown {
            plan,
            trace: self.trace(outcome),
            events: outcome.tallies.events,
            at: outcome.at,
        }
    }

    fn is_for_the_reason(&self, plan: &Plan) -> bool {
        if self.flips.is_empty() {
            return true;
        }
        let is_gone = |flipped: &Flipped| match self.flipped_world(flipped) {
            Some(world) => !self.is_shown(&self.simulate(world, self.late, FromPlan::new(plan))),
            None => false,
        };
        self.flips.iter().any(is_gone) != self.stays
    }

    fn flipped_world<'a>(&self, flipped: &'a Flipped) -> Option<&'a World> {
        let open = || {
            let names: Vec<&str> = flipped.names.iter().map(String::as_str).collect();
            let case = self.case.flipped(&names)?;
            case.world(&case.derive(0)).ok()
        };
        flipped.world.get_or_init(open).as_ref()
    }
}
