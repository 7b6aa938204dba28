//! The routine of one watch (`cacheWatcher`): first the initial events, then what the dispatch loop
//! puts into its buffer, each as far as the watch selects it.

use std::sync::Arc;

use wavetank_api::{WatchEvent, WatchKind};
use wavetank_engine::{Channel, Outcome, Payload, Rx, Task, mutant};
use wavetank_etcd::Revision;

use super::event::{Event, Item, OwnCopy, Selection};
use super::scope::Awaiting;
use super::{Cacher, WATCHER};

/// `bufferSize` of an interval: so many events are read at a time, under the lock.
const CHUNK: usize = 100;

/// What a watch begins with (`watchCacheInterval`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Initial {
    /// The revision that it is of.
    pub revision: Revision,
    pub events: Arc<[Arc<Event>]>,
    /// The numbers, in the window, of those that are not read yet.
    pub rest: Option<(u64, u64)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Watcher {
    cacher: Cacher,
    number: u64,
    selection: Arc<Selection>,
    /// Events up to here it has had.
    since: Revision,
    /// The initial events, and how many of those that are read are done; `None`: all.
    initial: Option<(Initial, usize)>,
    /// The revision of the bookmark that ends them.
    end: Option<Revision>,
}

/// What the dispatch loop has for a watcher.
pub(super) fn input(number: u64) -> Channel {
    Channel::new("watch-input", number)
}

/// What a watcher has for its client.
pub(super) fn result(number: u64) -> Channel {
    Channel::new("watch-result", number)
}

impl Watcher {
    pub fn new(
        cacher: Cacher,
        number: u64,
        selection: Arc<Selection>,
        since: Revision,
        initial: Initial,
        end: Option<Revision>,
    ) -> Watcher {
        Watcher {
            cacher,
            number,
            selection,
            since,
            initial: Some((initial, 0)),
            end,
        }
    }

    /// False if nobody listens any more.
    async fn send(&self, rx: Rx, event: WatchEvent) -> bool {
        rx.send_to(result(self.number), Payload::new(event)).await
    }

    /// An event with a copy of its object.
    async fn send_own(&self, rx: Rx, event: WatchEvent) -> bool {
        match self.selection.decorated {
            true => {
                let event = Payload::new(OwnCopy(event));
                rx.send_to(result(self.number), event).await
            }
            false => self.send(rx, event).await,
        }
    }

    /// A bookmark; the first that was waited for is marked as such.
    async fn bookmark(&self, rx: Rx, revision: Revision) -> bool {
        let cell = self.cacher.cell();
        let awaited = self.awaiting(rx) != Awaiting::Nothing;
        let event = WatchEvent::Bookmark {
            resource_version: revision,
            initial_events_end: awaited,
            of: self.selection.resource,
        };
        let sent = self.send(rx, event).await;
        if sent && awaited {
            rx.update(&cell, |cache| {
                if let Some(watcher) = cache.watchers.get_mut(&self.number) {
                    watcher.awaiting = Awaiting::Nothing;
                }
            });
        }
        sent
    }

    fn awaiting(&self, rx: Rx) -> Awaiting {
        let nothing = Awaiting::Nothing;
        rx.look(&self.cacher.cell(), |cache| {
            let watcher = cache.watchers.get(&self.number);
            watcher.map_or(nothing, |watcher| watcher.awaiting)
        })
    }

    /// One of the initial events. False if the watch is over.
    async fn begin(&mut self, rx: Rx) -> bool {
        let Some((initial, done)) = &mut self.initial else {
            return true;
        };
        while let Some(event) = initial.events.get(*done) {
            *done += 1;
            self.since = self.since.max(event.revision);
            if let Some(event) = self.selection.convert_to_watch_event(event) {
                return self.send_own(rx, event).await;
            }
        }
        if let Some((from, to)) = initial.rest.filter(|(from, to)| from < to) {
            let _cache = rx.lock(self.cacher.lock()).await;
            let read = rx.look(&self.cacher.cell(), |cache| {
                cache.window.slice(from, to, CHUNK)
            });
            // They have gone from the window: the client must begin again.
            let Some(events) = read.filter(|events| !events.is_empty()) else {
                return false;
            };
            initial.rest = Some((from + events.len() as u64, to));
            initial.events = events.into();
            *done = 0;
            return true;
        }
        self.initial = None;
        match self.end.take() {
            Some(_)
                if mutant!(
                    "no-end-of-initial-events",
                    "initial events end without their bookmark"
                ) =>
            {
                true
            }
            Some(revision) => self.bookmark(rx, revision).await,
            None => true,
        }
    }

    /// One event from the buffer. False if the watch is over.
    async fn go_on(&self, rx: Rx) -> bool {
        let Some(item) = rx.recv(input(self.number)).await else {
            return false;
        };
        match item.expect::<Item>() {
            Item::Event(event)
                if event.revision > self.since
                    || mutant!(
                        "watcher-repeats",
                        "a watcher passes on what its initial events had"
                    ) =>
            {
                match self.selection.convert_to_watch_event(event) {
                    // `setCachingObjects` does not wrap what an object was before it left the selection.
                    Some(left @ WatchEvent::Object(WatchKind::Deleted, _)) if !event.deleted => {
                        self.send_own(rx, left).await
                    }
                    Some(event) => self.send(rx, event).await,
                    None => true,
                }
            }
            Item::Bookmark(revision)
                if *revision > self.since
                    || (*revision == self.since && self.awaiting(rx) != Awaiting::Nothing) =>
            {
                self.bookmark(rx, *revision).await
            }
            Item::Event(_) | Item::Bookmark(_) => true,
        }
    }
}

/// `processInterval`, `process`.
pub(super) async fn process_interval(rx: Rx, mut watcher: Watcher) -> Outcome {
    let goes_on = match watcher.initial {
        Some(_) => watcher.begin(rx).await,
        None => watcher.go_on(rx).await,
    };
    if goes_on {
        return Outcome::Become(Task::new(WATCHER, watcher));
    }
    watcher.cacher.forget_watcher(rx, watcher.number, false);
    Outcome::Done
}
