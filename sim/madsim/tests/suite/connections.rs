//! Connections on madsim: what the engine promises of them, under madsim's kills, clogs and losses.

use std::time::Duration;

use madsim::net::NetSim;
use madsim::time::{sleep, timeout};
use wavetank_engine::{
    Action, Caller, Cell, Cx, Fault, Keepalive, Lock, Name, NetError, Outcome, Payload, ProcId,
    Process, RoutineFuture, Rx, Task, Transport, WorldBuilder,
};
use wavetank_madsim::Cluster;

static LINK: Transport = Transport {
    name: Name::new("link"),
    dial_timeout: Duration::from_secs(20),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(30),
        limit: Duration::from_secs(10),
        idle: false,
    }),
    window: None,
};

const ASK: Name = Name::new("ask");
const SPIN: Name = Name::new("spin");

/// Answers with what it is asked, and keeps it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Echo {
    heard: Vec<u64>,
}

impl Process for Echo {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let number = *body.expect::<u64>();
        self.heard.push(number);
        cx.reply(caller, number);
    }
    fn crash(&mut self) {}
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asker {
    server: ProcId,
}

/// What came of each question, in the order in which it did.
type Answers = Vec<(u64, Result<u64, NetError>)>;

static ANSWERS: Cell<Answers> = Cell::new("answers");

impl Process for Asker {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        _: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let number = args.as_u64().ok_or("is told a number")?;
        cx.spawn(Task::new(ASK, number));
        Ok(())
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (server, number) = (self.server, *task.args::<u64>());
        Box::pin(async move {
            let rx = Rx::new();
            let answer = rx.call(&LINK, server, Payload::new(number)).await;
            let answer = answer.map(|answer| *answer.expect::<u64>());
            rx.update(&ANSWERS, |all| all.push((number, answer)));
            Outcome::Done
        })
    }
}

/// A server and a client, both up.
fn pair() -> Cluster {
    let mut builder = WorldBuilder::new();
    let server = WorldBuilder::id_of("server", &["client", "server"]);
    builder.process("server", Echo::default());
    builder.process("client", Asker { server });
    let cluster = Cluster::new(builder.build());
    start(&cluster, "server");
    start(&cluster, "client");
    cluster
}

fn start(cluster: &Cluster, process: &str) {
    let process = process.to_owned();
    assert!(cluster.fault(&Fault::Start { process }));
}

fn ask(cluster: &Cluster, number: u64) {
    cluster.act(&Action::Command {
        process: "client".to_owned(),
        what: "ask".to_owned(),
        args: number.into(),
    });
}

fn answers(cluster: &Cluster) -> Answers {
    cluster.look(|world| world.cell(world.find("client").expect("it is there"), &ANSWERS))
}

fn heard(cluster: &Cluster) -> Vec<u64> {
    cluster.look(|world| {
        let server = world.find("server").expect("it is there");
        world
            .process::<Echo>(server)
            .expect("an echo")
            .heard
            .clone()
    })
}

async fn answered(cluster: &Cluster, number: u64, within: Duration) -> Result<u64, NetError> {
    let waits = async {
        loop {
            let all = answers(cluster);
            if let Some((_, answer)) = all.iter().find(|(own, _)| *own == number) {
                return *answer;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(within, waits)
        .await
        .unwrap_or_else(|_| panic!("no answer to {number}: {:?}", cluster.log()))
}

const SOON: Duration = Duration::from_secs(2);

#[madsim::test]
async fn a_request_is_answered() {
    let cluster = pair();
    ask(&cluster, 1);
    assert_eq!(answered(&cluster, 1, SOON).await, Ok(1));
}

#[madsim::test]
async fn what_is_lost_is_sent_again_and_the_order_is_kept() {
    let cluster = pair();
    NetSim::current().update_config(|config| config.packet_loss_rate = 0.5);
    for number in 0..60 {
        ask(&cluster, number);
    }
    for number in 0..60 {
        assert_eq!(
            answered(&cluster, number, Duration::from_secs(60)).await,
            Ok(number)
        );
    }
    let in_order: Vec<u64> = (0..60).collect();
    assert_eq!(heard(&cluster), in_order);
}

#[madsim::test]
async fn a_killed_server_resets_its_connections_and_its_machine_refuses_others() {
    let cluster = pair();
    ask(&cluster, 1);
    assert_eq!(answered(&cluster, 1, SOON).await, Ok(1));
    ask(&cluster, 2);
    let process = "server".to_owned();
    assert!(cluster.fault(&Fault::Crash { process }));
    assert_eq!(answered(&cluster, 2, SOON).await, Err(NetError::Reset));
    ask(&cluster, 3);
    assert_eq!(answered(&cluster, 3, SOON).await, Err(NetError::Refused));
    start(&cluster, "server");
    sleep(SOON).await;
    ask(&cluster, 4);
    assert_eq!(answered(&cluster, 4, SOON).await, Ok(4));
}

#[madsim::test]
async fn a_machine_without_power_says_nothing() {
    let cluster = pair();
    ask(&cluster, 1);
    assert_eq!(answered(&cluster, 1, SOON).await, Ok(1));
    let process = "server".to_owned();
    assert!(cluster.fault(&Fault::PowerLoss { process }));
    ask(&cluster, 2);
    sleep(SOON).await;
    assert_eq!(answers(&cluster).len(), 1, "nobody answers");
    // Keep-alive notices after 30 s and 10 s more.
    assert_eq!(
        answered(&cluster, 2, Duration::from_secs(75)).await,
        Err(NetError::Reset)
    );
    ask(&cluster, 3);
    assert_eq!(
        answered(&cluster, 3, Duration::from_secs(25)).await,
        Err(NetError::DialTimeout)
    );
}

#[madsim::test]
async fn a_machine_that_is_on_again_knows_no_connection() {
    let cluster = pair();
    ask(&cluster, 1);
    assert_eq!(answered(&cluster, 1, SOON).await, Ok(1));
    let process = "server".to_owned();
    assert!(cluster.fault(&Fault::PowerLoss { process }));
    sleep(SOON).await;
    start(&cluster, "server");
    sleep(SOON).await;
    ask(&cluster, 2);
    assert_eq!(answered(&cluster, 2, SOON).await, Err(NetError::Reset));
    ask(&cluster, 3);
    assert_eq!(answered(&cluster, 3, SOON).await, Ok(3));
}

#[madsim::test]
async fn a_clogged_link_holds_what_is_sent_until_it_heals() {
    let cluster = pair();
    ask(&cluster, 1);
    assert_eq!(answered(&cluster, 1, SOON).await, Ok(1));
    let (left, right, one_way) = (vec!["client".to_owned()], vec!["server".to_owned()], true);
    cluster.fault(&Fault::Partition {
        left: left.clone(),
        right: right.clone(),
        one_way,
    });
    ask(&cluster, 2);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(heard(&cluster), [1]);
    cluster.fault(&Fault::Heal {
        left,
        right,
        one_way,
    });
    assert_eq!(answered(&cluster, 2, Duration::from_secs(12)).await, Ok(2));
}

#[madsim::test]
async fn nobody_can_connect_over_a_clogged_link() {
    let cluster = pair();
    let (from, to) = ("client".to_owned(), "server".to_owned());
    let (stalled, healed) = (
        Fault::Stall {
            from: from.clone(),
            to: to.clone(),
        },
        Fault::Unstall { from, to },
    );
    cluster.fault(&stalled);
    ask(&cluster, 1);
    assert_eq!(
        answered(&cluster, 1, Duration::from_secs(25)).await,
        Err(NetError::DialTimeout)
    );
    ask(&cluster, 2);
    sleep(SOON).await;
    cluster.fault(&healed);
    // The first packet is sent again.
    assert_eq!(answered(&cluster, 2, Duration::from_secs(10)).await, Ok(2));
}

#[madsim::test]
async fn a_paused_process_goes_on_where_it_was() {
    let cluster = pair();
    let process = "server".to_owned();
    cluster.fault(&Fault::Pause {
        process: process.clone(),
    });
    ask(&cluster, 1);
    sleep(Duration::from_secs(5)).await;
    assert!(heard(&cluster).is_empty());
    cluster.fault(&Fault::Resume { process, order: 0 });
    assert_eq!(answered(&cluster, 1, Duration::from_secs(5)).await, Ok(1));
}

#[madsim::test]
async fn a_reset_reaches_both_ends() {
    let cluster = pair();
    ask(&cluster, 1);
    assert_eq!(answered(&cluster, 1, SOON).await, Ok(1));
    ask(&cluster, 2);
    let (client, server, transport) = ("client".to_owned(), "server".to_owned(), "link".to_owned());
    assert!(cluster.fault(&Fault::Reset {
        client,
        server,
        transport
    }));
    assert_eq!(answered(&cluster, 2, SOON).await, Err(NetError::Reset));
    ask(&cluster, 3);
    assert_eq!(answered(&cluster, 3, SOON).await, Ok(3));
    assert_eq!(cluster.look(|world| world.connections().count()), 1);
}

/// Takes a lock again and again, and never waits for anything else.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Spinner;

impl Process for Spinner {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(SPIN, ()));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}

    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async {
            drop(Rx::new().lock(Lock::new("spun")).await);
            Outcome::Become(Task::new(SPIN, ()))
        })
    }
}

#[madsim::test]
async fn what_never_rests_is_a_livelock() {
    let mut builder = WorldBuilder::new();
    builder.process("spinner", Spinner);
    let cluster = Cluster::new(builder.build());
    start(&cluster, "spinner");
    let found = timeout(SOON, cluster.violated()).await;
    assert!(found.is_ok(), "it goes on and on");
    let violation = cluster.violation().expect("it is over");
    assert_eq!(violation.property, "no-livelock");
}
