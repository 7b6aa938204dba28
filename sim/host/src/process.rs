//! A replica of a hosted program as a process of the world: its life, and what it is told. Who carries its requests is in
//! `carry.rs`, what disturbs it in `sieve.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, mem};

use serde_json::Value as Json;
use wavetank_api::Request;
use wavetank_client::LoadBalancer;
use wavetank_components::sieve::PATTERNS;
use wavetank_engine::{
    Caller, Cell, Condition, Cx, Digest, Name, NotState, Outcome, Payload, Process, RoutineFuture,
    Rx, Status, Task, Timer, World, digest,
};

use crate::carry::{self, FORGOTTEN, Idle, Watch};
use crate::http;
use crate::life::{self, Main, Turned};
use crate::observed::{Asked, Began, Exited};
use crate::sieve;
use crate::sys::Clocks;
use crate::wire::{Incoming, Outgoing, Wire};

/// Why there is no copy of a world with a hosted program.
pub(crate) const NO_COPY: &str = "a hosted operator is a program and no value, so there is no copy of its world: runs, \
     replays, shrinking, blame and seeds work, going back in time and searching do not";

const BEGIN: Name = Name::new("begin");
const TURN: Name = Name::new("turn");
const ASK: Name = Name::new("ask");
pub(crate) const WATCH: Name = Name::new("watch");
const STRIKE: Name = Name::new("strike");
/// The program's own next timer.
const ALARM: Timer = Timer::new(Name::new("alarm"), 0);
pub(crate) const LET_GO: Timer = Timer::new(Name::new("let-go"), 0);
/// A strike that found nothing to strike is off.
pub(crate) const LAPSE: Timer = Timer::new(Name::new("lapse"), 0);

/// A watch that was held back is let go.
pub(crate) const RELEASED: Condition = Condition::new("released", 0);
/// In the place of a resource: whatever it watches is held back.
pub(crate) const EVERYTHING: &str = "*";
/// Only to learn the time by.
static TIME: Cell<bool> = Cell::new("time");

/// kubelet's back-off of a container that ends by itself (`MaxContainerBackOff`, `pkg/kubelet/kubelet.go`, v1.36.2).
const FIRST_RESTART: Duration = Duration::from_secs(10);
const LAST_RESTART: Duration = Duration::from_secs(300);
/// The number that a driver draws for a life is smaller.
const NUMBERS: u64 = 1 << 32;
/// A program whose next timer is farther away has none.
const FAR: Duration = Duration::from_secs(30 * 24 * 3600);

/// How a program begins: with what its client is made of, the namespace of its pods, and its own name.
pub(crate) type Start = Arc<dyn Fn(Wire, &'static str, &str) -> Main + Send + Sync>;

/// The life of a replica, if it has one. A copy of a world would need a second one.
#[derive(PartialEq, Eq, Debug, Default)]
struct Alive(Option<u64>);

/// By hand: what runs cannot be copied.
impl Clone for Alive {
    fn clone(&self) -> Alive {
        assert!(self.0.is_none(), "{NO_COPY}");
        Alive(None)
    }
}

/// By hand: which life it is does not matter; what it has done is in [`Hosted::done`].
impl Hash for Alive {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.is_some().hash(state);
    }
}

/// What programs are replicas of.
#[derive(Clone)]
pub(crate) struct Program {
    pub key: Name,
    pub namespace: &'static str,
    pub start: Start,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// A replica.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Hosted {
    name: Arc<str>,
    program: NotState<Program>,
    balancer: LoadBalancer,
    alive: Alive,
    /// Of all that it has ever asked for.
    done: Digest,
    /// So often in a row it has ended by itself.
    exits: u32,
    /// Did it, and nobody else, end its last life?
    exited: bool,
    /// The resources whose watches are held back.
    pub(crate) held: BTreeSet<String>,
    /// It ends when so many more of its writes are done.
    pub(crate) ends_after: Option<u32>,
    pub(crate) idle: Idle,
    time: NotState<LocalTime>,
}

/// Its monotonic clock, which counts as its timers do.
#[derive(Clone, Copy, Debug, Default)]
struct LocalTime {
    /// What the clock showed at the last turn,
    counted: u64,
    /// when the world's time was this.
    world: u64,
    /// What it will show when the next timer is due.
    alarm: u64,
}

impl LocalTime {
    /// Time has gone on to `now`. A clock that is slow or fast has its timers late or early, and by these it goes.
    fn pass(&mut self, now: u64, is_alarm: bool) -> u64 {
        let passed = self.counted + (now - self.world);
        self.counted = match is_alarm {
            true => self.alarm.max(self.counted),
            false => passed.min(self.alarm.max(self.counted)),
        };
        self.world = now;
        self.counted
    }
}

impl Hosted {
    pub fn new(name: &str, program: Program, balancer: LoadBalancer) -> Hosted {
        Hosted {
            name: name.into(),
            program: NotState(program),
            balancer,
            alive: Alive::default(),
            done: 0,
            exits: 0,
            exited: false,
            held: BTreeSet::new(),
            ends_after: None,
            idle: Idle::default(),
            time: NotState(LocalTime::default()),
        }
    }

    /// How long whoever looks after it waits before it is started: after a fault its machine does so at once.
    fn restarts_after(&mut self) -> Duration {
        if !mem::take(&mut self.exited) {
            self.exits = 0;
            return Duration::ZERO;
        }
        let doubled = FIRST_RESTART.saturating_mul(1 << (self.exits - 1).min(16));
        doubled.min(LAST_RESTART)
    }

    fn begin(&mut self, now: u64, wall: u64, number: u64) {
        let monotonic = now;
        self.time.0 = LocalTime {
            counted: now,
            world: now,
            alarm: now,
        };
        let (name, program) = (self.name.clone(), self.program.0.clone());
        let start = move |wire: Wire| (program.start)(wire, program.namespace, &name);
        // Replicas that draw alike are still not alike.
        let number = digest(&(&*self.name, number));
        let life = life::begin(&start, number, Clocks { monotonic, wall });
        self.alive = Alive(Some(life));
    }

    fn turn(&mut self, now: u64, wall: u64, is_alarm: bool) -> Turned {
        let monotonic = self.time.0.pass(now, is_alarm);
        let life = self.alive.0.expect("turns are of a life");
        let turned = life::turn(life, Clocks { monotonic, wall });
        let next = u64::try_from(turned.next.as_nanos()).unwrap_or(u64::MAX);
        self.time.0.alarm = monotonic.saturating_add(next);
        for out in &turned.out {
            self.done = digest(&(self.done, out));
        }
        if turned.ended.is_some() {
            self.exited = true;
            self.exits += 1;
        }
        turned
    }

    fn deliver(&mut self, id: u64, incoming: Incoming) {
        if let Some(life) = self.alive.0 {
            life::deliver(life, id, incoming);
        }
    }

    /// What it is a replica of.
    pub fn program(&self) -> Name {
        self.program.key
    }

    /// Where its pods run.
    pub fn namespace(&self) -> &'static str {
        self.program.namespace
    }

    pub fn is_held(&self, resource: &str) -> bool {
        self.held.contains(resource) || self.held.contains(EVERYTHING)
    }

    pub fn waits_for(&self, id: u64) -> bool {
        self.alive.0.is_some_and(|life| life::is_open(life, id))
    }
}

impl Process for Hosted {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(BEGIN, self.restarts_after()));
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a hosted program: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if timer == ALARM {
            return cx.spawn(Task::new(TURN, true));
        }
        if timer == LAPSE {
            self.ends_after = None;
            return;
        }
        assert!(timer == LET_GO, "an unknown timer: {timer:?}");
        self.held.clear();
        cx.broadcast(RELEASED);
    }

    /// `hold` and `release`: it hears no more of a resource that it watches.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let resource = args["resource"].as_str().unwrap_or_default().to_owned();
        match what {
            "hold" => {
                self.held.insert(resource);
                if let Some(seconds) = args["seconds"].as_u64() {
                    cx.arm(LET_GO, Duration::from_secs(seconds));
                }
            }
            "release" => {
                self.held.remove(&resource);
                cx.broadcast(RELEASED);
            }
            other if PATTERNS.contains(&other) => {
                cx.spawn(Task::new(STRIKE, other.to_owned()));
            }
            other => return Err(format!("knows `hold` and `release`, not `{other}`")),
        }
        Ok(())
    }

    fn crash(&mut self) {
        if let Some(life) = mem::take(&mut self.alive).0 {
            life::end(life);
        }
        self.held.clear();
        self.ends_after = None;
        self.idle = Idle::default();
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        let (kind, balancer) = (task.kind(), self.balancer.clone());
        if kind == BEGIN {
            return Box::pin(begin(rx, *task.args()));
        }
        if kind == TURN {
            return Box::pin(turn(rx, self.program.key, *task.args()));
        }
        if kind == ASK {
            let (id, request) = task.args::<(u64, Request)>().clone();
            return Box::pin(carry::ask(rx, balancer, id, request));
        }
        if kind == STRIKE {
            return Box::pin(sieve::strike(rx, task.args::<String>().clone()));
        }
        assert!(kind == WATCH, "no routine `{kind}`");
        Box::pin(carry::watch(rx, balancer, task.args::<Watch>().clone()))
    }
}

pub(crate) fn now(rx: Rx) -> u64 {
    rx.update_at(&TIME, |_, now| now.nanos())
}

async fn begin(rx: Rx, after: Duration) -> Outcome {
    if !after.is_zero() {
        rx.sleep(after).await;
    }
    let number = rx.choose(NUMBERS).await;
    let (now, wall) = (now(rx), rx.clock().nanos());
    rx.note(Began);
    rx.process(|own: &mut Hosted| own.begin(now, wall, number));
    Outcome::Become(Task::new(TURN, false))
}

/// The program goes on; what it wants of the network is begun.
async fn turn(rx: Rx, program: Name, is_alarm: bool) -> Outcome {
    let (now, wall) = (now(rx), rx.clock().nanos());
    let turned = rx.process(|own: &mut Hosted| own.turn(now, wall, is_alarm));
    for out in turned.out {
        match out {
            Outgoing::Ask(id, request) => {
                rx.note(Asked::of(id, &request));
                rx.spawn(match http::is_watch(&request) {
                    true => Task::new(WATCH, Watch::new(id, request)),
                    false => Task::new(ASK, (id, request)),
                });
            }
            Outgoing::Forget(id) => rx.broadcast(Condition::new(FORGOTTEN, id)),
        }
    }
    if let Some(how) = turned.ended {
        rx.note(Exited { program, how });
        rx.restart();
    } else if turned.next < FAR {
        rx.arm(ALARM, turned.next);
    } else {
        rx.disarm(ALARM);
    }
    Outcome::Done
}

/// Something has come for the program: it goes on in the same event.
pub(crate) fn deliver(rx: Rx, id: u64, all: Vec<Incoming>) -> Outcome {
    rx.process(|own: &mut Hosted| {
        for incoming in all {
            own.deliver(id, incoming);
        }
    });
    Outcome::Become(Task::new(TURN, false))
}

/// Can the operators of this world do their work: does one of each at least run, and all that is no operator, and does
/// nothing hold up what they say?
pub(crate) fn can_work(world: &World) -> bool {
    let mut running: BTreeMap<&str, bool> = BTreeMap::new();
    for process in world.processes() {
        let is_up = world.status(process) == Status::Up;
        match world.process::<Hosted>(process) {
            Some(own) => *running.entry(own.program.key.as_str()).or_default() |= is_up,
            None if !is_up => return false,
            None => {}
        }
    }
    world.is_healthy() && running.values().all(|is_up| *is_up)
}
