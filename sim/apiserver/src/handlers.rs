//! Serving the front door: the registry's verbs on storage, health checks, watches.
//!
//! Watches come straight from etcd, as with `--watch-cache=false`; the cacher has its own issue.

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Outcome, Payload, Rx, Stream, Task};
use wavetank_etcd::{EtcdError, Key, Keys, Range, WatchPart, WatchStart};
use wavetank_release::Release;

use crate::object::{Object, Stored};
use crate::rest::{Answer, Probe, Reason, Reply, Request, Resource, Status, Verb};
use crate::server::{self, Config, Serve, WATCH, Watching};
use crate::storage::{Storage, StorageError};

/// `apiserver/pkg/server/config.go` `NewConfig`: requests other than watches.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// `EtcdOptions.addEtcdHealthEndpoint`: the health check of etcd.
const ETCD_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves one request that is not a watch.
pub async fn serve(rx: Rx, config: Arc<Config>, served: Serve) -> Outcome {
    server::begin(rx, false);
    let mut work = std::pin::pin!(handle(rx, &config, &served.request));
    let reply = rx.timeout(REQUEST_TIMEOUT, work.as_mut()).await;
    let in_time = reply.is_some();
    let reply = reply.unwrap_or_else(|| {
        let late = "request did not complete within the allotted timeout";
        Err(status(Reason::Timeout, late))
    });
    rx.reply(served.caller, Payload::new(reply));
    server::end(rx, false);
    // Up to v1.20 (`WithTimeoutForNonLongRunningRequests`) the client is answered and the handler
    // goes on; v1.36 (`WithRequestDeadline`) ends its context, and with it the calls to etcd.
    if !in_time && config.release < Release::V1_36 {
        let _ = work.await;
    }
    Outcome::Done
}

async fn handle(rx: Rx, config: &Config, request: &Request) -> Reply {
    match request {
        Request::Probe(probe) => health(rx, config, *probe).await,
        Request::Api {
            verb,
            resource,
            namespace,
            name,
        } => {
            let key = key(*resource, namespace, name);
            api(rx, config.storage(), verb, key, *resource, name).await
        }
    }
}

/// The key of an object, `/registry/services/endpoints/default/kubernetes`.
pub fn key(resource: Resource, namespace: &str, name: &str) -> Key {
    format!("{}/{namespace}/{name}", resource.registry()).into()
}

async fn api(
    rx: Rx,
    storage: Storage,
    verb: &Verb,
    key: Key,
    resource: Resource,
    name: &str,
) -> Reply {
    let result = match verb {
        Verb::Get => storage.get(rx, key).await.map(Answer::One),
        Verb::List => storage
            .list(rx, key)
            .await
            .map(|(items, revision)| Answer::List(items, revision)),
        Verb::Create(object) => storage
            .create(rx, key, object.clone())
            .await
            .map(Answer::One),
        Verb::Update(object, expected) => {
            let change = |current: Option<&Stored>| {
                let is = current.map_or(0, |stored| stored.resource_version);
                match expected {
                    Some(revision) if *revision != is => Err(StorageError::Conflict),
                    _ => Ok(object.clone()),
                }
            };
            // `AllowCreateOnUpdate` of Endpoints; slices must exist.
            let or_create = resource == Resource::Endpoints && expected.is_none();
            storage
                .guaranteed_update(rx, key, or_create, None, change)
                .await
                .map(Answer::One)
        }
        Verb::Delete => storage.delete(rx, key).await.map(Answer::One),
        Verb::Watch(_) => unreachable!("watches have a routine of their own"),
    };
    result.map_err(|error| refusal(error, resource, name))
}

/// `apiserver/pkg/api/errors` and `registry/generic/registry/store.go` word it so.
fn refusal(error: StorageError, resource: Resource, name: &str) -> Status {
    let resource = resource.name();
    match error {
        StorageError::NotFound => status(
            Reason::NotFound,
            &format!("{resource} \"{name}\" not found"),
        ),
        StorageError::Exists => status(
            Reason::AlreadyExists,
            &format!("{resource} \"{name}\" already exists"),
        ),
        StorageError::Conflict => status(
            Reason::Conflict,
            &format!(
                "Operation cannot be fulfilled on {resource} \"{name}\": the object has been \
                 modified; please apply your changes to the latest version and try again"
            ),
        ),
        StorageError::Etcd(EtcdError::Cancelled) => status(
            Reason::Timeout,
            "The request timed out before the server could complete it",
        ),
        StorageError::Etcd(error) => status(Reason::InternalError, &error.to_string()),
    }
}

fn status(reason: Reason, message: &str) -> Status {
    Status {
        reason,
        message: message.to_owned(),
    }
}

/// `/healthz` and `/readyz`: all PostStart hooks have ended, etcd answers within 2 s, and for
/// `/readyz` no shutdown has begun.
async fn health(rx: Rx, config: &Config, probe: Probe) -> Reply {
    if probe == Probe::Readyz && server::is_stopping(rx) {
        return Err(status(Reason::InternalError, "[-]shutdown failed"));
    }
    if !server::hooks_are_done(rx, config) {
        return Err(status(Reason::InternalError, "[-]poststarthook failed"));
    }
    let range = Range::of(Keys::one("/registry/health"));
    let read = config.etcd().range::<Object>(rx, range);
    match rx.timeout(ETCD_CHECK_TIMEOUT, read).await {
        Some(Ok(_)) => Ok(Answer::Ok),
        Some(Err(error)) => Err(status(Reason::InternalError, &error.to_string())),
        None => Err(status(Reason::InternalError, "[-]etcd failed")),
    }
}

/// Serves one watch: a loop whose turn is one part of the etcd watch.
pub async fn watch(rx: Rx, config: Arc<Config>, watching: Watching) -> Outcome {
    let Watching {
        caller,
        resource,
        namespace,
        name,
        since,
        stream,
    } = watching.clone();
    let stream: Stream = match stream {
        Some(stream) => stream,
        None => {
            server::begin(rx, true);
            let keys = Keys::One(key(resource, &namespace, &name));
            let start = WatchStart {
                prev_kv: true,
                ..WatchStart::of(keys, since + 1)
            };
            config.etcd().watch::<Object>(rx, start)
        }
    };
    let over = match rx.next(stream).await {
        Ok(Some(part)) => match part.expect::<WatchPart<Object>>() {
            WatchPart::Message(response) if response.canceled => Some(status(
                Reason::Expired,
                "The resourceVersion for the provided watch is too old.",
            )),
            WatchPart::Message(response) => {
                for change in &response.events {
                    let now = change.now.as_ref().map(|kv| Stored {
                        object: kv.value.clone(),
                        resource_version: kv.mod_revision,
                    });
                    let event: Reply = Ok(Answer::Event(now, change.revision));
                    rx.push(caller, Payload::new(event));
                }
                None
            }
            WatchPart::Failed(_) => Some(status(Reason::InternalError, "etcd watch failed")),
        },
        Ok(None) => Some(status(Reason::InternalError, "watch closed")),
        // Its client is gone, or etcd is: either way the stream is closed.
        Err(_) => Some(status(Reason::InternalError, "etcd watch failed")),
    };
    match over {
        None => Outcome::Become(Task::new(
            WATCH,
            Watching {
                stream: Some(stream),
                ..watching
            },
        )),
        Some(why) => {
            rx.close_stream(stream);
            rx.reply(caller, Payload::new(Reply::Err(why)));
            server::end(rx, true);
            Outcome::Done
        }
    }
}
