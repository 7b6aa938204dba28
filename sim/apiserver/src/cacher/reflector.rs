//! The reflector of a watch cache: fills it by a list, follows by a watch, begins again a second
//! after either fails (`startCaching`, over `client-go/tools/cache/reflector.go`).
//!
//! From v1.35 on a watch with initial events takes the place of the list. To etcd that is the same, pages and then a
//! watch from their revision, but for a read of the current revision where the cache was filled before; and where it
//! fails a list follows at once.

use std::time::Duration;

use wavetank_api::status::Reason;
use wavetank_api::{Object, Status};
use wavetank_engine::{Either, Instant, Outcome, Payload, Rx, Task, Time};
use wavetank_etcd::{Key, Keys, Range, Revision};
use wavetank_version::Defect;

use super::event::Item;
use super::note::CacheNote;
use super::source::{Got, Source};
use super::state::{Cache, Change, Store};
use super::{CACHER, Cacher, REFLECT};
use crate::CacheDefect;
use crate::cacher::gates;
use crate::options::StoreError;

/// `storageWatchListPageSize`
const PAGE: u64 = 10_000;
/// `NewCacherFromConfig`: the period of `wait.Until`.
const AGAIN: Duration = Duration::from_secs(1);
/// `MaxInternalErrorRetryDuration`, v1.36.
const RETRY_LIMIT: Duration = Duration::from_secs(30);
/// `NewRetryWithDeadline`: so long without an error, and the limit counts anew.
const RETRY_RESET: Duration = Duration::from_secs(60);
/// Upstream retries at once; a member without a leader refuses at once, too.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// `RetryWithDeadline`: since when a watch fails internally.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Retry {
    failing: bool,
    first: Instant,
    last: Instant,
}

impl Retry {
    /// One more. Is another attempt worth it?
    fn again(&mut self, now: Time) -> bool {
        if !self.failing || now.since(self.last.0) > RETRY_RESET {
            self.first = Instant(now);
        }
        self.failing = true;
        self.last = Instant(now);
        now.since(self.first.0) <= RETRY_LIMIT
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reflector {
    cacher: Cacher,
    /// The watch; `None`: it begins.
    source: Option<Source>,
}

impl Reflector {
    pub fn new(cacher: Cacher) -> Reflector {
        Reflector {
            cacher,
            source: None,
        }
    }

    fn go_on(self) -> Outcome {
        Outcome::Become(Task::new(REFLECT, self))
    }
}

pub(super) async fn reflect(rx: Rx, reflector: Reflector) -> Outcome {
    let Reflector { cacher, source } = reflector;
    if cacher.is_stopped(rx) {
        return cacher.end(rx).await;
    }
    let stop = async {
        while !cacher.is_stopped(rx) {
            rx.changed(cacher.stopping()).await;
        }
    };
    let round = async {
        match source {
            None => cacher.fill(rx).await,
            Some(source) => cacher.follow(rx, source).await,
        }
    };
    // A round that is cut short by the end leaves a stream that is in the cell.
    let next = match rx.select(stop, round).await {
        Either::Left(()) => source,
        Either::Right(next) => next,
    };
    Reflector {
        cacher,
        source: next,
    }
    .go_on()
}

pub(crate) const STOPPED_CACHE_KEEPS_WATCHES: Defect = Defect::known(
    "stopped-cache-keeps-watches",
    "k/k#78029, PR #78029 (1.15)",
    "a watch cache that is torn down leaves its watches open, and silent",
)
.until(gates::STOPPED_CACHE_ENDS_WATCHES);

impl Cacher {
    /// `/registry/configmaps/`
    pub(super) fn prefix(self) -> Key {
        self.resource.key("", "")
    }

    /// The list and `Replace`. The watch that follows, if all went well.
    async fn fill(self, rx: Rx) -> Option<Source> {
        {
            let _cacher = rx.lock(CACHER).await;
            self.terminate_all_watchers(rx);
        }
        rx.update_at(&self.cell(), |cache, now| cache.ready.begin(now));
        self.unheld(rx, Revision::MAX).await;
        let Ok((items, revision)) = self.initial_state(rx).await else {
            rx.sleep(AGAIN).await;
            return None;
        };
        let etcd = self.etcd().pick(rx).await;
        let _cache = rx.lock(self.lock()).await;
        let release = self.config.release;
        rx.update_at(&self.cell(), |cache, now| {
            cache.budget.begin(now);
            cache.replace(items, revision, release, now);
        });
        rx.broadcast(self.changed());
        rx.note(CacheNote::Filled(self.resource, revision));
        Some(Source::open(rx, self, etcd, revision))
    }

    /// What there is to replace the cache with: the first half of `ListAndWatchWithContext`.
    async fn initial_state(self, rx: Rx) -> Result<(Store, Revision), StoreError> {
        if self.config.release.has(gates::FILLED_BY_WATCH_LIST)
            && let Ok(found) = self.watch_list(rx).await
        {
            return Ok(found);
        }
        self.list_etcd(rx).await
    }

    /// `watchList`, over `startWatching` of `etcd3/watcher.go`: what is to be at least as new as something is compared with
    /// the current revision first. If that is too large, initial events of any revision will do.
    async fn watch_list(self, rx: Rx) -> Result<(Store, Revision), StoreError> {
        let known = rx.look(&self.cell(), Cache::rewatch_resource_version);
        if known > 0 {
            let storage = self.storage();
            let current = storage.get_current_resource_version(rx, self.prefix());
            let is_too_large = known > current.await?;
            rx.update(&self.cell(), |cache| cache.unavailable = is_too_large);
        }
        self.list_etcd(rx).await
    }

    /// Page after page, all at the revision of the first.
    async fn list_etcd(self, rx: Rx) -> Result<(Store, Revision), StoreError> {
        let codec = self.codec();
        let (mut items, mut revision) = (Store::new(), 0);
        let prefix = self.prefix();
        let mut keys = Keys::Prefix(prefix.clone());
        loop {
            let range = Range {
                limit: PAGE,
                revision,
                ..Range::of(keys)
            };
            let ranged = self.etcd().range::<Object>(rx, range).await?;
            if revision == 0 {
                revision = ranged.revision;
            }
            let last = ranged.kvs.last().map(|kv| kv.key.clone());
            for kv in ranged.kvs {
                items.insert(kv.key.clone(), codec.stored(rx, kv).await?);
            }
            match last.filter(|_| ranged.more) {
                None => return Ok((items, revision)),
                Some(last) => {
                    keys = Keys::Between(format!("{last}\0").into(), get_prefix_range_end(&prefix))
                }
            }
        }
    }

    /// One message of the watch. `None`: it is over, and all begins again.
    async fn follow(self, rx: Rx, mut source: Source) -> Option<Source> {
        let failed = match source.next(rx, self).await {
            Got::Nothing => None,
            Got::Progress(revision) => {
                self.update_resource_version(rx, revision).await;
                None
            }
            Got::Changes(changes, failed) => {
                for change in changes {
                    self.process_event(rx, change).await;
                }
                failed
            }
            Got::Failed(status) => Some(status),
        };
        let Some(status) = failed else {
            return Some(source);
        };
        source.close(rx, self);
        if self.retries(rx, &status) {
            rx.sleep(RETRY_PAUSE).await;
            let etcd = self.etcd().pick(rx).await;
            return Some(Source::open(rx, self, etcd, source.last()));
        }
        rx.update_at(&self.cell(), |cache, now| cache.ready.set(false, now));
        rx.broadcast(self.changed());
        rx.note(CacheNote::Broke(self.resource, status.message));
        rx.sleep(AGAIN).await;
        None
    }

    fn retries(self, rx: Rx, status: &Status) -> bool {
        self.config.release.has(gates::INTERNAL_ERRORS_ARE_RETRIED)
            && status.is(Reason::InternalError)
            && rx.update_at(&self.cell(), |cache, now| cache.retry.again(now))
    }

    /// `processEvent`: the cache under its lock, the dispatch loop after it.
    async fn process_event(self, rx: Rx, change: Change) {
        self.unheld(rx, change.object.resource_version).await;
        let event = {
            let _cache = rx.lock(self.lock()).await;
            rx.update_at(&self.cell(), |cache, now| {
                cache.process_event(&change, self, now)
            })
        };
        rx.broadcast(self.changed());
        self.hand_on(rx, Item::Event(event)).await;
    }

    /// `UpdateResourceVersion`.
    async fn update_resource_version(self, rx: Rx, revision: Revision) {
        self.unheld(rx, revision).await;
        {
            let _cache = rx.lock(self.lock()).await;
            rx.update(&self.cell(), |cache| cache.revision = revision);
        }
        rx.broadcast(self.changed());
        self.hand_on(rx, Item::Bookmark(revision)).await;
    }

    async fn hand_on(self, rx: Rx, item: Item) {
        rx.send_to(self.incoming(), Payload::new(item)).await;
    }

    /// It is stopped: `defer c.terminateAllWatchers()` (PR #78029).
    async fn end(self, rx: Rx) -> Outcome {
        if let Some(stream) = rx.update(&self.cell(), |cache| cache.stream.take()) {
            rx.close_stream(stream);
        }
        if !self
            .config
            .defects
            .has(CacheDefect::StoppedCacheKeepsWatches)
        {
            let _cacher = rx.lock(CACHER).await;
            self.terminate_all_watchers(rx);
        }
        Outcome::Done
    }
}

/// `clientv3.GetPrefixRangeEnd` of a prefix that ends with a slash.
fn get_prefix_range_end(prefix: &str) -> Key {
    let stem = prefix.strip_suffix('/').unwrap_or(prefix);
    format!("{stem}0").into()
}
