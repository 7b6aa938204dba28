//! The simulate driver: virtual-time order; everything else is asked of a [`Choices`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::{Action, FaultKind};
use crate::name::{EventName, Kind};
use crate::net::Sent;
use crate::property::{Check, Class};
use crate::queue::{Entry, What};
use crate::time::Time;
use crate::trace::{End, FoundViolation, Record};
use crate::world::{Event, Report, World};

/// A digest from scratch is recorded after so many events for the first time, then at the earliest after so many more, and
/// after a sixteenth more in a long run: it costs as much as some hundred events do, and more in a world that has grown.
const FIRST_DIGEST: usize = 64;
const DIGEST_EVERY: usize = 1024;
const DIGEST_SHARE: usize = 16;

/// What is to be done from outside, now.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// An action.
    Act(Action),
    /// The storm ends.
    Calm,
    /// Nothing after all (the target does not exist).
    Nothing,
}

/// What is about to be applied.
#[derive(Clone, Copy, Debug)]
pub enum Applying<'a> {
    /// A pending entry.
    Entry(&'a Entry),
    /// An action.
    Action(&'a Action),
    /// The end of the storm.
    Calm,
}

/// Where choices come from.
pub trait Choices {
    /// How long a frame takes.
    fn latency(&mut self, sent: Sent) -> Duration;
    /// The answer to a pending choice among `domain` values.
    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64;
    /// When the next turn is due, if any more is. One that is overdue comes before any event.
    fn next_turn(&self) -> Option<Time>;
    /// Sees every event and action before it is applied.
    fn applying(&mut self, _world: &World, _what: Applying<'_>) {}
    /// Takes the turn that is due.
    fn turn(&mut self, world: &World) -> Turn;
    /// Sees every event after it was applied; `None` is an action.
    fn applied(&mut self, _world: &World, _entry: Option<&Entry>, _report: &Report) {}
}

/// For whoever wants to know something of the choices when the run is over.
impl<C: Choices> Choices for &mut C {
    fn latency(&mut self, sent: Sent) -> Duration {
        (**self).latency(sent)
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        (**self).choose(world, entry, domain)
    }

    fn next_turn(&self) -> Option<Time> {
        (**self).next_turn()
    }

    fn applying(&mut self, world: &World, what: Applying<'_>) {
        (**self).applying(world, what);
    }

    fn turn(&mut self, world: &World) -> Turn {
        (**self).turn(world)
    }

    fn applied(&mut self, world: &World, entry: Option<&Entry>, report: &Report) {
        (**self).applied(world, entry, report);
    }
}

/// No world is larger in earnest ([`World::size`]).
pub const MOST: usize = 50_000;
/// A driver looks at the size each so many events.
const LOOK_EVERY: u64 = 1_024;

/// When a run ends, whatever happens.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Virtual time.
    pub until: Time,
    /// Events at one instant: more is a livelock.
    pub at_one_instant: u32,
    /// How large the world may become ([`World::size`]): more is growth without bound.
    pub size: usize,
    /// Clone and rebuild the world after every event: slower, and must make no difference.
    pub rebuild: bool,
    /// Check every cached digest after every event.
    pub check_digests: bool,
}

impl Limits {
    /// A plain run to `until`.
    pub fn until(until: Time) -> Limits {
        Limits {
            until,
            at_one_instant: 100_000,
            size: MOST,
            rebuild: false,
            check_digests: false,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It came to its end.
    Clean,
    /// A guarantee was violated, by the last event.
    Violated(FoundViolation),
}

/// A fault that struck nothing, or a command that nobody heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// When.
    pub at: Time,
    /// What.
    pub action: Action,
    /// What there was in place of its target, in words.
    pub why: String,
}

/// What a run counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Events.
    pub events: u64,
    /// Faults that found their target, by [`FaultKind`] in the order of [`FaultKind::ALL`].
    pub injected: Vec<u64>,
    /// Faults that did not; ends of faults are not counted.
    pub missed: Vec<Missed>,
    /// How often each property was put to the test and held.
    pub tested: Vec<u64>,
    /// How often each observation or guarantee was violated.
    pub violated: Vec<u64>,
}

/// A finished run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What it counted.
    pub tallies: Tallies,
    /// When it ended.
    pub at: Time,
    /// The world it ended in (after a panic or a command that was refused: as that left it).
    pub world: World,
    /// Everything that happened.
    pub record: Record,
}

impl Outcome {
    /// The last line of its trace.
    pub fn end(&self) -> End {
        End {
            events: self.tallies.events,
            violation: match &self.ending {
                Ending::Clean => None,
                Ending::Violated(found) => Some(found.clone()),
            },
        }
    }
}

/// Steps a world to its end.
#[derive(Clone, Debug)]
pub struct Run<C> {
    world: World,
    choices: C,
    limits: Limits,
    record: Record,
    tallies: Tallies,
    next_digest: usize,
    at_this_instant: u32,
}

impl<C: Choices> Run<C> {
    /// A run of `world` under `choices`. `record` is emptied; giving one back saves memory.
    pub fn new(world: World, choices: C, limits: Limits, mut record: Record) -> Run<C> {
        record.clear();
        let properties = world.properties().len();
        Run {
            tallies: Tallies {
                events: 0,
                injected: vec![0; FaultKind::ALL.len()],
                missed: Vec::new(),
                tested: vec![0; properties],
                violated: vec![0; properties],
            },
            world,
            choices,
            limits,
            record,
            next_digest: FIRST_DIGEST,
            at_this_instant: 0,
        }
    }

    /// Runs to the end, or to the first violation of a guarantee.
    pub fn finish(self) -> Outcome {
        let finished = self.finish_unless(&|| false);
        finished.expect("nobody stops it")
    }

    /// Runs to the end, unless this says that it is to stop: then there is no outcome, but what was recorded so far.
    /// It is asked every 1,024 events, and makes no other difference.
    ///
    /// # Errors
    /// The record, if it was stopped.
    pub fn finish_unless(mut self, stop: &dyn Fn() -> bool) -> Result<Outcome, Record> {
        let mut steps: u64 = 0;
        let ending = loop {
            steps += 1;
            if steps.is_multiple_of(LOOK_EVERY) && stop() {
                return Err(self.record);
            }
            match self.step() {
                Ok(true) => {}
                Ok(false) => break Ending::Clean,
                Err(found) => break Ending::Violated(found),
            }
        };
        Ok(self.end(ending))
    }

    /// Ends it here.
    pub fn stop(self) -> Outcome {
        self.end(Ending::Clean)
    }

    fn end(self, ending: Ending) -> Outcome {
        Outcome {
            ending,
            tallies: self.tallies,
            at: self.world.now(),
            world: self.world,
            record: self.record,
        }
    }

    /// One event or turn. False at the end.
    ///
    /// # Errors
    /// The violation.
    pub fn step(&mut self) -> Result<bool, FoundViolation> {
        let entry = self.world.next_entry().copied();
        let event_at = entry.map_or(Time::NEVER, |e| e.at);
        let turn_at = self.choices.next_turn().unwrap_or(Time::NEVER);
        if event_at.min(turn_at) > self.limits.until {
            return Ok(false);
        }
        let before = self.world.now();
        match entry {
            Some(entry) if event_at <= turn_at => self.event(entry)?,
            _ => self.turn(turn_at)?,
        }
        self.at_this_instant = match self.world.now() == before {
            true => self.at_this_instant + 1,
            false => 0,
        };
        if self.at_this_instant > self.limits.at_one_instant {
            return Err(livelocked(format!(
                "{} events at {before} s of virtual time",
                self.at_this_instant
            )));
        }
        Ok(true)
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// So many events have happened.
    pub fn events(&self) -> u64 {
        self.tallies.events
    }

    fn event(&mut self, entry: Entry) -> Result<(), FoundViolation> {
        let mut name = self.world.entry_name(&entry);
        let event = match entry.what {
            What::Choose { domain, .. } => {
                let chosen = self.choices.choose(&self.world, &entry, domain);
                if let Kind::Choose { value, .. } = &mut name.0 {
                    *value = chosen;
                }
                Event::Choice(entry.seq, chosen)
            }
            _ => Event::Pending(entry.seq),
        };
        self.choices.applying(&self.world, Applying::Entry(&entry));
        // What is late happens now.
        let at = entry.at.max(self.world.now());
        match self.apply(at, event) {
            Ok(report) => {
                self.record.event(self.world.now(), name, &report.delays);
                self.choices.applied(&self.world, Some(&entry), &report);
                self.after(report)
            }
            Err(panic) => {
                self.record.event(at, name, &[]);
                self.tallies.events += 1;
                Err(panic)
            }
        }
    }

    fn turn(&mut self, at: Time) -> Result<(), FoundViolation> {
        match self.choices.turn(&self.world) {
            Turn::Nothing => Ok(()),
            Turn::Calm => {
                self.choices.applying(&self.world, Applying::Calm);
                let report = self.apply(at, Event::Calm)?;
                self.record
                    .event(self.world.now(), EventName(Kind::Calm), &report.delays);
                self.choices.applied(&self.world, None, &report);
                self.after(report)
            }
            Turn::Act(action) => {
                self.choices
                    .applying(&self.world, Applying::Action(&action));
                let result = self.apply(at, Event::Act(&action));
                let delays = result.as_ref().map_or(&[][..], |r| &r.delays);
                let injected = result.as_ref().is_ok_and(|r| r.injected);
                if result.is_ok() {
                    self.count(&action, injected);
                }
                self.record.action(self.world.now().max(at), action, delays);
                let report = result.inspect_err(|_| self.tallies.events += 1)?;
                self.choices.applied(&self.world, None, &report);
                self.after(report)
            }
        }
    }

    fn count(&mut self, action: &Action, injected: bool) {
        let why = match action {
            Action::Fault(fault) => match fault.kind() {
                Some(kind) if injected => {
                    self.tallies.injected[kind as usize] += 1;
                    return;
                }
                Some(_) => self.world.why_missed(fault),
                // The end of a fault strikes nothing.
                None => return,
            },
            Action::Command { .. } if injected => return,
            Action::Command { process, .. } => self.world.why_unheard(process),
        };
        self.tallies.missed.push(Missed {
            at: self.world.now(),
            action: action.clone(),
            why,
        });
    }

    fn apply(&mut self, at: Time, event: Event<'_>) -> Result<Box<Report>, FoundViolation> {
        let (world, choices) = (&mut self.world, &mut self.choices);
        let applied = catch_unwind(AssertUnwindSafe(|| {
            world.apply_or_end(at, event, &mut |sent| choices.latency(sent))
        }));
        match applied {
            Ok(Ok(report)) => Ok(report),
            Ok(Err(error)) => Err(built_in("no-misfit", error.to_string())),
            Err(panic) => Err(panicked(panic.as_ref())),
        }
    }

    fn after(&mut self, mut report: Box<Report>) -> Result<(), FoundViolation> {
        self.tallies.events += 1;
        let events = self.record.len();
        if events >= self.next_digest {
            self.record.digest(self.world.digest_from_scratch());
            self.next_digest = events + DIGEST_EVERY.max(events / DIGEST_SHARE);
        }
        if self.limits.rebuild {
            self.world = self.world.unshared();
        }
        if self.limits.check_digests {
            self.check_digests();
        }
        let mut found = stuck(&mut report);
        if found.is_none() && self.tallies.events.is_multiple_of(LOOK_EVERY) {
            found = overgrown(&self.world, self.limits.size);
        }
        for (index, check) in report.checks.drain(..) {
            let at = usize::from(index);
            match check {
                Check::Idle => {}
                Check::Held => self.tallies.tested[at] += 1,
                Check::Violated(violation) => {
                    self.tallies.violated[at] += 1;
                    let property = self.world.properties().nth(at).expect("its index");
                    if property.class() == Class::Guarantee && found.is_none() {
                        found = Some(FoundViolation {
                            property: property.name().to_owned(),
                            kind: violation.kind.to_owned(),
                            object: violation.object,
                            message: violation.message,
                        });
                    }
                }
            }
        }
        World::recycle(report);
        found.map_or(Ok(()), Err)
    }

    fn check_digests(&mut self) {
        self.world.cache_digests();
        let (cached, scratch) = (self.world.digest(), self.world.digest_from_scratch());
        assert_eq!(cached, scratch, "a cached digest is stale");
    }
}

/// The violation that a deadlock is, in whatever world.
pub fn deadlocked(circle: String) -> FoundViolation {
    built_in("no-deadlock", circle)
}

/// The violation that it is to go on for ever while time stands still, in whatever world.
pub fn livelocked(how: String) -> FoundViolation {
    built_in("no-livelock", how)
}

/// What an event led to that no world is to do.
pub fn stuck(report: &mut Report) -> Option<FoundViolation> {
    let deadlock = report.deadlock.take().map(deadlocked);
    deadlock.or_else(|| report.livelock.take().map(livelocked))
}

/// The violation that it is to grow without bound: to be larger than this ([`World::size`]).
pub fn overgrown(world: &World, most: usize) -> Option<FoundViolation> {
    let size = world.size();
    let grown = || format!("{size} pending events, routines and frames under way");
    (size > most).then(|| built_in("no-unbounded-growth", grown()))
}

fn built_in(property: &str, message: String) -> FoundViolation {
    FoundViolation {
        property: property.to_owned(),
        kind: "simulation".to_owned(),
        object: String::new(),
        message,
    }
}

/// The violation that a panic inside the world is.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> FoundViolation {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    built_in("no-panic", text.unwrap_or("without a message").to_owned())
}
