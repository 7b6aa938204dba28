//! What an informer remembers: in the process's memory, gone with a crash.

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use wavetank_api::Resource;
use wavetank_engine::{Cell, Name, NotState, mutant};
use wavetank_etcd::Revision;
use wavetank_version::{Defect, Set, Version};

use super::apply::{Notice, Notification, apply};
use super::spec::InformerSpec;
use crate::InformerDefect;
use crate::fifo::{BATCH, Fifo, Popped, StoreKey};
use crate::gates;
use crate::indexer::Indexer;
use crate::wait::backoff::Backoff;

/// All informers of a process, by number: those of each owner stand together, in the order in which they began.
pub static INFORMERS: Cell<Vec<Informer>> = Cell::new("informers");

/// Which informer of a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InformerId {
    /// Whose it is.
    pub scope: Name,
    /// Which of its owner's.
    pub at: u32,
    /// Its number in the process: by this it is named in what it tells, and in timers and conditions.
    pub number: u32,
}

/// The number of the first informer of an owner.
///
/// # Panics
/// If there are none: they have not begun, or the name is another's.
pub fn first_of(all: &[Informer], scope: Name) -> usize {
    let first = all.iter().position(|informer| informer.id.scope == scope);
    first.unwrap_or_else(|| panic!("no informers of `{scope}` have begun in this process"))
}

/// An informer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Informer {
    /// Which it is.
    pub id: InformerId,
    /// Of what: this never changes.
    pub resource: NotState<&'static Resource>,
    /// What its reflector has told.
    pub fifo: Fifo,
    /// Its store.
    pub indexer: Indexer,
    /// What was popped, and is neither in the store nor with handlers yet.
    processing: Option<Popped>,
    /// Its handlers.
    pub listeners: Vec<Listener>,
    /// Is it held back?
    pub hold: Option<Hold>,
    /// Was it told that the store is filled?
    synced: bool,
    /// What its reflector remembers.
    pub(crate) reflector: Reflecting,
}

/// A handler, and what it is still to be told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Listener {
    waiting: Vector<Notice>,
    /// It is being told something.
    busy: bool,
    /// What is no news is told to it, too.
    is_syncing: bool,
    /// It is time for its resync.
    pub(super) due: bool,
    /// How many of the initial objects it was told or is to be told, and is not through with.
    initial: u32,
    /// What a handler makes of what it is told.
    view: OrdMap<StoreKey, Revision>,
}

/// An informer that is held back: staleness on demand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hold {
    /// Nothing newer than this is taken; nothing at all without it.
    pub at: Option<Revision>,
    /// Where.
    pub place: HoldAt,
}

/// Where an informer is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HoldAt {
    /// Nothing is taken out of the queue: the reflector goes on, lists included.
    Queue,
    /// The reflector takes nothing off its watch.
    Watch,
}

/// What a reflector remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reflecting {
    /// `lastSyncResourceVersion`; `None` before the first.
    pub last: Option<Revision>,
    /// `isLastSyncResourceVersionUnavailable`
    pub unavailable: bool,
    /// `paginatedResult`
    pub paginated: bool,
    /// Watches that were accepted.
    pub watches: u64,
    /// Between rounds, and after a refused connection (v1.20; one for both in v1.36).
    pub backoffs: [Backoff; 2],
}

/// How a pop went.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pop {
    /// There is nothing to take.
    Nothing,
    /// Something was taken, and whoever pops still has the lock of the queue.
    Locked,
    /// Something was taken, and the reflector can put in more before that is processed.
    Unlocked,
}

/// What processing did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Done {
    pub changes: Arc<[(StoreKey, Option<Revision>)]>,
    /// Handlers that have something to do.
    pub notified: Vec<u32>,
    /// The store is filled as of now.
    pub synced: bool,
    /// There is more in the queue.
    pub more: bool,
}

pub(crate) const SYNCED_BEFORE_HANDLERS: Defect = Defect::known(
    "synced-before-handlers",
    "k/k#113763, PR #113985 (1.27)",
    "work begins when the store is filled, and handlers have not seen all of it",
)
.until(gates::HANDLERS_HAVE_SYNCED);

impl Informer {
    /// An informer that has seen nothing.
    pub fn new(
        id: InformerId,
        spec: &InformerSpec,
        release: Version,
        defects: Set<InformerDefect>,
    ) -> Informer {
        let listener = Listener {
            waiting: Vector::new(),
            busy: false,
            is_syncing: true,
            due: false,
            initial: 0,
            view: OrdMap::new(),
        };
        Informer {
            id,
            resource: NotState(spec.selection.resource),
            fifo: Fifo::of(release, defects),
            processing: None,
            indexer: Indexer::with(&spec.indices),
            listeners: vec![listener; spec.handlers.len()],
            hold: None,
            synced: false,
            reflector: Reflecting {
                last: None,
                unavailable: false,
                paginated: false,
                watches: 0,
                backoffs: [Backoff::new(release); 2],
            },
        }
    }

    /// Is it held at this place? Then up to which revision it still takes something.
    pub(crate) fn held(&self, place: HoldAt) -> Option<Revision> {
        let hold = self.hold.filter(|hold| hold.place == place)?;
        Some(hold.at.unwrap_or(0))
    }

    /// Takes what comes next out of the queue. `whileProcessing_locked` lets go of the lock, but not where the queue is
    /// long.
    pub(super) fn pop(&mut self, release: Version) -> Pop {
        let until = self.held(HoldAt::Queue);
        if until == Some(0) {
            return Pop::Nothing;
        }
        self.processing = self.fifo.pop(until);
        match self.processing {
            None => Pop::Nothing,
            Some(_)
                if release.has(gates::QUEUE_IS_UNLOCKED_WHILE_PROCESSING)
                    && self.fifo.len() < 2 * BATCH =>
            {
                Pop::Unlocked
            }
            Some(_) => Pop::Locked,
        }
    }

    /// Takes what was popped into the store, and tells handlers.
    pub(super) fn process(&mut self, release: Version) -> Done {
        let popped = self.processing.take().expect("something was popped");
        let before = self.indexer.clone();
        let notifications = apply(release, &mut self.indexer, &popped);
        let mut changes = Vec::new();
        for Notification { notice, .. } in &notifications {
            let key = notice.key();
            let now = self.indexer.get(&key).map(|stored| stored.resource_version);
            if now != before.get(&key).map(|stored| stored.resource_version) {
                changes.push((key, now));
            }
        }
        let mut handlers = Vec::new();
        for (handler, listener) in (0..).zip(&mut self.listeners) {
            let waiting = listener.waiting.len();
            for Notification {
                notice,
                only_syncing,
            } in &notifications
            {
                if !only_syncing || listener.is_syncing {
                    listener.add(notice.clone());
                }
            }
            if waiting == 0 && !listener.waiting.is_empty() {
                handlers.push(handler);
            } else if waiting > 0
                && listener.waiting.len() > waiting
                && mutant!(
                    "busy-handler-misses",
                    "what comes while something waits is lost to a handler"
                )
            {
                listener.waiting.truncate(waiting);
            }
        }
        self.fifo.processed();
        Done {
            changes: changes.into(),
            notified: handlers,
            synced: self.newly_synced(),
            more: !self.fifo.is_empty(),
        }
    }

    /// True once: when the store is filled.
    pub(crate) fn newly_synced(&mut self) -> bool {
        let now = self.fifo.has_synced() && !self.synced;
        self.synced |= now;
        now
    }

    /// The next thing for a handler.
    pub(super) fn take(&mut self, handler: u32) -> Option<Notice> {
        let listener = &mut self.listeners[handler as usize];
        let notice = listener.waiting.pop_front();
        listener.busy = notice.is_some();
        notice
    }

    /// A handler is through with something.
    pub(super) fn finish(&mut self, handler: u32, notice: &Notice) {
        let listener = &mut self.listeners[handler as usize];
        listener.busy = false;
        match notice {
            Notice::Added { new, .. } | Notice::Updated { new, .. } => {
                listener.view.insert(notice.key(), new.resource_version);
            }
            Notice::Deleted(gone) => {
                listener.view.remove(&gone.key);
            }
        }
        if let Notice::Added { initial: true, .. } = notice {
            listener.initial -= 1;
        }
    }

    /// `shouldResync`: which handlers' resync is due. It is under way for them, until the next time.
    pub(super) fn should_resync(&mut self) -> Vec<u32> {
        let mut due = Vec::new();
        for (handler, listener) in (0..).zip(&mut self.listeners) {
            let is_due = std::mem::take(&mut listener.due);
            listener.is_syncing = is_due && !mutant!("no-resync", "an informer does not resync");
            if listener.is_syncing {
                due.push(handler);
            }
        }
        due
    }

    /// `HasSynced` of the informer: its store is filled.
    pub fn has_synced(&self) -> bool {
        self.fifo.has_synced()
    }

    /// As `HasSynced` of a handler's registration: it has seen all that the store was filled with.
    pub fn handler_has_synced(&self, handler: usize) -> bool {
        self.has_synced() && self.listeners[handler].initial == 0
    }

    /// What a process waits for before it begins to work.
    pub(super) fn is_ready(&self, defects: Set<InformerDefect>) -> bool {
        if defects.has(InformerDefect::SyncedBeforeHandlers) {
            return self.has_synced();
        }
        (0..self.listeners.len()).all(|handler| {
            self.handler_has_synced(handler)
                || self.has_synced()
                    && mutant!(
                        "ready-before-handlers",
                        "informers are ready before their handlers have seen the first list"
                    )
        }) && self.has_synced()
    }

    /// Objects of the store with their revisions.
    pub fn content(&self) -> Arc<[(StoreKey, Revision)]> {
        let items = self.indexer.iter();
        items
            .map(|(key, stored)| (key.clone(), stored.resource_version))
            .collect()
    }

    /// The newest revision that its reflector knows.
    pub fn last_revision(&self) -> Option<Revision> {
        self.reflector.last
    }
}

impl Listener {
    fn add(&mut self, notice: Notice) {
        if let Notice::Added { initial: true, .. } = notice {
            self.initial += 1;
        }
        self.waiting.push_back(notice);
    }

    /// What the handler has made of what it was told.
    pub fn view(&self) -> Arc<[(StoreKey, Revision)]> {
        let items = self.view.iter();
        items
            .map(|(key, revision)| (key.clone(), *revision))
            .collect()
    }

    /// Is there something that it was not told to the end?
    pub fn is_busy(&self) -> bool {
        self.busy || !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo::testing::stored;
    use wavetank_api::kinds::CONFIG_MAPS;
    use wavetank_releases::VERSIONS;
    use wavetank_version::Set;

    fn informer(release: Version) -> Informer {
        let id = InformerId {
            scope: Name::new("test"),
            at: 0,
            number: 0,
        };
        let mut informer = Informer::new(id, &InformerSpec::of(&CONFIG_MAPS), release, Set::NONE);
        let list = vec![stored("a", 1)];
        informer.fifo.replace(list, 1, &informer.indexer);
        informer
    }

    /// Between the two the reflector can put in more, and nothing that others see has changed.
    #[test]
    fn what_is_popped_is_nowhere_until_it_is_processed() {
        for release in VERSIONS {
            let mut informer = informer(release);
            let unlocks = release.has(gates::QUEUE_IS_UNLOCKED_WHILE_PROCESSING);
            let popped = informer.pop(release);
            assert_eq!(popped == Pop::Unlocked, unlocks, "{release}");
            if unlocks {
                informer.fifo.add(stored("b", 2));
                assert!(!informer.has_synced() && informer.indexer.is_empty());
                assert!(!informer.listeners[0].is_busy());
            }
            let done = informer.process(release);
            assert!(done.synced && informer.has_synced());
            assert_eq!((done.notified, done.more), (vec![0], unlocks));
            assert!(informer.indexer.get("ns/a").is_some());
        }
    }

    #[test]
    fn a_long_queue_stays_locked() {
        let release = Version::LATEST;
        let mut informer = informer(release);
        for at in 0..2 * BATCH {
            informer.fifo.update(stored("b", at as Revision + 2));
        }
        assert_eq!(informer.pop(release), Pop::Locked);
        informer.process(release);
        assert_eq!(informer.pop(release), Pop::Unlocked);
    }
}
