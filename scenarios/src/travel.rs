//! Travelling in time: the world at any event of a trace, and branches, which leave the trace at an event and go on
//! otherwise.
//!
//! On the trace each move replays from the nearest of the worlds that were kept when it was followed for the first time.
//! A branch (`branch`) takes latencies, choices and what comes from outside from the rest of the trace, by name, as far
//! as they still fit. `points` are the points of view that a world has, `condition` are conditions over them. Nothing
//! here prints.

mod branch;
pub mod condition;
pub mod points;

use wavetank_engine::drive::replay::{Fit, Replay, Replayed};
use wavetank_engine::drive::story::Describer;
use wavetank_engine::trace::{End, FoundViolation, Line, TraceEvent};
use wavetank_engine::{Action, ProcId, Process, Report, Time, World};

use crate::case::Case;
use crate::quiet::quietly;
use crate::replay::{Unfollowed, follow, needs_copies};
use crate::trace_file::Trace;

use branch::Branch;

/// A world is kept each so many events, or more of them: who goes back waits for what is followed from there on.
const LEAST_STRIDE: usize = 64;

/// So many worlds are kept at most. One of a large cluster takes megabytes.
const MOST_KEPT: usize = 512;

/// An event that was stepped over.
#[derive(Clone, PartialEq, Debug)]
pub struct Stepped {
    /// Its number, from 1.
    pub number: usize,
    /// When.
    pub at: Time,
    /// As a trace has it.
    pub name: String,
    /// What was told: who, and what.
    pub told: Vec<(String, String)>,
    /// The violation that it showed.
    pub violation: Option<FoundViolation>,
}

/// Why a step was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// There is nothing after this.
    End,
    /// This cannot be done here: for people.
    Refused(String),
}

/// What is known of an event of the trace.
#[derive(Default)]
struct Past {
    told: Vec<(String, String)>,
    keys: Vec<String>,
}

/// A line of what was told: the event, when, who, what.
pub type Told = (usize, Time, String, String);

/// Where somebody is who travels along a trace.
pub struct Travel<'a> {
    case: &'a dyn Case,
    trace: &'a Trace,
    events: Vec<&'a TraceEvent>,
    kept: Vec<World>,
    /// A world is kept each so many events.
    stride: usize,
    /// What was told of each event, and which keys were written there.
    past: Vec<Past>,
    replay: Replay,
    /// So many events have happened.
    at: usize,
    branch: Option<Branch<'a>>,
    /// Are choices that the trace does not know drawn? If not, they are as usual.
    draws: bool,
    /// The last step.
    last: Option<Stepped>,
}

impl std::fmt::Debug for Travel<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Travel({} of {})", self.at, self.events.len())
    }
}

impl<'a> Travel<'a> {
    /// At the beginning of a trace, which is followed to its end once.
    ///
    /// # Errors
    /// [`Unfollowed`].
    pub fn begin(case: &'a dyn Case, trace: &'a Trace) -> Result<Travel<'a>, Unfollowed> {
        needs_copies(case)?;
        let world = case
            .world(&trace.head.options)
            .map_err(Unfollowed::NoWorld)?;
        let lines = trace.lines.iter();
        let events = lines.filter_map(|line| match line {
            Line::Event(event) => Some(event),
            _ => None,
        });
        let events: Vec<_> = events.collect();
        let stride = LEAST_STRIDE.max(events.len().div_ceil(MOST_KEPT));
        let mut kept = vec![world.clone()];
        let (describer, meaning) = (case.describer(), case.meaning());
        let mut past: Vec<Past> = Vec::new();
        let mut see = |world: &World, line: &Line, replayed: &Replayed| {
            let Line::Event(event) = line else { return };
            let mut own = Past::default();
            if let Replayed::Event { report, .. } = replayed {
                own.told = told(&describer, world, &event.what, Some(report));
                let written = report.notes.iter().filter_map(|note| meaning.written(note));
                own.keys = written
                    .flat_map(|written| written.keys)
                    .map(|(key, _)| key)
                    .collect();
            }
            past.push(own);
            if past.len().is_multiple_of(stride) {
                kept.push(world.clone());
            }
        };
        quietly(|| follow(case, trace, trace.head.fit(), None, &mut see))?;
        Ok(Travel {
            case,
            trace,
            events,
            kept,
            stride,
            past,
            replay: Replay::new(world, Fit::ByName),
            at: 0,
            branch: None,
            draws: false,
            last: None,
        })
    }

    /// From now on a branch draws what the trace does not know: names that are made, addresses, the order of goroutines. As
    /// usual all of them would be the first there is, and two names alike.
    pub fn draw(&mut self) {
        self.draws = true;
    }

    /// The case.
    pub fn case(&self) -> &'a dyn Case {
        self.case
    }

    /// The trace.
    pub fn trace(&self) -> &'a Trace {
        self.trace
    }

    /// The world here.
    pub fn world(&self) -> &World {
        match &self.branch {
            Some(branch) => branch.world(),
            None => self.replay.world(),
        }
    }

    /// So many events have happened.
    pub fn at(&self) -> usize {
        match &self.branch {
            Some(branch) => branch.at(),
            None => self.at,
        }
    }

    /// Events of the trace.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Has the trace no event?
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The event after which the trace was left, if it was.
    pub fn left_at(&self) -> Option<usize> {
        self.branch.as_ref().map(Branch::from)
    }

    /// The last event that was stepped over.
    pub fn last(&self) -> Option<&Stepped> {
        self.last.as_ref()
    }

    /// What this process holds of objects.
    pub fn views(&self, process: ProcId) -> Vec<wavetank_component::View> {
        self.case.views(self.world(), process)
    }

    /// What was told until here, on the trace and on the branch.
    pub fn told(&self) -> Vec<Told> {
        let before = self.left_at().unwrap_or(self.at);
        let past = (1..).zip(self.events.iter().zip(&self.past)).take(before);
        let past = past.flat_map(|(number, (event, past))| {
            let told = past.told.iter().cloned();
            told.map(move |(who, text)| (number, event.at, who, text))
        });
        let branch = self.branch.iter().flat_map(|branch| branch.told());
        past.chain(branch).collect()
    }

    /// The events of the trace until here that wrote a key, in words.
    pub fn writes_of(&self, key: &str) -> Vec<(usize, String)> {
        let before = self.left_at().unwrap_or(self.at);
        let past = (1..).zip(&self.past).take(before);
        let wrote = past.filter(|(_, past)| past.keys.iter().any(|own| own == key));
        let in_words = wrote.map(|(number, past)| {
            let about = past.told.iter().filter(|(_, text)| text.contains(key));
            let texts: Vec<String> = about.map(|(who, text)| format!("{who} {text}")).collect();
            (number, texts.join("; "))
        });
        in_words.collect()
    }

    /// The next event: of the trace, or of the branch in the order of virtual time.
    ///
    /// # Errors
    /// [`Stuck`].
    pub fn step(&mut self) -> Result<&Stepped, Stuck> {
        let stepped = match &mut self.branch {
            Some(branch) => branch.next()?,
            None => self.follow_one()?,
        };
        Ok(self.last.insert(stepped))
    }

    /// When the next event is, if there is one.
    pub fn next_at(&self) -> Option<Time> {
        match &self.branch {
            Some(branch) => branch.next_at(),
            None => self.events.get(self.at).map(|event| event.at),
        }
    }

    fn follow_one(&mut self) -> Result<Stepped, Stuck> {
        let event = *self.events.get(self.at).ok_or(Stuck::End)?;
        let line = Line::Event(event.clone());
        let replay = &mut self.replay;
        let replayed = quietly(|| replay.follow(&line));
        let replayed = replayed.map_err(|parting| Stuck::Refused(parting.to_string()))?;
        self.at += 1;
        let report = match &replayed {
            Replayed::Event { report, .. } => Some(&**report),
            _ => None,
        };
        // What is violated stays so: it is told at the event that showed it.
        let violation = self.replay.violation().cloned();
        let ends = self.at == self.events.len();
        Ok(Stepped {
            number: self.at,
            at: self.replay.world().now(),
            name: event.what.to_string(),
            told: told(
                &self.case.describer(),
                self.replay.world(),
                &event.what,
                report,
            ),
            violation: violation.filter(|_| ends),
        })
    }

    /// Goes to the moment after so many events; a branch is left if it began later.
    ///
    /// # Errors
    /// [`Stuck`], at the last event before it that can be reached.
    pub fn goto(&mut self, events: usize) -> Result<(), Stuck> {
        if let Some(branch) = &mut self.branch {
            if events > branch.from() {
                self.last = branch.goto(events)?;
                return Ok(());
            }
            self.branch = None;
        }
        if events < self.at || events / self.stride > self.at / self.stride {
            let kept = (events / self.stride).min(self.kept.len() - 1);
            self.replay = Replay::new(self.kept[kept].clone(), Fit::ByName);
            self.at = kept * self.stride;
            self.last = None;
        }
        // So that the last event is known.
        if events > 0 && self.at == events && self.last.is_none() {
            let kept = (events - 1) / self.stride;
            self.replay = Replay::new(self.kept[kept].clone(), Fit::ByName);
            self.at = kept * self.stride;
        }
        while self.at < events {
            let stepped = self.follow_one()?;
            self.last = Some(stepped);
        }
        Ok(())
    }

    /// How many events of the trace, or of the branch so far, have happened by this time.
    pub fn events_by(&self, at: Time) -> usize {
        let of_trace = self.events.partition_point(|event| event.at <= at);
        match &self.branch {
            Some(branch) if of_trace > branch.from() => {
                let own = branch.lines().partition_point(|event| event.at <= at);
                branch.from() + own
            }
            _ => of_trace,
        }
    }

    /// Leaves the trace here. What follows takes from its rest what fits.
    pub fn leave(&mut self) {
        if self.branch.is_none() {
            let rest = self.trace.lines.iter();
            let rest = rest.filter(|line| matches!(line, Line::Event(_)));
            let (world, rest) = (self.replay.world().clone(), rest.skip(self.at));
            let seed = self.draws.then_some(self.trace.head.seed);
            let branch = Branch::new(self.case, self.trace, self.at, world, rest, seed);
            self.branch = Some(branch);
        }
    }

    /// Does this here and now, on a branch.
    ///
    /// # Errors
    /// [`Stuck`]: then nothing has changed.
    pub fn act(&mut self, action: &Action) -> Result<&Stepped, Stuck> {
        self.on_branch(|branch| branch.act(action))
    }

    /// Lets this pending event come first, on a branch.
    ///
    /// # Errors
    /// [`Stuck`]: then nothing has changed.
    pub fn first(&mut self, name: &str) -> Result<&Stepped, Stuck> {
        self.on_branch(|branch| branch.first(name))
    }

    /// Lets a process in, on a branch: it is down until it is started, and no part of what is saved.
    pub(crate) fn admit(&mut self, name: &str, process: &(impl Process + Clone)) -> ProcId {
        self.leave();
        let branch = self.branch.as_mut().expect("the trace was left");
        branch.admit(name, process)
    }

    fn on_branch(
        &mut self,
        step: impl FnOnce(&mut Branch<'a>) -> Result<Stepped, Stuck>,
    ) -> Result<&Stepped, Stuck> {
        let was_left = self.branch.is_some();
        self.leave();
        let branch = self.branch.as_mut().expect("the trace was left");
        match step(branch) {
            Ok(stepped) => Ok(self.last.insert(stepped)),
            Err(stuck) => {
                if !was_left {
                    self.branch = None;
                }
                Err(stuck)
            }
        }
    }

    /// Back on the trace, where it was left.
    pub fn rejoin(&mut self) {
        if let Some(branch) = self.branch.take() {
            self.last = None;
            let to = branch.from();
            // The replay still stands there.
            assert_eq!(self.at, to);
        }
    }

    /// What has happened up to here, as a trace.
    pub fn saved(&self) -> Trace {
        let mut head = self.trace.head.clone();
        // It is no run of its seed, and its events may be in any order.
        head.shrunk = true;
        let before = self.left_at().unwrap_or(self.at);
        let events = self.events[..before].iter().copied().cloned();
        let more = self.branch.iter().flat_map(|branch| branch.lines().iter());
        let mut lines: Vec<Line> = events.chain(more.cloned()).map(Line::Event).collect();
        let violation = match &self.branch {
            Some(branch) => branch.violation().cloned(),
            None => self.last.as_ref().and_then(|last| last.violation.clone()),
        };
        lines.push(Line::End(End {
            events: lines.len() as u64,
            violation,
        }));
        Trace { head, lines }
    }
}

/// What is told of an event: by what came from outside, and by processes.
fn told(
    describer: &Describer,
    world: &World,
    what: &wavetank_engine::trace::TraceWhat,
    report: Option<&Report>,
) -> Vec<(String, String)> {
    let mut told = Vec::new();
    if let wavetank_engine::trace::TraceWhat::Act(Action::Fault(fault)) = what
        && report.is_some_and(|report| report.injected)
    {
        told.push(("fault".to_owned(), fault.to_string()));
    }
    for note in report.iter().flat_map(|report| &report.notes) {
        if let Some(description) = describer.describe(world, note) {
            told.push((world.name(note.process).to_owned(), description.text));
        }
    }
    told
}
