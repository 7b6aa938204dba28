//! A replica of a hosted program as a process of the world: its life, and who carries its requests.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, mem};

use bytes::Bytes;
use kube::Client;
use serde_json::Value as Json;
use wavetank_api::http::{Content, WatchEvent, WatchPart};
use wavetank_api::{Request, Response};
use wavetank_client::LoadBalancer;
use wavetank_engine::{
    Caller, Cell, Condition, Cx, Digest, Either, Instant, Keepalive, Name, NetError, NotState,
    Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Status, Stream, Task, Time, Timer,
    Transport, World, digest,
};

use crate::http::{self, Head};
use crate::life::{self, Main, Turned};
use crate::observed::{Answered, Asked, Began, Came, Exited};
use crate::sys::Clocks;
use crate::wire::{Incoming, Outgoing};

/// Why there is no copy of a world with a hosted program.
pub(crate) const NO_COPY: &str = "a hosted operator is a program and no value, so there is no copy of its world: runs, \
     replays, shrinking, blame and seeds work, going back in time and searching do not";

const BEGIN: Name = Name::new("begin");
const TURN: Name = Name::new("turn");
const ASK: Name = Name::new("ask");
const WATCH: Name = Name::new("watch");
/// The program's own next timer.
const ALARM: Timer = Timer::new(Name::new("alarm"), 0);
const LET_GO: Timer = Timer::new(Name::new("let-go"), 0);

/// Requests that the program no longer waits for, by number.
const FORGOTTEN: &str = "forgotten";
/// A watch that was held back is let go.
const RELEASED: Condition = Condition::new("released", 0);
/// Only to learn the time by.
static TIME: Cell<bool> = Cell::new("time");

/// `Config::new` of kube (`kube-client/src/config/mod.rs`, 5.0).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// `pool_idle_timeout` of hyper-util.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// So long Linux sends again what nobody acknowledges (`tcp_retries2`), before a connection has failed.
pub(crate) const GIVEN_UP_AFTER: Duration = Duration::from_secs(924);
/// The last of these.
const LAST_TRY: Duration = Duration::from_secs(120);

/// A connection of kube's client: it has no limit for reading and sends no pings, so that only the kernel notices a dead
/// one, while a request is under way.
static CONNECTION: Transport = Transport {
    name: Name::new("kube"),
    dial_timeout: CONNECT_TIMEOUT,
    keepalive: Some(Keepalive {
        after: GIVEN_UP_AFTER.saturating_sub(LAST_TRY),
        limit: LAST_TRY,
        idle: false,
    }),
    window: Some(1024),
};

/// kubelet's back-off of a container that ends by itself (`MaxContainerBackOff`, `pkg/kubelet/kubelet.go`, v1.36.2).
const FIRST_RESTART: Duration = Duration::from_secs(10);
const LAST_RESTART: Duration = Duration::from_secs(300);
/// The number that a driver draws for a life is smaller.
const NUMBERS: u64 = 1 << 32;
/// A program whose next timer is farther away has none.
const FAR: Duration = Duration::from_secs(30 * 24 * 3600);

/// How a program begins: with a client and its own name.
pub(crate) type Start = Arc<dyn Fn(Client, &str) -> Main + Send + Sync>;

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
    held: BTreeSet<String>,
    idle: Idle,
    time: NotState<LocalTime>,
}

/// The connections of its client that carry nothing: to which server each goes, and since when. With HTTP/1.1 a request has
/// a connection for itself, and takes the one that was used last (`hyper-util/src/client/legacy/pool.rs`, 0.1.21).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Idle(Vec<(u32, Instant)>);

impl Idle {
    fn take(&mut self, now: Time) -> Option<u32> {
        self.0
            .retain(|(_, since)| now.since(since.0) < IDLE_TIMEOUT);
        self.0.pop().map(|(server, _)| server)
    }

    fn give(&mut self, server: u32, now: Time) {
        self.0.push((server, Instant(now)));
    }

    /// The link to this server broke.
    fn forget(&mut self, server: u32) {
        self.0.retain(|(own, _)| *own != server);
    }
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
        let (name, start) = (self.name.clone(), self.program.start.clone());
        let start = move |client: Client| start(client, &name);
        // Replicas that draw alike are still not alike.
        let number = digest(&(&*self.name, number));
        let life = life::begin(
            &start,
            self.program.namespace,
            number,
            Clocks { monotonic, wall },
        );
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

    fn waits_for(&self, id: u64) -> bool {
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
            other => return Err(format!("knows `hold` and `release`, not `{other}`")),
        }
        Ok(())
    }

    fn crash(&mut self) {
        if let Some(life) = mem::take(&mut self.alive).0 {
            life::end(life);
        }
        self.held.clear();
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
            return Box::pin(ask(rx, balancer, id, request));
        }
        assert!(kind == WATCH, "no routine `{kind}`");
        Box::pin(watch(rx, balancer, task.args::<Watch>().clone()))
    }
}

fn now(rx: Rx) -> u64 {
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
fn deliver(rx: Rx, id: u64, all: Vec<Incoming>) -> Outcome {
    rx.process(|own: &mut Hosted| {
        for incoming in all {
            own.deliver(id, incoming);
        }
    });
    Outcome::Become(Task::new(TURN, false))
}

/// What a program sees of a failure, as hyper shows it.
fn seen(error: NetError) -> io::ErrorKind {
    match error {
        NetError::Refused => io::ErrorKind::ConnectionRefused,
        NetError::DialTimeout => io::ErrorKind::TimedOut,
        NetError::Reset => io::ErrorKind::ConnectionReset,
        NetError::Cancelled => io::ErrorKind::ConnectionAborted,
    }
}

fn answer(response: &Response) -> Vec<Incoming> {
    vec![
        Incoming::Head(Head::of(response)),
        Incoming::Bytes(http::body(response)),
        Incoming::End,
    ]
}

fn came(response: &Response) -> Came {
    let text: Arc<str> = match &response.content {
        Content::Status(status) if !status.success => status.message.as_str().into(),
        Content::One(stored) => format!("resourceVersion {}", stored.resource_version).into(),
        Content::List(list) => {
            let (count, revision) = (list.items.len(), list.resource_version);
            format!("{count} items of resourceVersion {revision}").into()
        }
        _ => "".into(),
    };
    Came::Code(response.code, text)
}

/// One request.
async fn ask(rx: Rx, balancer: LoadBalancer, id: u64, request: Request) -> Outcome {
    let what: Arc<str> = request.to_string().into();
    let asked = async {
        let at = Time::from_nanos(now(rx));
        let server = match rx.process(|own: &mut Hosted| own.idle.take(at)) {
            Some(server) => server,
            None => balancer.draw(rx).await,
        };
        if !rx.process(|own: &mut Hosted| own.waits_for(id)) {
            return None;
        }
        let to = balancer.servers[server as usize];
        let call = rx.call(&CONNECTION, to, Payload::new(request));
        Some((server, call.await))
    };
    let forgotten = rx.changed(Condition::new(FORGOTTEN, id));
    let Either::Left(Some((server, answered))) = rx.select(asked, forgotten).await else {
        return Outcome::Done;
    };
    let (came, all) = match answered {
        Ok(payload) => {
            let response = payload.expect::<Response>();
            let at = Time::from_nanos(now(rx));
            rx.process(|own: &mut Hosted| own.idle.give(server, at));
            (came(response), answer(response))
        }
        Err(error) => {
            rx.process(|own: &mut Hosted| own.idle.forget(server));
            (Came::Broken(error), vec![Incoming::Broken(seen(error))])
        }
    };
    rx.note(Answered { id, what, came });
    deliver(rx, id, all)
}

/// A watch that is under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    id: u64,
    request: Request,
    /// Once it is sent.
    at: Option<(ProcId, Stream)>,
}

impl Watch {
    fn new(id: u64, request: Request) -> Watch {
        let at = None;
        Watch { id, request, at }
    }

    /// What is watched, `websites.example.com`.
    fn resource(&self) -> String {
        let parts: Vec<&str> = self.request.path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            other => ("", other),
        };
        let plural = match rest {
            ["namespaces", _, plural, ..] | [plural, ..] => *plural,
            [] => "",
        };
        match group {
            "" => plural.to_owned(),
            group => format!("{plural}.{group}"),
        }
    }
}

/// A watch has a connection of its own, as each request has; each turn of this takes one part of it.
async fn watch(rx: Rx, balancer: LoadBalancer, mut watch: Watch) -> Outcome {
    let id = watch.id;
    let forgotten = || rx.changed(Condition::new(FORGOTTEN, id));
    let (server, stream) = match watch.at {
        Some(at) => at,
        None => {
            let drawn = rx.select(balancer.draw(rx), forgotten()).await;
            let Either::Left(drawn) = drawn else {
                return Outcome::Done;
            };
            if !rx.process(|own: &mut Hosted| own.waits_for(id)) {
                return Outcome::Done;
            }
            let server = balancer.servers[drawn as usize];
            let body = Payload::new(watch.request.clone());
            (server, rx.open_stream(&CONNECTION, server, body))
        }
    };
    watch.at = Some((server, stream));
    let resource = watch.resource();
    let part = async {
        while rx.process(|own: &mut Hosted| own.held.contains(&resource)) {
            rx.changed(RELEASED).await;
        }
        rx.next(stream).await
    };
    let Either::Left(part) = rx.select(part, forgotten()).await else {
        rx.close_stream(stream);
        return Outcome::Done;
    };
    let (came, all) = parted(&part);
    let what: Arc<str> = watch.request.to_string().into();
    let is_over = matches!(all.last(), Some(Incoming::End | Incoming::Broken(_)));
    if is_over {
        rx.close_stream(stream);
    } else {
        rx.spawn(Task::new(WATCH, watch));
    }
    rx.note(Answered { id, what, came });
    deliver(rx, id, all)
}

/// A part of a watch, as it is told and as the program gets it.
fn parted(part: &Result<Option<Payload>, NetError>) -> (Came, Vec<Incoming>) {
    let payload = match part {
        Err(error) => return (Came::Broken(*error), vec![Incoming::Broken(seen(*error))]),
        Ok(None) => return (Came::Closed, vec![Incoming::End]),
        Ok(Some(payload)) => payload,
    };
    let Some(part) = payload.get::<WatchPart>() else {
        // A path that names an object is no watch: it is answered like any GET.
        let response = payload.expect::<Response>();
        return (came(response), answer(response));
    };
    match part {
        WatchPart::Accepted => {
            let head = Incoming::Head(Head::of_watch());
            (Came::Code(200, "".into()), vec![head])
        }
        WatchPart::Refused(response) => (came(response), answer(response)),
        WatchPart::Event(event) => (told(event), vec![Incoming::Bytes(line(event))]),
        WatchPart::Closed => (Came::Closed, vec![Incoming::End]),
    }
}

fn told(event: &WatchEvent) -> Came {
    let of = match event {
        WatchEvent::Object(_, stored) => {
            let object = &stored.object;
            let revision = stored.resource_version;
            match object.namespace() {
                "" => format!("{} of {revision}", object.name()),
                namespace => format!("{namespace}/{} of {revision}", object.name()),
            }
        }
        WatchEvent::Bookmark {
            resource_version, ..
        } => format!("of {resource_version}"),
        WatchEvent::Error(status) => status.message.clone(),
    };
    Came::Event(event.kind().name(), of.into())
}

/// An event as it comes over the network.
fn line(event: &WatchEvent) -> Bytes {
    let mut line = serde_json::to_vec(&event.json()).expect("it is JSON");
    line.push(b'\n');
    line.into()
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
