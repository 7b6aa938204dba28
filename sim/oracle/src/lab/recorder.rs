//! The recorder: it sends requests to a server as they were recorded and keeps what comes back, and writes into etcd
//! past all servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use wavetank_api::{Body, Method, Object, Query, Request, Response, WatchPart};
use wavetank_client::HTTPS;
use wavetank_engine::*;
use wavetank_etcd::{Client, DeleteRange, Keys, Put, Txn, TxnOp};

const SEND: Name = Name::new("send");
const MARK: Name = Name::new("mark");
const PUT: Name = Name::new("put");
const DELETE: Name = Name::new("delete");

/// The revision at which the recordings begin: what a server writes while it starts. Some of their
/// requests carry a revision as a plain number.
const BEGIN: u64 = 54;

/// What came back, by the number of the request.
pub(super) type Answers = BTreeMap<u64, Answer>;

/// What came back for one request.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Answer {
    /// The response.
    pub response: Option<Response>,
    /// The parts of a watch.
    pub parts: Vec<WatchPart>,
    /// Why the connection broke.
    pub broken: Option<NetError>,
    /// Nothing more comes.
    pub over: bool,
}

impl Answer {
    /// Has anything come?
    pub fn has_begun(&self) -> bool {
        self.over || self.response.is_some() || !self.parts.is_empty()
    }
}

pub(super) static ANSWERS: Cell<Answers> = Cell::new("answers");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Recorder {
    pub(super) server: ProcId,
    pub(super) etcd: Client,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sending {
    number: u64,
    watch: bool,
    request: Request,
    stream: Option<Stream>,
}

impl Process for Recorder {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}

    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if what == "mark" {
            cx.spawn(Task::new(MARK, ()));
            return Ok(());
        }
        if what == "delete" {
            let key: Arc<str> = args.as_str().ok_or("wants a key")?.into();
            cx.spawn(Task::new(DELETE, key));
            return Ok(());
        }
        if what == "put" {
            let key = args["key"].as_str().ok_or("wants a key")?;
            let putting = Putting {
                key: key.into(),
                object: Object::new(args["object"].clone()),
            };
            cx.spawn(Task::new(PUT, putting));
            return Ok(());
        }
        let sending = Sending {
            number: args["number"].as_u64().ok_or("wants a number")?,
            watch: args["watch"].as_bool().unwrap_or(false),
            request: request(&args["request"])?,
            stream: None,
        };
        cx.spawn(Task::new(SEND, sending));
        Ok(())
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        if task.kind() == MARK {
            return Box::pin(mark(Rx::new(), self.etcd));
        }
        if task.kind() == PUT {
            return Box::pin(put(Rx::new(), self.etcd, task.args::<Putting>().clone()));
        }
        if task.kind() == DELETE {
            return Box::pin(delete(
                Rx::new(),
                self.etcd,
                task.args::<Arc<str>>().clone(),
            ));
        }
        Box::pin(send(Rx::new(), self.server, task.args::<Sending>().clone()))
    }
}

/// The marker outside `/registry` with which a recording begins, as often as it takes.
async fn mark(rx: Rx, etcd: Client) -> Outcome {
    loop {
        let txn = Txn {
            compare: vec![],
            success: vec![TxnOp::Put(Put::new("/marker", Object::new(Json::Null)))],
            failure: vec![],
        };
        if !matches!(etcd.txn(rx, txn).await, Ok(done) if done.revision < BEGIN) {
            return Outcome::Done;
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Putting {
    key: Arc<str>,
    object: Object,
}

/// A write past all servers.
async fn put(rx: Rx, etcd: Client, putting: Putting) -> Outcome {
    let txn = Txn {
        compare: vec![],
        success: vec![TxnOp::Put(Put::new(&*putting.key, putting.object))],
        failure: vec![],
    };
    let _ = etcd.txn(rx, txn).await;
    Outcome::Done
}

/// A deletion past all servers.
async fn delete(rx: Rx, etcd: Client, key: Arc<str>) -> Outcome {
    let txn = Txn {
        compare: vec![],
        success: vec![TxnOp::DeleteRange(DeleteRange {
            keys: Keys::one(&*key),
            prev_kv: false,
        })],
        failure: vec![],
    };
    let _ = etcd.txn::<Object>(rx, txn).await;
    Outcome::Done
}

async fn send(rx: Rx, server: ProcId, sending: Sending) -> Outcome {
    let number = sending.number;
    let keep = |change: &dyn Fn(&mut Answer)| {
        rx.update(&ANSWERS, |all| change(all.entry(number).or_default()));
    };
    if !sending.watch {
        let body = Payload::new(sending.request);
        let answer = rx.call(&HTTPS, server, body).await;
        keep(&|kept| {
            kept.over = true;
            match &answer {
                Ok(response) => kept.response = Some(response.expect::<Response>().clone()),
                Err(error) => kept.broken = Some(*error),
            }
        });
        return Outcome::Done;
    }
    let stream = sending
        .stream
        .unwrap_or_else(|| rx.open_stream(&HTTPS, server, Payload::new(sending.request.clone())));
    match rx.next(stream).await {
        Ok(Some(part)) => {
            // A path that names an object is no watch: it is answered like any GET.
            keep(&|kept| match part.get::<WatchPart>() {
                Some(part) => kept.parts.push(part.clone()),
                None => kept.response = Some(part.expect::<Response>().clone()),
            });
            let stream = Some(stream);
            Outcome::Become(Task::new(SEND, Sending { stream, ..sending }))
        }
        Ok(None) => {
            keep(&|kept| kept.over = true);
            Outcome::Done
        }
        Err(error) => {
            keep(&|kept| {
                kept.over = true;
                kept.broken = Some(error);
            });
            Outcome::Done
        }
    }
}

/// A request as it was recorded.
pub(crate) fn request(recorded: &Json) -> Result<Request, String> {
    let method = match recorded["method"].as_str().unwrap_or("GET") {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        other => {
            return Err(format!(
                "{other} is no method of HTTP that a kube-apiserver knows"
            ));
        }
    };
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut query = Vec::new();
    for (name, value) in recorded["query"].as_object().into_iter().flatten() {
        match value {
            Json::Array(values) => {
                query.extend(
                    values
                        .iter()
                        .map(|v| (name.as_str().into(), text(v).into())),
                );
            }
            value => query.push((name.as_str().into(), text(value).into())),
        }
    }
    let content_type: Option<Arc<str>> = recorded["contentType"].as_str().map(Into::into);
    Ok(Request {
        query: Query(query),
        content_type,
        accept: recorded["headers"]["Accept"]
            .as_str()
            .or(recorded["accept"].as_str())
            .map(Into::into),
        // The recorder names no program, unless it says so.
        user_agent: recorded["headers"]["User-Agent"]
            .as_str()
            .unwrap_or_default()
            .into(),
        body: match &recorded["body"] {
            Json::Null => match recorded["bytes"].as_str() {
                Some(encoded) => Body::Bytes(STANDARD.decode(encoded).unwrap_or_default().into()),
                None => Body::Empty,
            },
            Json::String(text) => Body::Bytes(text.as_bytes().into()),
            tree => Body::Bytes(tree.to_string().into_bytes().into()),
        },
        ..Request::new(method, recorded["path"].as_str().unwrap_or_default())
    })
}
