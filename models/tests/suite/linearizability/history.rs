//! A history of calls as stateright's tester takes it, and what a map of keys does with each.

use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};
use wavetank_engine::{Check, Note, Property, Violation, World};
use wavetank_etcd::observed::{Answered, CallId, Called};
use wavetank_etcd::{
    Compare, CompareResult, Keys, OpResponse, Put, Range, Ranged, Request, Response, Target, Txn,
    TxnOp,
};

pub type Bytes = std::sync::Arc<[u8]>;

/// So few keys that clients meet on them.
pub const KEYS: [&str; 2] = ["/a", "/b"];

/// With more unknown outcomes the search for an order takes too long.
const MAX_UNKNOWN: usize = 7;

/// A call, as far as keys and values go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Put {
        key: usize,
        value: u64,
    },
    /// Put, if the value is this one; else get.
    Swap {
        key: usize,
        from: Option<u64>,
        to: u64,
    },
    Get {
        key: usize,
    },
}

/// Its answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ret {
    Done,
    Got(Option<u64>),
}

impl Op {
    pub fn request(self) -> Request<Bytes> {
        let put = |key: usize, value: u64| Put::new(KEYS[key], value.to_be_bytes()[..].into());
        let range = |key: usize| Range::of(Keys::one(KEYS[key]));
        match self {
            Op::Put { key, value } => Request::Put(put(key, value)),
            Op::Get { key } => Request::Range(range(key)),
            Op::Swap { key, from, to } => Request::Txn(Txn {
                compare: vec![Compare {
                    keys: Keys::one(KEYS[key]),
                    result: CompareResult::Equal,
                    target: match from {
                        Some(value) => Target::Value(value.to_be_bytes()[..].into()),
                        None => Target::Version(0),
                    },
                }],
                success: vec![TxnOp::Put(put(key, to))],
                failure: vec![TxnOp::Range(range(key))],
            }),
        }
    }

    /// What is asked for by a request that [`Op::request`] has made.
    fn of(request: &Request<Bytes>) -> Op {
        let key = |key: &str| KEYS.iter().position(|k| *k == key).expect("one of them");
        match request {
            Request::Put(put) => Op::Put {
                key: key(&put.key),
                value: number(&put.value),
            },
            Request::Range(range) => Op::Get {
                key: key(range.keys.start()),
            },
            Request::Txn(Txn {
                compare, success, ..
            }) => {
                let [TxnOp::Put(put)] = &success[..] else {
                    unreachable!("{success:?}");
                };
                let from = match &compare[0].target {
                    Target::Value(value) => Some(number(value)),
                    _ => None,
                };
                Op::Swap {
                    key: key(&put.key),
                    from,
                    to: number(&put.value),
                }
            }
            other => unreachable!("{other:?}"),
        }
    }
}

fn number(value: &Bytes) -> u64 {
    u64::from_be_bytes(value[..].try_into().expect("eight bytes"))
}

impl Ret {
    pub fn of(response: &Response<Bytes>) -> Ret {
        let value = |ranged: &Ranged<Bytes>| ranged.kvs.first().map(|kv| number(&kv.value));
        match response {
            Response::Put(_) => Ret::Done,
            Response::Range(ranged) => Ret::Got(value(ranged)),
            Response::Txn(done) => match &done.responses[..] {
                [OpResponse::Range(ranged)] => Ret::Got(value(ranged)),
                _ => Ret::Done,
            },
            other => unreachable!("{other:?}"),
        }
    }
}

/// The keys, one call after another.
#[derive(Clone, Default)]
struct Map([Option<u64>; KEYS.len()]);

impl SequentialSpec for Map {
    type Op = Op;
    type Ret = Ret;

    fn invoke(&mut self, op: &Op) -> Ret {
        match *op {
            Op::Put { key, value } => {
                self.0[key] = Some(value);
                Ret::Done
            }
            Op::Swap { key, from, to } if self.0[key] == from => {
                self.0[key] = Some(to);
                Ret::Done
            }
            Op::Swap { key, .. } | Op::Get { key } => Ret::Got(self.0[key]),
        }
    }
}

/// A call, and when it began and ended. One without an end may have had its effect at any time
/// since, or have it yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    pub op: Op,
    pub invoked: usize,
    pub returned: Option<(usize, Ret)>,
}

/// `linearizable`: there is an order of all calls in which each takes effect between its call and
/// its answer, and answers what it would alone. What failed for certain has not been called.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Linearizable {
    calls: Vec<(Option<CallId>, Call)>,
    /// Counts calls and answers.
    clock: usize,
}

impl Linearizable {
    pub fn of(calls: impl IntoIterator<Item = Call>) -> Linearizable {
        Linearizable {
            calls: calls.into_iter().map(|call| (None, call)).collect(),
            clock: 0,
        }
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.iter().map(|(_, call)| *call).collect()
    }

    /// How many have no answer?
    pub fn unknown(&self) -> usize {
        let unknown = |(_, call): &&(_, Call)| call.returned.is_none();
        self.calls.iter().filter(unknown).count()
    }

    /// Stateright's threads have one call at a time: each call gets the first that is free, and
    /// keeps it for ever if it has no answer.
    pub fn is_consistent(&self) -> bool {
        let mut steps: Vec<(usize, usize, Option<Ret>)> = Vec::new();
        for (at, (_, call)) in self.calls.iter().enumerate() {
            steps.push((call.invoked, at, None));
            steps.extend(call.returned.map(|(when, ret)| (when, at, Some(ret))));
        }
        steps.sort_unstable_by_key(|(when, ..)| *when);
        let mut tester = LinearizabilityTester::new(Map::default());
        let mut threads: Vec<Option<usize>> = Vec::new();
        for (_, at, ret) in steps {
            match ret {
                None => {
                    let free = threads.iter().position(Option::is_none);
                    let thread = free.unwrap_or(threads.len());
                    if free.is_none() {
                        threads.push(None);
                    }
                    threads[thread] = Some(at);
                    let op = self.calls[at].1.op;
                    tester.on_invoke(thread, op).expect("it is free");
                }
                Some(ret) => {
                    let thread = threads.iter().position(|call| *call == Some(at));
                    let thread = thread.expect("it was called");
                    threads[thread] = None;
                    tester.on_return(thread, ret).expect("it was called");
                }
            }
        }
        tester.is_consistent()
    }

    fn answered(&mut self, answered: &Answered<Bytes>) -> Check {
        let mut calls = self.calls.iter();
        let Some(at) = calls.position(|(id, _)| *id == Some(answered.id)) else {
            return Check::Idle;
        };
        let call = &mut self.calls[at].1;
        match &answered.result {
            Ok(response) => call.returned = Some((self.clock, Ret::of(response))),
            Err(error) if error.is_unknown() && !matches!(call.op, Op::Get { .. }) => {}
            Err(_) => {
                self.calls.remove(at);
            }
        }
        if self.unknown() > MAX_UNKNOWN {
            return Check::Idle;
        }
        match self.is_consistent() {
            true => Check::Held,
            false => Check::Violated(Violation {
                kind: "history",
                object: format!("call {}", answered.id.number),
                message: format!("{:?} fits into no order", answered.result),
            }),
        }
    }
}

impl Property for Linearizable {
    fn name(&self) -> &'static str {
        "linearizable"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        self.clock += 1;
        if let Some(called) = note.body.get::<Called<Bytes>>() {
            let call = Call {
                op: Op::of(&called.request),
                invoked: self.clock,
                returned: None,
            };
            self.calls.push((Some(called.id), call));
        } else if let Some(answered) = note.body.get::<Answered<Bytes>>() {
            return self.answered(answered);
        }
        Check::Idle
    }
}
