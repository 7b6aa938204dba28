//! One operation: what it is, its way to a member, and what the client learns of its answer.

use serde_json::Value as Json;
use wavetank_engine::{ProcId, Rx};
use wavetank_etcd::{
    Compare, DeleteRange, Keys, LeaseId, Put, Range, Request, Response, Txn, TxnOp, Value,
};

use super::{Config, Dice, KNOWN, Known, OPERATION_LIMIT, ask, numbered};

/// So few keys that clients meet on them.
const KEYS: u64 = 6;
/// In seconds: long enough to be renewed, short enough to run out within a storm.
const TTLS: [u64; 3] = [3, 8, 20];

pub(super) fn key(number: u64) -> String {
    format!("/user/k{number}")
}

/// What a client is told to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Wanted {
    operation: Operation,
    /// At this member, or at any.
    member: Option<u64>,
}

/// What is done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Operation {
    /// Whatever is drawn.
    Any,
    Put(String),
    /// In one transaction, with a read of the key as of a revision.
    PutAndGetAt(String, u64),
    Delete(String),
    Get(String),
    Compact(u64),
    /// A lease of so many seconds, that nobody keeps alive.
    Grant(u64),
    /// The lease with this number gets its whole time again.
    KeepAlive(u64),
}

impl Wanted {
    pub fn read(args: &Json) -> Result<Wanted, String> {
        let fields = args.as_object().into_iter().flatten();
        let (member, fields): (Vec<_>, Vec<_>) = fields.partition(|(name, _)| *name == "member");
        let number = |(_, value): &(&String, &Json)| value.as_u64().ok_or("`member` is no number");
        Ok(Wanted {
            operation: Operation::read(&fields)?,
            member: member.first().map(number).transpose()?,
        })
    }
}

impl Operation {
    fn read(fields: &[(&String, &Json)]) -> Result<Operation, String> {
        if fields.is_empty() {
            return Ok(Operation::Any);
        }
        let key = |value: &Json| value.as_str().map(str::to_owned);
        if let [(get_at, revision), (put, name)] = fields
            && (get_at.as_str(), put.as_str()) == ("get-at", "put")
            && let Some((name, revision)) = key(name).zip(revision.as_u64())
        {
            return Ok(Operation::PutAndGetAt(name, revision));
        }
        let read = |(what, value): &(&String, &Json)| match what.as_str() {
            "put" => key(value).map(Operation::Put),
            "delete" => key(value).map(Operation::Delete),
            "get" => key(value).map(Operation::Get),
            "compact" => value.as_u64().map(Operation::Compact),
            "grant" => value.as_u64().map(Operation::Grant),
            "keep-alive" => value.as_u64().map(Operation::KeepAlive),
            _ => None,
        };
        let mut read = fields.iter().map(read);
        match (read.next().flatten(), read.next()) {
            (Some(operation), None) => Ok(operation),
            _ => Err(
                "knows `put`, `delete` and `get` of a key, `put` with `get-at` of a revision, `compact` of \
                 a revision, `grant` of seconds and `keep-alive` of a lease, by its number"
                    .into(),
            ),
        }
    }

    /// The request that it is, unless it is to be drawn.
    fn request<V: Value>(self, value: V) -> Option<Request<V>> {
        Some(match self {
            Operation::Any => return None,
            Operation::Put(key) => Request::Put(Put::new(key, value)),
            Operation::PutAndGetAt(key, revision) => Request::Txn(Txn {
                compare: Vec::new(),
                success: vec![
                    TxnOp::Put(Put::new(key.clone(), value)),
                    TxnOp::Range(Range {
                        revision,
                        ..Range::of(Keys::one(key))
                    }),
                ],
                failure: Vec::new(),
            }),
            Operation::Delete(key) => Request::DeleteRange(DeleteRange {
                keys: Keys::one(key),
                prev_kv: false,
            }),
            Operation::Get(key) => Request::Range(Range::of(Keys::one(key))),
            Operation::Compact(revision) => Request::Compact {
                revision,
                physical: false,
            },
            Operation::Grant(ttl) => Request::LeaseGrant { id: None, ttl },
            Operation::KeepAlive(lease) => Request::LeaseKeepAlive(LeaseId(lease)),
        })
    }
}

pub(super) async fn operate<V: Value>(rx: Rx, config: &Config<V>, me: ProcId, wanted: Wanted) {
    let Wanted { operation, member } = wanted;
    let members = config.members.len() as u64;
    let mut dice = match (&operation, member) {
        (Operation::Any, _) => Dice::throw(rx).await,
        (_, Some(member)) => Dice(member * 4),
        (_, None) => Dice(rx.choose(members).await * 4),
    };
    let known = rx.read(&KNOWN);
    let id = numbered::<V>(rx, me);
    let value = config.value(me, id);
    let request = match operation.request(value.clone()) {
        Some(request) => request,
        None => request(&mut dice, &known, value),
    };
    let member = match dice.once_in(4) {
        true => dice.pick(members) as usize,
        false => known.member,
    };
    let result = ask(rx, config, id, member, request.clone(), OPERATION_LIMIT).await;
    let failed = result.is_err();
    let learnt = result.as_ref().ok().map(learn);
    rx.update(&KNOWN, |known| {
        // A client that fails goes to the next member, as clientv3's balancer does.
        known.member = if failed { member + 1 } else { member };
        let (revision, lease) = learnt.unwrap_or_default();
        known.revision = known.revision.max(revision);
        known.leases.extend(lease);
        match request {
            Request::LeaseRevoke(gone) => known.leases.retain(|lease| *lease != gone),
            Request::DeleteRange(_) => known.deleted = known.deleted.max(revision),
            Request::Compact { revision, .. } if !failed => known.compacted = revision,
            _ => {}
        }
    });
}

/// The revision in an answer, and the lease that was granted.
fn learn<V>(response: &Response<V>) -> (u64, Option<wavetank_etcd::LeaseId>) {
    match response {
        Response::Range(ranged) => (ranged.revision, None),
        Response::Put(done) => (done.revision, None),
        Response::DeleteRange(done) => (done.revision, None),
        Response::Txn(done) => (done.revision, None),
        Response::LeaseGrant { revision, id, .. } => (*revision, Some(*id)),
        _ => (0, None),
    }
}

fn request<V: Value>(dice: &mut Dice, known: &Known, value: V) -> Request<V> {
    let name = key(dice.pick(KEYS));
    let lease = match known.leases.len() as u64 {
        0 => None,
        leases => Some(known.leases[dice.pick(leases) as usize]),
    };
    match dice.pick(30) {
        0..8 => Request::Put(Put::new(name, value)),
        8..10 => Request::Put(Put {
            lease,
            prev_kv: true,
            ..Put::new(name, value)
        }),
        10..12 => Request::DeleteRange(DeleteRange {
            keys: Keys::one(name),
            prev_kv: false,
        }),
        12..14 => swap(dice, known, &name, value),
        14..17 => Request::Range(part(dice)),
        17 => Request::Range(Range {
            serializable: true,
            ..Range::of(Keys::one(name))
        }),
        18 => Request::Range(Range {
            revision: known.revision.saturating_sub(dice.pick(30)),
            ..Range::of(Keys::prefix("/user/"))
        }),
        19 => Request::LeaseGrant {
            id: None,
            ttl: TTLS[dice.pick(TTLS.len() as u64) as usize],
        },
        20..22 => match lease {
            Some(lease) => Request::LeaseKeepAlive(lease),
            None => Request::LeaseGrant { id: None, ttl: 5 },
        },
        22 => match lease {
            Some(lease) if dice.once_in(4) => Request::LeaseRevoke(lease),
            Some(lease) => Request::LeaseTimeToLive {
                id: lease,
                keys: true,
            },
            None => Request::Leases,
        },
        23..29 => Request::Range(Range::of(Keys::one(name))),
        _ => Request::Compact {
            revision: match dice.once_in(3) {
                true => known.deleted,
                false => known.revision.saturating_sub(dice.pick(12)),
            },
            physical: false,
        },
    }
}

/// All keys, or what Kubernetes asks for besides: a page of them, their names, or how many there are.
fn part(dice: &Dice) -> Range {
    // What is drawn after it is the same whatever it is.
    let mut dice = Dice(dice.0);
    let all = Range::of(Keys::prefix("/user/"));
    match dice.pick(8) {
        0..3 => Range {
            limit: 1 + dice.pick(KEYS),
            ..all
        },
        3 => Range {
            keys_only: true,
            ..all
        },
        4 => Range {
            count_only: true,
            ..all
        },
        _ => all,
    }
}

/// As Kubernetes updates an object: if it is unchanged, put, else read it. Sometimes two keys at
/// once, sometimes with a range at an old revision among the writes.
fn swap<V: Value>(dice: &mut Dice, known: &Known, name: &str, value: V) -> Request<V> {
    let revision = known.revision.saturating_sub(dice.pick(20));
    let range = |revision| {
        TxnOp::Range(Range {
            revision,
            ..Range::of(Keys::one(name))
        })
    };
    let mut success = vec![TxnOp::Put(Put::new(name, value.clone()))];
    match dice.pick(4) {
        0 => success.push(TxnOp::Put(Put::new(format!("{name}-too"), value))),
        1 => success.push(range(revision)),
        _ => {}
    }
    Request::Txn(Txn {
        compare: vec![Compare::mod_revision(name, revision)],
        success: success.clone(),
        failure: match dice.pick(3) {
            0 => success,
            _ => vec![range(0)],
        },
    })
}
