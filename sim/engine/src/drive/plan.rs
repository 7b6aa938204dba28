//! Plans: all that was chosen in a run, by name. A plan is simulated again, so it survives changes
//! that a list of events would not: of the code, of the topology, of the plan itself. Shrinking
//! works on plans.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::fault::{Action, Fault};
use crate::net::Sent;
use crate::queue::Entry;
use crate::time::Time;
use crate::trace::{Line, Record, TraceWhat};
use crate::world::{Event, Report, World};

use super::run::{Applying, Choices, Limits, Outcome, Run, Turn};

/// An event by its name and its how-many-th occurrence, from 0.
pub type Occurrence = (String, u32);

/// An action with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// When; also when its anchor never comes.
    pub at: Time,
    /// Right after this event, if given.
    pub after: Option<Occurrence>,
    /// What.
    pub action: Action,
}

/// All that was chosen in a run.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Actions in order.
    pub actions: Vec<Planned>,
    /// When the storm ends.
    pub calm: Option<Time>,
    /// How long the frames take that an event sends; others take their nominal time.
    pub delays: BTreeMap<Occurrence, Vec<u64>>,
    /// Answers to choices; others are 0.
    pub choices: BTreeMap<Occurrence, u64>,
}

impl Plan {
    /// What was chosen in a trace.
    pub fn from_trace<'a>(lines: impl Iterator<Item = &'a Line>) -> Plan {
        let mut plan = Plan::default();
        let mut seen = Seen::default();
        let mut last: Option<(Time, Occurrence)> = None;
        for line in lines {
            let Line::Event(event) = line else { continue };
            let name = match &event.what {
                TraceWhat::Choice(name, _) => name.clone(),
                what => what.to_string(),
            };
            let occurrence = seen.next(name);
            match &event.what {
                TraceWhat::Act(action) => plan.actions.push(Planned {
                    at: event.at,
                    after: last
                        .as_ref()
                        .filter(|(at, _)| *at == event.at)
                        .map(|(_, occurrence)| occurrence.clone()),
                    action: action.clone(),
                }),
                TraceWhat::Calm => plan.calm = Some(event.at),
                TraceWhat::Choice(_, value) => {
                    plan.choices.insert(occurrence.clone(), *value);
                }
                TraceWhat::Pending(_) => {}
            }
            if !event.delays.is_empty() {
                plan.delays.insert(occurrence.clone(), event.delays.clone());
            }
            // An action is no anchor: it may be removed.
            if matches!(event.what, TraceWhat::Pending(_) | TraceWhat::Choice(..)) {
                last = Some((event.at, occurrence));
            }
        }
        plan
    }
}

impl Plan {
    /// The same without faults: each process starts once, and of the rest nothing is left but what is none.
    #[must_use]
    pub fn undisturbed(&self, is_fault: &dyn Fn(&Action) -> bool) -> Plan {
        let mut started = BTreeSet::new();
        let mut plan = self.clone();
        plan.actions.retain(|planned| match &planned.action {
            Action::Fault(Fault::Start { process }) => started.insert(process.clone()),
            action => !is_fault(action),
        });
        plan
    }
}

/// Counts occurrences of names.
#[derive(Clone, Debug, Default)]
struct Seen(BTreeMap<String, u32>);

impl Seen {
    fn next(&mut self, name: String) -> Occurrence {
        let count = self.0.entry(name.clone()).or_insert(0);
        *count += 1;
        (name, *count - 1)
    }
}

/// What in a run is not as it usually is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odd {
    /// Frames that took another time than usual.
    pub latencies: u64,
    /// Choices that had another answer than usual.
    pub choices: u64,
}

/// A start that comes while its process still shuts down is tried again after this time, as in the run that was planned.
pub(super) const START_AGAIN: Duration = Duration::from_millis(500);

/// Would this start a process that was told to stop and has not ended? It takes longer to end where something else is
/// fixed, and a start that is lost leaves it down for good.
fn waits_for_its_end(world: &World, action: &Action) -> bool {
    match action {
        Action::Fault(Fault::Start { process }) => {
            world.find(process).is_some_and(|p| world.is_stopping(p))
        }
        _ => false,
    }
}

/// Choices taken from a plan.
#[derive(Clone, Debug)]
pub struct FromPlan {
    delays: BTreeMap<Occurrence, Vec<u64>>,
    choices: BTreeMap<Occurrence, u64>,
    /// By time; the calm is `None`.
    timed: VecDeque<(Time, Option<Action>)>,
    anchored: Vec<(Occurrence, Time, Action)>,
    urgent: VecDeque<Action>,
    seen: Seen,
    current: Option<Occurrence>,
    sent: usize,
    odd: Odd,
}

impl FromPlan {
    /// The choices of a plan.
    pub fn new(plan: &Plan) -> FromPlan {
        let mut timed: Vec<(Time, Option<Action>)> = plan
            .actions
            .iter()
            .filter(|p| p.after.is_none())
            .map(|p| (p.at, Some(p.action.clone())))
            .collect();
        timed.extend(plan.calm.map(|at| (at, None)));
        // Stable: what was planned for one instant keeps its order, and the calm comes last.
        timed.sort_by_key(|(at, _)| *at);
        FromPlan {
            delays: plan.delays.clone(),
            choices: plan.choices.clone(),
            timed: timed.into(),
            anchored: plan
                .actions
                .iter()
                .filter_map(|p| Some((p.after.clone()?, p.at, p.action.clone())))
                .collect(),
            urgent: VecDeque::new(),
            seen: Seen::default(),
            current: None,
            sent: 0,
            odd: Odd::default(),
        }
    }

    /// What was not as it usually is, so far.
    pub fn odd(&self) -> Odd {
        self.odd
    }

    /// Does the plan say how long the next frame of this event takes?
    pub fn has_latency(&self) -> bool {
        let planned = self.current.as_ref().and_then(|now| self.delays.get(now));
        planned.is_some_and(|delays| self.sent < delays.len())
    }
}

impl FromPlan {
    /// Does the plan say what is chosen here?
    pub fn has_choice(&self, world: &World, entry: &Entry) -> bool {
        let name = world.render(&world.entry_name(entry));
        let count = self.seen.0.get(&name).copied().unwrap_or(0);
        self.choices.contains_key(&(name, count))
    }
}

impl FromPlan {
    /// The turn that is due, as it is planned.
    fn take(&mut self, now: Time) -> Turn {
        if let Some(action) = self.urgent.pop_front() {
            return Turn::Act(action);
        }
        let late = self.anchored.iter().enumerate();
        if let Some((at, when)) = late.map(|(i, a)| (i, a.1)).min_by_key(|(_, at)| *at)
            && self.timed.front().is_none_or(|(at, _)| *at > when)
            && self
                .next_turn()
                .is_some_and(|turn| turn > when || now > when)
        {
            return Turn::Act(self.anchored.remove(at).2);
        }
        match self.timed.pop_front() {
            Some((_, Some(action))) => Turn::Act(action),
            Some((_, None)) => Turn::Calm,
            None => Turn::Nothing,
        }
    }

    /// Plans an action for later, before what is planned for just then.
    fn put_off(&mut self, at: Time, action: Action) {
        let place = self.timed.partition_point(|(planned, _)| *planned < at);
        self.timed.insert(place, (at, Some(action)));
    }

    /// Runs a world under these choices ([`Run::finish_unless`]). What is generic is built with the crate that asks for
    /// it, and this with the engine, which is optimised where the command is not.
    ///
    /// # Errors
    /// The record, if it was stopped.
    pub fn run_unless(
        &mut self,
        world: World,
        limits: Limits,
        record: Record,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome, Record> {
        Run::new(world, self, limits, record).finish_unless(stop)
    }
}

impl Choices for FromPlan {
    fn latency(&mut self, sent: Sent) -> Duration {
        let planned = self
            .current
            .as_ref()
            .and_then(|current| self.delays.get(current))
            .and_then(|delays| delays.get(self.sent));
        self.sent += 1;
        let taken = planned.map_or(sent.nominal, |nanos| Duration::from_nanos(*nanos));
        self.odd.latencies += u64::from(taken != sent.nominal);
        taken
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        let name = world.render(&world.entry_name(entry));
        let count = self.seen.0.get(&name).copied().unwrap_or(0);
        let planned = self.choices.get(&(name, count)).copied();
        let usual = match entry.usual() {
            Event::Choice(_, usual) => usual,
            _ => 0,
        };
        let usual = usual % domain.max(1);
        let chosen = planned.map_or(usual, |planned| planned % domain.max(1));
        self.odd.choices += u64::from(chosen != usual);
        chosen
    }

    fn next_turn(&self) -> Option<Time> {
        if !self.urgent.is_empty() {
            return Some(Time::ZERO);
        }
        let late = self.anchored.iter().map(|(_, at, _)| *at).min();
        let timed = self.timed.front().map(|(at, _)| *at);
        match (timed, late) {
            // An anchor may come at its very instant: it has until just after.
            (Some(timed), Some(late)) => Some(timed.min(late + Duration::from_nanos(1))),
            (timed, late) => timed.or(late.map(|at| at + Duration::from_nanos(1))),
        }
    }

    fn turn(&mut self, world: &World) -> Turn {
        let now = world.now();
        let due = self.next_turn().unwrap_or(now).max(now);
        match self.take(now) {
            Turn::Act(action) if waits_for_its_end(world, &action) => {
                self.put_off(due + START_AGAIN, action);
                Turn::Nothing
            }
            turn => turn,
        }
    }

    fn applying(&mut self, world: &World, what: Applying<'_>) {
        let name = match what {
            Applying::Entry(entry) => world.render(&world.entry_name(entry)),
            Applying::Action(action) => TraceWhat::Act(action.clone()).to_string(),
            Applying::Calm => TraceWhat::Calm.to_string(),
        };
        self.current = Some(self.seen.next(name));
        self.sent = 0;
    }

    fn applied(&mut self, _world: &World, entry: Option<&Entry>, _report: &Report) {
        if entry.is_none() || self.anchored.is_empty() {
            return;
        }
        let Some(current) = &self.current else { return };
        let mut waiting = Vec::with_capacity(self.anchored.len());
        for anchored in self.anchored.drain(..) {
            match anchored.0 == *current {
                true => self.urgent.push_back(anchored.2),
                false => waiting.push(anchored),
            }
        }
        self.anchored = waiting;
    }
}
