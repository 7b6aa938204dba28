//! Three members in a short storm, and clients that do a few things each.

use std::time::Duration;

use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Seeded, Workload};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::*;
use wavetank_etcd::observed::{Answered, CallId, Called};
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{Client, Config, Etcd, EtcdError, Request};

use crate::linearizability::history::{Bytes, KEYS, Linearizable, Op, Ret};

const MEMBERS: [&str; 3] = ["e1", "e2", "e3"];
const CLIENTS: [&str; 3] = ["u1", "u2", "u3"];
const OPERATE: Name = Name::new("operate");
/// Each client asks so often.
const CALLS: u64 = 6;
/// And waits so long: less than a member does, so that outcomes stay unknown.
const LIMIT: Duration = Duration::from_secs(3);
const STORM: Time = Time::from_secs(20);
const END: Time = Time::from_secs(40);

/// What a client has found under each key.
static FOUND: Cell<[Option<u64>; KEYS.len()]> = Cell::new("found");

/// How clients read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reads {
    Linearizable,
    /// From one member as it is, which nobody promises to be linearizable.
    Serializable,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct User {
    members: [ProcId; MEMBERS.len()],
    reads: Reads,
    calls: u64,
}

impl Process for User {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(&mut self, cx: &mut Cx<'_>, _: &str, _: &serde_json::Value) -> Result<(), String> {
        if self.calls < CALLS {
            self.calls += 1;
            let (client, number) = (cx.me(), self.calls);
            cx.spawn(Task::new(OPERATE, CallId { client, number }));
        }
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(operate(Rx::new(), self.clone(), *task.args()))
    }
}

async fn operate(rx: Rx, user: User, id: CallId) -> Outcome {
    let key = rx.choose(KEYS.len() as u64).await as usize;
    let member = user.members[rx.choose(user.members.len() as u64).await as usize];
    let value = (id.client.index() as u64) << 32 | id.number;
    let op = match rx.choose(4).await {
        0 => Op::Put { key, value },
        1 => Op::Swap {
            key,
            from: rx.read(&FOUND)[key],
            to: value,
        },
        _ => Op::Get { key },
    };
    let mut request = op.request();
    if let (Request::Range(range), Reads::Serializable) = (&mut request, user.reads) {
        range.serializable = true;
    }
    rx.note(Called {
        id,
        request: request.clone(),
    });
    let client = Client::new(member).without_retries();
    let result = rx.timeout(LIMIT, client.once::<Bytes>(rx, request)).await;
    let result = result.unwrap_or(Err(EtcdError::Cancelled));
    if let Ok(response) = &result {
        let found = match Ret::of(response) {
            Ret::Got(found) => found,
            Ret::Done => Some(value),
        };
        rx.update(&FOUND, move |all| all[key] = found);
    }
    rx.note(Answered { id, result });
    Outcome::Done
}

fn world(reads: Reads) -> World {
    let names = [&MEMBERS[..], &CLIENTS[..]].concat();
    let members = MEMBERS.map(|name| WorldBuilder::id_of(name, &names));
    let mut builder = WorldBuilder::new();
    for (index, name) in MEMBERS.into_iter().enumerate() {
        let config = Config {
            me: MemberId(index as u8),
            members: members.to_vec(),
            ..Config::single(members[index])
        };
        builder.process(name, Etcd::<Bytes>::new(config));
    }
    for name in CLIENTS {
        let calls = 0;
        builder.process(
            name,
            User {
                members,
                reads,
                calls,
            },
        );
    }
    builder.property(Box::new(Linearizable::default())).build()
}

fn fault_schedule() -> FaultSchedule {
    let ms = Duration::from_millis;
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let budget = |kind, max, targets: &[&str]| Budget {
        kind,
        max,
        lasts: (ms(200), ms(6000)),
        gone_per_million: 0,
        amount: (10, 200),
        targets: names(targets),
    };
    let all = [&MEMBERS[..], &CLIENTS[..]].concat();
    FaultSchedule {
        storm: STORM,
        start_within: Duration::from_secs(2),
        start_first: names(&MEMBERS),
        budgets: vec![
            budget(FaultKind::Crash, 4, &MEMBERS),
            budget(FaultKind::Pause, 4, &MEMBERS),
            budget(FaultKind::Partition, 4, &MEMBERS),
            budget(FaultKind::PartitionOneWay, 2, &MEMBERS),
            budget(FaultKind::Stall, 3, &all),
            budget(FaultKind::Reset, 3, &all),
            budget(FaultKind::SlowLink, 3, &all),
            budget(FaultKind::Delay, 8, &all),
            budget(FaultKind::LoseAnswer, 6, &MEMBERS),
        ],
        workload: vec![Workload {
            processes: names(&CLIENTS),
            what: "operate".to_owned(),
            every: ms(2500),
            ends: false,
        }],
        latency: Latency {
            base: (Duration::from_micros(200), ms(2)),
            tail_per_million: 10_000,
            tail: (ms(5), ms(200)),
        },
        directed: Vec::new(),
    }
}

/// One seed: how it ended, and what clients saw.
pub fn simulate(seed: u64, reads: Reads) -> (Ending, Linearizable) {
    let world = world(reads);
    let choices = Seeded::new(seed, &world, fault_schedule());
    let outcome = Run::new(world, choices, Limits::until(END), Record::default()).finish();
    let mut properties = outcome.world.properties();
    let property = properties.next().expect("there is one");
    let history: Option<&Linearizable> = property.as_any().downcast_ref();
    (outcome.ending, history.expect("it is that one").clone())
}
