//! A small system that uses every part of the engine: a store with compare-and-swap and a stream of
//! its changes, and workers that count in it under a lock.
#![allow(dead_code, missing_docs, reason = "each test uses a part of it")]

use std::time::Duration;

use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Seeded, Workload};
use wavetank_engine::drive::{Limits, Run};
use wavetank_engine::trace::{Line, Record};
use wavetank_engine::*;

pub const LINK: Transport = Transport {
    name: Name::new("store"),
    dial_timeout: Duration::from_secs(3),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(5),
        limit: Duration::from_secs(2),
        idle: false,
    }),
    window: None,
};
static TO_STORE: Transport = LINK;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    Get,
    Cas { version: u64, value: u64 },
    Follow,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Told {
    Now { version: u64, value: u64 },
    Swapped(bool),
}

/// A note: the store has a new version.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Committed {
    pub version: u64,
    pub value: u64,
}

/// A note: how an increment ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    Yes,
    Lost,
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Store {
    pub version: u64,
    pub value: u64,
    pub followers: Vec<Caller>,
    /// A defect: swap without comparing.
    pub careless: bool,
}

impl Process for Store {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let (version, value) = (self.version, self.value);
        match body.expect::<Ask>() {
            Ask::Get => cx.reply(caller, Told::Now { version, value }),
            Ask::Cas { version, value } => {
                let swap = self.careless || *version == self.version;
                if swap {
                    self.version += 1;
                    self.value = *value;
                    let (version, value) = (self.version, self.value);
                    cx.note(Committed { version, value });
                    for follower in &self.followers {
                        cx.push(*follower, Told::Now { version, value });
                    }
                }
                cx.reply(caller, Told::Swapped(swap));
            }
            Ask::Follow => self.followers.push(caller),
        }
    }
    fn cancelled(&mut self, _: &mut Cx<'_>, caller: Caller) {
        self.followers.retain(|f| *f != caller);
    }
    fn crash(&mut self) {
        self.followers.clear();
    }
}

pub const COUNT: Name = Name::new("count");
pub const FOLLOW: Name = Name::new("follow");
pub const TICK: Name = Name::new("tick");
static TURN: Lock = Lock::new("turn");
pub static DONE: Cell<u64> = Cell::new("done");
pub static SEEN: Cell<u64> = Cell::new("seen");
static STOPPING: Signal = Signal::new("stopping");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Worker {
    pub store: ProcId,
    /// How an impure routine is made: see the tests.
    pub flaw: Flaw,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flaw {
    None,
    /// Reads a static.
    Static,
    /// Iterates in the order of a hash with random keys.
    HashOrder,
}

impl Process for Worker {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(FOLLOW, None::<Stream>));
        cx.arm(Timer::new(TICK, 0), Duration::from_millis(700));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        cx.spawn(Task::new(COUNT, self.store));
        cx.arm(timer, Duration::from_millis(700));
    }
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        match what {
            "count" => cx.spawn(Task::new(COUNT, self.store)),
            "remember" => *cx.cell(&SEEN) = args.as_u64().ok_or("needs a number")?,
            _ => return Err(format!("does not know what `{what}` means")),
        }
        Ok(())
    }
    fn stop(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(Name::new("stop"), ()));
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        match task.kind().as_str() {
            "count" => Box::pin(count(Rx::new(), *task.args(), self.flaw)),
            "follow" => Box::pin(follow(Rx::new(), self.store, *task.args())),
            "stop" => Box::pin(stop(Rx::new())),
            other => panic!("no routine {other}"),
        }
    }
}

async fn stop(rx: Rx) -> Outcome {
    rx.raise(STOPPING);
    let _turn = rx.lock(TURN).await;
    rx.exit();
    Outcome::Done
}

async fn count(rx: Rx, store: ProcId, flaw: Flaw) -> Outcome {
    let guard = match rx.select(rx.wait(STOPPING), rx.lock(TURN)).await {
        Either::Left(()) => return Outcome::Done,
        Either::Right(guard) => guard,
    };
    let ended = rx
        .timeout(Duration::from_secs(2), count_once(rx, store, flaw))
        .await;
    drop(guard);
    let (_, ()) = rx
        .join(rx.choose(5), rx.sleep(Duration::from_millis(1)))
        .await;
    rx.note(ended.unwrap_or(Counted::Unknown));
    Outcome::Done
}

async fn count_once(rx: Rx, store: ProcId, flaw: Flaw) -> Counted {
    let Ok(now) = rx.call(&TO_STORE, store, Payload::new(Ask::Get)).await else {
        return Counted::Lost;
    };
    let Told::Now { version, value } = now.expect() else {
        unreachable!()
    };
    rx.sleep(Duration::from_millis(spoilt(flaw))).await;
    let value = value + 1;
    let cas = Payload::new(Ask::Cas {
        version: *version,
        value,
    });
    match rx.call(&TO_STORE, store, cas).await {
        Ok(told) if *told.expect::<Told>() == Told::Swapped(true) => {
            rx.update(&DONE, |done| *done += 1);
            Counted::Yes
        }
        Ok(_) => Counted::Lost,
        Err(error) if error.is_definite() => Counted::Lost,
        Err(_) => Counted::Unknown,
    }
}

/// Milliseconds to think: a pure routine always takes three.
#[allow(
    clippy::disallowed_types,
    clippy::iter_over_hash_type,
    reason = "this is what has to be caught"
)]
fn spoilt(flaw: Flaw) -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    match flaw {
        Flaw::None => 3,
        Flaw::Static => 1 + COUNTER.fetch_add(1, Ordering::Relaxed) % 100,
        Flaw::HashOrder => {
            let set: std::collections::HashSet<u64> = (1..60).collect();
            set.into_iter().next().expect("not empty")
        }
    }
}

async fn follow(rx: Rx, store: ProcId, stream: Option<Stream>) -> Outcome {
    let stream = match stream {
        Some(stream) => stream,
        None => rx.open_stream(&TO_STORE, store, Payload::new(Ask::Follow)),
    };
    match rx.next(stream).await {
        Ok(Some(told)) => {
            let Told::Now { version, .. } = told.expect() else {
                unreachable!()
            };
            rx.update(&SEEN, |seen| *seen = *version);
            Outcome::Become(Task::new(FOLLOW, Some(stream)))
        }
        Ok(None) | Err(_) => {
            rx.sleep(Duration::from_secs(1)).await;
            Outcome::Become(Task::new(FOLLOW, None::<Stream>))
        }
    }
}

/// Guarantee: a version is never lower than one before, and its value counts the swaps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ValueCountsVersions {
    last: u64,
}

impl Property for ValueCountsVersions {
    fn name(&self) -> &'static str {
        "value-counts-versions"
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        let Some(commit) = note.body.get::<Committed>() else {
            return Check::Idle;
        };
        let right = commit.version == self.last + 1 && commit.value == commit.version;
        self.last = commit.version;
        match right {
            true => Check::Held,
            false => Check::Violated(Violation {
                kind: "counter",
                object: "store".to_owned(),
                message: format!("version {} has value {}", commit.version, commit.value),
            }),
        }
    }
}

fn everybody_saw(world: &World) -> Check {
    let store = world.find("store").expect("there is one");
    let version = world.process::<Store>(store).expect("a store").version;
    for worker in world.processes().filter(|p| *p != store) {
        let seen = world.cell(worker, &SEEN);
        if seen + 5 < version {
            return Check::Violated(Violation {
                kind: "worker",
                object: world.name(worker).to_owned(),
                message: format!("has seen {seen} of {version}"),
            });
        }
    }
    Check::Held
}

pub fn world(workers: usize, careless: bool, flaw: Flaw) -> World {
    let names: Vec<String> = (1..=workers).map(|n| format!("w{n}")).collect();
    let mut all = names.clone();
    all.push("store".to_owned());
    let store = WorldBuilder::id_of("store", &all);
    let mut builder = WorldBuilder::new();
    builder.process(
        "store",
        Store {
            careless,
            ..Store::default()
        },
    );
    for name in &names {
        builder.process(name, Worker { store, flaw });
    }
    builder
        .property(Box::new(ValueCountsVersions::default()))
        .property(Box::new(Eventually::new(
            "everybody-sees",
            Duration::from_secs(15),
            |note| note.body.get::<Committed>().is_some(),
            everybody_saw,
        )))
        .property(Box::new(Reached {
            name: "unknown-outcome",
            here: |_, note| note.body.get::<Counted>() == Some(&Counted::Unknown),
        }))
        .build()
}

pub fn fault_schedule(workers: usize) -> FaultSchedule {
    let names: Vec<String> = (1..=workers).map(|n| format!("w{n}")).collect();
    let mut all = names.clone();
    all.push("store".to_owned());
    let ms = Duration::from_millis;
    FaultSchedule {
        storm: Time::from_secs(30),
        start_within: Duration::from_secs(2),
        start_first: vec!["store".to_owned()],
        budgets: FaultKind::ALL
            .into_iter()
            .map(|kind| Budget {
                kind,
                max: 3,
                lasts: (ms(1), ms(8000)),
                gone_per_million: 0,
                amount: (2, 200),
                targets: all.clone(),
            })
            .collect(),
        workload: vec![Workload {
            processes: names,
            what: "count".to_owned(),
            every: ms(1500),
            ends: false,
        }],
        latency: Latency {
            base: (ms(1), ms(5)),
            tail_per_million: 20_000,
            tail: (ms(10), ms(500)),
        },
        directed: Vec::new(),
    }
}

pub const END: Time = Time::from_secs(60);

pub fn simulate(world: World, seed: u64, limits: Limits) -> Outcome_ {
    let workers = world.processes().len() - 1;
    let choices = Seeded::new(seed, &world, fault_schedule(workers));
    Run::new(world, choices, limits, Record::default()).finish()
}

pub type Outcome_ = wavetank_engine::drive::Outcome;

pub fn lines(outcome: &Outcome_) -> Vec<Line> {
    let name = |p: ProcId| outcome.world.name(p).to_owned();
    outcome.record.lines(&name, outcome.end()).collect()
}

pub fn text(outcome: &Outcome_) -> String {
    let lines: Vec<String> = lines(outcome).iter().map(Line::to_string).collect();
    lines.join("\n")
}
