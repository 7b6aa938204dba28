//! What a watch cache holds (`watch_cache.go`), and how it changes. Everything here happens at one
//! moment; who may run in between is up to the callers.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use imbl::OrdMap;
use wavetank_api::{Status, Stored};
use wavetank_engine::{Instant, Stream, Time, is_exact, mutant};
use wavetank_etcd::{Key, Revision};
use wavetank_version::{Defect, Version};

use super::Cacher;
use super::budget::Budget;
use super::event::Event;
use super::hold::Hold;
use super::progress::Demand;
use super::ready::Ready;
use super::reflector::Retry;
use super::scope::Registered;
use super::window::{Sizing, Window};
use crate::CacheDefect;
use crate::cacher::gates;
use crate::options::StoreError;

/// The objects by key.
pub(super) type Store = OrdMap<Key, Stored>;

/// The store as it was at some revisions (`ListFromCacheSnapshot`). What is in them follows from
/// the store and the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshots {
    kept: OrdMap<Revision, Store>,
    /// The cache has differed from etcd: none are made.
    distrusted: bool,
}

/// By hand, as its hash is: but for what is exact, the revisions say what is in them.
impl PartialEq for Snapshots {
    fn eq(&self, other: &Snapshots) -> bool {
        self.distrusted == other.distrusted
            && self.kept.keys().eq(other.kept.keys())
            && (!is_exact() || self.kept == other.kept)
    }
}
impl Eq for Snapshots {}
/// By hand: see its equality.
impl Hash for Snapshots {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.distrusted.hash(state);
        self.kept.len().hash(state);
        for revision in self.kept.keys() {
            revision.hash(state);
        }
        if is_exact() {
            self.kept.hash(state);
        }
    }
}

impl Snapshots {
    /// The newest that is not newer than this.
    pub fn at(&self, revision: Revision) -> Option<&Store> {
        self.kept.get_prev(&revision).map(|(_, store)| store)
    }

    fn keep(&mut self, revision: Revision, store: &Store) {
        if !self.distrusted {
            self.kept.insert(revision, store.clone());
        }
    }

    pub fn remove_before(&mut self, revision: Revision) {
        while self
            .kept
            .get_min()
            .is_some_and(|(oldest, _)| *oldest < revision)
        {
            self.kept = self.kept.without_min().1;
        }
    }
}

/// The cache of one resource.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Cache {
    pub store: Store,
    pub window: Window,
    pub snapshots: Snapshots,
    /// How far it is.
    pub revision: Revision,
    /// Where it was filled.
    pub listed: Revision,
    /// `isLastSyncResourceVersionUnavailable`: etcd does not have that revision.
    pub unavailable: bool,
    pub ready: Ready,
    /// Those who are registered, by their numbers.
    pub watchers: BTreeMap<u64, Registered>,
    /// The stream of its watch of etcd.
    pub stream: Option<Stream>,
    pub demand: Demand,
    pub held: Option<Hold>,
    pub budget: Budget,
    pub retry: Retry,
}

/// A change as it comes from etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Change {
    pub key: Key,
    pub deleted: bool,
    /// Of one that is gone what it was.
    pub object: Stored,
}

/// `newErrWatcher`: an error that has no Status of its own.
pub(super) fn internal(why: &str) -> Status {
    let mut status = Status::new_internal_error(why);
    why.clone_into(&mut status.message);
    status.details = None;
    status
}

pub(crate) const EMPTY_WINDOW_MISSES_EVENT: Defect = Defect::known(
    "empty-window-misses-event",
    "k/k#49956, PR #49992 (1.8)",
    "a watch cache without events takes a watch from one revision before its own: that event is lost",
)
.until(gates::EMPTY_WINDOW_BEGINS_AFTER_ITS_LIST);

impl Cache {
    /// `processEvent`, under the lock.
    pub fn process_event(&mut self, change: &Change, cacher: Cacher, now: Time) -> Arc<Event> {
        let release = cacher.config.release;
        let event = Arc::new(Event {
            key: change.key.clone(),
            deleted: change.deleted,
            object: change.object.clone(),
            before: self.store.get(&change.key).cloned().filter(|_| {
                !mutant!(
                    "cache-forgets-before",
                    "an event of a watch cache lacks what the object was before"
                )
            }),
            revision: change.object.resource_version,
            recorded: Instant(now),
        });
        let sizing = Sizing::of(release, cacher.resource);
        self.window.push(event.clone(), now, sizing);
        self.revision = event.revision;
        match change.deleted {
            true if mutant!(
                "cache-keeps-deleted",
                "a watch cache keeps objects that were deleted"
            ) =>
            {
                None
            }
            true => self.store.remove(&change.key),
            false => self.store.insert(change.key.clone(), change.object.clone()),
        };
        if release.has(gates::SNAPSHOTS) {
            if self.window.is_full() {
                let oldest = self.window.oldest().unwrap_or(0);
                self.snapshots.remove_before(oldest);
            }
            self.snapshots.keep(self.revision, &self.store);
        }
        event
    }

    /// `rewatchResourceVersion`; 0: none is asked for.
    pub fn rewatch_resource_version(&self) -> Revision {
        match self.unavailable {
            true => 0,
            false => self.revision,
        }
    }

    /// `Replace`, under the lock: all anew, and ready.
    pub fn replace(&mut self, items: Store, revision: Revision, release: Version, now: Time) {
        if !mutant!(
            "refill-keeps-window",
            "a watch cache that is filled anew keeps the events from before"
        ) {
            self.window.clear();
        }
        self.store = items;
        if release.has(gates::SNAPSHOTS) {
            self.snapshots.kept.clear();
            self.snapshots.keep(revision, &self.store);
        }
        self.listed = revision;
        self.revision = revision;
        self.unavailable = false;
        self.ready.set(true, now);
    }

    /// `MarkConsistent`
    pub fn mark_consistent(&mut self, consistent: bool) {
        self.snapshots.distrusted = !consistent;
        if !consistent {
            self.snapshots.kept.clear();
        }
    }

    /// `getAllEventsSince`: the oldest revision from which a watch can be taken up.
    pub fn oldest(&self, cacher: Cacher) -> Result<Revision, StoreError> {
        if self.window.is_empty()
            && cacher
                .config
                .defects
                .has(CacheDefect::EmptyWindowMissesEvent)
        {
            return Ok(self.revision.saturating_sub(1));
        }
        if self.listed > 0 && self.window.is_whole(cacher.config.release) {
            let early = self.listed > 1
                && mutant!(
                    "whole-window-reaches-back",
                    "a watch from one revision before the list is taken"
                );
            return Ok(self.listed - u64::from(early));
        }
        let oldest = self.window.oldest();
        oldest
            .map(|revision| revision.saturating_sub(1))
            .ok_or_else(|| internal("watch cache isn't correctly initialized").into())
    }
}
