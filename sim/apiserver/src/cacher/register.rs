//! How a watch begins (`Cacher.Watch`): wait until the cache is ready and fresh, take the initial
//! events under the cache's lock, and become a watcher before it is released. And how it ends.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Status, WatchEvent};
use wavetank_engine::{Cell, Channel, Payload, Rx, Task, mutant};
use wavetank_etcd::Key;
use wavetank_version::Defect;

use super::bookmark::{Timekeeper, gone};
use super::event::{OwnCopy, Selection};
use super::note::CacheNote;
use super::scope::Awaiting;
use super::state::internal;
use super::watcher::{Watcher, input, result};
use super::{BOOKMARKS, CACHER, Cacher, WATCHER};
use crate::CacheDefect;
use crate::cacher::gates;
use crate::options::{ListOptions, StoreError};

/// How many watches this server has had, of all resources.
static WATCHES: Cell<u64> = Cell::new("cache-watches");

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
        self.next_decorated(rx, |event| event).await
    }

    /// The next event, decorated if its object is the watch's own; `None` after the last.
    pub(crate) async fn next_decorated(
        self,
        rx: Rx,
        decorate: impl FnOnce(WatchEvent) -> WatchEvent,
    ) -> Option<WatchEvent> {
        let event = rx.recv(self.events()).await?;
        Some(match event.get::<OwnCopy>() {
            Some(OwnCopy(event)) => decorate(event.clone()),
            None => event.expect::<WatchEvent>().clone(),
        })
    }

    /// Which of the watches of this server it is.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Where the events come out.
    pub fn events(self) -> Channel {
        result(self.number)
    }

    /// `forget`: nobody listens any more. Once more is no mistake.
    pub fn stop(self, rx: Rx) {
        self.cacher.forget_watcher(rx, self.number, false);
    }
}

pub(crate) const WATCH_DURING_REINITIALISATION: Defect = Defect::known(
    "watch-during-reinitialisation",
    "k/k#116122, PR #116172 (1.27)",
    "a watch that is registered while its cache fills anew never gets what happened meanwhile",
)
.until(gates::READY_HAS_GENERATIONS);

pub(crate) const WATCH_LIST_WITHOUT_PROGRESS: Defect = Defect::known(
    "watch-list-without-progress",
    "k/k#122277, PR #122830 (1.30)",
    "a watch with initial events waits for its revision, but does not ask etcd for progress",
)
.until(gates::WATCH_LIST_REQUESTS_PROGRESS)
.fits_only(gates::WATCH_LIST);

impl Cacher {
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
            Err(StoreError::Status(status)) => Ok(self.new_err_watcher(rx, *status)),
            Err(other) => Ok(self.new_err_watcher(rx, internal(&format!("{other:?}")))),
        }
    }

    /// `newErrWatcher`
    fn new_err_watcher(self, rx: Rx, status: Status) -> Watch {
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
        let initial = options.send_initial_events;
        let initial = initial.filter(|_| release.has(gates::WATCH_LIST));
        let list = initial == Some(true) && options.bookmarks;
        if list && !self.config.progress {
            let why = "a watch stream was requested by the client but the required storage feature \
                       RequestWatchProgress is disabled";
            return Err(internal(why).into());
        }
        let required = match (options.resource_version, initial) {
            (Some(revision), _) => revision,
            (None, None) => 0,
            (None, Some(_)) => {
                self.storage()
                    .get_current_resource_version(rx, self.prefix())
                    .await?
            }
        };
        if initial == Some(true) {
            let ask = !self
                .config
                .defects
                .has(CacheDefect::WatchListWithoutProgress);
            self.wait_until_fresh_and_block(rx, required, ask).await?;
        }
        let cache = rx.lock(self.lock()).await;
        let (initial, interval_end, buffer) = rx.look(&cell, |cache| {
            let initial = cache.get_all_events_since(self, &under, options, initial, required)?;
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
        let since = since
            + u64::from(mutant!(
                "watch-skips-first",
                "a watch does not pass on what comes first after its start"
            ));
        let watch = self.numbered(rx);
        {
            // Whoever is here has initial events and is no watcher yet.
            let _cacher = rx.lock(CACHER).await;
            let registered = self.registered(&under, options, after);
            let stands = rx.update(&cell, |cache| {
                let stands = cache.ready.generation() == Some(generation)
                    || mutant!("watch-of-another-filling", "a watch is registered though its cache was filled anew meanwhile (k/k#116122)")
                    || self
                        .config
                        .defects
                        .has(CacheDefect::WatchDuringReinitialisation);
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
            decorated: options.decorated,
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

    /// `forgetWatcher`; with `drain` what is in its buffer still goes out.
    pub(super) fn forget_watcher(self, rx: Rx, number: u64, drain: bool) {
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
        rx.note(CacheNote::TooSlow(self.resource, number));
        self.forget_watcher(rx, number, drain);
    }

    /// `terminateAllWatchers`
    pub(super) fn terminate_all_watchers(self, rx: Rx) {
        let all: Vec<u64> = rx.look(&self.cell(), |cache| {
            let all = cache
                .watchers
                .iter()
                .filter(|(_, watcher)| !watcher.leaving);
            all.map(|(number, _)| *number).collect()
        });
        for number in all {
            self.forget_watcher(rx, number, false);
        }
    }
}
