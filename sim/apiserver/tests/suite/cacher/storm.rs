//! Storms over watch caches: whatever strikes, a watch from R gets every later event, in order, or
//! is told that it cannot; and when all is healed caches are as etcd is.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::ENDPOINTS;
use wavetank_api::{Object, WatchEvent};
use wavetank_apiserver::CacheDefect;
use wavetank_apiserver::cacher::{self, Cacher, Watch};
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Seeded, Workload};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::{Line, Record};
use wavetank_engine::*;
use wavetank_etcd::EtcdDefect;
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{
    Client, DeleteRange, Etcd, Keys, Put, Range, Request, Revision, Store, Txn, TxnOp,
};
use wavetank_releases::{V1_20, V1_36, VERSIONS};
use wavetank_version::{Set, Version};

use crate::cacher::lab::{at, streamed};

const ROAM: Name = Name::new("roam");
const SCRIBBLE: Name = Name::new("scribble");
const PRUNE: Name = Name::new("prune");

/// What somebody who follows a cache tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Roamed {
    /// A watch from this revision.
    Began(u64, Revision),
    /// An event of it.
    Saw(u64, Revision),
    /// What it has seen in all, by listing and watching.
    Knows(u64, Revision),
    /// It lists what is newest.
    Asks(u64),
    /// It got these.
    Listed {
        number: u64,
        newest: bool,
        revision: Revision,
        items: Vec<(String, Revision)>,
    },
}

/// A server, and somebody in it who lists and watches without end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Server {
    config: cacher::Config,
}

static BEGUN: Cell<u64> = Cell::new("begun");

impl Process for Server {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        Cacher::new(self.config, &ENDPOINTS).start(cx);
        let all = if self.config.release >= V1_36 { 4 } else { 3 };
        for number in 0..all {
            let roam = Roam {
                number,
                open: None,
                filling: false,
            };
            cx.spawn(Task::new(ROAM, roam));
        }
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        let args = json!({"resource": "endpoints"});
        cacher::command(cx, self.config, &Default::default(), what, &args).expect("hold or release")
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        cacher::routine(task).unwrap_or_else(|| {
            let cacher = Cacher::new(self.config, &ENDPOINTS);
            Box::pin(roam(Rx::new(), cacher, *task.args()))
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Roam {
    number: u64,
    /// The watch, and its number among all.
    open: Option<(Watch, u64)>,
    /// Do its initial events come yet?
    filling: bool,
}

async fn roam(rx: Rx, cacher: Cacher, roam: Roam) -> Outcome {
    let again = |open| Outcome::Become(Task::new(ROAM, Roam { open, ..roam }));
    let Some((watch, begun)) = roam.open else {
        let pause = if roam.number == 1 { 20 } else { 500 };
        rx.sleep(Duration::from_millis(pause)).await;
        let begun = rx.update(&BEGUN, |begun| {
            *begun += 1;
            *begun
        });
        let prefix = ENDPOINTS.key("", "");
        if roam.number == 3 {
            let options = streamed(at(None));
            let Ok(watch) = cacher.watch(rx, prefix, &options, None).await else {
                return again(None);
            };
            let filling = Roam {
                open: Some((watch, begun)),
                filling: true,
                ..roam
            };
            return Outcome::Become(Task::new(ROAM, filling));
        }
        let newest = roam.number == 0;
        if newest {
            rx.note(Roamed::Asks(roam.number));
        }
        let options = at(if newest { None } else { Some(0) });
        let Ok(listed) = cacher.get_list(rx, prefix.clone(), &options).await else {
            return again(None);
        };
        let items = listed.items.iter();
        let items = items.map(|item| (item.object.name().to_owned(), item.resource_version));
        rx.note(Roamed::Listed {
            number: roam.number,
            newest,
            revision: listed.revision,
            items: items.collect(),
        });
        let options = at(listed.revision);
        let Ok(watch) = cacher.watch(rx, prefix, &options, None).await else {
            return again(None);
        };
        rx.note(Roamed::Began(begun, listed.revision));
        rx.note(Roamed::Knows(roam.number, listed.revision));
        return again(Some((watch, begun)));
    };
    match watch.next(rx).await {
        Some(WatchEvent::Object(..)) if roam.filling => again(roam.open),
        Some(WatchEvent::Object(_, stored)) => {
            rx.note(Roamed::Saw(begun, stored.resource_version));
            rx.note(Roamed::Knows(roam.number, stored.resource_version));
            // Now and then somebody does not read for a while.
            if roam.number == 2 && rx.choose(30).await == 1 {
                rx.sleep(Duration::from_secs(4)).await;
            }
            // Another begins anew all the time.
            if roam.number == 1 && rx.choose(4).await == 1 {
                watch.stop(rx);
                return again(None);
            }
            again(roam.open)
        }
        Some(WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
            ..
        }) => {
            if initial_events_end {
                rx.note(Roamed::Began(begun, resource_version));
                rx.note(Roamed::Knows(roam.number, resource_version));
            }
            let filling = roam.filling && !initial_events_end;
            Outcome::Become(Task::new(ROAM, Roam { filling, ..roam }))
        }
        Some(WatchEvent::Error(_)) | None => {
            watch.stop(rx);
            let anew = Roam {
                open: None,
                filling: false,
                ..roam
            };
            Outcome::Become(Task::new(ROAM, anew))
        }
    }
}

/// Writes Endpoints, deletes them, and compacts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Writer {
    etcd: Client,
}

impl Process for Writer {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        cx.spawn(Task::new(
            if what == "prune" { PRUNE } else { SCRIBBLE },
            (),
        ));
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        match task.kind() == PRUNE {
            true => Box::pin(prune(Rx::new(), self.etcd)),
            false => Box::pin(scribble(Rx::new(), self.etcd)),
        }
    }
}

async fn scribble(rx: Rx, etcd: Client) -> Outcome {
    let name = format!("e{}", rx.choose(4).await);
    let key = ENDPOINTS.key("default", &name);
    let object = Object::new(json!({"metadata": {"name": name, "namespace": "default"}}));
    let op = match rx.choose(4).await {
        0 => TxnOp::DeleteRange(DeleteRange {
            keys: Keys::One(key),
            prev_kv: false,
        }),
        _ => TxnOp::Put(Put::new(key, object)),
    };
    let txn = Txn {
        compare: vec![],
        success: vec![op],
        failure: vec![],
    };
    let _ = etcd.txn(rx, txn).await;
    Outcome::Done
}

async fn prune(rx: Rx, etcd: Client) -> Outcome {
    let range = Range::of(Keys::one("nothing"));
    if let Ok(ranged) = etcd.range::<Object>(rx, range).await {
        let compact = Request::<Object>::Compact {
            revision: ranged.revision,
            physical: false,
        };
        let _ = etcd.once(rx, compact).await;
    }
    Outcome::Done
}

/// Guarantee: each write is an Endpoints, so a watch sees revision after revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct NoGap {
    last: BTreeMap<(ProcId, u64), Revision>,
}

impl Property for NoGap {
    fn name(&self) -> &'static str {
        "no-gap"
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        match note.body.get::<Roamed>() {
            Some(Roamed::Began(watch, revision)) => {
                self.last.insert((note.process, *watch), *revision);
                Check::Idle
            }
            Some(Roamed::Saw(watch, revision)) => {
                let last = self.last.insert((note.process, *watch), *revision);
                let last = last.expect("it began");
                match last + 1 == *revision {
                    true => Check::Held,
                    false => Check::Violated(Violation {
                        kind: "watch",
                        object: watch.to_string(),
                        message: format!("after {last} came {revision}"),
                    }),
                }
            }
            _ => Check::Idle,
        }
    }
}

/// Guarantee: a list is what etcd had at its revision; one of the newest is not older than its
/// request.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct ListsAreTrue {
    asked: BTreeMap<(ProcId, u64), Revision>,
}

impl Property for ListsAreTrue {
    fn name(&self) -> &'static str {
        "lists-are-true"
    }
    fn note(&mut self, world: &World, note: &Note) -> Check {
        let store = newest(world);
        match note.body.get::<Roamed>() {
            Some(Roamed::Asks(number)) => {
                self.asked.insert((note.process, *number), store.revision());
                Check::Idle
            }
            Some(Roamed::Listed {
                number,
                newest,
                revision,
                items,
            }) => {
                let asked = self.asked.get(&(note.process, *number)).copied();
                let stale = *newest && Some(*revision) < asked;
                let mut true_ones = Vec::new();
                for name in ["e0", "e1", "e2", "e3"] {
                    match store.at(&ENDPOINTS.key("default", name), *revision) {
                        Ok(Some(kv)) => true_ones.push((name.to_owned(), kv.mod_revision)),
                        Ok(None) => {}
                        Err(_) if stale => {}
                        Err(_) => return Check::Idle, // nobody knows any more
                    }
                }
                if stale || true_ones != *items {
                    return Check::Violated(Violation {
                        kind: "list",
                        object: number.to_string(),
                        message: format!(
                            "at {revision}, asked at {asked:?}: {items:?}, not {true_ones:?}"
                        ),
                    });
                }
                Check::Held
            }
            _ => Check::Idle,
        }
    }
}

static KNOWN: [&str; 2] = ["a1", "a2"];
static MEMBERS: [&str; 3] = ["e1", "e2", "e3"];

/// The store of the member that is furthest: what is applied there is committed.
fn newest(world: &World) -> &Store<Object> {
    let members = MEMBERS.iter().filter_map(|name| world.find(name));
    let stores = members.filter_map(|member| {
        let etcd = world.process::<Etcd<Object>>(member);
        etcd.map(Etcd::store)
    });
    stores
        .max_by_key(|store| store.revision())
        .expect("there is one")
}

/// Guarantee: who follows a cache gets to where etcd was when calm began.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct CatchesUp {
    goal: Revision,
    known: BTreeMap<(ProcId, u64), Revision>,
}

impl Property for CatchesUp {
    fn name(&self) -> &'static str {
        "catches-up"
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(Roamed::Knows(number, revision)) = note.body.get() {
            self.known.insert((note.process, *number), *revision);
        }
        Check::Idle
    }
    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.goal = newest(world).revision();
        Some(Duration::from_secs(90))
    }
    fn deadline(&mut self, world: &World) -> Check {
        for ((process, number), revision) in &self.known {
            if *revision < self.goal {
                return Check::Violated(Violation {
                    kind: "cache",
                    object: world.name(*process).to_owned(),
                    message: format!("{number} has seen {revision} of {}", self.goal),
                });
            }
        }
        Check::Held
    }
}

/// What is on in the caches, and in etcd.
type On = (Set<CacheDefect>, Set<EtcdDefect>);

const NOTHING: On = (Set::NONE, Set::NONE);

fn world(release: Version, (cache, etcd): On, members: usize) -> World {
    let members = &MEMBERS[..members];
    let mut all = members.to_vec();
    all.extend(KNOWN);
    all.push("writer");
    let ids: Vec<ProcId> = members
        .iter()
        .map(|name| WorldBuilder::id_of(name, &all))
        .collect();
    // Each talks to another member, as far as there are some.
    let client = |at: usize| Client::new(ids[at % ids.len()]);
    let mut builder = WorldBuilder::new();
    for (at, name) in members.iter().enumerate() {
        // A defect of etcd is on in etcd.
        let config = wavetank_etcd::Config {
            me: MemberId(at as u8),
            members: ids.clone(),
            defects: etcd,
            ..wavetank_etcd::Config::single(ids[0])
        };
        builder.process(name, Etcd::<Object>::new(config));
    }
    for (at, name) in KNOWN.iter().enumerate() {
        let config = cacher::Config {
            release,
            defects: cache,
            etcd: client(at),
            progress: true,
            versions: Default::default(),
        };
        builder.process(name, Server { config });
    }
    builder.process("writer", Writer { etcd: client(2) });
    builder
        .property(Box::new(NoGap::default()))
        .property(Box::new(CatchesUp::default()))
        .property(Box::new(ListsAreTrue::default()))
        .build()
}

fn simulate(world: World, seed: u64, limits: Limits) -> wavetank_engine::drive::Outcome {
    let ms = Duration::from_millis;
    let servers: Vec<String> = KNOWN.iter().map(|name| (*name).to_owned()).collect();
    let members = MEMBERS.iter().filter(|name| world.find(name).is_some());
    let members: Vec<String> = members.map(|name| (*name).to_owned()).collect();
    let mut all = servers.clone();
    all.extend(members.clone());
    let mut first = members;
    first.push("writer".to_owned());
    let command = |processes: &[String], what: &str, every| Workload {
        processes: processes.to_vec(),
        what: what.to_owned(),
        every: ms(every),
        ends: false,
    };
    let writer = ["writer".to_owned()];
    let kinds = [
        FaultKind::Crash,
        FaultKind::Pause,
        FaultKind::Deschedule,
        FaultKind::Partition,
        FaultKind::Reset,
        FaultKind::HalfOpen,
        FaultKind::Stall,
        FaultKind::SlowLink,
    ];
    let fault_schedule = FaultSchedule {
        storm: Time::from_secs(60),
        start_within: ms(2000),
        start_first: first,
        budgets: kinds
            .into_iter()
            .map(|kind| Budget {
                kind,
                max: if kind == FaultKind::Deschedule { 40 } else { 6 },
                lasts: (ms(10), ms(8000)),
                gone_per_million: 0,
                amount: (2, 200),
                targets: all.clone(),
            })
            .collect(),
        workload: vec![
            command(&writer, "scribble", 200),
            command(&writer, "prune", 5000),
            command(&servers, "hold", 9000),
            command(&servers, "release", 3000),
        ],
        latency: Latency {
            base: (ms(1), ms(3)),
            tail_per_million: 10_000,
            tail: (ms(10), ms(300)),
        },
        directed: Vec::new(),
    };
    let choices = Seeded::new(seed, &world, fault_schedule);
    Run::new(world, choices, limits, Record::default()).finish()
}

const END: Time = Time::from_secs(200);

fn lines(outcome: &wavetank_engine::drive::Outcome) -> Vec<Line> {
    let name = |p: ProcId| outcome.world.name(p).to_owned();
    outcome.record.lines(&name, outcome.end()).collect()
}

fn is_clean(release: Version, members: usize, seed: u64) {
    let outcome = simulate(world(release, NOTHING, members), seed, Limits::until(END));
    let at = format!("{release}, {members} members, seed {seed}");
    assert_eq!(outcome.ending, Ending::Clean, "{at}");
    let tested = &outcome.tallies.tested;
    assert!(tested[0] > 100 && tested[2] > 10, "{at}: {tested:?}");
}

/// `WAVETANK_STORMS=100` makes so many of them.
#[test]
fn a_mended_cache_loses_nothing() {
    let asked = std::env::var("WAVETANK_STORMS").ok();
    let storms = asked.map_or(5, |storms| storms.parse().expect("a number of storms"));
    for release in VERSIONS {
        for seed in 0..storms {
            is_clean(release, 1, seed);
        }
        for seed in 0..storms.div_ceil(3) {
            is_clean(release, 3, seed);
        }
    }
    // A compaction took what a deletion was to be told with, in the middle of a message.
    is_clean(V1_36, 1, 124);
}

#[test]
fn rebuilt_and_replayed_it_goes_the_same_way() {
    for release in VERSIONS {
        let limits = Limits::until(Time::from_secs(20));
        let live = simulate(world(release, NOTHING, 1), 3, limits);
        let strict = Limits {
            rebuild: true,
            check_digests: true,
            ..limits
        };
        let rebuilt = simulate(world(release, NOTHING, 1), 3, strict);
        let told = lines(&live);
        assert_eq!(told, lines(&rebuilt), "{release}");
        assert!(live.world == rebuilt.world, "{release}");
        let mut replay = Replay::new(world(release, NOTHING, 1), Fit::Strict);
        for line in &told {
            if let Err(parting) = replay.follow(line) {
                panic!("{release}: {parting}");
            }
        }
    }
}

#[test]
fn storms_find_these_defects() {
    let found = |release, on, seeds| {
        (0..seeds).find_map(|seed| {
            let outcome = simulate(world(release, on, 1), seed, Limits::until(END));
            match outcome.ending {
                Ending::Violated(found) => Some((seed, found.property)),
                Ending::Clean => None,
            }
        })
    };
    for (defect, seeds) in [
        (CacheDefect::DeletedAtOldRevision, 5),
        (CacheDefect::EmptyWindowMissesEvent, 20),
    ] {
        let found = found(V1_20, (Set::NONE.with(defect, true), Set::NONE), seeds);
        assert!(found.is_some(), "{defect:?}");
    }
    // v1.36 believes what etcd tells of its progress (k/k's `feature_support_checker` is why).
    let etcd = Set::NONE.with(EtcdDefect::ProgressOvertakesEvents, true);
    let found = found(V1_36, (Set::NONE, etcd), 40);
    let (_, property) = found.expect("a list misses what etcd has");
    assert_eq!(property, "lists-are-true");
}
