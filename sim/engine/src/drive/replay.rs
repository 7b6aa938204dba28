//! The replay driver: steps a world as a trace says, and says where they part.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::run::stuck;
use crate::property::{Check, Class};
use crate::queue::Entry;
use crate::trace::{End, FoundViolation, Line, TraceEvent, TraceWhat};
use crate::world::{Event, Report, World};
use thiserror::Error;

/// How exactly a world must follow its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The same build: times, digests and the number of frames must be equal too.
    Strict,
    /// Another build: names decide.
    ByName,
}

/// Where a world and its trace part.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("at event {event}: the trace says {trace}; what happened: {world}")]
pub struct Parting {
    /// The number of the event, from 1; of a digest and of the end that of the last event before.
    pub event: u64,
    /// What the trace says.
    pub trace: String,
    /// What happens in the world instead.
    pub world: String,
}

/// What one line did.
#[derive(Debug)]
pub enum Replayed {
    /// It was an event.
    Event {
        /// The entry, unless it was an action.
        entry: Option<Entry>,
        /// What it caused.
        report: Box<Report>,
    },
    /// It was the event that panicked.
    Panicked(FoundViolation),
    /// It was a digest, and equal.
    Digest,
    /// It was the end, and the verdicts are equal.
    End(End),
}

/// A world that follows a trace.
#[derive(Debug)]
pub struct Replay {
    world: World,
    fit: Fit,
    in_order: bool,
    events: u64,
    violation: Option<FoundViolation>,
}

impl Replay {
    /// `world` must be as the traced one was at time zero.
    pub fn new(world: World, fit: Fit) -> Replay {
        Replay {
            world,
            fit,
            in_order: false,
            events: 0,
            violation: None,
        }
    }

    /// The trace is that of a run: in a strict replay each event has to be the next one in the order of virtual time.
    /// In a counterexample of a search it may be any.
    pub fn in_order(self) -> Replay {
        Replay {
            in_order: true,
            ..self
        }
    }

    /// Each report says what happened inside of its event.
    pub fn observed(mut self) -> Replay {
        self.world.observe();
        self
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The same, for whoever goes on without the replay.
    pub fn into_world(self) -> World {
        self.world
    }

    /// Events applied so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The violation of a guarantee that the last event showed.
    pub fn violation(&self) -> Option<&FoundViolation> {
        self.violation.as_ref()
    }

    /// Follows one line. As a run, it keeps no copy of the world: of a hosted program there is none.
    ///
    /// # Errors
    /// [`Parting`], if the world cannot do what the line says or does it otherwise; the world is then of no use any more.
    pub fn follow(&mut self, line: &Line) -> Result<Replayed, Parting> {
        match line {
            Line::Event(event) => self.event(event),
            Line::Digest { events, digest } => {
                if self.fit == Fit::Strict {
                    let here = self.world.digest_from_scratch();
                    if (*events, *digest) != (self.events, here) {
                        return Err(self.parting(
                            format!("digest {digest:016x} after {events} events"),
                            format!("digest {here:016x} after {} events", self.events),
                        ));
                    }
                }
                Ok(Replayed::Digest)
            }
            Line::End(end) => self.end(end),
        }
    }

    fn parting(&self, trace: String, world: String) -> Parting {
        Parting {
            event: self.events,
            trace,
            world,
        }
    }

    fn event(&mut self, event: &TraceEvent) -> Result<Replayed, Parting> {
        self.events += 1;
        let entry = match &event.what {
            TraceWhat::Pending(name) | TraceWhat::Choice(name, _) => Some(self.find(event, name)?),
            TraceWhat::Act(_) | TraceWhat::Calm => None,
        };
        if self.fit == Fit::Strict {
            self.compare(event, entry.as_ref())?;
        }
        let apply = match (&event.what, &entry) {
            (TraceWhat::Choice(_, value), Some(entry)) => Event::Choice(entry.seq, *value),
            (_, Some(entry)) => Event::Pending(entry.seq),
            (TraceWhat::Act(action), None) => Event::Act(action),
            _ => Event::Calm,
        };
        let mut delays = event.delays.iter();
        let world = &mut self.world;
        let applied = catch_unwind(AssertUnwindSafe(|| {
            world.apply_or_end(event.at, apply, &mut |sent| {
                delays
                    .next()
                    .map_or(sent.nominal, |n| Duration::from_nanos(*n))
            })
        }));
        let mut report = match applied {
            Ok(Ok(report)) => report,
            Ok(Err(error)) => {
                return Err(self.parting(format!("`{}`", event.what), error.to_string()));
            }
            Err(panic) => {
                let found = super::run::panicked(panic.as_ref());
                self.violation = Some(found.clone());
                return Ok(Replayed::Panicked(found));
            }
        };
        if self.fit == Fit::Strict && report.delays.len() != event.delays.len() {
            return Err(self.parting(
                format!("{} frames sent by `{}`", event.delays.len(), event.what),
                format!("{}", report.delays.len()),
            ));
        }
        if self.violation.is_none() {
            self.violation = stuck(&mut report);
        }
        self.note_violation(&report);
        Ok(Replayed::Event { entry, report })
    }

    /// Does the event happen when the trace says, and is it its turn?
    fn compare(&self, event: &TraceEvent, entry: Option<&Entry>) -> Result<(), Parting> {
        let now = self.world.now();
        let due = |entry: &Entry| entry.at.max(now);
        let named = |entry: &Entry| {
            let name = self.world.render(&self.world.entry_name(entry));
            format!("`{name}` at {} s", due(entry))
        };
        let says = || format!("`{}` at {} s", event.what, event.at);
        let next = self.world.next_entry().filter(|_| self.in_order);
        match (entry, next) {
            (Some(own), Some(next)) if own.seq != next.seq => {
                Err(self.parting(says(), named(next)))
            }
            (Some(own), _) if event.at != due(own) => Err(self.parting(says(), named(own))),
            // What is overdue happens now, and what is urgent comes before it.
            (None, Some(next)) if due(next) < event.at => Err(self.parting(says(), named(next))),
            (None, _) if event.at < now => {
                Err(self.parting(says(), format!("it was {now} s by then")))
            }
            _ => Ok(()),
        }
    }

    /// The pending entry with this name; in a strict replay of a simulated run it is the next one,
    /// in a counterexample it may be any.
    fn find(&self, event: &TraceEvent, name: &str) -> Result<Entry, Parting> {
        let named = |entry: &&Entry| self.world.render(&self.world.entry_name(entry)) == *name;
        self.world.pending().find(named).copied().ok_or_else(|| {
            let next: Vec<String> = self
                .world
                .pending()
                .take(4)
                .map(|e| {
                    format!(
                        "`{}` at {} s",
                        self.world.render(&self.world.entry_name(e)),
                        e.at
                    )
                })
                .collect();
            self.parting(
                format!("`{name}` at {} s", event.at),
                match next.is_empty() {
                    true => "nothing is pending".to_owned(),
                    false => format!("nothing of that name is pending, but {}", next.join(", ")),
                },
            )
        })
    }

    fn note_violation(&mut self, report: &Report) {
        for (index, check) in &report.checks {
            let Check::Violated(violation) = check else {
                continue;
            };
            let property = self.world.properties().nth(usize::from(*index));
            let property = property.expect("its index");
            if property.class() == Class::Guarantee && self.violation.is_none() {
                self.violation = Some(FoundViolation {
                    property: property.name().to_owned(),
                    kind: violation.kind.to_owned(),
                    object: violation.object.clone(),
                    message: violation.message.clone(),
                });
            }
        }
    }

    fn end(&self, end: &End) -> Result<Replayed, Parting> {
        let verdict = |violation: &Option<FoundViolation>| match violation {
            None => "no violation".to_owned(),
            Some(found) => format!(
                "a violation of `{}` ({} {}){}",
                found.property,
                found.kind,
                found.object,
                // Another build may say the same in other words.
                match self.fit {
                    Fit::Strict => format!(": {}", found.message),
                    Fit::ByName => String::new(),
                }
            ),
        };
        // What the driver itself found (a misfit, a livelock, growth), or who compared two runs, is not the world's to
        // repeat.
        let drivers = end.violation.as_ref().is_some_and(|v| {
            ["no-misfit", "no-livelock", "no-unbounded-growth"].contains(&v.property.as_str())
                || v.kind == FoundViolation::DIFFERENCE
        });
        if !drivers && verdict(&end.violation) != verdict(&self.violation) {
            return Err(self.parting(verdict(&end.violation), verdict(&self.violation)));
        }
        if end.events != self.events {
            return Err(self.parting(
                format!("its end after {} events", end.events),
                format!("{} events", self.events),
            ));
        }
        Ok(Replayed::End(end.clone()))
    }
}
