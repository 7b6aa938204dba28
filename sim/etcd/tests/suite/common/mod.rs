//! Members of an etcd, and a hand that asks them what a test wants asked.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;
use wavetank_etcd::EtcdDefect;
use wavetank_etcd::monitors::Name as Monitor;
use wavetank_etcd::observed::{Answered, CallId, Called};
use wavetank_etcd::raft::MemberId;
use wavetank_etcd::{
    Client, Config, Etcd, EtcdError, Keys, Put, Range, Request, Response, Revision, Sizes,
};
use wavetank_version::{EtcdVersion, Set};

pub type Bytes = std::sync::Arc<[u8]>;
pub type Answer = Result<Response<Bytes>, EtcdError>;

const MEMBERS: [&str; 3] = ["e1", "e2", "e3"];
const HAND: &str = "hand";
const KEY: &str = "/a";
const ASK: Name = Name::new("ask");
/// More than a member takes to refuse what it cannot do.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Asks what it is told to: which member, and what.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Hand {
    members: Vec<ProcId>,
    calls: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ask {
    id: CallId,
    member: ProcId,
    request: Request<Bytes>,
}

/// `write 3`, `read`, `read-local`
fn request(what: &str) -> Request<Bytes> {
    let range = Range::of(Keys::one(KEY));
    match what.split_once(' ') {
        Some((_, value)) => Request::Put(Put::new(KEY, value.as_bytes().into())),
        None => Request::Range(Range {
            serializable: what == "read-local",
            ..range
        }),
    }
}

impl Process for Hand {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        at: &serde_json::Value,
    ) -> Result<(), String> {
        self.calls += 1;
        let (client, number) = (cx.me(), self.calls);
        let member = at.as_u64().ok_or("which member?")? as usize;
        let ask = Ask {
            id: CallId { client, number },
            member: self.members[member],
            request: request(what),
        };
        cx.spawn(Task::new(ASK, ask));
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(ask(Rx::new(), task.args::<Ask>().clone()))
    }
}

async fn ask(rx: Rx, ask: Ask) -> Outcome {
    let (id, request) = (ask.id, ask.request);
    rx.note(Called {
        id,
        request: request.clone(),
    });
    let client = Client::new(ask.member).without_retries();
    let result = rx.timeout(LIMIT, client.once(rx, request)).await;
    rx.note(Answered {
        id,
        result: result.unwrap_or(Err(EtcdError::Cancelled)),
    });
    Outcome::Done
}

/// Members and the hand, stepped in the default order.
pub struct Cluster {
    bench: Bench,
    members: usize,
    calls: u64,
    pub answers: BTreeMap<u64, Answer>,
    /// How often a read at a minority was seen to be old.
    pub stale: usize,
}

impl Stepped for Cluster {
    fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    fn seen(&mut self, report: &Report) {
        for note in &report.notes {
            if let Some(answered) = note.body.get::<Answered<Bytes>>() {
                let number = answered.id.number;
                self.answers.insert(number, answered.result.clone());
            }
        }
        for (index, check) in &report.checks {
            assert!(!matches!(check, Check::Violated(_)), "{check:?}");
            self.stale += usize::from(*index == 1);
        }
    }
}

impl Cluster {
    /// So many members of a release, with these defects and sizes. Everything is up, and somebody leads.
    pub fn new(
        members: usize,
        release: EtcdVersion,
        defects: Set<EtcdDefect>,
        sizes: Sizes,
        mut draws: u64,
    ) -> Cluster {
        let of_members = &MEMBERS[..members];
        let names = [of_members, &[HAND]].concat();
        let id_of = |name: &&str| WorldBuilder::id_of(name, &names);
        let members: Vec<_> = of_members.iter().map(id_of).collect();
        let mut builder = WorldBuilder::new();
        for (index, name) in of_members.iter().enumerate() {
            let config = Config {
                me: MemberId(index as u8),
                members: members.clone(),
                release,
                defects,
                sizes,
            };
            builder.process(name, Etcd::<Bytes>::new(config));
        }
        let count = members.len();
        let calls = 0;
        builder.process(HAND, Hand { members, calls });
        let monitors = [
            Monitor::StrictlySerializable,
            Monitor::MinorityServesOldRead,
        ];
        for monitor in monitors {
            builder.property(monitor.property::<Bytes>());
        }
        let mut bench = Bench::new(builder.build());
        bench.choose(move |_, _, domain| {
            draws = draws.wrapping_mul(0x5851_F42D_4C95_7F2D) + 1;
            (draws >> 33) % domain
        });
        let mut cluster = Cluster {
            bench,
            members: count,
            calls: 0,
            answers: BTreeMap::new(),
            stale: 0,
        };
        for name in names {
            cluster.start(name);
        }
        cluster.run(5.0);
        cluster
    }

    /// Asks one member, and says under which number the answer will be found.
    pub fn send(&mut self, member: usize, what: &str) -> u64 {
        self.command(HAND, what, member.into());
        self.calls += 1;
        self.calls
    }

    /// The answer, once there has been time for any.
    pub fn ask(&mut self, member: usize, what: &str) -> Answer {
        let number = self.send(member, what);
        self.run(LIMIT.as_secs_f64());
        self.answers[&number].clone()
    }

    pub fn leader(&self) -> Option<usize> {
        let leads = |n: &usize| self.member(*n).leads().is_some();
        (0..self.members).find(leads)
    }

    pub fn member(&self, n: usize) -> &Etcd<Bytes> {
        let id = self.bench.id(MEMBERS[n]);
        self.bench.world.process(id).expect("it is a member")
    }

    /// The links between one member and the others; the hand still reaches all.
    pub fn links(&self, n: usize, cut: bool) -> Fault {
        let left = vec![MEMBERS[n].to_owned()];
        let others = MEMBERS[..self.members]
            .iter()
            .filter(|name| **name != MEMBERS[n]);
        let right = others.map(ToString::to_string).collect();
        let one_way = false;
        match cut {
            true => Fault::Partition {
                left,
                right,
                one_way,
            },
            false => Fault::Heal {
                left,
                right,
                one_way,
            },
        }
    }
}

/// The value that a read found, and the revision in its header.
#[track_caller]
pub fn found(answer: &Answer) -> (String, Revision) {
    let Ok(Response::Range(ranged)) = answer else {
        panic!("{answer:?}");
    };
    let value = &ranged.kvs.first().expect("the key is there").value;
    (String::from_utf8_lossy(value).into_owned(), ranged.revision)
}
