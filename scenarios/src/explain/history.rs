//! All that happened in a trace, observed: what was told of each event, where, and what it follows from.

use std::collections::BTreeMap;

use wavetank_engine::drive::causes::{Because, Causes};
use wavetank_engine::drive::replay::{Fit, Replayed};
use wavetank_engine::drive::story::Describer;
use wavetank_engine::trace::{Line, TraceEvent, TraceWhat};
use wavetank_engine::{Action, Entry, Fault, Payload, ProcId, RoutineId, Time, World};
use wavetank_engine::{Observed, Report};

use super::functions;
use super::meaning::Meaning;
use crate::case::Case;
use crate::replay::{Followed, Unfollowed, observe};
use crate::trace_file::Trace;

/// What sort of a line it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A process tells something.
    Note,
    /// What came of a question.
    Answer,
    /// What a process is told to do.
    Command,
    /// A fault, or its end.
    Fault,
}

/// A line about an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    pub who: String,
    pub text: String,
    /// The routine or the callback in which it happens,
    pub place: Option<String>,
    /// the function,
    pub function: Option<&'static str>,
    /// and the line of the sources.
    pub line: Option<String>,
    pub kind: Kind,
}

/// What comes from outside comes from here.
pub(crate) const OUTSIDE: &str = "outside";

/// A routine that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ran {
    pub process: String,
    /// With its number: `serve#0`.
    pub routine: String,
    /// What it runs, and for whom.
    pub place: String,
    /// For the first time?
    pub begins: bool,
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    pub at: Time,
    /// As the trace has it.
    pub name: String,
    pub process: Option<String>,
    pub told: Vec<Told>,
    /// Is it a fault that found its target?
    pub fault: Option<Fault>,
    /// What was in the frame that arrived,
    pub body: Option<Payload>,
    /// and what that asks for.
    pub asked: Option<String>,
    /// The routines that ran.
    pub ran: Vec<Ran>,
}

impl Happened {
    /// Where it happens: at a process, or outside of all.
    pub fn host(&self) -> &str {
        match &self.process {
            Some(process) if !self.name.starts_with("act ") => process,
            _ => OUTSIDE,
        }
    }
}

/// A key that was written or deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub event: usize,
    pub key: String,
    pub revision: u64,
    /// What is there now, as JSON.
    pub now: Option<String>,
}

/// All events.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub events: Vec<Happened>,
    pub causes: Causes,
    /// The events at which something was told of each object.
    pub about: BTreeMap<String, Vec<usize>>,
    /// The revisions at which each key was written, and the events,
    pub written: BTreeMap<String, Vec<(u64, usize)>>,
    /// and the events at which somebody heard what it read of it.
    pub read: BTreeMap<String, Vec<usize>>,
    /// What was written, in order.
    pub changes: Vec<Change>,
}

impl History {
    /// How an event is described in a graph.
    pub fn label(&self, event: usize) -> String {
        let happened = &self.events[event];
        let told = happened.told.iter();
        let told: Vec<String> = told
            .map(|told| format!("{} {}", told.who, told.text))
            .collect();
        let place = happened.ran.first().map(|ran| &ran.place);
        match (told.is_empty(), &happened.asked, place) {
            (true, Some(asked), _) => format!("{}: {asked}", happened.name),
            (true, None, Some(place)) => format!("{}, in {place}", happened.name),
            (true, None, None) => happened.name.clone(),
            (false, ..) => told.join("; "),
        }
    }
}

/// Writes a history while a trace is followed.
pub(crate) struct Historian {
    describer: Describer,
    meaning: Box<dyn Meaning>,
    history: History,
    /// What was asked by each call: `a1.1/serve#0.3 etcd`.
    asked: BTreeMap<String, Payload>,
    /// What routines serve: by `a1/serve#0`.
    serving: BTreeMap<String, String>,
}

impl Historian {
    pub fn new(case: &dyn Case) -> Historian {
        Historian {
            describer: case.describer(),
            meaning: case.meaning(),
            history: History::default(),
            asked: BTreeMap::new(),
            serving: BTreeMap::new(),
        }
    }

    /// Follows a trace to its end, and writes down all that happens.
    pub fn follow(
        mut self,
        case: &dyn Case,
        trace: &Trace,
        fit: Fit,
    ) -> Result<(History, Followed), Unfollowed> {
        let followed = observe(case, trace, fit, &mut |world, line, replayed| {
            if let (Replayed::Event { entry, report }, Line::Event(event)) = (replayed, line) {
                self.add(world, event, entry.as_ref(), report);
            }
        })?;
        Ok((self.history, followed))
    }

    /// Adds an event that the observed world has applied.
    fn add(&mut self, world: &World, event: &TraceEvent, entry: Option<&Entry>, report: &Report) {
        let observed = report.observed.as_deref().expect("the world is observed");
        let me = self.history.events.len();
        self.history.causes.add(world, event, entry, report);
        let mut told = Vec::new();
        let fault = match &event.what {
            TraceWhat::Act(action) => {
                told.extend(acted(action, report.injected));
                match action {
                    Action::Fault(fault) if report.injected => Some(fault.clone()),
                    _ => None,
                }
            }
            TraceWhat::Pending(name) => {
                told.extend(self.message(world, me, name, entry, observed));
                None
            }
            TraceWhat::Choice(..) | TraceWhat::Calm => None,
        };
        self.notes(world, me, event, report, &mut told);
        let process = entry.map(|entry| world.name(entry.process).to_owned());
        let ran = observed.ran().map(|(process, routine, begins)| Ran {
            process: world.name(process).to_owned(),
            routine: routine.to_string(),
            place: self.place(world, process, routine),
            begins,
        });
        let ran = ran.collect();
        self.history.events.push(Happened {
            at: event.at,
            name: event.what.to_string(),
            process: process.or_else(|| target(&event.what)),
            told,
            fault,
            body: observed.body().cloned(),
            asked: observed.body().and_then(|body| self.meaning.asked(body)),
            ran,
        });
    }

    /// What a request asks for is remembered; what came of it is told.
    fn message(
        &mut self,
        world: &World,
        me: usize,
        name: &str,
        entry: Option<&Entry>,
        observed: &Observed,
    ) -> Option<Told> {
        let (verb, call) = name.split_once(' ')?;
        let body = observed.body()?;
        match verb {
            "request" => {
                if let Some(asked) = self.meaning.asked(body) {
                    let ran = observed.ran();
                    let ran = ran.map(|(process, routine, _)| named(world, process, routine));
                    self.serving
                        .extend(ran.map(|routine| (routine, asked.clone())));
                }
                self.asked.insert(call.to_owned(), body.clone());
                None
            }
            "answer" => {
                let request = self.asked.remove(call)?;
                let text = self.answered(me, &request, body)?;
                let ran = observed.ran().next();
                Some(Told {
                    who: world.name(entry?.process).to_owned(),
                    text,
                    place: ran.map(|(process, routine, _)| self.place(world, process, routine)),
                    function: None,
                    line: None,
                    kind: Kind::Answer,
                })
            }
            _ => None,
        }
    }

    fn answered(&mut self, me: usize, request: &Payload, answer: &Payload) -> Option<String> {
        if let Some(refused) = self.meaning.refused(answer) {
            let asked = self.meaning.asked(request).unwrap_or_default();
            return Some(format!("gets to its {asked}: {refused}"));
        }
        let reading = self.meaning.read(request, answer)?;
        // It was read when the answer was sent.
        let before = self.history.causes.before(me).into_iter();
        let mut senders = before.filter(|(_, because)| *because == Because::Message);
        let at = senders.next().map_or(me, |(sender, _)| sender);
        for (key, writes) in &self.history.written {
            if !(reading.covers)(key) {
                continue;
            }
            self.history.read.entry(key.clone()).or_default().push(me);
            let mut latest = writes.iter().rev();
            let wrote =
                latest.find(|(revision, event)| *revision <= reading.revision && *event <= at);
            if let Some((_, wrote)) = wrote {
                self.history.causes.link(*wrote, at, Because::Key);
            }
        }
        reading.text
    }

    fn notes(
        &mut self,
        world: &World,
        me: usize,
        event: &TraceEvent,
        report: &Report,
        told: &mut Vec<Told>,
    ) {
        let observed = report.observed.as_deref().expect("the world is observed");
        for (index, note) in report.notes.iter().enumerate() {
            if let Some(written) = self.meaning.written(note) {
                for (key, now) in written.keys {
                    self.history.changes.push(Change {
                        event: me,
                        key: key.clone(),
                        revision: written.revision,
                        now,
                    });
                    let writes = self.history.written.entry(key).or_default();
                    if let Some((_, before)) = writes.last() {
                        self.history.causes.link(*before, me, Because::Key);
                    }
                    writes.push((written.revision, me));
                }
            }
            let Some(description) = self.describer.describe(world, note) else {
                continue;
            };
            for object in description.about {
                let about = self.history.about.entry(object).or_default();
                about.push(me);
            }
            let routine = observed.told_by(index);
            let place = observed.told_at(index);
            told.push(Told {
                who: world.name(note.process).to_owned(),
                text: description.text,
                place: match routine {
                    Some(routine) => Some(self.place(world, note.process, routine)),
                    None => self.callback(&event.what),
                },
                // A callback does its work deep below what calls it.
                function: routine.and(place).and_then(functions::enclosing),
                line: place.and_then(functions::shown),
                kind: Kind::Note,
            });
        }
    }

    /// Where a routine is: what it runs, and for whom.
    fn place(&self, world: &World, process: ProcId, routine: RoutineId) -> String {
        match self.serving.get(&named(world, process, routine)) {
            Some(asked) => format!("{}: {asked}", routine.kind),
            None => routine.kind.to_string(),
        }
    }

    /// The callback that an event is for.
    fn callback(&self, what: &TraceWhat) -> Option<String> {
        let TraceWhat::Pending(name) = what else {
            return None;
        };
        let mut words = name.split(' ');
        let (verb, of) = (words.next()?, words.next()?);
        Some(match verb {
            "timer" => format!("timer {}", words.next()?),
            "request" => format!("request of {}", self.caller(of)?),
            verb => verb.to_owned(),
        })
    }

    /// Who makes a call, by its name: `a1.1/serve#0.3`.
    fn caller(&self, call: &str) -> Option<String> {
        let (life, op) = call.split_once('/')?;
        let (process, _) = life.rsplit_once('.')?;
        let (routine, _) = op.rsplit_once('.')?;
        let (kind, _) = routine.rsplit_once('#')?;
        Some(match self.serving.get(&format!("{process}/{routine}")) {
            Some(asked) => format!("{process}, {kind}: {asked}"),
            None => format!("{process}, {kind}"),
        })
    }
}

fn named(world: &World, process: ProcId, routine: RoutineId) -> String {
    format!("{}/{routine}", world.name(process))
}

fn target(what: &TraceWhat) -> Option<String> {
    match what {
        TraceWhat::Act(Action::Command { process, .. }) => Some(process.clone()),
        TraceWhat::Act(Action::Fault(fault)) => {
            let processes = fault.processes();
            processes.first().map(|process| (*process).to_owned())
        }
        _ => None,
    }
}

fn acted(action: &Action, injected: bool) -> Option<Told> {
    let (who, text, kind) = match action {
        Action::Fault(fault) if injected => ("fault", fault.to_string(), Kind::Fault),
        Action::Fault(_) => return None,
        Action::Command {
            process,
            what,
            args,
        } => {
            let args = match args.is_null() {
                true => String::new(),
                false => format!(" {args}"),
            };
            let text = format!("is told to {what}{args}");
            (process.as_str(), text, Kind::Command)
        }
    };
    Some(Told {
        who: who.to_owned(),
        text,
        place: None,
        function: None,
        line: None,
        kind,
    })
}
