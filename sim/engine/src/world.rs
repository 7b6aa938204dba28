//! The world: one transition system, stepped by whoever drives it.
//!
//! Here are its parts, how it is built, its one step ([`World::apply`]), and what makes two worlds
//! equal. What can be seen of it is in `world/look.rs`, how routines run in `world/run.rs`,
//! how they talk in `world/talk.rs`, connections in `world/wire.rs`, the flow of their streams in
//! `world/flow.rs`, faults in `world/strike.rs`, what to say of those that strike nothing in `world/missed.rs`, identity in `world/identity.rs`, steps that need not
//! be run again in `world/known.rs`. What all of these work on is `world/state.rs`, to which a step comes
//! through `world/view.rs`. No randomness, clock or I/O is here.

mod flow;
mod identity;
mod known;
mod look;
mod missed;
mod run;
mod state;
mod strike;
mod talk;
mod view;
mod wire;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use thiserror::Error;
use triomphe::Arc;

use crate::conn::{ConnId, Dir, Frame};
use crate::context::Cx;
use crate::digest::{Cached, exactly};
use crate::exchange::{Answer, Log};
use crate::fault::Action;
use crate::memory::Memory;
use crate::message::Payload;
use crate::name::{ProcId, RoutineId};
use crate::net::{LinkSpec, Sent};
use crate::not_state::NotState;
use crate::observe::{CellKey, Observed, Observer, Teller, moved};
use crate::process::Process;
use crate::property::{Check, Note, Property};
use crate::queue::{Entry, What};
use crate::slot::{Slot, Status};
use crate::time::Time;

pub(crate) use state::{After, State};
use view::View;
pub(crate) use view::Watch;

/// Entries that belong to no process.
const NOBODY: ProcId = ProcId(u16::MAX);

/// Storm or calm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// Faults strike; safety is checked.
    Storm,
    /// All is healed; the rest must converge.
    Calm,
}

/// What a driver can apply.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The pending entry with this sequence number.
    Pending(u64),
    /// The pending choice with this sequence number, answered.
    Choice(u64, u64),
    /// An action from outside.
    Act(&'a Action),
    /// The storm is over: properties with a deadline start to count.
    Calm,
}

/// Why an event could not be applied. The world is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApplyError {
    /// No such entry is pending.
    #[error("the event is not pending")]
    NotPending(u64),
    /// An action names a process that this world does not have.
    #[error("there is no process `{0}`")]
    NoProcess(String),
    /// A process did not understand its command.
    #[error("{0}")]
    NotUnderstood(String),
}

/// What one event caused.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// For a fault: did it find its target?
    pub injected: bool,
    /// What processes told.
    pub notes: Vec<Note>,
    /// What properties said, by their index; those that were not concerned are left out.
    pub checks: Vec<(u16, Check)>,
    /// How long each frame that was sent will take, in nanoseconds, in order.
    pub delays: Vec<u64>,
    /// Entries with a sequence number from here on were made by this event.
    pub first_seq: u64,
    /// Routines that wait for each other's locks from now on, for people.
    pub deadlock: Option<String>,
    /// What would have gone on for ever within this event, for people. The world is of no use any more.
    pub livelock: Option<String>,
    /// What happened inside, if the world is observed.
    pub observed: Option<Box<Observed>>,
}

/// So many routines are polled within one event at most: more is a livelock.
const MOST_POLLS: u32 = 10_000;

/// So many lives begin within one event at most: more is a livelock. A life costs more than a poll: what it
/// sent is not forgotten before the event is over, and the end of each later life looks through all of it.
const MOST_LIVES: u32 = 100;

/// What happens within one event; empty between events, and no part of the state.
#[derive(Debug, Default)]
struct Scratch {
    outbox: Vec<(ConnId, Dir, Frame)>,
    ready: VecDeque<(ProcId, RoutineId, Arrival)>,
    /// Who ends, and whether it is started again.
    exits: Vec<(ProcId, bool)>,
    /// Routines that were polled and go on waiting, among other things for a lock that another one holds.
    waiting: Vec<(ProcId, RoutineId)>,
    /// Logs of routines that are over, emptied: they save memory from being asked for anew.
    logs: Vec<Log>,
}

impl Scratch {
    /// Of an event that came to no good end nothing may stay behind for the next.
    fn clear(&mut self) {
        self.outbox.clear();
        self.ready.clear();
        self.exits.clear();
        self.waiting.clear();
    }
}

impl Report {
    fn is_stuck(&self) -> bool {
        self.deadlock.is_some() || self.livelock.is_some()
    }
}

/// What a world has only while an event is applied.
#[derive(Debug)]
struct OnLoan<T>(Option<Box<T>>);

impl<T> Clone for OnLoan<T> {
    fn clone(&self) -> OnLoan<T> {
        OnLoan(None)
    }
}

const APPLIED: &str = "an event is applied";

impl<T> Deref for OnLoan<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().expect(APPLIED)
    }
}

impl<T> DerefMut for OnLoan<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(APPLIED)
    }
}

thread_local! {
    /// Memory for the next event of whichever world this thread steps; always empty of content.
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
    /// And for what it causes.
    static RECYCLED: Cell<Option<Box<Report>>> = const { Cell::new(None) };
}

#[derive(Debug)]
enum Arrival {
    First,
    Answer(u32, Answer),
}

/// The properties, with what they remember: copied on write, each for itself.
type Watchers = Arc<Vec<Arc<Cached<Box<dyn Property>>>>>;

/// Tells a property of a note.
fn notify(watchers: &mut Watchers, index: usize, world: &World, note: &Note) -> Check {
    if let Some(check) = watchers[index].glance(world, note) {
        return check;
    }
    if let Some(own) = Arc::get_mut(watchers).and_then(|own| Arc::get_mut(&mut own[index])) {
        return own.note(world, note);
    }
    // Of most notes a property remembers nothing: then the one that others have, too, will do.
    let shared = &watchers[index];
    let mut property = Box::clone(shared);
    let check = property.note(world, note);
    if !exactly(|| property.as_ref().same(shared.as_ref().as_ref())) {
        Arc::make_mut(watchers)[index] = Arc::new(Cached::new(property));
    }
    check
}

/// A whole system: processes, connections, what is pending, and the properties' memory.
///
/// Cloning copies pointers; what changes afterwards is copied on write. A live future goes to whichever of
/// the copies steps its routine first; the others rebuild it if they need it. Equality and hash cover the
/// whole state, relative to the current time.
#[derive(Clone)]
pub struct World {
    view: View,
    /// Absent only while one of them is being asked.
    watchers: Option<Watchers>,
    rebuilt: NotState<u64>,
    scratch: NotState<OnLoan<Scratch>>,
    report: NotState<OnLoan<Report>>,
    observer: NotState<Observer>,
    /// Are all fingerprints cached, so that nothing has to be looked through for one that is not?
    all_cached: NotState<bool>,
}

/// Collects the parts of a world.
#[derive(Debug, Default)]
pub struct WorldBuilder {
    processes: Vec<(String, Box<dyn Process>)>,
    properties: Vec<Box<dyn Property>>,
    spec: LinkSpec,
}

impl WorldBuilder {
    /// Nothing yet.
    pub fn new() -> WorldBuilder {
        WorldBuilder::default()
    }

    /// Adds a process; it is down until a `Fault::Start`.
    pub fn process(&mut self, name: &str, process: impl Process) -> &mut WorldBuilder {
        self.processes.push((name.to_owned(), Box::new(process)));
        self
    }

    /// The identity that `name` will have in a world with exactly these processes. Processes are
    /// numbered in the order of their names, so that one can be told of another before it exists.
    ///
    /// # Panics
    /// If `name` is not among them.
    pub fn id_of<S: AsRef<str>>(name: &str, all: &[S]) -> ProcId {
        assert!(
            all.iter().any(|n| n.as_ref() == name),
            "no process `{name}`"
        );
        ProcId(all.iter().filter(|n| n.as_ref() < name).count() as u16)
    }

    /// Adds a property.
    pub fn property(&mut self, property: Box<dyn Property>) -> &mut WorldBuilder {
        self.properties.push(property);
        self
    }

    /// Sets the nominal latencies.
    pub fn links(&mut self, spec: LinkSpec) -> &mut WorldBuilder {
        self.spec = spec;
        self
    }

    /// The world, at time zero.
    ///
    /// # Panics
    /// If two processes have one name.
    pub fn build(&mut self) -> World {
        let mut processes = std::mem::take(&mut self.processes);
        processes.sort_by(|(a, _), (b, _)| a.cmp(b));
        for pair in processes.windows(2) {
            assert!(pair[0].0 != pair[1].0, "two processes `{}`", pair[0].0);
        }
        let properties = std::mem::take(&mut self.properties).into_iter();
        let watchers = properties.map(|property| Arc::new(Cached::new(property)));
        let slots = processes.into_iter().map(|(name, process)| {
            let slot = Slot::new(name.into(), process);
            Arc::new(Cached::new(slot))
        });
        World {
            view: View::new(State::new(slots.collect(), self.spec)),
            watchers: Some(Arc::new(watchers.collect())),
            rebuilt: NotState(0),
            scratch: NotState(OnLoan(None)),
            report: NotState(OnLoan(None)),
            observer: NotState::default(),
            all_cached: NotState(false),
        }
    }
}

/// Guests.
impl World {
    /// Lets one more process in, between events; it is down until a `Fault::Start`. For somebody who looks at a copy of
    /// a world as its clients do: what is there keeps its names and numbers.
    ///
    /// # Panics
    /// Unless its name comes after all others.
    pub fn join(&mut self, name: &str, process: impl Process) -> ProcId {
        let state = self.view.state_mut();
        let last = state.slots.last().map(|slot| &*slot.name);
        assert!(last < Some(name), "`{name}` does not come last");
        let slot = Slot::new(name.into(), Box::new(process));
        state.slots.push(Arc::new(Cached::new(slot)));
        *self.all_cached = false;
        ProcId((self.view.state().slots.len() - 1) as u16)
    }
}

/// Stepping the world.
impl World {
    /// Applies one event at time `at` (or now, if that is later). `latency` says how long each
    /// frame takes that is sent; on one connection and direction no frame overtakes another.
    ///
    /// # Errors
    /// [`ApplyError`], if the event is not possible here; the world is then as it was.
    pub fn apply(
        &mut self,
        at: Time,
        event: Event<'_>,
        latency: &mut dyn FnMut(Sent) -> Duration,
    ) -> Result<Box<Report>, ApplyError> {
        // A process may refuse what it is told after it has done something.
        let mut before = matches!(event, Event::Act(Action::Command { .. })).then(|| self.clone());
        let applied = self.apply_dropping(at, event, latency, &mut before);
        if applied.is_err()
            && let Some(before) = before
        {
            *self = before;
        }
        applied
    }

    /// As [`World::apply`], for whoever goes no further after an error: no copy is kept of the world as it was.
    ///
    /// # Errors
    /// [`ApplyError`], if the event is not possible here; the world is then of no use any more.
    pub fn apply_or_end(
        &mut self,
        at: Time,
        event: Event<'_>,
        latency: &mut dyn FnMut(Sent) -> Duration,
    ) -> Result<Box<Report>, ApplyError> {
        self.apply_dropping(at, event, latency, &mut None)
    }

    /// Drops the copy of the world as it was once the event can no longer be refused.
    fn apply_dropping(
        &mut self,
        at: Time,
        event: Event<'_>,
        latency: &mut dyn FnMut(Sent) -> Duration,
        before: &mut Option<World>,
    ) -> Result<Box<Report>, ApplyError> {
        if let Event::Act(action) = event {
            self.resolve(action)?;
        }
        let dues = self.observer.is_on().then(|| self.view.state().dues());
        self.begin();
        self.report.injected = match self.take_effect(at, event) {
            Ok(injected) => injected,
            Err(error) => {
                self.end();
                return Err(error);
            }
        };
        // Before anything else happens: what two worlds share has to be copied before it changes.
        *before = None;
        self.settle();
        self.flush(latency);
        self.check_notes();
        if let Some(before) = dues {
            let after = self.view.state().dues();
            self.observer
                .see(|seen| seen.moved = moved(&before, &after));
        }
        Ok(self.end())
    }

    /// An event begins: whatever it makes has a sequence number from here on.
    fn begin(&mut self) {
        self.scratch.0 = OnLoan(Some(SPARE.take().unwrap_or_default()));
        self.report.0 = OnLoan(Some(RECYCLED.take().unwrap_or_default()));
        self.report.first_seq = self.view.next_seq();
        self.all_cached.0 = false;
    }

    /// It is over.
    fn end(&mut self) -> Box<Report> {
        let mut scratch = self.scratch.0.0.take().expect(APPLIED);
        scratch.clear();
        SPARE.set(Some(scratch));
        let mut report = self.report.0.0.take().expect(APPLIED);
        report.observed = self.observer.take();
        report
    }

    /// Entries that are pending or parked, routines, and frames that connections carry: what grows if something goes
    /// on without end.
    pub fn size(&self) -> usize {
        let state = self.view.state();
        let routines = state.slots.iter().map(|slot| slot.routines.len());
        let frames = state.conns.iter().map(|(_, conn)| conn.frames());
        let entries = state.queue.iter().len() + state.parked.iter().len();
        entries + routines.sum::<usize>() + frames.sum::<usize>()
    }

    /// The event itself. Did it find its target?
    fn take_effect(&mut self, at: Time, event: Event<'_>) -> Result<bool, ApplyError> {
        let mut injected = true;
        match event {
            Event::Pending(seq) | Event::Choice(seq, _) => {
                let entry = self.view.take(seq).ok_or(ApplyError::NotPending(seq))?;
                let value = match event {
                    Event::Choice(_, value) => value,
                    _ => 0,
                };
                self.view.pass_to(at);
                self.dispatch(entry, value);
            }
            Event::Act(action) => {
                self.view.pass_to(at);
                injected = self.act(action)?;
            }
            Event::Calm => {
                self.view.pass_to(at);
                self.begin_calm();
            }
        }
        Ok(injected)
    }

    /// Takes a report back that nobody needs any more, so that its memory is used again.
    pub fn recycle(mut report: Box<Report>) {
        let Report {
            injected: _,
            notes,
            checks,
            delays,
            first_seq: _,
            deadlock,
            livelock,
            observed,
        } = &mut *report;
        notes.clear();
        checks.clear();
        delays.clear();
        (*deadlock, *livelock, *observed) = (None, None, None);
        RECYCLED.set(Some(report));
    }

    fn dispatch(&mut self, entry: Entry, value: u64) {
        let p = entry.process;
        match entry.what {
            What::Frame(head) => self.deliver(head),
            What::Conn(timer) => self.conn_timer(timer),
            What::Timer(timer) => self.callback(p, |process, cx| process.timer(cx, timer)),
            What::Sleep { routine, op } => self.answer(p, routine, op, Answer::Unit),
            What::Wake { routine, op } => self.answer(p, routine, op, Answer::Unit),
            What::Grant { lock, routine, op } => self.grant(p, lock, routine, op),
            What::Recv {
                channel,
                routine,
                op,
            } => self.receive_now(p, channel, routine, op),
            What::Send {
                channel,
                routine,
                op,
            } => self.send_now(p, channel, routine, op),
            What::Choose {
                routine,
                op,
                domain,
                ..
            } => self.answer(p, routine, op, Answer::Number(value % domain.max(1))),
            What::Deadline { routine } => self.cancel_context(p, routine),
            What::Property(index) => self.property_deadline(index),
        }
    }

    /// Runs routines until all wait, then ends the processes that asked for it.
    fn settle(&mut self) {
        let (mut polls, mut lives) = (0, 0);
        loop {
            while let Some((process, routine, arrival)) = self.scratch.ready.pop_front() {
                polls += 1;
                if polls > MOST_POLLS {
                    let name = self.view.name(process);
                    let last = format!("{name}/{routine}");
                    return self.give_up(format!(
                        "{MOST_POLLS} routines ran within one event, the last one {last}"
                    ));
                }
                self.poll(process, routine, arrival);
            }
            match self.scratch.exits.pop() {
                Some((process, again)) => {
                    self.end_process(process, Status::Down);
                    if again {
                        lives += 1;
                        if lives > MOST_LIVES {
                            let last = self.view.name(process);
                            return self.give_up(format!(
                                "{MOST_LIVES} lives began within one event, the last one of {last}"
                            ));
                        }
                        self.begin_life(process);
                    }
                }
                None => return self.look_for_deadlocks(),
            }
        }
    }

    /// It goes on and on without waiting for anything.
    fn give_up(&mut self, words: String) {
        self.report.livelock = Some(words);
        self.scratch.clear();
    }

    fn check_notes(&mut self) {
        if self.report.notes.is_empty() {
            return;
        }
        self.all_cached.0 = false;
        let notes = std::mem::take(&mut self.report.notes);
        let mut watchers = self.watchers.take().expect("given back");
        for index in 0..watchers.len() {
            for note in &notes {
                match notify(&mut watchers, index, self, note) {
                    Check::Idle => {}
                    check => self.report.checks.push((index as u16, check)),
                }
            }
        }
        self.watchers = Some(watchers);
        self.report.notes = notes;
    }

    fn begin_calm(&mut self) {
        self.view.state_mut().phase = Phase::Calm;
        for index in 0..self.watchers().len() {
            let within = self.with_property(index, |property, world| property.calm(world));
            if let Some(within) = within {
                self.view
                    .enqueue(within, NOBODY, What::Property(index as u16));
            }
        }
    }

    fn property_deadline(&mut self, index: u16) {
        let check = self.with_property(index.into(), |property, world| property.deadline(world));
        if check != Check::Idle {
            self.report.checks.push((index, check));
        }
    }

    fn with_property<R>(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut dyn Property, &World) -> R,
    ) -> R {
        let mut watchers = self.watchers.take().expect("given back");
        let watcher = Arc::make_mut(&mut Arc::make_mut(&mut watchers)[index]);
        let result = work(watcher.as_mut(), self);
        self.watchers = Some(watchers);
        result
    }
}

/// Small parts that all of the step uses.
impl World {
    /// The properties; only while one of them is being asked there are none.
    fn watchers(&self) -> &[Arc<Cached<Box<dyn Property>>>] {
        self.watchers.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn memory_mut(&mut self, process: ProcId) -> &mut Memory {
        &mut self.view.slot_mut(process).memory
    }

    /// From now on what happens inside of events is written down.
    pub fn observe(&mut self) {
        self.observer.begin();
    }

    /// A callback comes to a cell, and may change it.
    pub(crate) fn observe_cell(&mut self, process: ProcId, cell: CellKey) {
        self.observer.see(|seen| {
            seen.seen.push((process, cell));
            seen.changed.push((process, cell));
        });
    }

    pub(crate) fn note(&mut self, process: ProcId, teller: Teller, body: Payload) {
        self.observer.see(|seen| {
            let told = match teller {
                Teller::Routine(routine) => (Some(routine), seen.telling.pop_front()),
                Teller::Callback(place) => (None, Some(place)),
            };
            seen.told.push(told);
        });
        self.report.notes.push(Note { process, body });
    }

    /// Calls back into a process with the world around it.
    fn callback<R>(
        &mut self,
        me: ProcId,
        work: impl FnOnce(&mut dyn Process, &mut Cx<'_>) -> R,
    ) -> R {
        let mut process = self
            .view
            .slot_mut(me)
            .process
            .take()
            .expect("callbacks do not nest");
        let result = work(&mut *process, &mut Cx { world: self, me });
        self.view.slot_mut(me).process = Some(process);
        result
    }
}
