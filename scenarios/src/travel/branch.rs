//! A branch: a world that has left its trace. What follows takes latencies, choices, and what comes from outside, from
//! the rest of the trace, as far as these still fit: that is a plan, as shrinking simulates it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use wavetank_engine::drive::plan::{FromPlan, Plan};
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::{Applying, Choices, Turn, stuck};
use wavetank_engine::trace::{FoundViolation, Line, TraceEvent, TraceWhat};
use wavetank_engine::{
    Action, Check, Class, Entry, Event, ProcId, Process, Report, Time, What, World,
};

use super::{Stepped, Stuck, Told, told};
use crate::case::Case;
use crate::quiet::quietly;
use crate::trace_file::Trace;

/// What somebody who travels did on a branch: done again to go back.
#[derive(Clone, Debug)]
enum Op {
    Next,
    Act(Action),
    First(String),
}

/// A world on its own way.
pub(super) struct Branch<'a> {
    case: &'a dyn Case,
    until: Time,
    from: usize,
    /// What choices are drawn from that the trace does not know; without it they are as usual.
    seed: Option<u64>,
    /// The world and what is to come of the trace, where it was left.
    begun: (World, FromPlan),
    world: World,
    choices: FromPlan,
    lines: Vec<TraceEvent>,
    told: Vec<Told>,
    ops: Vec<Op>,
    violation: Option<FoundViolation>,
}

impl<'a> Branch<'a> {
    pub fn new<'l>(
        case: &'a dyn Case,
        trace: &Trace,
        from: usize,
        world: World,
        rest: impl Iterator<Item = &'l Line>,
        seed: Option<u64>,
    ) -> Branch<'a> {
        let choices = FromPlan::new(&Plan::from_trace(rest));
        Branch {
            case,
            until: case.until(&trace.head.options),
            from,
            seed,
            begun: (world.clone(), choices.clone()),
            world,
            choices,
            lines: Vec::new(),
            told: Vec::new(),
            ops: Vec::new(),
            violation: None,
        }
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn from(&self) -> usize {
        self.from
    }

    pub fn at(&self) -> usize {
        self.from + self.lines.len()
    }

    pub fn lines(&self) -> &[TraceEvent] {
        &self.lines
    }

    pub fn told(&self) -> impl Iterator<Item = Told> + '_ {
        self.told.iter().cloned()
    }

    pub fn violation(&self) -> Option<&FoundViolation> {
        self.violation.as_ref()
    }

    /// Lets a process in, here and where the branch began: who goes back meets it, too, and it is down.
    pub fn admit(&mut self, name: &str, process: &(impl Process + Clone)) -> ProcId {
        self.begun.0.join(name, process.clone());
        self.world.join(name, process.clone())
    }

    /// Back or on to the moment after so many events, which is behind where it began.
    pub fn goto(&mut self, events: usize) -> Result<Option<Stepped>, Stuck> {
        let wanted = events - self.from;
        let mut last = None;
        if wanted < self.ops.len() {
            let ops: Vec<Op> = self.ops.drain(..).take(wanted).collect();
            (self.world, self.choices) = self.begun.clone();
            self.lines.clear();
            self.told.clear();
            self.violation = None;
            for op in ops {
                last = Some(match op {
                    Op::Next => self.next()?,
                    Op::Act(action) => self.act(&action)?,
                    Op::First(name) => self.first(&name)?,
                });
            }
        }
        while self.lines.len() < wanted {
            last = Some(self.next()?);
        }
        Ok(last)
    }

    /// When what is next comes, if that is before the end.
    pub fn next_at(&self) -> Option<Time> {
        let entry = self.world.next_entry().map(|entry| entry.at);
        let turn = self.choices.next_turn();
        let next = entry.into_iter().chain(turn).min()?;
        let is_open = self.violation.is_none() && next <= self.until;
        is_open.then(|| next.max(self.world.now()))
    }

    /// What is next in the order of virtual time.
    pub fn next(&mut self) -> Result<Stepped, Stuck> {
        if let Some(violation) = &self.violation {
            let message = format!("`{}` is violated: a run ends here", violation.property);
            return Err(Stuck::Refused(message));
        }
        let stepped = loop {
            let entry = self.world.next_entry().copied();
            let event_at = entry.map_or(Time::NEVER, |entry| entry.at);
            let turn_at = self.choices.next_turn().unwrap_or(Time::NEVER);
            if event_at.min(turn_at) > self.until {
                return Err(Stuck::End);
            }
            match entry {
                Some(entry) if event_at <= turn_at => break self.event(&entry)?,
                _ => match self.choices.turn(&self.world) {
                    Turn::Nothing => {}
                    Turn::Calm => break self.apply(turn_at, TraceWhat::Calm, Event::Calm)?,
                    Turn::Act(action) => break self.act_at(turn_at, &action)?,
                },
            }
        };
        self.ops.push(Op::Next);
        Ok(stepped)
    }

    pub fn act(&mut self, action: &Action) -> Result<Stepped, Stuck> {
        let stepped = self.act_at(self.world.now(), action)?;
        self.ops.push(Op::Act(action.clone()));
        Ok(stepped)
    }

    pub fn first(&mut self, name: &str) -> Result<Stepped, Stuck> {
        let named = |entry: &&Entry| self.world.render(&self.world.entry_name(entry)) == name;
        let entry = self.world.pending().find(named).copied();
        let entry = entry.ok_or_else(|| {
            let what = format!("nothing that is called `{name}` is pending");
            Stuck::Refused(format!("{what}; `pending` lists what is"))
        })?;
        let stepped = self.event(&entry)?;
        self.ops.push(Op::First(name.to_owned()));
        Ok(stepped)
    }

    fn act_at(&mut self, at: Time, action: &Action) -> Result<Stepped, Stuck> {
        self.choices.applying(&self.world, Applying::Action(action));
        self.apply(at, TraceWhat::Act(action.clone()), Event::Act(action))
    }

    fn event(&mut self, entry: &Entry) -> Result<Stepped, Stuck> {
        let name = self.world.render(&self.world.entry_name(entry));
        let (what, event) = match (entry.usual(), entry.what) {
            (Event::Choice(seq, _), What::Choose { domain, .. }) => {
                let value = self.chosen(entry, domain);
                (TraceWhat::Choice(name, value), Event::Choice(seq, value))
            }
            (usual, _) => (TraceWhat::Pending(name), usual),
        };
        self.choices.applying(&self.world, Applying::Entry(entry));
        self.apply(entry.at, what, event)
    }

    /// What the trace chose, or else what is drawn. It depends on nothing but the event: who goes back and on again meets
    /// the same.
    fn chosen(&mut self, entry: &Entry, domain: u64) -> u64 {
        match self.seed {
            Some(seed) if !self.choices.has_choice(&self.world, entry) => {
                let concern = format!("branch/{}", self.at());
                Stream::new(seed, &concern).below(domain.max(1))
            }
            _ => self.choices.choose(&self.world, entry, domain),
        }
    }

    fn apply(&mut self, at: Time, what: TraceWhat, event: Event<'_>) -> Result<Stepped, Stuck> {
        let is_action = matches!(event, Event::Act(_) | Event::Calm);
        // What is late happens now.
        let at = at.max(self.world.now());
        let before = self.world.clone();
        let entry = match event {
            Event::Pending(seq) | Event::Choice(seq, _) => {
                let mut pending = before.pending();
                pending.find(|entry| entry.seq == seq).copied()
            }
            _ => None,
        };
        let (world, choices) = (&mut self.world, &mut self.choices);
        let mut latency = |sent| -> Duration { choices.latency(sent) };
        let applied =
            quietly(|| catch_unwind(AssertUnwindSafe(|| world.apply(at, event, &mut latency))));
        let mut report = match applied {
            Ok(Ok(report)) => report,
            Ok(Err(error)) => {
                self.world = before;
                return Err(Stuck::Refused(error.to_string()));
            }
            Err(_) => {
                self.world = before;
                return Err(Stuck::Refused(format!(
                    "`{what}` panics here: `explain` tells of such a trace once a run has found it"
                )));
            }
        };
        let entry = entry.filter(|_| !is_action);
        self.choices.applied(&self.world, entry.as_ref(), &report);
        let violation = stuck(&mut report).or_else(|| violated(&self.world, &report));
        self.violation = self.violation.take().or_else(|| violation.clone());
        let told = told(&self.case.describer(), &self.world, &what, Some(&report));
        let name = what.to_string();
        self.lines.push(TraceEvent {
            at: self.world.now(),
            what,
            delays: report.delays,
        });
        let (number, now) = (self.at(), self.world.now());
        let lines = told.iter().cloned();
        self.told
            .extend(lines.map(|(who, text)| (number, now, who, text)));
        Ok(Stepped {
            number: self.at(),
            at: self.world.now(),
            name,
            told,
            violation,
        })
    }
}

/// The guarantee that an event violated.
fn violated(world: &World, report: &Report) -> Option<FoundViolation> {
    report.checks.iter().find_map(|(index, check)| {
        let Check::Violated(violation) = check else {
            return None;
        };
        let property = world.properties().nth(usize::from(*index))?;
        (property.class() == Class::Guarantee).then(|| FoundViolation {
            property: property.name().to_owned(),
            kind: violation.kind.to_owned(),
            object: violation.object.clone(),
            message: violation.message.clone(),
        })
    })
}
