//! Which calls are made again, after what answer, how often and how long after each other
//! (`client/v3/retry.go`, `retry_interceptor.go`).

use std::time::Duration;

use wavetank_engine::drive::{Bench, Stepped};
use wavetank_engine::*;
use wavetank_etcd::{
    Client, EtcdError, Keys, LeaseId, Range, Ranged, Request, Response, Txn, TxnResponse,
};

type Bytes = std::sync::Arc<[u8]>;

const SEND: Name = Name::new("send");
/// How the call ended, and after how long.
static ENDED: Cell<Option<(Result<(), EtcdError>, Duration)>> = Cell::new("ended");

/// A member that refuses some requests with an error, and then answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Moody {
    error: EtcdError,
    refuses: u32,
    seen: u32,
}

impl Process for Moody {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        self.seen += 1;
        let revision = 1;
        cx.reply(
            caller,
            match body.expect::<Request<Bytes>>() {
                _ if self.seen <= self.refuses => Response::<Bytes>::Error(self.error),
                Request::Range(_) => Response::Range(Ranged {
                    revision,
                    kvs: Vec::new(),
                    more: false,
                    count: 0,
                }),
                Request::LeaseGrant { ttl, .. } => Response::LeaseGrant {
                    revision,
                    id: LeaseId(1),
                    ttl: *ttl,
                },
                _ => Response::Txn(TxnResponse {
                    revision,
                    succeeded: true,
                    responses: Vec::new(),
                }),
            },
        );
    }
    fn crash(&mut self) {}
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Call {
    Range,
    LeaseGrant,
    Txn,
}

/// Makes one call when it starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OneCall {
    client: Client,
    call: Call,
}

impl Process for OneCall {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(SEND, self.call));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(send(Rx::new(), self.client, *task.args()))
    }
}

async fn send(rx: Rx, client: Client, call: Call) -> Outcome {
    let begun = rx.clock();
    let txn = Txn::<Bytes> {
        compare: Vec::new(),
        success: Vec::new(),
        failure: Vec::new(),
    };
    let result = match call {
        Call::Range => {
            let range = Range::of(Keys::one("k"));
            client.range::<Bytes>(rx, range).await.map(drop)
        }
        Call::LeaseGrant => client.lease_grant::<Bytes>(rx, 60).await.map(drop),
        Call::Txn => client.txn(rx, txn).await.map(drop),
    };
    let took = rx.clock().since(begun);
    rx.update(&ENDED, |ended| *ended = Some((result, took)));
    Outcome::Done
}

/// How often a member that refuses so many requests with this error is asked, and how the call ends.
fn asked(
    call: Call,
    error: EtcdError,
    refuses: u32,
    retries: bool,
) -> (u32, Result<(), EtcdError>, Duration) {
    let names = ["caller", "etcd"];
    let member = WorldBuilder::id_of("etcd", &names);
    let client = match retries {
        true => Client::new(member),
        false => Client::new(member).without_retries(),
    };
    let mut builder = WorldBuilder::new();
    let seen = 0;
    builder.process(
        "etcd",
        Moody {
            error,
            refuses,
            seen,
        },
    );
    builder.process("caller", OneCall { client, call });
    let mut bench = Bench::new(builder.build());
    bench.start("etcd");
    bench.start("caller");
    let caller = bench.id("caller");
    loop {
        if let Some((result, took)) = bench.world.cell(caller, &ENDED) {
            let member = bench.world.process::<Moody>(member).expect("it is one");
            return (member.seen, result, took);
        }
        assert!(bench.step(), "the call ends");
    }
}

const UNAVAILABLE: [EtcdError; 7] = [
    EtcdError::NoLeader,
    EtcdError::LeaderChanged,
    EtcdError::Timeout,
    EtcdError::TimeoutLeaderFailed,
    EtcdError::TimeoutConnectionLost,
    EtcdError::Stopped,
    EtcdError::Unavailable,
];

#[test]
fn reads_and_grants_are_made_again_while_a_member_is_unavailable() {
    for call in [Call::Range, Call::LeaseGrant] {
        for error in UNAVAILABLE {
            let (seen, result, took) = asked(call, error, 3, true);
            assert_eq!((seen, result), (4, Ok(())), "{call:?}, {error}");
            // After 25 ms each time.
            let took = took.as_millis();
            assert!((75..90).contains(&took), "{call:?}, {error}: {took} ms");
        }
    }
}

#[test]
fn a_hundredth_attempt_is_the_last() {
    let (seen, result, took) = asked(Call::Range, EtcdError::NoLeader, 99, true);
    assert_eq!((seen, result), (100, Ok(())));
    assert!(took >= Duration::from_millis(25 * 99), "{took:?}");
    let (seen, result, _) = asked(Call::Range, EtcdError::NoLeader, 100, true);
    assert_eq!((seen, result), (100, Err(EtcdError::NoLeader)));
}

#[test]
fn writes_are_made_once() {
    for error in UNAVAILABLE {
        let (seen, result, _) = asked(Call::Txn, error, 1, true);
        assert_eq!((seen, result), (1, Err(error)), "{error}");
    }
}

/// A member that gave up by its own deadline did not take the request; whoever asked still has time.
#[test]
fn what_a_member_had_no_time_for_is_asked_again() {
    for call in [Call::Range, Call::LeaseGrant, Call::Txn] {
        let (seen, result, _) = asked(call, EtcdError::DeadlineExceeded, 2, true);
        assert_eq!((seen, result), (3, Ok(())), "{call:?}");
    }
}

#[test]
fn what_is_final_is_asked_once() {
    for error in [EtcdError::Compacted, EtcdError::TooManyRequests] {
        let (seen, result, _) = asked(Call::Range, error, 1, true);
        assert_eq!((seen, result), (1, Err(error)), "{error}");
    }
}

/// As kube-apiserver until v1.22.
#[test]
fn without_retries_everything_is_asked_once() {
    for error in UNAVAILABLE {
        let (seen, result, _) = asked(Call::Range, error, 1, false);
        assert_eq!((seen, result), (1, Err(error)), "{error}");
    }
}
