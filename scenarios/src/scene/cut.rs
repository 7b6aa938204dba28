//! Takes a trace at one of its moments, and cuts off what was before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_engine::drive::plan::{FromPlan, Occurrence, Plan, Planned};
use wavetank_engine::drive::{Limits, Run};
use wavetank_engine::trace::{Line, Record, TraceEvent, TraceWhat};
use wavetank_engine::{Action, Fault, Status, Time, World};

use super::Draft;
use crate::case::Case;
use crate::quiet::quietly;
use crate::trace_file::Trace;

/// Everybody has that long to start and to look around, if the trace was that long.
const OPENING: Duration = Duration::from_secs(20);
/// Nobody has less.
const SHORTEST_OPENING: Duration = Duration::from_secs(6);
/// A scene that begins at the beginning has everybody down.
const AT_ONCE: Duration = Duration::from_millis(1);

/// A trace at one of its moments.
pub(super) struct Past {
    /// After so many events.
    events: usize,
    world: World,
    /// What lasts: faults that have not ended, what is held.
    lasting: Vec<Action>,
}

/// The events of a trace.
fn events(trace: &Trace) -> impl Iterator<Item = &TraceEvent> {
    trace.lines.iter().filter_map(|line| match line {
        Line::Event(event) => Some(event),
        _ => None,
    })
}

/// The moments at which a trace is taken, the latest first: before something is done to it from outside, as routines
/// begin there, and the beginning. There are fewer the further they are from the violation.
fn moments(trace: &Trace, most: usize) -> Vec<usize> {
    let calm = events(trace).position(|event| event.what == TraceWhat::Calm);
    let calm = calm.unwrap_or(usize::MAX);
    let acts = events(trace).enumerate().filter(|(at, event)| {
        *at <= calm && (*at == calm || matches!(event.what, TraceWhat::Act(_)))
    });
    let all: Vec<usize> = acts.map(|(at, _)| at).collect();
    let mut chosen = BTreeSet::from([0]);
    let (mut back, mut step) = (0, 1.0_f64);
    while let Some(at) = all.len().checked_sub(1 + back)
        && chosen.len() < most
    {
        chosen.insert(all[at]);
        back += step as usize;
        if back > 8 {
            step *= 1.25;
        }
    }
    chosen.into_iter().rev().collect()
}

/// A trace at some of its moments, the latest first.
///
/// # Errors
/// What is wrong with its options.
pub(super) fn pasts(case: &dyn Case, trace: &Trace, most: usize) -> Result<Vec<Past>, String> {
    let moments = moments(trace, most);
    let world = case.world(&trace.head.options)?;
    let plan = Plan::from_trace(trace.lines.iter());
    let limits = Limits::until(case.until(&trace.head.options));
    let mut run = Run::new(world, FromPlan::new(&plan), limits, Record::default());
    let mut pasts = Vec::new();
    for events in moments.into_iter().rev() {
        let mut is_going = true;
        while is_going && run.events() < events as u64 {
            is_going = quietly(|| run.step()).unwrap_or(false);
        }
        pasts.push(Past {
            events,
            world: run.world().clone(),
            lasting: lasting(trace, events),
        });
    }
    pasts.reverse();
    Ok(pasts)
}

/// What was begun before this moment and has not ended.
fn lasting(trace: &Trace, moment: usize) -> Vec<Action> {
    let mut lasting: Vec<Action> = Vec::new();
    for event in events(trace).take(moment) {
        if let TraceWhat::Act(action) = &event.what {
            lasting.retain(|other| !ends(action, other));
            if lasts(action) {
                lasting.push(action.clone());
            }
        }
    }
    lasting
}

fn lasts(action: &Action) -> bool {
    match action {
        Action::Fault(
            Fault::Pause { .. }
            | Fault::Partition { .. }
            | Fault::Stall { .. }
            | Fault::Slow { .. },
        ) => true,
        Action::Fault(Fault::ClockRate { ppm, .. }) => *ppm != 0,
        Action::Fault(_) => false,
        Action::Command { what, .. } => what == "hold",
    }
}

/// Does the one end the other?
fn ends(action: &Action, other: &Action) -> bool {
    let of = |action: &Action| match action {
        Action::Command { process, .. } => Some(process.clone()),
        Action::Fault(Fault::Pause { process } | Fault::ClockRate { process, .. }) => {
            Some(process.clone())
        }
        Action::Fault(_) => None,
    };
    match (action, other) {
        (Action::Fault(Fault::HealAll {}), Action::Fault(_)) => true,
        (
            Action::Fault(
                Fault::Crash { process } | Fault::PowerLoss { process } | Fault::Stop { process },
            ),
            _,
        ) => of(other).as_ref() == Some(process),
        (Action::Fault(Fault::Resume { process, .. }), Action::Fault(Fault::Pause { .. }))
        | (
            Action::Fault(Fault::ClockRate { process, .. }),
            Action::Fault(Fault::ClockRate { .. }),
        ) => of(other).as_ref() == Some(process),
        (
            Action::Fault(Fault::Heal {
                left,
                right,
                one_way,
            }),
            Action::Fault(Fault::Partition {
                left: l,
                right: r,
                one_way: o,
            }),
        ) => (left, right, one_way) == (l, r, o),
        (
            Action::Fault(Fault::Unstall { from, to }),
            Action::Fault(Fault::Stall { from: f, to: t }),
        ) => (from, to) == (f, t),
        (
            Action::Fault(Fault::Unslow { a, b }),
            Action::Fault(Fault::Slow {
                a: left, b: right, ..
            }),
        ) => (a, b) == (left, right),
        (
            Action::Command {
                process,
                what,
                args,
            },
            Action::Command {
                process: p,
                args: a,
                ..
            },
        ) => {
            matches!(what.as_str(), "hold" | "release")
                && process == p
                && args.get("resource") == a.get("resource")
        }
        _ => false,
    }
}

impl Past {
    /// Is nothing cut off?
    pub fn is_beginning(&self) -> bool {
        self.events == 0
    }

    /// The scene that begins here.
    pub fn draft(&self, case: &dyn Case, trace: &Trace, name: &str) -> Draft {
        let now = self.world.now();
        let up = |process| self.world.status(process) == Status::Up;
        let processes = || self.world.processes();
        let is_anybody_up = processes().any(up);
        let opening = match is_anybody_up {
            true => OPENING.min(now.since(Time::ZERO)).max(SHORTEST_OPENING),
            false => AT_ONCE,
        };
        let begin = now - opening;
        let from = begin + opening;
        let shift = from.since(now);
        let rest = events(trace).skip(self.events);
        let rest: Vec<Line> = rest.map(|event| Line::Event(event.clone())).collect();
        let plan = Plan::from_trace(rest.iter());
        let ended = trace.end();
        let last = events(trace).last().map_or(Time::ZERO, |event| event.at);
        let plan = self.moved(plan, shift, from);
        let storm = plan
            .calm
            .unwrap_or(whole_seconds(last + shift + Duration::from_secs(1)));
        let down = processes().filter(|process| !up(*process));
        let violation = ended.violation.as_ref();
        Draft {
            name: name.to_owned(),
            about: about(&trace.head.case, trace),
            property: violation.map_or_else(String::new, |found| found.property.clone()),
            begin,
            from,
            storm,
            violated: last + shift,
            down: down
                .map(|process| self.world.name(process).to_owned())
                .collect(),
            options: trace.head.options.clone(),
            switches: None,
            content: match is_anybody_up {
                true => case.begins_as(&self.world),
                false => Vec::new(),
            },
            before: Vec::new(),
            plan: Plan {
                calm: Some(storm),
                ..plan
            },
        }
    }

    /// What is left of a plan, over processes that have started anew: later, and with the names that events have then.
    fn moved(&self, plan: Plan, shift: Duration, from: Time) -> Plan {
        let lives = self.lives();
        let rename = |(name, nth): &Occurrence| Some((renamed(name, &lives)?, *nth));
        let stopping = self
            .world
            .processes()
            .filter(|p| self.world.is_stopping(*p));
        let stopping = stopping.map(|process| {
            Action::Fault(Fault::Stop {
                process: self.world.name(process).to_owned(),
            })
        });
        let begun = self.lasting.iter().cloned().chain(stopping);
        let begun = begun.map(|action| Planned {
            at: from,
            after: None,
            action,
        });
        let actions = plan.actions.into_iter().map(|planned| Planned {
            at: planned.at + shift,
            after: planned.after.as_ref().and_then(rename),
            action: planned.action,
        });
        let delays = plan.delays.iter();
        let choices = plan.choices.iter();
        Plan {
            actions: begun.chain(actions).collect(),
            calm: plan.calm.map(|calm| calm + shift),
            delays: delays
                .filter_map(|(key, delays)| Some((rename(key)?, delays.clone())))
                .collect(),
            choices: choices
                .filter_map(|(key, choice)| Some((rename(key)?, *choice)))
                .collect(),
        }
    }

    /// The lives of each process that are over.
    fn lives(&self) -> BTreeMap<String, u32> {
        let of = |process| {
            let is_up = self.world.status(process) == Status::Up;
            let over = self.world.incarnation(process) - u32::from(is_up);
            (self.world.name(process).to_owned(), over)
        };
        self.world.processes().map(of).collect()
    }
}

/// The name of an event when so many lives of each process are left out; `None` if it is of one of these.
fn renamed(name: &str, over: &BTreeMap<String, u32>) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for word in name.split(' ') {
        let (life, rest) = match word.find(['/', ':']) {
            Some(at) => word.split_at(at),
            None => (word, ""),
        };
        let lived = life.split_once('.');
        let lived = lived.and_then(|(process, life)| {
            Some((process, over.get(process)?, life.parse::<u32>().ok()?))
        });
        words.push(match lived {
            Some((process, over, life)) => {
                let life = life.checked_sub(*over).filter(|life| *life > 0)?;
                format!("{process}.{life}{rest}")
            }
            None => word.to_owned(),
        });
    }
    Some(words.join(" "))
}

/// Rounded up.
pub(super) fn whole_seconds(at: Time) -> Time {
    Time::from_secs(at.nanos().div_ceil(1_000_000_000))
}

/// What a scene of this case says of itself.
pub(super) fn about(case: &str, trace: &Trace) -> String {
    let violation = trace.end().violation.as_ref();
    let violation = violation.map_or_else(String::new, |found| {
        format!("{} ({}): {}", found.property, found.object, found.message)
    });
    format!("A scene of {case}, which violates {violation}")
}
