//! What connections do when links, peers and machines fail.

use std::time::Duration;

use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;

static LINK: Transport = Transport {
    name: Name::new("link"),
    dial_timeout: Duration::from_secs(3),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(5),
        limit: Duration::from_secs(2),
        idle: false,
    }),
    window: None,
};

const ASK: Name = Name::new("ask");
const CONNECT: Name = Name::new("connect");
/// What a client that follows its connection was told: it is open, or why it is not.
static CONNECTION: Cell<Vec<Result<bool, NetError>>> = Cell::new("connection");

/// Answers with how many requests it has seen; counts them durably.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    seen: u64,
}
impl Process for Server {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, _: &Payload) {
        self.seen += 1;
        cx.reply(caller, self.seen);
    }
    fn crash(&mut self) {}
}

/// Asks when told, and remembers every answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    server: ProcId,
}
static ANSWERS: Cell<Vec<Result<u64, NetError>>> = Cell::new("answers");
impl Process for Client {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        match what {
            "ask" => cx.spawn(Task::new(ASK, args.as_u64().unwrap_or(3600))),
            "connect" => cx.spawn(Task::new(CONNECT, ())),
            _ => return Err(format!("does not know what `{what}` means")),
        }
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        match task.kind() == CONNECT {
            true => Box::pin(connect(Rx::new(), self.server)),
            false => Box::pin(ask(Rx::new(), self.server, *task.args())),
        }
    }
}

async fn ask(rx: Rx, server: ProcId, limit_secs: u64) -> Outcome {
    let call = rx.call(&LINK, server, Payload::new(()));
    let limit = Duration::from_secs(limit_secs);
    let answer = match rx.timeout(limit, call).await {
        Some(answer) => answer.map(|n| *n.expect::<u64>()),
        None => Err(NetError::Cancelled),
    };
    rx.update(&ANSWERS, |answers| answers.push(answer));
    Outcome::Done
}

/// Follows the connection until it is gone.
async fn connect(rx: Rx, server: ProcId) -> Outcome {
    let stream = rx.connect(&LINK, server);
    loop {
        let next = rx.next(stream).await;
        let next = next.map(|part| part.is_some());
        rx.update(&CONNECTION, |all| all.push(next));
        if next != Ok(true) {
            return Outcome::Done;
        }
    }
}

/// A client and a server, both up.
struct Lab(Bench);

impl Stepped for Lab {
    fn bench(&mut self) -> &mut Bench {
        &mut self.0
    }
}

impl Lab {
    fn new() -> Lab {
        let mut builder = WorldBuilder::new();
        builder.process("a-server", Server::default());
        let server = WorldBuilder::id_of("a-server", &["a-server", "client"]);
        builder.process("client", Client { server });
        let mut lab = Lab(Bench::new(builder.build()));
        for process in ["a-server", "client"] {
            lab.start(process);
        }
        lab
    }

    /// A call was answered, and another one waits for a server that is paused.
    fn waiting() -> Lab {
        let mut lab = Lab::new();
        lab.ask(60);
        lab.run(1.0);
        lab.strike(Fault::Pause {
            process: "a-server".into(),
        });
        lab.ask(60);
        lab.run(1.0);
        lab
    }

    fn ask(&mut self, limit_secs: u64) {
        self.command("client", "ask", limit_secs.into());
    }

    fn connect(&mut self) {
        self.command("client", "connect", serde_json::Value::Null);
    }

    fn world(&self) -> &World {
        &self.0.world
    }

    fn answers(&self) -> Vec<Result<u64, NetError>> {
        self.world().cell(self.0.id("client"), &ANSWERS)
    }

    fn connection(&self) -> Vec<Result<bool, NetError>> {
        self.world().cell(self.0.id("client"), &CONNECTION)
    }

    fn seen(&self) -> u64 {
        let server = self.world().process::<Server>(self.0.id("a-server"));
        server.expect("a server").seen
    }
}

fn link() -> (String, String, String) {
    ("client".into(), "a-server".into(), "link".into())
}

#[test]
fn a_call_is_answered_on_one_connection() {
    let mut lab = Lab::new();
    lab.ask(60);
    lab.ask(60);
    lab.run(1.0);
    lab.ask(60);
    lab.run(1.0);
    assert_eq!(lab.answers(), [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(lab.world().connections().count(), 1);
}

#[test]
fn nobody_listens() {
    let mut lab = Lab::new();
    lab.crash("a-server");
    lab.ask(60);
    lab.run(1.0);
    assert_eq!(lab.answers(), [Err(NetError::Refused)]);
    lab.start("a-server");
    lab.ask(60);
    lab.run(1.0);
    assert_eq!(lab.answers()[1], Ok(1));
}

#[test]
fn a_machine_that_is_off_does_not_even_refuse() {
    let mut lab = Lab::new();
    lab.strike(Fault::PowerLoss {
        process: "a-server".into(),
    });
    lab.ask(60);
    lab.run(2.0);
    assert_eq!(lab.answers(), []);
    lab.run(2.0);
    assert_eq!(lab.answers(), [Err(NetError::DialTimeout)]);
}

#[test]
fn what_a_fault_misses_is_told() {
    let lab = Lab::new();
    let reset = |client: &str, server: &str, transport: &str| Fault::Reset {
        client: client.into(),
        server: server.into(),
        transport: transport.into(),
    };
    let deschedule = |routine: &str| Fault::Deschedule {
        process: "client".into(),
        routine: routine.into(),
    };
    let tells = |lab: &Lab, fault: &Fault, expected: &str| {
        assert_eq!(lab.world().why_missed(fault), expected);
    };
    let (right, other) = (
        reset("client", "a-server", "link"),
        reset("client", "a-server", "other"),
    );
    tells(
        &lab,
        &right,
        "client has no connection to a-server at that time",
    );
    tells(
        &lab,
        &deschedule("ask#0"),
        "client has no routine `ask#0`, nor any other",
    );
    let mut lab = Lab::waiting();
    tells(
        &lab,
        &other,
        "client has no connection `other` to a-server at that time, but `link`",
    );
    tells(
        &lab,
        &reset("a-server", "client", "link"),
        "a-server is the server there, and client its client: swap the two",
    );
    tells(
        &lab,
        &deschedule("sleep#0"),
        "client has no routine `sleep#0`, but `ask#0`",
    );
    lab.strike(deschedule("ask#0"));
    tells(
        &lab,
        &deschedule("ask#0"),
        "the routine ask#0 of client is held already",
    );
    let (client, server) = ("client".to_owned(), "a-server".to_owned());
    tells(
        &lab,
        &Fault::LoseAnswer {
            client: client.clone(),
            server: server.clone(),
        },
        "no answer of a-server to client is under way",
    );
    tells(
        &lab,
        &Fault::Delay {
            from: client,
            to: server.clone(),
            nanos: 1,
        },
        "nothing is under way from client to a-server",
    );
    tells(
        &lab,
        &Fault::Pause {
            process: server.clone(),
        },
        "a-server is paused",
    );
    lab.crash("a-server");
    tells(&lab, &Fault::Crash { process: server }, "a-server is down");
    tells(
        &lab,
        &right,
        "client has no connection to a-server at that time",
    );
}

#[test]
fn a_crash_resets_and_power_loss_leaves_half_open_connections() {
    for (power, expected_after) in [(false, 1.0), (true, 7.0)] {
        let mut lab = Lab::waiting();
        let process = "a-server".to_owned();
        lab.strike(match power {
            true => Fault::PowerLoss { process },
            false => Fault::Crash { process },
        });
        lab.run(expected_after);
        assert_eq!(lab.answers(), [Ok(1), Err(NetError::Reset)], "{power}");
    }
}

#[test]
fn a_peer_that_came_back_resets_what_it_does_not_know() {
    let mut lab = Lab::new();
    lab.ask(60);
    lab.run(1.0);
    let process = || "a-server".to_owned();
    lab.strike(Fault::PowerLoss { process: process() });
    lab.start(&process());
    lab.ask(60);
    lab.run(1.0);
    assert_eq!(lab.answers(), [Ok(1), Err(NetError::Reset)]);
    lab.ask(60);
    lab.run(1.0);
    assert_eq!(lab.answers()[2], Ok(2));
}

#[test]
fn a_half_open_connection_is_noticed_by_keepalive_only() {
    let mut lab = Lab::new();
    lab.ask(60);
    lab.run(1.0);
    let (client, server, transport) = link();
    lab.strike(Fault::HalfOpen {
        client,
        server,
        transport,
    });
    lab.ask(60);
    lab.run(5.0);
    assert_eq!(lab.answers(), [Ok(1)]);
    lab.run(8.0);
    assert_eq!(lab.answers(), [Ok(1), Err(NetError::Reset)]);
    assert_eq!(lab.seen(), 1);
}

#[test]
fn a_lost_answer_leaves_an_unknown_outcome() {
    let mut lab = Lab::new();
    lab.ask(60);
    lab.run(1.0);
    lab.ask(60);
    lab.step(); // the request arrives
    assert_eq!(lab.seen(), 2);
    let (client, server, _) = link();
    lab.strike(Fault::LoseAnswer { client, server });
    lab.run(1.0);
    assert_eq!(lab.answers(), [Ok(1), Err(NetError::Reset)]);
    assert_eq!(lab.seen(), 2);
}

#[test]
fn a_late_request_still_arrives() {
    let mut lab = Lab::new();
    lab.ask(60);
    lab.run(1.0);
    lab.ask(1);
    let (from, to, _) = link();
    lab.strike(Fault::Delay {
        from,
        to,
        nanos: 3_000_000_000,
    });
    lab.run(2.0);
    assert_eq!(lab.answers(), [Ok(1), Err(NetError::Cancelled)]);
    assert_eq!(lab.seen(), 1);
    lab.run(5.0);
    assert_eq!(lab.seen(), 2, "it was on its way when the client gave up");
}

#[test]
fn a_stall_and_a_one_way_partition_hold_one_direction() {
    for partition in [false, true] {
        let mut lab = Lab::new();
        lab.ask(60);
        lab.run(1.0);
        let (to, from, _) = link();
        let (cut, heal) = match partition {
            true => (
                Fault::Partition {
                    left: vec![from.clone()],
                    right: vec![to.clone()],
                    one_way: true,
                },
                Fault::Heal {
                    left: vec![from],
                    right: vec![to],
                    one_way: true,
                },
            ),
            false => (
                Fault::Stall {
                    from: from.clone(),
                    to: to.clone(),
                },
                Fault::Unstall { from, to },
            ),
        };
        lab.strike(cut);
        lab.ask(60);
        lab.run(4.0);
        assert_eq!(lab.seen(), 2, "requests pass");
        assert_eq!(lab.answers(), [Ok(1)], "answers do not");
        lab.strike(heal);
        lab.run(1.0);
        assert_eq!(lab.answers(), [Ok(1), Ok(2)]);
    }
}

#[test]
fn overlapping_partitions_heal_one_by_one() {
    let mut lab = Lab::new();
    let (a, b, _) = link();
    let cut = |left: &str, right: &str| Fault::Partition {
        left: vec![left.to_owned()],
        right: vec![right.to_owned()],
        one_way: false,
    };
    let heal = Fault::Heal {
        left: vec![a.clone()],
        right: vec![b.clone()],
        one_way: false,
    };
    lab.strike(cut(&a, &b));
    lab.strike(cut(&b, &a));
    lab.ask(60);
    lab.run(1.0);
    lab.strike(heal.clone());
    lab.run(1.0);
    assert_eq!(lab.seen(), 0);
    lab.strike(heal);
    lab.run(1.0);
    assert_eq!(lab.answers(), [Ok(1)]);
}

/// The answers of a client that is paused with an answer coming in and, later, a timer due.
fn answers_after_a_pause(order: u16) -> Vec<Result<u64, NetError>> {
    let mut lab = Lab::new();
    lab.ask(60);
    lab.run(1.0);
    let process = || "client".to_owned();
    lab.ask(2);
    lab.strike(Fault::Pause { process: process() });
    lab.run(10.0);
    assert_eq!(lab.answers(), [Ok(1)]);
    lab.strike(Fault::Resume {
        process: process(),
        order,
    });
    lab.run(1.0);
    assert!(lab.world().digest() == lab.world().digest_from_scratch());
    lab.answers()
}

#[test]
fn a_paused_process_finds_everything_when_it_goes_on() {
    // The answer came in before the timer was due.
    assert_eq!(answers_after_a_pause(0), [Ok(1), Ok(2)]);
}

#[test]
fn what_a_paused_process_finds_it_reads_in_any_order_of_connections_and_timers() {
    let timer_first = [Ok(1), Err(NetError::Cancelled)];
    let seen: Vec<_> = (1..20).map(answers_after_a_pause).collect();
    assert!(seen.iter().any(|answers| *answers == [Ok(1), Ok(2)]));
    assert!(seen.iter().any(|answers| *answers == timer_first));
    let again: Vec<_> = (1..20).map(answers_after_a_pause).collect();
    assert_eq!(seen, again, "an order is an order");
}

#[test]
fn a_fast_clock_times_out_early() {
    let mut lab = Lab::new();
    lab.strike(Fault::Pause {
        process: "a-server".into(),
    });
    lab.strike(Fault::ClockRate {
        process: "client".into(),
        ppm: 1_000_000,
    });
    lab.ask(2);
    lab.run(1.0);
    assert_eq!(lab.answers(), [Err(NetError::Cancelled)]);
}

#[test]
fn a_crash_at_any_event_leaves_a_world_that_goes_on() {
    // Cut down the client, then the server, after each event of a short history.
    for victim in ["client", "a-server"] {
        for cut in 0..24 {
            let mut lab = Lab::new();
            lab.ask(60);
            lab.ask(1);
            for _ in 0..cut {
                lab.step();
            }
            lab.crash(victim);
            lab.run(1.0);
            lab.start(victim);
            lab.run(20.0);
            let before = lab.answers().len();
            lab.ask(60);
            lab.run(20.0);
            let answers = lab.answers();
            assert_eq!(answers.len(), before + 1, "{victim} after {cut}");
            assert!(answers[before].is_ok(), "{victim} after {cut}: {answers:?}");
            assert_eq!(lab.world().routines(lab.0.id("client")).len(), 0);
            assert!(lab.world().digest() == lab.world().digest_from_scratch());
        }
    }
}

#[test]
fn who_follows_a_connection_is_told_when_it_is_open_and_why_it_is_gone() {
    let mut lab = Lab::new();
    lab.connect();
    lab.run(1.0);
    assert_eq!(lab.connection(), [Ok(true)]);
    // Calls go over the same connection, and end before it.
    lab.ask(60);
    lab.run(1.0);
    assert_eq!(lab.world().connections().count(), 1);
    lab.crash("a-server");
    lab.run(1.0);
    assert_eq!(lab.connection(), [Ok(true), Err(NetError::Reset)]);
    lab.connect();
    lab.run(1.0);
    assert_eq!(lab.connection()[2], Err(NetError::Refused));
    // One that comes when it is open is told at once.
    lab.start("a-server");
    lab.ask(60);
    lab.run(1.0);
    lab.connect();
    assert_eq!(lab.connection()[3], Ok(true));
    assert_eq!(lab.seen(), 2, "nothing else was sent");
}

#[test]
fn who_follows_a_connection_sends_no_pings_for_that() {
    let mut lab = Lab::new();
    lab.connect();
    lab.run(1.0);
    let (client, server, transport) = link();
    lab.strike(Fault::HalfOpen {
        client,
        server,
        transport,
    });
    lab.run(60.0);
    assert_eq!(lab.connection(), [Ok(true)]);
    lab.ask(60);
    lab.run(13.0);
    assert_eq!(lab.connection(), [Ok(true), Err(NetError::Reset)]);
}
