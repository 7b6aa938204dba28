//! The world: one transition system, stepped by whoever drives it.
//!
//! Here are its parts, how it is built, its one step ([`World::apply`]), and what makes two worlds
//! equal. What can be seen of it is in `world/look.rs`, how routines run in `world/run.rs`,
//! how they talk in `world/talk.rs`, connections in `world/wire.rs`, the flow of their streams in
//! `world/flow.rs`, faults in `world/strike.rs`, identity in `world/identity.rs`, steps that need not
//! be run again in `world/known.rs`. No randomness, clock or I/O is here.

mod flow;
mod identity;
mod known;
mod look;
mod run;
mod strike;
mod talk;
mod wire;

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use triomphe::Arc;

use crate::conn::{Conn, ConnId, Dir, Ends, Frame};
use crate::context::Cx;
use crate::digest::{Digest, Known, Sight, digest, exactly};
use crate::exchange::{Answer, Log};
use crate::fault::Action;
use crate::memo::{Edit, Question, Record};
use crate::message::Payload;
use crate::name::{ProcId, RoutineId};
use crate::net::{Link, LinkSpec, Links, Sent};
use crate::process::Process;
use crate::property::{Check, Note, Property};
use crate::queue::{Entry, FrameHead, Queue, Sought, What, Which};
use crate::slot::{Slot, Status};
use crate::time::Time;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// No such entry is pending.
    NotPending(u64),
    /// An action names a process that this world does not have.
    NoProcess(String),
    /// A process did not understand what it was told.
    NotUnderstood(String),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::NotPending(_) => f.write_str("the event is not pending"),
            Misfit::NoProcess(name) => write!(f, "there is no process `{name}`"),
            Misfit::NotUnderstood(what) => f.write_str(what),
        }
    }
}
impl std::error::Error for Misfit {}

/// What one event caused.
#[derive(Clone, Debug)]
pub struct Report {
    /// For a fault: did it find its target?
    pub struck: bool,
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
}

/// What happens within one event; empty between events, and no part of the state.
#[derive(Debug, Default)]
struct Scratch {
    outbox: Vec<(ConnId, Dir, Frame)>,
    ready: VecDeque<(ProcId, RoutineId, Arrival)>,
    /// Who ends, and whether it is started again.
    exits: Vec<(ProcId, bool)>,
    notes: Vec<Note>,
    checks: Vec<(u16, Check)>,
    delays: Vec<u64>,
    deadlock: Option<String>,
    /// Logs of routines that are over, emptied: they save memory from being asked for anew.
    logs: Vec<Log>,
    /// What is written down of this step, if it is to be known later.
    record: Option<Record>,
}

/// A world's scratch: it has one only while an event is applied.
#[derive(Debug)]
struct OnLoan(Option<Box<Scratch>>);

const APPLIED: &str = "an event is applied";

impl Deref for OnLoan {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        self.0.as_ref().expect(APPLIED)
    }
}

impl DerefMut for OnLoan {
    fn deref_mut(&mut self) -> &mut Scratch {
        self.0.as_mut().expect(APPLIED)
    }
}

thread_local! {
    /// Memory for the next event of whichever world this thread steps; always empty of content.
    static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

#[derive(Debug)]
enum Arrival {
    First,
    Answer(u32, Answer),
}

#[derive(Clone, Debug)]
struct Watcher {
    property: Box<dyn Property>,
    digest: Known,
}

impl Watcher {
    fn digest(&self, sight: Sight) -> Digest {
        let property = self.property.as_ref();
        let known = self.digest.get(sight);
        known.unwrap_or_else(|| sight.make(|| property.fingerprint()))
    }
}

/// The properties, with what they remember: copied on write, each for itself.
type Watchers = Arc<Vec<Arc<Watcher>>>;

/// Tells a property of a note.
fn tell(watchers: &mut Watchers, index: usize, world: &World, note: &Note) -> Check {
    if let Some(check) = watchers[index].property.glance(world, note) {
        return check;
    }
    if let Some(own) = Arc::get_mut(watchers).and_then(|own| Arc::get_mut(&mut own[index])) {
        own.digest.forget();
        return own.property.note(world, note);
    }
    // Of most notes a property remembers nothing: then the one that others have, too, will do.
    let shared = &watchers[index];
    let mut property = shared.property.clone();
    let check = property.note(world, note);
    if !exactly(|| property.as_ref().same(shared.property.as_ref())) {
        let digest = Known::default();
        Arc::make_mut(watchers)[index] = Arc::new(Watcher { property, digest });
    }
    check
}

/// A whole system: processes, connections, what is pending, and the properties' memory.
///
/// Cloning copies pointers; what changes afterwards is copied on write. Equality and hash cover the
/// whole state, relative to the current time.
pub struct World {
    now: Time,
    phase: Phase,
    slots: Vec<Arc<Slot>>,
    queue: Queue,
    /// Due or not, these wait for a pause, a cut or a hold to end.
    parked: Queue,
    conns: Vec<(ConnId, Arc<Conn>)>,
    next_conn: u32,
    links: Links,
    spec: LinkSpec,
    /// Absent only while one of them is being asked.
    watchers: Option<Watchers>,
    // What follows is not part of the state.
    next_seq: u64,
    rebuilt: u64,
    scratch: OnLoan,
}

/// What is over, when parked entries go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum After {
    /// A hold of a routine, or the process: they are there already.
    Hold,
    /// A cut: frames are sent again.
    Cut,
    /// A pause: see [`crate::fault::Fault::Resume`].
    Pause { order: u16 },
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
        let watchers = properties.map(|property| {
            let digest = Known::default();
            Arc::new(Watcher { property, digest })
        });
        World {
            now: Time::ZERO,
            phase: Phase::Storm,
            slots: processes
                .into_iter()
                .map(|(name, process)| Arc::new(Slot::new(name.into(), process)))
                .collect(),
            queue: Queue::default(),
            parked: Queue::default(),
            conns: Vec::new(),
            next_conn: 0,
            links: Links::default(),
            spec: self.spec,
            watchers: Some(Arc::new(watchers.collect())),
            next_seq: 0,
            rebuilt: 0,
            scratch: OnLoan(None),
        }
    }
}

/// Stepping the world.
impl World {
    /// Applies one event at time `at` (or now, if that is later). `latency` says how long each
    /// frame takes that is sent; on one connection and direction no frame overtakes another.
    ///
    /// # Errors
    /// [`Misfit`], if the event is not possible here; the world is then as it was.
    pub fn apply(
        &mut self,
        at: Time,
        event: Event<'_>,
        latency: &mut dyn FnMut(Sent) -> Duration,
    ) -> Result<Report, Misfit> {
        if let Event::Act(action) = event {
            self.resolve(action)?;
        }
        let first_seq = self.begin();
        let struck = self.take_effect(at, event);
        if struck.is_ok() {
            self.settle();
            self.flush(latency);
            self.check_notes();
        }
        let report = self.end(first_seq);
        struck.map(|struck| Report { struck, ..report })
    }

    /// An event begins: whatever it makes has a sequence number from here on.
    fn begin(&mut self) -> u64 {
        self.scratch = OnLoan(Some(SPARE.take().unwrap_or_default()));
        self.next_seq
    }

    /// It is over.
    fn end(&mut self, first_seq: u64) -> Report {
        let mut scratch = self.scratch.0.take().expect(APPLIED);
        let report = Report {
            struck: true,
            notes: std::mem::take(&mut scratch.notes),
            checks: std::mem::take(&mut scratch.checks),
            delays: std::mem::take(&mut scratch.delays),
            first_seq,
            deadlock: scratch.deadlock.take(),
        };
        SPARE.set(Some(scratch));
        report
    }

    /// Entries that are pending and routines: what grows if something goes on without end.
    pub fn size(&self) -> usize {
        let routines = self.slots.iter().map(|slot| slot.routines.len());
        self.queue.iter().len() + routines.sum::<usize>()
    }

    /// The event itself. Did it find its target?
    fn take_effect(&mut self, at: Time, event: Event<'_>) -> Result<bool, Misfit> {
        let mut struck = true;
        match event {
            Event::Pending(seq) | Event::Choice(seq, _) => {
                let entry = self.queue.take(seq).ok_or(Misfit::NotPending(seq))?;
                let value = match event {
                    Event::Choice(_, value) => value,
                    _ => 0,
                };
                self.now = self.now.max(at);
                self.dispatch(entry, value);
            }
            Event::Act(action) => {
                self.now = self.now.max(at);
                struck = self.act(action)?;
            }
            Event::Calm => {
                self.now = self.now.max(at);
                self.begin_calm();
            }
        }
        Ok(struck)
    }

    /// Takes a report back that nobody needs any more, so that its memory is used again.
    pub fn recycle(report: Report) {
        let mut scratch = SPARE.take().unwrap_or_default();
        (scratch.notes, scratch.checks, scratch.delays) =
            (report.notes, report.checks, report.delays);
        scratch.notes.clear();
        scratch.checks.clear();
        scratch.delays.clear();
        SPARE.set(Some(scratch));
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
        loop {
            while let Some((process, routine, arrival)) = self.scratch.ready.pop_front() {
                self.poll(process, routine, arrival);
            }
            match self.scratch.exits.pop() {
                Some((process, again)) => {
                    self.end_process(process, Status::Down);
                    if again {
                        self.begin_life(process);
                    }
                }
                None => return,
            }
        }
    }

    fn check_notes(&mut self) {
        if self.scratch.notes.is_empty() {
            return;
        }
        let notes = std::mem::take(&mut self.scratch.notes);
        let mut watchers = self.watchers.take().expect("given back");
        for index in 0..watchers.len() {
            for note in &notes {
                match tell(&mut watchers, index, self, note) {
                    Check::Idle => {}
                    check => self.scratch.checks.push((index as u16, check)),
                }
            }
        }
        self.watchers = Some(watchers);
        self.scratch.notes = notes;
    }

    fn begin_calm(&mut self) {
        self.phase = Phase::Calm;
        for index in 0..self.watchers().len() {
            let within = self.with_property(index, |property, world| property.calm(world));
            if let Some(within) = within {
                self.enqueue(self.now + within, NOBODY, What::Property(index as u16));
            }
        }
    }

    fn property_deadline(&mut self, index: u16) {
        let check = self.with_property(index.into(), |property, world| property.deadline(world));
        if check != Check::Idle {
            self.scratch.checks.push((index, check));
        }
    }

    fn with_property<R>(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut dyn Property, &World) -> R,
    ) -> R {
        let mut watchers = self.watchers.take().expect("given back");
        let watcher = Arc::make_mut(&mut Arc::make_mut(&mut watchers)[index]);
        watcher.digest.forget();
        let result = work(watcher.property.as_mut(), self);
        self.watchers = Some(watchers);
        result
    }
}

/// Small parts that all of the step uses.
impl World {
    pub(crate) fn slot(&self, process: ProcId) -> &Slot {
        &self.slots[process.index()]
    }

    pub(crate) fn slot_mut(&mut self, process: ProcId) -> &mut Slot {
        self.spoil_unless_at(process);
        let slot = Arc::make_mut(&mut self.slots[process.index()]);
        slot.digest.forget();
        slot
    }

    /// A connection, for who is not to know that it was looked at: see [`World::conn`].
    fn peek_conn(&self, id: ConnId) -> Option<&Conn> {
        let at = self.conns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.conns[at].1)
    }

    /// What the ends of a connection know; a step that looks at it depends on it.
    fn conn(&mut self, id: ConnId) -> Option<&Ends> {
        self.ask(Question::Ends(id));
        self.peek_conn(id).map(|conn| &*conn.ends)
    }

    fn conn_mut(&mut self, id: ConnId) -> Option<&mut Ends> {
        self.ask(Question::Ends(id));
        self.whole_conn_mut(id).map(Conn::ends_mut)
    }

    /// A connection with all that is under way on it. What is done to that is written down elsewhere.
    fn whole_conn_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        let at = self.conns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(Arc::make_mut(&mut self.conns[at].1))
    }

    /// The properties; only while one of them is being asked there are none.
    fn watchers(&self) -> &[Arc<Watcher>] {
        self.watchers.as_deref().map_or(&[], Vec::as_slice)
    }

    fn link(&self, from: ProcId, to: ProcId) -> Link {
        self.links.get(from, to)
    }

    pub(crate) fn note(&mut self, process: ProcId, body: Payload) {
        self.scratch.notes.push(Note { process, body });
    }

    /// Calls back into a process with the world around it.
    fn callback<R>(
        &mut self,
        me: ProcId,
        work: impl FnOnce(&mut dyn Process, &mut Cx<'_>) -> R,
    ) -> R {
        let mut process = self
            .slot_mut(me)
            .process
            .take()
            .expect("callbacks do not nest");
        let result = work(process.as_mut(), &mut Cx { world: self, me });
        self.slot_mut(me).process = Some(process);
        result
    }

    fn enqueue(&mut self, at: Time, process: ProcId, what: What) {
        let now = self.now;
        self.write_down(|| Edit::enqueue(at, process, what, now));
        self.enter(at, process, what);
    }

    fn enter(&mut self, at: Time, process: ProcId, what: What) {
        self.admit(Entry::new(at, process, self.next_seq, what));
    }

    /// An entry whose sequence number is the next one.
    fn admit(&mut self, entry: Entry) {
        self.next_seq += 1;
        if self.is_blocked(&entry) {
            self.parked.push(entry);
        } else {
            self.queue.push(entry);
        }
    }

    fn is_blocked(&self, entry: &Entry) -> bool {
        if entry.process == NOBODY {
            return false;
        }
        let slot = self.slot(entry.process);
        slot.paused
            || match entry.what {
                What::Frame(head) => self.peek_conn(head.conn).is_some_and(|conn| {
                    let (from, to) = conn.route(head.dir);
                    self.link(from, to).cuts > 0
                }),
                what => what
                    .routine()
                    .is_some_and(|id| slot.routines.iter().any(|r| r.id == id && r.descheduled)),
            }
    }

    /// Parks what is now blocked.
    fn park(&mut self) {
        self.write_down(|| Edit::Park);
        self.park_now();
    }

    fn park_now(&mut self) {
        let blocked = {
            let mut queue = std::mem::take(&mut self.queue);
            let blocked = queue.extract(|entry| self.is_blocked(entry));
            self.queue = queue;
            blocked
        };
        for entry in blocked {
            self.parked.push(entry);
        }
    }

    /// Lets go on what is no longer blocked, in the order in which it was due.
    fn unpark(&mut self, after: After) {
        self.write_down(|| Edit::Unpark(after));
        self.unpark_now(after);
    }

    fn unpark_now(&mut self, after: After) {
        let mut parked = std::mem::take(&mut self.parked);
        let free = parked.extract(|entry| !self.is_blocked(entry));
        self.parked = parked;
        for mut entry in free {
            match (after, entry.what) {
                (After::Cut, What::Frame(head)) => {
                    let conn = self.peek_conn(head.conn).expect("parked frames have one");
                    let (from, to) = conn.route(head.dir);
                    entry.at = entry.at.max(self.now + self.nominal(from, to));
                }
                (After::Pause { order: order @ 1.. }, _) if entry.at <= self.now => {
                    entry.at = self.now + self.noticed_after(order, &entry);
                    if let What::Frame(head) = entry.what {
                        self.spread(order, head, entry.at);
                    }
                }
                _ => {}
            }
            self.queue.push(entry);
        }
    }

    /// A process that wakes up finds many connections readable and many timers due, and nothing
    /// says which of them it looks at first.
    fn noticed_after(&self, order: u16, entry: &Entry) -> Duration {
        let place = match entry.what {
            What::Frame(head) => {
                let conn = self.peek_conn(head.conn).expect("parked frames have one");
                digest(&(order, conn.client, conn.transport.name, conn.server))
            }
            _ => digest(&(order, self.render(&self.entry_name(entry)))),
        };
        Duration::from_nanos(place % 1_000_000)
    }

    /// Each connection has a reader of its own: between two frames of one that came in meanwhile, frames
    /// of another may be read.
    fn spread(&mut self, order: u16, head: FrameHead, first: Time) {
        let now = self.now;
        let conn = self.whole_conn_mut(head.conn);
        let conn = conn.expect("parked frames have one");
        let place = digest(&(order, conn.client, conn.transport.name, conn.server));
        let mut at = first;
        let flights = conn.flights_mut(head.dir).iter_mut();
        for (number, flight) in flights.take_while(|f| f.at <= now).enumerate() {
            flight.at = at;
            // As often as not there is nothing in between.
            let step = digest(&(place, number));
            at = at + Duration::from_nanos((step >> 32) % 300_000 * (step & 1));
        }
    }

    fn nominal(&self, from: ProcId, to: ProcId) -> Duration {
        let base = match from == to {
            true => self.spec.local,
            false => self.spec.remote,
        };
        base * self.link(from, to).slow
    }

    /// Removes the first entry that does this at this process, pending or parked.
    fn cancel_entry(&mut self, process: ProcId, what: What) {
        let sought = Sought::new(process, what);
        self.write_down(|| Edit::Cancel(sought));
        self.remove(sought);
    }

    fn remove(&mut self, sought: Sought) {
        if self.queue.remove(sought) {
            return;
        }
        self.parked.remove(sought);
    }

    fn cancel_entries(&mut self, which: Which) {
        self.write_down(|| Edit::CancelAll(which));
        self.remove_all(which);
    }

    fn remove_all(&mut self, which: Which) {
        self.queue.discard(|entry| which.is(entry));
        self.parked.discard(|entry| which.is(entry));
    }
}
