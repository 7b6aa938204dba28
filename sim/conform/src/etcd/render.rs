//! Steps, answers and differences as people read them.
//!
//! Nothing is decided here.

use std::fmt::{self, Write as _};

use wavetank_etcd::{
    Change, Compare, DeleteRange, KeyValue, Keys, OpResponse, Put, Range, Ranged, Request,
    Response, SortBy, Target, Txn, TxnOp, TxnResponse, WatchRequest, WatchStart,
};

use crate::etcd::op::Step;
use crate::etcd::rest::REST;
use crate::etcd::run::{Differ, Done, What};
use crate::etcd::side::{Bytes, Item, Outcome};

fn value(value: &[u8]) -> String {
    if value.len() > 40 {
        format!("<{} bytes>", value.len())
    } else {
        format!("{:?}", String::from_utf8_lossy(value))
    }
}

fn keys(keys: &Keys) -> String {
    match keys {
        Keys::One(key) => format!("{key:?}"),
        Keys::Prefix(key) => format!("{key:?}*"),
        Keys::Between(first, end) => format!("[{first:?}, {end:?})"),
        Keys::From(key) => format!("[{key:?}, ..)"),
    }
}

/// Words that stand where their condition holds.
fn flags(flags: &[(bool, &str)]) -> String {
    let on = flags.iter().filter(|(on, _)| *on);
    on.fold(String::new(), |text, (_, name)| text + " " + name)
}

/// Numbers that stand where they are not 0.
fn numbers(numbers: &[(u64, &str)]) -> String {
    let set = numbers.iter().filter(|(number, _)| *number != 0);
    set.fold(String::new(), |text, (number, name)| {
        format!("{text} {name} {number}")
    })
}

fn range(range: &Range) -> String {
    let sorted = range.order.is_some() || range.by != SortBy::Key;
    let sort = match range.order {
        Some(order) => format!(" by {:?} {order:?}", range.by),
        None if sorted => format!(" by {:?}", range.by),
        None => String::new(),
    };
    let bounds = [
        (range.revision, "at"),
        (range.limit, "limit"),
        (range.min_mod, "min-mod"),
        (range.max_mod, "max-mod"),
        (range.min_create, "min-create"),
        (range.max_create, "max-create"),
    ];
    let options = [
        (range.serializable, "serializable"),
        (range.keys_only, "keys-only"),
        (range.count_only, "count-only"),
    ];
    format!(
        "range {}{}{sort}{}",
        keys(&range.keys),
        numbers(&bounds),
        flags(&options)
    )
}

fn put(put: &Put<Bytes>) -> String {
    let options = [
        (put.prev_kv, "prev-kv"),
        (put.ignore_value, "ignore-value"),
        (put.ignore_lease, "ignore-lease"),
    ];
    let lease = put
        .lease
        .map(|lease| format!(" lease {}", lease.0))
        .unwrap_or_default();
    format!(
        "put {:?} = {}{lease}{}",
        &*put.key,
        value(&put.value),
        flags(&options)
    )
}

fn delete(delete: &DeleteRange) -> String {
    format!(
        "delete {}{}",
        keys(&delete.keys),
        flags(&[(delete.prev_kv, "prev-kv")])
    )
}

fn compare(compare: &Compare<Bytes>) -> String {
    let target = match &compare.target {
        Target::Value(bytes) => format!("Value({})", value(bytes)),
        target => format!("{target:?}"),
    };
    format!("{} {:?} {target}", keys(&compare.keys), compare.result)
}

fn txn(txn: &Txn<Bytes>) -> String {
    let list = |ops: &[TxnOp<Bytes>]| {
        let mut ops: Vec<String> = ops.iter().map(inner).collect();
        if ops.len() > 20 {
            let more = ops.len() - 1;
            ops.truncate(1);
            ops.push(format!("<{more} more>"));
        }
        ops.join("; ")
    };
    let compares: Vec<String> = txn.compare.iter().map(compare).collect();
    format!(
        "txn if ({}) then ({}) else ({})",
        compares.join(" and "),
        list(&txn.success),
        list(&txn.failure),
    )
}

fn inner(op: &TxnOp<Bytes>) -> String {
    match op {
        TxnOp::Range(op) => range(op),
        TxnOp::Put(op) => put(op),
        TxnOp::DeleteRange(op) => delete(op),
        TxnOp::Txn(op) => txn(op),
    }
}

fn request(request: &Request<Bytes>) -> String {
    match request {
        Request::Range(op) => range(op),
        Request::Put(op) => put(op),
        Request::DeleteRange(op) => delete(op),
        Request::Txn(op) => txn(op),
        Request::Compact { revision, physical } => {
            format!("compact at {revision}{}", flags(&[(*physical, "physical")]))
        }
        Request::LeaseGrant { id, ttl } => {
            let id = id.map(|id| format!(" {}", id.0)).unwrap_or_default();
            format!("grant a lease{id} of {ttl} s")
        }
        Request::LeaseRevoke(id) => format!("revoke lease {}", id.0),
        Request::LeaseKeepAlive(id) => format!("keep lease {} alive", id.0),
        Request::LeaseTimeToLive { id, keys } => {
            format!(
                "time-to-live of lease {}{}",
                id.0,
                flags(&[(*keys, "keys")])
            )
        }
        Request::Leases => "list leases".to_owned(),
        Request::Watch { .. } => "watch".to_owned(),
    }
}

fn start(start: &WatchStart) -> String {
    let id = start
        .id
        .map(|id| format!(" as {}", id.0))
        .unwrap_or_default();
    let options = [
        (start.prev_kv, "prev-kv"),
        (start.progress_notify, "progress-notify"),
        (start.fragment, "fragment"),
        (start.filters.no_put, "no-put"),
        (start.filters.no_delete, "no-delete"),
    ];
    format!(
        "watch {}{}{id}{}",
        keys(&start.keys),
        numbers(&[(start.revision, "from")]),
        flags(&options)
    )
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Call(call) => f.write_str(&request(call)),
            Step::Watch(stream, WatchRequest::Create(op)) => {
                write!(f, "stream {stream}: {}", start(op))
            }
            Step::Watch(stream, WatchRequest::Cancel(id)) => {
                write!(f, "stream {stream}: cancel watch {}", id.0)
            }
            Step::Watch(stream, WatchRequest::Progress) => {
                write!(f, "stream {stream}: ask for progress")
            }
            Step::Close(stream) => write!(f, "stream {stream}: close"),
        }
    }
}

fn kv(kv: &KeyValue<Bytes>) -> String {
    let lease = kv
        .lease
        .map(|lease| format!(" lease {}", lease.0))
        .unwrap_or_default();
    format!(
        "{:?}={} (created {}, modified {}, version {}{lease})",
        &*kv.key,
        value(&kv.value),
        kv.create_revision,
        kv.mod_revision,
        kv.version,
    )
}

fn kvs(kvs: &[KeyValue<Bytes>]) -> String {
    let list: Vec<String> = kvs.iter().map(kv).collect();
    format!("[{}]", list.join(", "))
}

fn ranged(answer: &Ranged<Bytes>) -> String {
    let more = if answer.more { ", more" } else { "" };
    format!(
        "@{} count {}{more} {}",
        answer.revision,
        answer.count,
        kvs(&answer.kvs)
    )
}

fn previous(prev: Option<&KeyValue<Bytes>>) -> String {
    prev.map(|prev| format!(" before: {}", kv(prev)))
        .unwrap_or_default()
}

fn txn_answer(answer: &TxnResponse<Bytes>) -> String {
    let parts: Vec<String> = answer.responses.iter().map(inner_answer).collect();
    let held = if answer.succeeded { "held" } else { "failed" };
    format!("@{} {held} ({})", answer.revision, parts.join("; "))
}

fn inner_answer(answer: &OpResponse<Bytes>) -> String {
    let answer = match answer.clone() {
        OpResponse::Range(answer) => Response::Range(answer),
        OpResponse::Put(answer) => Response::Put(answer),
        OpResponse::DeleteRange(answer) => Response::DeleteRange(answer),
        OpResponse::Txn(answer) => Response::Txn(answer),
    };
    response(&answer)
}

fn response(answer: &Response<Bytes>) -> String {
    match answer {
        Response::Range(answer) => ranged(answer),
        Response::Put(answer) => {
            format!("@{} put{}", answer.revision, previous(answer.prev.as_ref()))
        }
        Response::DeleteRange(answer) => {
            format!(
                "@{} deleted {} {}",
                answer.revision,
                answer.deleted,
                kvs(&answer.prev)
            )
        }
        Response::Txn(answer) => txn_answer(answer),
        Response::Error(error) => error.to_string(),
        answer => format!("{answer:?}"),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Answer(answer) => f.write_str(&response(answer)),
            Outcome::Unexpected(text) => f.write_str(text),
        }
    }
}

fn change(change: &Change<Bytes>) -> String {
    let now = match &change.now {
        Some(now) => format!("put {}", kv(now)),
        None => format!("delete {:?} at {}", &*change.key, change.revision),
    };
    now + &previous(change.before.as_ref())
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Created(revision) => write!(f, "@{revision} created"),
            Item::Refused(revision, why) => write!(f, "@{revision} refused: {why}"),
            Item::Event(event) => f.write_str(&change(event)),
            Item::Canceled(revision, compacted, why) => {
                write!(
                    f,
                    "@{revision} canceled, compacted {compacted}, reason {why:?}"
                )
            }
            Item::Progress(revision) => write!(f, "@{revision} progress"),
            Item::Broken(what) => write!(f, "broken: {what}"),
        }
    }
}

fn items(items: &[Item]) -> String {
    let list: Vec<String> = items.iter().map(Item::to_string).collect();
    if list.is_empty() {
        "nothing".to_owned()
    } else {
        list.join("; ")
    }
}

/// A difference as a story: what was done with which answers, and where the sides part. `names`
/// are those of the sides.
pub(crate) fn story(differ: &Differ, names: &[String; 2]) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!(
        "  (Revisions between those shown are puts of {REST:?}, by which both come to rest.)"
    ));
    for (number, Done { step, answer }) in differ.done.iter().enumerate() {
        line(format!("{:>4}. {step}", number + 1));
        if let Some(answer) = answer {
            line(format!("      -> {answer}"));
        }
    }
    let [left, right] = names;
    match &differ.what {
        What::Answers(one, other) => {
            line(format!("  {left} answers:\n      {one}"));
            line(format!("  {right} answers:\n      {other}"));
        }
        What::Watch(stream, id, one, other) => {
            let whose = match id {
                Some(id) => format!("watch {} of stream {stream}", id.0),
                None => format!("stream {stream}, for no watch of its own,"),
            };
            line(format!("  {whose} got from {left}:\n      {}", items(one)));
            line(format!("  and from {right}:\n      {}", items(other)));
        }
        What::Silence(name) => line(format!("  {name} no longer answers on watch streams")),
    }
    text
}
