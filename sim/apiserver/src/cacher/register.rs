//! How a watch begins (`Cacher.Watch`): wait until the cache is ready and fresh, take the initial
//! events under the cache's lock, and become a watcher before it is released. And how it ends.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Status, Stored, WatchEvent};
use wavetank_engine::{Cell, Channel, Payload, Rx, Task};
use wavetank_etcd::{Key, Revision};
use wavetank_release::{Release, Switch};

use super::bookmark::{Timekeeper, gone};
use super::event::{Event, Selection, covers};
use super::state::{Cache, internal};
use super::watcher::{Initial, Watcher, input, result};
use super::window::Instant;
use super::{BOOKMARKS, CACHER, Cacher, WATCHER};
use crate::options::{ListOptions, StoreError};

/// How many watches this server has had, of all resources.
static WATCHES: Cell<u64> = Cell::new("cache-watches");

/// `minWatchChanSize`, `maxWatchChanSize…`, and the fixed sizes until v1.20.
const SMALL: usize = 10;
const WITHOUT_INDEX: usize = 100;
const UNUSED_TRIGGER: usize = 1000;

/// A watch: events come out of [`Watch::next`] until it is over; then, or when nobody wants them
/// any more, [`Watch::stop`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Watch {
    cacher: Cacher,
    number: u64,
}

impl Watch {
    /// The next event; `None` after the last.
    pub async fn next(self, rx: Rx) -> Option<WatchEvent> {
        let event = rx.recv(self.events()).await?;
        Some(event.expect::<WatchEvent>().clone())
    }

    /// Which of the watches of this server it is.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Where the events come out, as [`WatchEvent`]s.
    pub fn events(self) -> Channel {
        result(self.number)
    }

    /// `forget`: nobody listens any more. Once more is no mistake.
    pub fn stop(self, rx: Rx) {
        self.cacher.forget(rx, self.number, false);
    }
}

/// Is a watch still waiting for the bookmark that ends its initial events?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Awaiting {
    /// It is.
    Bookmark,
    /// The bookmark is in its buffer.
    Received,
    /// It is out, or was never asked for.
    Nothing,
}

/// What the cacher knows of a watcher.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Registered {
    scope: Scope,
    /// The one value of the trigger's field that it wants.
    trigger: Option<Arc<str>>,
    /// `bookmarkAfterResourceVersion`
    pub after: Revision,
    pub awaiting: Awaiting,
    /// It gets nothing more; what is in its buffer still goes out.
    leaving: bool,
}

/// `namespacedName`: what a watch is confined to, v1.36; empty: not.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Scope {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Scope {
    fn holds(&self, event: &Event) -> bool {
        let object = &event.object.object;
        (self.namespace.is_empty() || *self.namespace == *object.namespace())
            && (self.name.is_empty() || *self.name == *object.name())
    }
}

impl Cacher {
    /// The field of which watchers may want one value (`TriggerFunc` in `pkg/registry`).
    fn trigger(self) -> Option<&'static str> {
        let old = self.config.release <= Release::V1_20;
        match self.resource.plural {
            "pods" => Some("spec.nodeName"),
            "nodes" | "secrets" | "configmaps" if old => Some("metadata.name"),
            "resourceslices" if !old => Some("spec.nodeName"),
            _ => None,
        }
    }

    /// The buffer of a watcher (`suggestedWatchChannelSize`).
    fn buffer(self, window: usize, triggered: bool) -> u32 {
        let trigger = self.trigger().is_some();
        let size = match (self.config.release, trigger, triggered) {
            (Release::V1_16 | Release::V1_20, true, false) => UNUSED_TRIGGER,
            (Release::V1_16 | Release::V1_20, ..) => SMALL,
            (Release::V1_36, trigger, triggered) => {
                let most = match (trigger, triggered) {
                    (true, true) => SMALL,
                    (true, false) => UNUSED_TRIGGER,
                    (false, _) => WITHOUT_INDEX,
                };
                let fresh = super::window::FRESH.as_secs() as usize;
                window.div_ceil(fresh).clamp(SMALL, most)
            }
        };
        u32::try_from(size).expect("a small size")
    }

    /// A watch of what is under `under`: one key, or a prefix with a slash at its end. `lasts` is
    /// how long its request may take, which bookmarks go by; whoever reads it ends it then. What is
    /// wrong with the revision comes as its only event, an ERROR.
    ///
    /// # Errors
    /// [`StoreError`]: v1.36 refuses while the cache is not ready; before, this waits.
    pub async fn watch(
        self,
        rx: Rx,
        under: Key,
        options: &ListOptions,
        lasts: Option<Duration>,
    ) -> Result<Watch, StoreError> {
        let generation = self.generation(rx).await?;
        match self.begin(rx, under, options, lasts, generation).await {
            Ok(watch) => Ok(watch),
            Err(StoreError::Status(status)) => Ok(self.failed(rx, *status)),
            Err(other) => Ok(self.failed(rx, internal(&format!("{other:?}")))),
        }
    }

    /// `newErrWatcher`
    fn failed(self, rx: Rx, status: Status) -> Watch {
        let watch = self.numbered(rx);
        rx.make(watch.events(), 1);
        rx.try_send(watch.events(), Payload::new(WatchEvent::Error(status)));
        rx.close(watch.events());
        watch
    }

    fn numbered(self, rx: Rx) -> Watch {
        let number = rx.update(&WATCHES, |watches| {
            *watches += 1;
            *watches
        });
        Watch {
            cacher: self,
            number,
        }
    }

    async fn begin(
        self,
        rx: Rx,
        under: Key,
        options: &ListOptions,
        lasts: Option<Duration>,
        generation: u64,
    ) -> Result<Watch, StoreError> {
        let release = self.config.release;
        let cell = self.cell();
        let initial = match release {
            Release::V1_16 | Release::V1_20 => None,
            Release::V1_36 => options.send_initial_events,
        };
        let list = initial == Some(true) && options.bookmarks;
        if list && !self.config.progress {
            let why = "a watch stream was requested by the client but the required storage feature \
                       RequestWatchProgress is disabled";
            return Err(internal(why).into());
        }
        let required = match (options.resource_version, initial) {
            (Some(revision), _) => revision,
            (None, None) => 0,
            (None, Some(_)) => self.storage().current_revision(rx, self.prefix()).await?,
        };
        if initial == Some(true) {
            let ask = !self.config.switches.has(Switch::WatchListWithoutProgress);
            self.wait_until_fresh(rx, required, ask).await?;
        }
        let cache = rx.lock(self.lock()).await;
        let (initial, interval_end, buffer) = rx.look(&cell, |cache| {
            let initial = cache.initial(self, &under, options, initial, required)?;
            let end = (list).then_some(cache.revision);
            let size = self.buffer(cache.window.capacity(), self.triggered(options).is_some());
            Ok::<_, StoreError>((initial, end, size))
        })?;
        let after = match (list, options.resource_version) {
            (false, _) => 0,
            (true, None) => required,
            (true, Some(0)) => rx.look(&cell, |cache| cache.revision),
            (true, Some(asked)) => asked,
        };
        let since = required.max(initial.revision);
        let watch = self.numbered(rx);
        {
            // Whoever is here has initial events and is no watcher yet.
            let _cacher = rx.lock(CACHER).await;
            let careless = self
                .config
                .switches
                .has(Switch::WatchDuringReinitialisation);
            let registered = self.registered(&under, options, after);
            let stands = rx.update(&cell, |cache| {
                let stands = careless || cache.ready.generation() == Some(generation);
                if stands {
                    cache.watchers.insert(watch.number, registered);
                }
                stands
            });
            if !stands {
                return Ok(watch); // its channel was never made: it is over
            }
        }
        drop(cache);
        rx.make(input(watch.number), buffer);
        rx.make(watch.events(), buffer);
        let selection = Arc::new(Selection {
            resource: self.resource,
            under,
            predicate: options.predicate.clone(),
        });
        let watcher = Watcher::new(self, watch.number, selection, since, initial, interval_end);
        rx.spawn(Task::new(WATCHER, watcher));
        if options.bookmarks {
            let keeper = Timekeeper {
                cacher: self,
                number: watch.number,
                left: lasts,
            };
            rx.spawn(Task::new(BOOKMARKS, keeper));
        }
        Ok(watch)
    }

    fn triggered(self, options: &ListOptions) -> Option<Arc<str>> {
        let value = options.predicate.fields.exactly(self.trigger()?)?;
        Some(value.into())
    }

    fn registered(self, under: &str, options: &ListOptions, after: Revision) -> Registered {
        let mut scope = Scope::default();
        if self.config.release >= Release::V1_36 {
            let rest = under.strip_prefix(&*self.prefix()).unwrap_or_default();
            let (namespace, name) = match self.resource.namespaced {
                true => rest.split_once('/').unwrap_or(("", "")),
                false => ("", rest),
            };
            let fields = &options.predicate.fields;
            let or = |text: &str, field| match text {
                "" => fields.exactly(field).unwrap_or_default().into(),
                text => text.into(),
            };
            scope = Scope {
                namespace: or(namespace, "metadata.namespace"),
                name: or(name, "metadata.name"),
            };
        }
        Registered {
            scope,
            trigger: self.triggered(options),
            after,
            awaiting: match after {
                0 => Awaiting::Nothing,
                _ => Awaiting::Bookmark,
            },
            leaving: false,
        }
    }

    /// `forgetWatcher`; with `drain` what is in its buffer still goes out.
    pub(super) fn forget(self, rx: Rx, number: u64, drain: bool) {
        rx.update(&self.cell(), |cache| match drain {
            true => {
                let watcher = cache.watchers.get_mut(&number);
                watcher
                    .into_iter()
                    .for_each(|watcher| watcher.leaving = true);
            }
            false => {
                cache.watchers.remove(&number);
            }
        });
        rx.close(input(number));
        if !drain {
            rx.close(result(number));
        }
        rx.broadcast(gone(number));
    }

    /// A watcher that is too slow: its watch ends, without an error.
    pub(super) fn close_slow(self, rx: Rx, number: u64) {
        let drain = rx.look(&self.cell(), |cache| {
            let watcher = cache.watchers.get(&number);
            watcher.is_some_and(|watcher| watcher.awaiting == Awaiting::Received)
        });
        self.forget(rx, number, drain);
    }

    /// `terminateAllWatchers`
    pub(super) fn terminate_all(self, rx: Rx) {
        let all: Vec<u64> = rx.look(&self.cell(), |cache| {
            let all = cache
                .watchers
                .iter()
                .filter(|(_, watcher)| !watcher.leaving);
            all.map(|(number, _)| *number).collect()
        });
        for number in all {
            self.forget(rx, number, false);
        }
    }
}

impl Cache {
    /// The watchers that may want an event, in the order in which they came.
    pub(super) fn concerned(&self, cacher: Cacher, event: &Event) -> Vec<u64> {
        let value = |stored: &Stored, field| {
            let strategy = cacher.resource.strategy;
            strategy.field(stored.object.json(), field).to_owned()
        };
        let triggered = cacher.trigger().map(|field| {
            let before = event.before.as_ref().map(|before| value(before, field));
            (value(&event.object, field), before)
        });
        let wants = |watcher: &Registered| match (&watcher.trigger, &triggered) {
            (Some(wanted), Some((now, before))) => {
                **wanted == **now || before.as_ref().is_some_and(|before| **wanted == **before)
            }
            _ => watcher.scope.holds(event),
        };
        let all = self.watchers.iter();
        let all = all.filter(|(_, watcher)| !watcher.leaving && wants(watcher));
        all.map(|(number, _)| *number).collect()
    }

    pub(super) fn bookmark_received(&mut self, number: u64) {
        if let Some(watcher) = self.watchers.get_mut(&number)
            && watcher.awaiting == Awaiting::Bookmark
        {
            watcher.awaiting = Awaiting::Received;
        }
    }

    /// `getAllEventsSince`: from where a watch begins.
    fn initial(
        &self,
        cacher: Cacher,
        under: &str,
        options: &ListOptions,
        send_initial_events: Option<bool>,
        required: Revision,
    ) -> Result<Initial, StoreError> {
        if send_initial_events == Some(true) {
            return Ok(self.all(cacher, under, options));
        }
        let oldest = self.oldest(cacher)?;
        let mut since = required;
        if since == 0 {
            if send_initial_events.is_none() {
                return Ok(self.all(cacher, under, options));
            }
            since = self.revision;
        }
        if since < oldest {
            let why = format!("too old resource version: {since} ({oldest})");
            return Err(Status::expired(why).into());
        }
        let (from, to) = (self.window.after(since), self.window.end());
        // Until v1.20 they are copied here, v1.36 reads them when it sends them.
        let (events, rest) = match cacher.config.release {
            Release::V1_16 | Release::V1_20 => {
                let events = self.window.slice(from, to, usize::MAX);
                (events.unwrap_or_default(), None)
            }
            Release::V1_36 => (Vec::new(), Some((from, to))),
        };
        Ok(Initial {
            revision: since,
            events: events.into(),
            rest,
        })
    }

    /// Everything as added, in the order of keys (until v1.20 in that of a Go map).
    fn all(&self, cacher: Cacher, under: &str, options: &ListOptions) -> Initial {
        let one = options.one;
        let wanted = self
            .store
            .iter()
            .filter(|(key, _)| !one || covers(under, key));
        let events: Vec<Arc<Event>> = wanted
            .map(|(key, stored)| {
                Arc::new(Event {
                    key: key.clone(),
                    deleted: false,
                    object: stored.clone(),
                    before: None,
                    revision: self.revision,
                    recorded: Instant::default(),
                })
            })
            .collect();
        // v1.20 takes the revision from the last of them: of none it is what was asked for.
        let revision = match cacher.config.release {
            Release::V1_16 | Release::V1_20 if events.is_empty() => 0,
            _ => self.revision,
        };
        Initial {
            revision,
            events: events.into(),
            rest: None,
        }
    }
}
