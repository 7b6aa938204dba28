//! GET with `watch` (`endpoints/handlers/watch.go`), and the watcher on etcd behind it
//! (`storage/etcd3/watcher.go`).
//!
//! Watches come straight from etcd, as with `--watch-cache=false`.

use std::sync::Arc;

use wavetank_api::selector::Predicate;
use wavetank_api::{
    Object, Reason, Request, Resource, Response, Status, Stored, WatchEvent, WatchKind, WatchPart,
};
use wavetank_engine::{Caller, Outcome, Payload, Rx, Stream, Task};
use wavetank_etcd::{Change, Keys, WatchPart as EtcdPart, WatchStart};

use crate::door::{Api, query};
use crate::server::{self, Config, WATCH};

/// Arguments of the routine that serves a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watching {
    pub caller: Caller,
    pub api: Api,
    pub request: Request,
    pub open: Option<Open>,
}

/// A watch that is open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Open {
    stream: Stream,
    predicate: Arc<Predicate>,
}

/// Serves one watch: a loop whose turn is one part of the etcd watch.
pub async fn watch(rx: Rx, config: Arc<Config>, watching: Watching) -> Outcome {
    let caller = watching.caller;
    let open = match &watching.open {
        Some(open) => open.clone(),
        None => {
            server::begin(rx, true);
            match begin(rx, &config, &watching) {
                Ok(open) => {
                    rx.push(caller, Payload::new(WatchPart::Accepted));
                    open
                }
                Err(status) => {
                    let refused = WatchPart::Refused(Response::status(status));
                    rx.reply(caller, Payload::new(refused));
                    server::end(rx, true);
                    return Outcome::Done;
                }
            }
        }
    };
    let over = match rx.next(open.stream).await {
        Ok(Some(part)) => match part.expect::<EtcdPart<Object>>() {
            EtcdPart::Message(response) if response.canceled => Some(Status::expired(
                "The resourceVersion for the provided watch is too old.",
            )),
            EtcdPart::Message(response) => {
                for event in &response.events {
                    if let Some(event) = transform(watching.api.resource, &open.predicate, event) {
                        rx.push(caller, Payload::new(WatchPart::Event(event)));
                    }
                }
                None
            }
            EtcdPart::Failed(_) => Some(failed()),
        },
        // Its client is gone, or etcd is: either way the stream is closed.
        Ok(None) | Err(_) => Some(failed()),
    };
    let Some(status) = over else {
        return Outcome::Become(Task::new(
            WATCH,
            Watching {
                open: Some(open),
                ..watching
            },
        ));
    };
    rx.close_stream(open.stream);
    rx.push(
        caller,
        Payload::new(WatchPart::Event(WatchEvent::Error(status))),
    );
    rx.reply(caller, Payload::new(WatchPart::Closed));
    server::end(rx, true);
    Outcome::Done
}

fn failed() -> Status {
    Status::of(Reason::InternalError, "etcd watch failed")
}

fn begin(rx: Rx, config: &Config, watching: &Watching) -> Result<Open, Status> {
    let api = &watching.api;
    let options = query::list_options(&watching.request.query, api.name.as_deref())?;
    let one = options.predicate.fields.exactly("metadata.name");
    let keys = match one {
        Some(name) => Keys::One(api.resource.key(&api.namespace, name)),
        None => Keys::Prefix(api.resource.key(&api.namespace, "")),
    };
    let start = WatchStart {
        prev_kv: true,
        ..WatchStart::of(keys, options.resource_version.unwrap_or(0) + 1)
    };
    Ok(Open {
        stream: config.etcd().watch::<Object>(rx, start),
        predicate: Arc::new(options.predicate),
    })
}

/// `transform`: what a change means to somebody who sees only what the predicate selects.
fn transform(
    resource: &Resource,
    predicate: &Predicate,
    event: &Change<Object>,
) -> Option<WatchEvent> {
    let selected = |object: &Object| predicate.matches(resource, object.json());
    let now = event
        .now
        .as_ref()
        .map(|kv| &kv.value)
        .filter(|o| selected(o));
    let before = event
        .before
        .as_ref()
        .map(|kv| &kv.value)
        .filter(|o| selected(o));
    let (kind, object) = match (before, now) {
        (None, None) => return None,
        (None, Some(now)) => (WatchKind::Added, now),
        (Some(_), Some(now)) => (WatchKind::Modified, now),
        (Some(before), None) => (WatchKind::Deleted, before),
    };
    let stored = Stored {
        object: object.clone(),
        resource_version: event.revision,
    };
    Some(WatchEvent::Object(kind, stored))
}
