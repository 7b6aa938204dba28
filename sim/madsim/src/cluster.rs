//! A world whose processes are nodes of madsim. Here is its one step: what happens is applied, and what follows from it
//! is set going on madsim.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use madsim::rand::{Rng, thread_rng};
use madsim::runtime::Handle;
use madsim::task::NodeId;
use madsim::time::TimeHandle;
use tokio::sync::{Notify, oneshot};
use wavetank_engine::drive::{MOST, livelocked, overgrown, stuck};
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{
    Action, Check, Class, Event, FrameHead, Note, ProcId, Report, Sent, Time, What, World,
};

use crate::guest::Place;
use crate::nodes::Nodes;
use crate::wires::Wires;

/// Every process listens at this port of its node.
pub const PORT: u16 = 2379;

/// More events than so many within so long are a livelock: as many tasks as fit into it have done nothing else.
const MOST_AT_ONCE: u32 = 100_000;
const AT_ONCE: Duration = Duration::from_millis(10);
/// Whoever looks at the size of the world does so after so many events.
const LOOK_EVERY: u64 = 1_024;

/// The address of a process of a cluster, by its number. Nodes of your own have addresses elsewhere.
pub fn address(process: ProcId) -> SocketAddr {
    let [high, low] = ((process.index() + 1) as u16).to_be_bytes();
    let ip = IpAddr::V4(Ipv4Addr::new(10, 77, high, low));
    SocketAddr::new(ip, PORT)
}

thread_local! {
    /// The cluster of the runtime that runs on this thread: a runtime of madsim never leaves its thread.
    static CURRENT: RefCell<Weak<Mutex<State>>> = const { RefCell::new(Weak::new()) };
}

/// A world on madsim. Copies are the same one.
#[derive(Clone)]
pub struct Cluster(Arc<Mutex<State>>);

/// What somebody does with a note that a process tells.
pub(crate) type OnNote = Box<dyn Fn(&Note) + Send>;

pub(crate) struct State {
    pub world: World,
    pub nodes: Nodes,
    pub wires: Wires,
    /// Entries for which there is a task.
    armed: BTreeSet<u64>,
    /// When the world began, by madsim's clock.
    begun: Duration,
    log: Vec<String>,
    events: u64,
    /// Since when events are counted, and how many there were.
    moment: (Time, u32),
    tested: Vec<u64>,
    pub injected: BTreeMap<&'static str, u64>,
    verdict: Option<FoundViolation>,
    over: Arc<Notify>,
    /// Who waits until so many more events have happened at a process.
    waits: Vec<(ProcId, u32, oneshot::Sender<()>)>,
    pub guests: BTreeMap<ProcId, OnNote>,
    /// Guests that have left: others may have their places.
    pub vacant: Vec<Place>,
}

/// What became of a frame that was to arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    Done,
    /// A pause or a cut holds it up.
    HeldUp,
    /// There is none.
    Nothing,
}

/// What a cluster has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub log: Vec<String>,
    pub events: u64,
    pub tested: Vec<u64>,
    pub injected: BTreeMap<&'static str, u64>,
    pub verdict: Option<FoundViolation>,
}

impl Cluster {
    /// The processes of a world at time zero, each on a node of its own. All are down until somebody starts them
    /// ([`Cluster::act`] with `Fault::Start`, or [`storm`](crate::storm)).
    ///
    /// # Panics
    /// Outside of a runtime of madsim.
    pub fn new(world: World) -> Cluster {
        let properties = world.properties().len();
        let state = State {
            wires: Wires::default(),
            nodes: Nodes::default(),
            armed: BTreeSet::new(),
            begun: TimeHandle::current().elapsed(),
            log: Vec::new(),
            events: 0,
            moment: (Time::ZERO, 0),
            tested: vec![0; properties],
            injected: BTreeMap::new(),
            verdict: None,
            over: Arc::new(Notify::new()),
            waits: Vec::new(),
            guests: BTreeMap::new(),
            vacant: Vec::new(),
            world,
        };
        let cluster = Cluster(Arc::new(Mutex::new(state)));
        cluster.make_nodes();
        CURRENT.set(Arc::downgrade(&cluster.0));
        cluster
    }

    /// The one that runs here.
    ///
    /// # Panics
    /// If none does.
    pub fn current() -> Cluster {
        let current = CURRENT.with_borrow(Weak::upgrade);
        Cluster(current.expect("no cluster runs on this madsim: make one with `Cluster::new`"))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the world.
    pub fn look<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.lock().world)
    }

    /// The violation that has ended it, if one has.
    pub fn violation(&self) -> Option<FoundViolation> {
        self.lock().verdict.clone()
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.lock().events
    }

    /// All that has happened, a line an event.
    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    pub(crate) fn seen(&self) -> Seen {
        let state = self.lock();
        Seen {
            log: state.log.clone(),
            events: state.events,
            tested: state.tested.clone(),
            injected: state.injected.clone(),
            verdict: state.verdict.clone(),
        }
    }

    /// Waits for a violation of a guarantee.
    pub async fn violated(&self) {
        let over = self.lock().over.clone();
        let found = over.notified();
        if self.violation().is_none() {
            found.await;
        }
    }

    /// Does something from outside: starts a process, strikes it, tells it something. Did it find its target?
    pub fn act(&self, action: &Action) -> bool {
        let name = serde_json::to_string(action).unwrap_or_default();
        self.happen(None, Event::Act(action), &name)
    }

    /// The storm is over: what properties promise has to come true from now on.
    pub fn calm(&self) {
        self.happen(None, Event::Calm, "calm");
    }

    /// Waits until so many more events have happened at a process: in the middle of its work.
    pub(crate) async fn after_events(&self, process: ProcId, events: u32) {
        let (done, waits) = oneshot::channel();
        self.lock().waits.push((process, events, done));
        // An error is as good: the cluster has ended.
        let _ = waits.await;
    }
}

/// The step.
impl Cluster {
    /// Applies an event of a process or from outside now, and sets going what follows from it. Did it have an effect?
    pub(crate) fn happen(&self, process: Option<ProcId>, event: Event<'_>, name: &str) -> bool {
        let mut state = self.lock();
        let state = &mut *state;
        if state.verdict.is_some() {
            return false;
        }
        let at = state.now();
        state.log.push(format!("{at} {name}"));
        state.events += 1;
        if state.is_livelocked(at) {
            let how = format!("{MOST_AT_ONCE} events within {AT_ONCE:?}, up to {at} s");
            return state.end(livelocked(how));
        }
        let mut sent: Vec<Sent> = Vec::new();
        let world = &mut state.world;
        let applied = catch_unwind(AssertUnwindSafe(|| {
            world.apply_or_end(at, event, &mut |one| {
                sent.push(one);
                // By itself it never arrives.
                Duration::MAX
            })
        }));
        let report = match applied {
            Ok(Ok(report)) => report,
            Ok(Err(error)) => return state.end(built_in("no-misfit", error.to_string())),
            Err(panic) => return state.end(built_in("no-panic", text(panic.as_ref()))),
        };
        let injected = report.injected;
        state.judge(report);
        self.follow_lives(state);
        for one in sent {
            self.carry(state, one);
        }
        state.forget_wires();
        self.arm(state);
        state.count_down(process);
        injected
    }

    /// Lets the next frame of a wire arrive.
    pub(crate) fn deliver(&self, wire: FrameHead) -> Delivery {
        let found = self.look(|world| {
            let mut entries = world.pending();
            let entry = entries.find(|entry| entry.what == What::Frame(wire));
            match entry {
                Some(entry) => {
                    let name = world.render(&world.entry_name(entry));
                    Ok((entry.process, entry.seq, name))
                }
                None if world.is_connected(wire) && world.under_way(wire) > 0 => {
                    Err(Delivery::HeldUp)
                }
                None => Err(Delivery::Nothing),
            }
        });
        match found {
            Ok((process, seq, name)) => {
                self.happen(Some(process), Event::Pending(seq), &name);
                Delivery::Done
            }
            Err(other) => other,
        }
    }

    /// What is pending at a process has a task on its node, which waits until it is due: so the order of what is due at
    /// one time is that in which madsim runs tasks.
    fn arm(&self, state: &mut State) {
        let entries = state.world.pending();
        let own = entries.filter(|entry| !matches!(entry.what, What::Frame(_)));
        let own: Vec<(u64, Time, ProcId)> = own
            .filter(|entry| !state.armed.contains(&entry.seq))
            .map(|entry| (entry.seq, entry.at, entry.process))
            .collect();
        let now = state.now();
        for (seq, at, process) in own {
            state.armed.insert(seq);
            let cluster = self.clone();
            let wait = at.since(now);
            state.nodes.spawn(process, async move {
                if wait > Duration::ZERO {
                    madsim::time::sleep(wait).await;
                }
                cluster.fall_due(seq);
            });
        }
    }

    /// It is time for an entry, if it is still pending.
    fn fall_due(&self, seq: u64) {
        let found = {
            let mut state = self.lock();
            state.armed.remove(&seq);
            let world = &state.world;
            let mut entries = world.pending();
            let entry = entries.find(|entry| entry.seq == seq);
            entry.map(|entry| (*entry, world.render(&world.entry_name(entry))))
        };
        let Some((entry, name)) = found else {
            return; // cancelled, or held up
        };
        let process = Some(entry.process);
        match entry.what {
            What::Choose { domain, .. } => {
                let value = thread_rng().gen_range(0..domain.max(1));
                self.happen(
                    process,
                    Event::Choice(seq, value),
                    &format!("{name}: {value}"),
                );
            }
            _ => {
                self.happen(process, Event::Pending(seq), &name);
            }
        }
    }
}

impl State {
    /// The time of the world is madsim's.
    fn now(&self) -> Time {
        let elapsed = TimeHandle::current().elapsed();
        let nanos = elapsed.saturating_sub(self.begun).as_nanos();
        Time::from_nanos(nanos as u64)
    }

    /// Tasks take time, so no two events are at one instant: a few milliseconds stand for it.
    fn is_livelocked(&mut self, at: Time) -> bool {
        let (since, events) = self.moment;
        self.moment = match at.since(since) < AT_ONCE {
            true => (since, events + 1),
            false => (at, 0),
        };
        self.moment.1 > MOST_AT_ONCE
    }

    fn count_down(&mut self, process: Option<ProcId>) {
        for (_, left, _) in self
            .waits
            .iter_mut()
            .filter(|(own, ..)| Some(*own) == process)
        {
            *left = left.saturating_sub(1);
        }
        for (_, _, done) in self.waits.extract_if(.., |(_, left, _)| *left == 0) {
            let _ = done.send(());
        }
    }

    fn end(&mut self, found: FoundViolation) -> bool {
        self.verdict.get_or_insert(found);
        self.over.notify_waiters();
        false
    }

    /// What properties say of it.
    fn judge(&mut self, mut report: Box<Report>) {
        let mut found = stuck(&mut report);
        if found.is_none() && self.events.is_multiple_of(LOOK_EVERY) {
            found = overgrown(&self.world, MOST);
        }
        for (index, check) in report.checks.drain(..) {
            let at = usize::from(index);
            match check {
                Check::Idle => {}
                Check::Held => self.tested[at] += 1,
                Check::Violated(violation) => {
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
        for note in &report.notes {
            if let Some(on_note) = self.guests.get(&note.process) {
                on_note(note);
            }
        }
        World::recycle(report);
        if let Some(found) = found {
            self.end(found);
        }
    }
}

/// The node that a task of this one runs on.
pub(crate) fn spawn_on(node: NodeId, task: impl Future<Output = ()> + Send + 'static) {
    let handle = Handle::current();
    let node = handle.get_node(node).expect("nodes stay for ever");
    drop(node.spawn(task));
}

fn built_in(property: &str, message: String) -> FoundViolation {
    FoundViolation {
        property: property.to_owned(),
        kind: "simulation".to_owned(),
        object: String::new(),
        message,
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_owned()
}
