//! The requests that a server makes, in the order in which they arrive: of etcd and of itself.

use std::fmt::Write as _;

use wavetank_api::{Body, Json, Object, Request as Api, views};
use wavetank_engine::{Entry, Payload, ProcId, World};
use wavetank_etcd::{Compare, CompareResult, Keys, Request, Target, TxnOp};

/// The requests of the processes that are watched, a line each.
#[derive(Default)]
pub struct Log {
    watched: Option<ProcId>,
    lines: Vec<String>,
}

/// What was under way before an event that may be the arrival of a request.
pub struct Watching {
    routine: String,
    pending: Vec<(ProcId, Payload)>,
}

impl Log {
    /// From now on the requests of this process, under a heading.
    pub fn watch(&mut self, process: ProcId, heading: &str) {
        self.watched = Some(process);
        self.lines.push(format!("# {heading}"));
    }

    /// From now on nobody's.
    pub fn look_away(&mut self) {
        self.watched = None;
    }

    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// What is gone now has arrived.
    pub fn after(&mut self, watching: Option<Watching>, world: &World) {
        let (Some(watching), Some(client)) = (watching, self.watched) else {
            return;
        };
        let mut left = pending(world, client);
        for (server, body) in watching.pending {
            if let Some(at) = left.iter().position(|p| *p == (server, body.clone())) {
                left.remove(at);
                continue;
            }
            let mut line = String::new();
            write!(line, "{:<20} ", watching.routine).expect("a string");
            match body.get::<Api>() {
                Some(request) => write!(line, "loopback  {}", api(request)),
                None => write!(line, "etcd      {}", etcd(body.expect::<Request<Object>>())),
            }
            .expect("a string");
            self.lines.push(line);
            return;
        }
    }
}

impl Watching {
    pub fn before(log: &Log, world: &World, entry: &Entry) -> Option<Watching> {
        let client = log.watched?;
        let name = world.render(&world.entry_name(entry));
        // `request a1.1/reconcile-endpoints#0.3 etcd`
        let caller = name.strip_prefix("request ")?.split(' ').next()?;
        let (life, origin) = caller.split_once('/')?;
        if life.split('.').next()? != world.name(client) {
            return None;
        }
        Some(Watching {
            routine: origin.split('#').next()?.to_owned(),
            pending: pending(world, client),
        })
    }
}

fn pending(world: &World, client: ProcId) -> Vec<(ProcId, Payload)> {
    let all = world
        .requests_in_flight()
        .filter(|(from, ..)| *from == client);
    all.map(|(_, to, body)| (to, body.clone())).collect()
}

fn api(request: &Api) -> String {
    let Body::Json(tree) = &request.body else {
        return request.to_string();
    };
    let listed = views::addresses(tree).join(", ");
    let condition = match tree.pointer("/metadata/resourceVersion") {
        Some(Json::String(_)) => ", if unchanged,",
        _ => "",
    };
    format!("{request}{condition} [{listed}]")
}

fn etcd(request: &Request<Object>) -> String {
    match request {
        Request::Range(range) => format!("Range {}", of(&range.keys)),
        Request::Txn(txn) => {
            let ops = |ops: &[TxnOp<Object>]| ops.iter().map(op).collect::<Vec<_>>().join(", ");
            let conditions: Vec<&str> = txn.compare.iter().map(condition).collect();
            let mut shown = format!("Txn {} {}", conditions.join(", "), ops(&txn.success));
            if !txn.failure.is_empty() {
                shown += &format!(" else {}", ops(&txn.failure));
            }
            shown
        }
        Request::LeaseGrant { ttl, .. } => format!("LeaseGrant {ttl}"),
        other => format!("{other:?}"),
    }
}

/// All are of the key that the transaction writes.
fn condition(condition: &Compare<Object>) -> &'static str {
    match (condition.result, &condition.target) {
        (CompareResult::Equal, Target::Mod(0)) => "if absent",
        (CompareResult::Equal, Target::Mod(_)) => "if unchanged",
        _ => "if something else",
    }
}

fn op(op: &TxnOp<Object>) -> String {
    match op {
        TxnOp::Put(put) => {
            let lease = put.lease.map_or("", |_| " with lease");
            format!("Put {} [{}]{lease}", put.key, addresses(&put.value))
        }
        TxnOp::DeleteRange(delete) => format!("Delete {}", of(&delete.keys)),
        TxnOp::Range(range) => format!("Range {}", of(&range.keys)),
        TxnOp::Txn(_) => "Txn".to_owned(),
    }
}

fn of(keys: &Keys) -> String {
    match keys {
        Keys::One(key) => key.to_string(),
        Keys::Prefix(prefix) => format!("{prefix}*"),
        other => format!("{other:?}"),
    }
}

fn addresses(object: &Object) -> String {
    views::addresses(object.json()).join(", ")
}
