//! GET with `watch` (`endpoints/handlers/watch.go`): from the watch cache, or with
//! `--watch-cache=false` from the watcher on etcd (`storage/etcd3/watcher.go`).

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::selector::Predicate;
use wavetank_api::{
    Object, Reason, Request, Resource, Response, Status, Stored, WatchEvent, WatchKind, WatchPart,
};
use wavetank_engine::{
    Caller, Condition, Either, Name, Outcome, Payload, RoutineFuture, Rx, Stream, Task,
};
use wavetank_etcd::{Change, Key, KeyValue, Keys, Revision, WatchPart as EtcdPart, WatchStart};

use crate::cacher::gates::WATCH_LIST;
use crate::cacher::{self, Cacher};
use crate::endpoints::{Api, Form, RequestContext, query};
use crate::options::ListOptions;
use crate::options::{Listed, StoreError};
use crate::registry::{Reading, Registry};
use crate::server::{Config, InFlight, WATCH};
use crate::storage::Codec;
use crate::storages::Storages;

/// `--min-request-timeout`: a watch without `timeoutSeconds` lasts this long, times [1, 2).
const MIN_REQUEST_TIMEOUT: Duration = Duration::from_secs(1800);

const DEADLINE: Name = Name::new("watch-deadline");

/// Arguments of the routine that serves a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watching {
    pub caller: Caller,
    pub api: Api,
    /// A [`Request`].
    pub request: Payload,
    pub open: Option<Open>,
    /// How its events are shown.
    pub form: Form,
}

/// A watch that is open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Open {
    /// On a watch cache.
    Cache(cacher::Watch),
    /// On etcd.
    Etcd {
        stream: Stream,
        predicate: Arc<Predicate>,
    },
}

/// A watch that is accepted.
enum Begun {
    /// By a watch cache.
    Cache(cacher::Watch),
    /// By the watcher on etcd.
    Etcd(FromEtcd),
}

/// What the watcher on etcd is asked for (`watchChan`).
struct FromEtcd {
    under: Key,
    options: ListOptions,
    /// After which revision; 0 is that of the initial events (`initialRev`).
    from: Revision,
    /// `areInitialEventsRequired`
    initial_events: bool,
    /// `isInitialEventsEndBookmarkRequired`
    end_bookmark: bool,
}

/// What came of a turn.
enum Turn {
    /// Events.
    Events(Vec<WatchEvent>),
    /// It is over, after these, with an error event or without.
    Over(Vec<WatchEvent>, Option<Status>),
}

/// Serves one watch: a loop whose turn is what comes at once.
pub(crate) async fn watch(
    rx: Rx,
    config: Arc<Config>,
    storages: impl Storages,
    watching: Watching,
) -> Outcome {
    let mut watching = watching;
    let caller = watching.caller;
    let in_flight = InFlight::watch(&config, caller);
    let open = match &watching.open {
        Some(open) => open.clone(),
        None => {
            in_flight.begin(rx);
            let begun = match begin(rx, &config, &storages, &watching).await {
                Ok((begun, form)) => {
                    watching.form = form;
                    begun
                }
                Err(status) => {
                    let refused = WatchPart::Refused(Response::status(status));
                    rx.reply(caller, Payload::new(refused));
                    in_flight.end(rx);
                    return Outcome::Done;
                }
            };
            rx.push(caller, Payload::new(WatchPart::Accepted));
            let started = match begun {
                Begun::Cache(watch) => Ok((Vec::new(), Open::Cache(watch))),
                Begun::Etcd(from) => {
                    from.start_watching(rx, &config, watching.api.resource)
                        .await
                }
            };
            match started {
                Ok((events, open)) => {
                    let registry = registry(rx, &config, &storages, &watching);
                    let events = events
                        .into_iter()
                        .map(|event| registry.decorate_event(event));
                    let events = events.collect();
                    // What cannot be shown ends the watch when the next event cannot be shown either.
                    let _ = push(rx, &mut watching, events);
                    open
                }
                Err(status) => {
                    let event = WatchPart::Event(WatchEvent::Error(status));
                    rx.push(caller, Payload::new(event));
                    rx.reply(caller, Payload::new(WatchPart::Closed));
                    in_flight.end(rx);
                    return Outcome::Done;
                }
            }
        }
    };
    let turn = next(rx, &config, &storages, &watching, &open).await;
    let status = match turn {
        Turn::Events(events) => match push(rx, &mut watching, events) {
            true => {
                let open = Some(open);
                return Outcome::Become(Task::new(WATCH, Watching { open, ..watching }));
            }
            false => None,
        },
        Turn::Over(events, status) => match push(rx, &mut watching, events) {
            true => status,
            false => None,
        },
    };
    match open {
        Open::Cache(watch) => {
            watch.stop(rx);
            rx.broadcast(over(watch));
        }
        Open::Etcd { stream, .. } => rx.close_stream(stream),
    }
    if let Some(status) = status {
        let event = WatchPart::Event(WatchEvent::Error(status));
        rx.push(caller, Payload::new(event));
    }
    rx.reply(caller, Payload::new(WatchPart::Closed));
    in_flight.end(rx);
    Outcome::Done
}

/// Shows events in the form that was asked for; false if one cannot be.
fn push(rx: Rx, watching: &mut Watching, events: Vec<WatchEvent>) -> bool {
    for event in events {
        let Some(event) = watching.form.transform_event(rx, &watching.api, event) else {
            return false;
        };
        rx.push(watching.caller, Payload::new(WatchPart::Event(event)));
    }
    true
}

/// The registry of what is watched.
fn registry(rx: Rx, config: &Config, storages: &dyn Storages, watching: &Watching) -> Registry {
    let cx = RequestContext {
        rx,
        config,
        storages,
        caller: watching.caller.process(),
        request: watching.request.expect::<Request>(),
        api: &watching.api,
    };
    cx.registry(false)
}

/// What comes next.
async fn next(
    rx: Rx,
    config: &Config,
    storages: &dyn Storages,
    watching: &Watching,
    open: &Open,
) -> Turn {
    let decorate = |event| registry(rx, config, storages, watching).decorate_event(event);
    match open {
        Open::Cache(watch) => from_cache(rx, *watch, decorate).await,
        Open::Etcd { stream, predicate } => {
            let resource = watching.api.resource;
            let codec = config.codec_of(resource);
            let turn = from_etcd(rx, resource, codec, *stream, predicate).await;
            turn.decorated(decorate)
        }
    }
}

impl Turn {
    fn decorated(self, decorate: impl Fn(WatchEvent) -> WatchEvent) -> Turn {
        let all = |events: Vec<WatchEvent>| events.into_iter().map(&decorate).collect();
        match self {
            Turn::Events(events) => Turn::Events(all(events)),
            Turn::Over(events, status) => Turn::Over(all(events), status),
        }
    }
}

/// The next event of a cache's watch; the end of the client or of its time ends it.
async fn from_cache(
    rx: Rx,
    watch: cacher::Watch,
    decorate: impl FnOnce(WatchEvent) -> WatchEvent,
) -> Turn {
    match rx
        .select(watch.next_decorated(rx, decorate), rx.done())
        .await
    {
        Either::Left(Some(event)) => Turn::Events(vec![event]),
        Either::Left(None) | Either::Right(()) => Turn::Over(Vec::new(), None),
    }
}

async fn from_etcd(
    rx: Rx,
    resource: &'static Resource,
    codec: Codec,
    stream: Stream,
    predicate: &Predicate,
) -> Turn {
    match rx.next(stream).await {
        Ok(Some(part)) => match part.expect::<EtcdPart<Object>>() {
            EtcdPart::Message(response) if response.canceled => {
                let expired = Status::new_resource_expired(
                    "The resourceVersion for the provided watch is too old.",
                );
                Turn::Over(Vec::new(), Some(expired))
            }
            EtcdPart::Message(response) => {
                let mut seen = Vec::new();
                for event in &response.events {
                    match transform(rx, resource, codec, predicate, event).await {
                        Ok(event) => seen.extend(event),
                        // `sendError`
                        Err(_) => return Turn::Over(seen, Some(failed())),
                    }
                }
                Turn::Events(seen)
            }
            EtcdPart::Failed(_) => Turn::Over(Vec::new(), Some(failed())),
        },
        // Its client is gone, or etcd is: either way the stream is closed.
        Ok(None) | Err(_) => Turn::Over(Vec::new(), Some(failed())),
    }
}

/// Whoever waits for the deadline of a watch need not any more.
fn over(watch: cacher::Watch) -> Condition {
    Condition::new("watch-over", watch.number())
}

/// Arguments of the routine that ends a watch in time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Deadline {
    watch: cacher::Watch,
    after: Duration,
}

/// The future of a task that is one of the handlers' own.
pub fn routine(task: &Task) -> Option<RoutineFuture> {
    if task.kind() != DEADLINE {
        return None;
    }
    Some(Box::pin(end_in_time(
        Rx::new(),
        task.args::<Deadline>().clone(),
    )))
}

async fn end_in_time(rx: Rx, deadline: Deadline) -> Outcome {
    let watch = deadline.watch;
    let ended = rx.changed(over(watch));
    if let Either::Left(()) = rx.select(rx.sleep(deadline.after), ended).await {
        watch.stop(rx);
    }
    Outcome::Done
}

fn failed() -> Status {
    Status::of(Reason::InternalError, "etcd watch failed")
}

async fn begin(
    rx: Rx,
    config: &Config,
    storages: &dyn Storages,
    watching: &Watching,
) -> Result<(Begun, Form), Status> {
    let api = &watching.api;
    let request = watching.request.expect::<Request>();
    let form = Form::negotiate(request)?;
    form.options_for_transform()?;
    let cx = RequestContext {
        rx,
        config,
        storages,
        caller: watching.caller.process(),
        request,
        api,
    };
    let (name, query) = (api.name.as_deref(), &request.query);
    let (options, timeout) = query::list_options(query, api.served(), name, config.release)?;
    let registry = cx.registry(false);
    let (under, mut options) = registry.under(&options);
    options.decorated = registry.rest.decorates(api.part, Reading::Watch);
    match cx.cacher() {
        Some(cacher) => {
            let lasts = match timeout.filter(|seconds| *seconds > 0) {
                Some(seconds) => Duration::from_secs(seconds as u64),
                None => MIN_REQUEST_TIMEOUT
                    .mul_f64(1.0 + rx.choose(1 << 20).await as f64 / f64::from(1 << 20)),
            };
            let watch = open_in_cache(rx, cacher, under, &options, lasts).await?;
            Ok((Begun::Cache(watch), form))
        }
        None => {
            let from = FromEtcd::watch(rx, config, api.resource, under, options).await?;
            Ok((Begun::Etcd(from), form))
        }
    }
}

impl FromEtcd {
    /// `watcher.Watch`, with `getStartWatchResourceVersion`.
    async fn watch(
        rx: Rx,
        config: &Config,
        resource: &'static Resource,
        under: Key,
        options: ListOptions,
    ) -> Result<FromEtcd, Status> {
        let asked = options.resource_version.unwrap_or(0);
        let knows = config.release.has(WATCH_LIST);
        let said = options.send_initial_events;
        let from = match said {
            Some(false) if knows && asked == 0 => newest(rx, config, resource, &under).await?,
            _ => asked,
        };
        Ok(FromEtcd {
            from,
            initial_events: match said {
                None => asked == 0,
                Some(said) => said && knows,
            },
            end_bookmark: said == Some(true) && knows && options.bookmarks,
            under,
            options,
        })
    }

    /// `startWatching`: the initial events, if there are to be some, and the watch after them.
    async fn start_watching(
        self,
        rx: Rx,
        config: &Config,
        resource: &'static Resource,
    ) -> Result<(Vec<WatchEvent>, Open), Status> {
        let mut from = self.from;
        let mut events = Vec::new();
        if self.initial_events {
            if from > 0 {
                let newest = newest(rx, config, resource, &self.under).await?;
                if from > newest {
                    let status = Status::new_too_large_resource_version_error(from, newest, 1);
                    return Err(status);
                }
            }
            let listed = self.sync(rx, config, resource).await?;
            from = listed.revision;
            let added = |stored| WatchEvent::Object(WatchKind::Added, stored);
            events.extend(listed.items.into_iter().map(added));
        }
        if self.end_bookmark {
            events.push(WatchEvent::Bookmark {
                resource_version: from,
                initial_events_end: true,
                of: resource,
            });
        }
        let keys = match self.options.one {
            true => Keys::One(self.under),
            false => Keys::Prefix(self.under),
        };
        let start = WatchStart {
            prev_kv: true,
            ..WatchStart::of(keys, from + 1)
        };
        let etcd = config.storage_of(resource).etcd.pick(rx).await;
        let open = Open::Etcd {
            stream: etcd.watch::<Object>(rx, start),
            predicate: Arc::new(self.options.predicate),
        };
        Ok((events, open))
    }

    /// `sync`: what there is now. Its pages of 10,000 are one here.
    async fn sync(
        &self,
        rx: Rx,
        config: &Config,
        resource: &'static Resource,
    ) -> Result<Listed, Status> {
        let options = ListOptions {
            one: self.options.one,
            predicate: self.options.predicate.clone(),
            ..ListOptions::default()
        };
        let storage = config.storage_of(resource);
        let listed = storage.get_list(rx, self.under.clone(), &options, resource);
        listed.await.map_err(refused)
    }
}

/// The newest revision (`getCurrentStorageRV`).
async fn newest(
    rx: Rx,
    config: &Config,
    resource: &'static Resource,
    under: &Key,
) -> Result<Revision, Status> {
    let storage = config.storage_of(resource);
    let newest = storage.get_current_resource_version(rx, under.clone());
    newest.await.map_err(refused)
}

fn refused(error: StoreError) -> Status {
    match error {
        StoreError::Status(status) => *status,
        error => Status::untyped(format!("{error:?}")),
    }
}

async fn open_in_cache(
    rx: Rx,
    cacher: Cacher,
    under: Key,
    options: &ListOptions,
    lasts: Duration,
) -> Result<cacher::Watch, Status> {
    let begun = cacher.watch(rx, under, options, Some(lasts));
    let watch = begun.await.map_err(refused)?;
    let deadline = Deadline {
        watch,
        after: lasts,
    };
    rx.spawn(Task::new(DEADLINE, deadline));
    Ok(watch)
}

/// Upstream's `prepareObjs`, of one of the two: the object as it is served, if the predicate selects it.
async fn prepare_obj(
    rx: Rx,
    resource: &'static Resource,
    codec: Codec,
    predicate: &Predicate,
    kv: Option<&KeyValue<Object>>,
) -> Result<Option<Object>, StoreError> {
    let Some(kv) = kv else {
        return Ok(None);
    };
    let decoded = codec.decode(rx, kv.value.clone()).await?;
    let selected = predicate.matches(resource, decoded.json());
    Ok(selected.then_some(decoded))
}

/// `transform`: what a change means to somebody who sees only what the predicate selects.
///
/// # Errors
/// One of its objects cannot be read.
async fn transform(
    rx: Rx,
    resource: &'static Resource,
    codec: Codec,
    predicate: &Predicate,
    event: &Change<Object>,
) -> Result<Option<WatchEvent>, StoreError> {
    let now = prepare_obj(rx, resource, codec, predicate, event.now.as_ref()).await?;
    let before = prepare_obj(rx, resource, codec, predicate, event.before.as_ref()).await?;
    let (kind, object) = match (before, now) {
        (None, None) => return Ok(None),
        (None, Some(now)) => (WatchKind::Added, now),
        (Some(_), Some(now)) => (WatchKind::Modified, now),
        (Some(before), None) => (WatchKind::Deleted, before),
    };
    let stored = Stored {
        object,
        resource_version: event.revision,
    };
    Ok(Some(WatchEvent::Object(kind, stored)))
}
