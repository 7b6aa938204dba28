//! Leases at running members: what is seen only where the way through consensus takes time.

use std::time::Duration;

use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;
use wavetank_etcd::{Client, Config, Etcd, LeaseId, Request, Response};
use wavetank_version::{EtcdVersion, Set};

type Bytes = std::sync::Arc<[u8]>;

const MEMBERS: [&str; 3] = ["etcd-a", "etcd-b", "etcd-c"];
const GRANT: Name = Name::new("grant");
const RENEW: Name = Name::new("renew");
const TTL: u64 = 2;
/// So many attempts to renew, this far apart: longer than the lessor waits between two looks.
const ATTEMPTS: u64 = 2000;
const APART: Duration = Duration::from_micros(400);
static TTLS: Cell<Vec<u64>> = Cell::new("ttls");

/// Has a lease, and tries to renew it again and again once its time is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Late(Client);

impl Process for Late {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(GRANT, ()));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        let (rx, client) = (Rx::new(), self.0);
        if task.kind() == GRANT {
            return Box::pin(grant(rx, client));
        }
        Box::pin(renew(rx, client, *task.args()))
    }
}

async fn grant(rx: Rx, client: Client) -> Outcome {
    let id = client.lease_grant::<Bytes>(rx, TTL).await;
    let id = id.expect("there is a leader by then");
    for attempt in 0..ATTEMPTS {
        rx.spawn(Task::new(RENEW, (id, attempt)));
    }
    Outcome::Done
}

async fn renew(rx: Rx, client: Client, (id, attempt): (LeaseId, u64)) -> Outcome {
    // The grant was half a millisecond on its way here, and this takes another half: the first one
    // arrives as the revocation has just been proposed.
    let first = Duration::from_secs(TTL) - Duration::from_micros(500);
    rx.sleep(first + APART * attempt as u32).await;
    let renewed = client.once::<Bytes>(rx, Request::LeaseKeepAlive(id)).await;
    let Ok(Response::LeaseKeepAlive { ttl, .. }) = renewed else {
        panic!("{renewed:?}");
    };
    rx.update(&TTLS, |ttls| ttls.push(ttl));
    Outcome::Done
}

/// Until its revocation has gone through raft as well (`lessor.go` `Renew` waits for `revokec`).
#[test]
fn a_lease_that_is_over_cannot_be_renewed() {
    // Later ones ask the others before they renew one, and so see the revocation anyway.
    let release = EtcdVersion {
        minor: 4,
        patch: 23,
    };
    let mut names = MEMBERS.to_vec();
    names.push("late");
    let id_of = |name| WorldBuilder::id_of(name, &names);
    let mut builder = WorldBuilder::new();
    for (index, name) in MEMBERS.into_iter().enumerate() {
        let config = Config {
            me: wavetank_etcd::raft::MemberId(index as u8),
            members: MEMBERS.map(id_of).to_vec(),
            release,
            defects: Set::shipped_with(release),
            ..Config::single(id_of(name))
        };
        builder.process(name, Etcd::<Bytes>::new(config));
    }
    let client = Client::new(id_of(MEMBERS[0])).without_retries();
    builder.process("late", Late(client));
    let mut bench = Bench::new(builder.build());
    let first = id_of(MEMBERS[0]);
    // The first member's election timer is the shortest.
    bench.choose(move |_, entry, _| if entry.process == first { 0 } else { 9 });
    for name in &names {
        bench.start(name);
    }
    bench.run(20.0);
    let ttls = bench.world.cell(id_of("late"), &TTLS);
    assert_eq!(ttls, vec![0; ATTEMPTS as usize]);
}
