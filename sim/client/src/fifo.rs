//! The queues between a reflector and its informer (`client-go/tools/cache`): `delta` is DeltaFIFO of
//! v1.16 and v1.20, `real` RealFIFO of v1.36. This is what they have in common.
//!
//! Queues are pure: who waits for them, and what becomes of what they give, does not belong here.

pub(crate) mod delta;
mod real;

use std::sync::Arc;

use wavetank_api::{Object, Stored};
use wavetank_etcd::Revision;
use wavetank_version::{Set, Version};

use crate::InformerDefect;
use crate::gates;
use crate::indexer::Indexer;

pub use delta::{DeltaFifo, Form};
pub use real::{BATCH, RealFifo};

/// What a store calls an object: `namespace/name`, or `name` (`MetaNamespaceKeyFunc`).
pub type StoreKey = Arc<str>;

/// The key of an object.
pub fn key_of(object: &Object) -> StoreKey {
    match object.namespace() {
        "" => object.name().into(),
        namespace => format!("{namespace}/{}", object.name()).into(),
    }
}

/// An object that is gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gone {
    /// Its key.
    pub key: StoreKey,
    /// The last that is known of it.
    pub last: Option<Stored>,
    /// Nobody saw it go: it was missing in a list (`DeletedFinalStateUnknown`).
    pub unseen: bool,
}

/// One change in a queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Delta {
    /// An event of a watch.
    Added(Stored),
    /// An event of a watch.
    Updated(Stored),
    /// An event of a watch, or worked out from a list.
    Deleted(Gone),
    /// It stood in a list.
    Replaced(Stored),
    /// It is told once more; in v1.16 also: it stood in a list.
    Sync(Stored),
    /// A whole list.
    ReplacedAll(Arc<[Stored]>, Revision),
    /// All are told once more.
    SyncAll,
    /// Nothing happened up to this revision.
    Bookmark(Revision),
}

impl Delta {
    /// The key, if it is about one object.
    pub fn key(&self) -> Option<StoreKey> {
        match self {
            Delta::Added(stored)
            | Delta::Updated(stored)
            | Delta::Replaced(stored)
            | Delta::Sync(stored) => Some(key_of(&stored.object)),
            Delta::Deleted(gone) => Some(gone.key.clone()),
            Delta::ReplacedAll(..) | Delta::SyncAll | Delta::Bookmark(_) => None,
        }
    }

    /// The revision that it carries.
    pub fn revision(&self) -> Revision {
        match self {
            Delta::Added(stored)
            | Delta::Updated(stored)
            | Delta::Replaced(stored)
            | Delta::Sync(stored) => stored.resource_version,
            Delta::Deleted(gone) => gone.last.as_ref().map_or(0, |last| last.resource_version),
            Delta::ReplacedAll(_, revision) | Delta::Bookmark(revision) => *revision,
            Delta::SyncAll => 0,
        }
    }

    fn object(&self) -> Option<&Stored> {
        match self {
            Delta::Added(stored)
            | Delta::Updated(stored)
            | Delta::Replaced(stored)
            | Delta::Sync(stored) => Some(stored),
            Delta::Deleted(gone) => gone.last.as_ref(),
            Delta::ReplacedAll(..) | Delta::SyncAll | Delta::Bookmark(_) => None,
        }
    }
}

/// What a queue gave.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Popped {
    /// From oldest to newest.
    pub deltas: Vec<Delta>,
    /// Does it belong to what the queue was first filled with?
    pub initial: bool,
}

/// The queue of an informer, as its release has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fifo {
    /// v1.16 and v1.20.
    Delta(DeltaFifo),
    /// v1.36.
    Real(RealFifo),
}

impl Fifo {
    /// An empty queue.
    pub fn of(release: Version, defects: Set<InformerDefect>) -> Fifo {
        if release.has(gates::REAL_FIFO) {
            return Fifo::Real(RealFifo::default());
        }
        Fifo::Delta(DeltaFifo::new(Form {
            lists_are_syncs: defects.contains(InformerDefect::RelistIsASync),
            forgets_queued: defects.contains(InformerDefect::ReplaceForgetsQueued),
        }))
    }

    /// An event ADDED.
    pub fn add(&mut self, stored: Stored) {
        match self {
            Fifo::Delta(fifo) => fifo.push(Delta::Added(stored)),
            Fifo::Real(fifo) => fifo.push(Delta::Added(stored)),
        }
    }

    /// An event MODIFIED.
    pub fn update(&mut self, stored: Stored) {
        match self {
            Fifo::Delta(fifo) => fifo.push(Delta::Updated(stored)),
            Fifo::Real(fifo) => fifo.push(Delta::Updated(stored)),
        }
    }

    /// An event DELETED.
    pub fn delete(&mut self, stored: Stored, indexer: &Indexer) {
        let gone = Gone {
            key: key_of(&stored.object),
            last: Some(stored),
            unseen: false,
        };
        match self {
            Fifo::Delta(fifo) => fifo.delete(gone, indexer),
            Fifo::Real(fifo) => fifo.push(Delta::Deleted(gone)),
        }
    }

    /// A BOOKMARK; older queues do not want it.
    pub fn bookmark(&mut self, revision: Revision) {
        if let Fifo::Real(fifo) = self {
            fifo.bookmark(revision);
        }
    }

    /// A list.
    pub fn replace(&mut self, items: Vec<Stored>, revision: Revision, indexer: &Indexer) {
        match self {
            Fifo::Delta(fifo) => fifo.replace(items, indexer),
            Fifo::Real(fifo) => fifo.replace(items.into(), revision),
        }
    }

    /// All that the indexer holds is to be told once more.
    pub fn resync(&mut self, indexer: &Indexer) {
        match self {
            Fifo::Delta(fifo) => fifo.resync(indexer),
            Fifo::Real(fifo) => fifo.resync(),
        }
    }

    /// Takes what comes next. Nothing if it is newer than `until`.
    pub fn pop(&mut self, until: Option<Revision>) -> Option<Popped> {
        match self {
            Fifo::Delta(fifo) => fifo.pop(until),
            Fifo::Real(fifo) => fifo.pop_batch(until),
        }
    }

    /// What was taken is processed. DeltaFIFO, whose lock nobody gets meanwhile, has counted it before.
    pub fn processed(&mut self) {
        if let Fifo::Real(fifo) = self {
            fifo.processed();
        }
    }

    /// Has all of what it was first filled with been processed?
    pub fn has_synced(&self) -> bool {
        match self {
            Fifo::Delta(fifo) => fifo.has_synced(),
            Fifo::Real(fifo) => fifo.has_synced(),
        }
    }

    /// How many entries wait.
    pub fn len(&self) -> usize {
        match self {
            Fifo::Delta(fifo) => fifo.len(),
            Fifo::Real(fifo) => fifo.len(),
        }
    }

    /// Is there nothing to take?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Object `name` as revision `revision` left it.
    pub fn stored(name: &str, revision: Revision) -> Stored {
        Stored {
            object: Object::new(serde_json::json!({
                "metadata": {"namespace": "ns", "name": name},
            })),
            resource_version: revision,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_namespace_if_the_object_has_one() {
        assert_eq!(&*key_of(&testing::stored("a", 1).object), "ns/a");
        let object = Object::new(serde_json::json!({"metadata": {"name": "n"}}));
        assert_eq!(&*key_of(&object), "n");
    }
}
