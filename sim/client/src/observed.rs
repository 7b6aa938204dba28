//! What clients tell monitors and stories: each list, each event of a watch, each change of a store, what
//! handlers saw. Notes only; who judges them is in `monitors`.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::Resource;
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Status, WatchKind};
use wavetank_engine::ProcId;
use wavetank_etcd::Revision;

use crate::fifo::StoreKey;

/// What an informer is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Selection {
    /// Objects of this resource
    pub resource: &'static Resource,
    /// in this namespace; in all if it is empty,
    pub namespace: Arc<str>,
    /// with these labels.
    pub labels: Labels,
}

/// A label selector, ordered by its text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Labels(pub LabelSelector);

impl PartialOrd for Labels {
    fn partial_cmp(&self, other: &Labels) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Labels {
    fn cmp(&self, other: &Labels) -> std::cmp::Ordering {
        self.text().cmp(&other.text())
    }
}

/// An informer begins, in each life of its process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Informing {
    /// Its number in the process.
    pub informer: u32,
    /// What it is about.
    pub selection: Selection,
    /// How many handlers it has.
    pub handlers: u32,
    /// How often each of them wants to hear of all objects.
    pub resyncs: Vec<Option<Duration>>,
}

/// All of a list has come.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Listed {
    /// For which informer.
    pub informer: u32,
    /// The revision that was asked for; `None` if none was named.
    pub asked: Option<Revision>,
    /// The revision of the list.
    pub got: Revision,
    /// What stood in it.
    pub items: Arc<[(StoreKey, Revision)]>,
    /// Did it come as the initial events of a watch?
    pub streamed: bool,
}

/// A list was not to be had.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NotListed {
    /// For which informer.
    pub informer: u32,
    /// The revision that was asked for.
    pub asked: Option<Revision>,
    /// Why.
    pub why: Trouble,
}

/// What went wrong with a request or a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Trouble {
    /// The server said no, or the watch ended with ERROR.
    Status(Status),
    /// There was no answer.
    Net(wavetank_engine::NetError),
    /// The watch ended before it began, or within a second and without an event.
    Short,
}

/// A watch was accepted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchBegan {
    /// For which informer.
    pub informer: u32,
    /// Its number in this life of the process.
    pub watch: u64,
    /// After which revision; `None` if none was named.
    pub from: Option<Revision>,
    /// Were initial events asked for (`sendInitialEvents`)?
    pub initial_events: bool,
    /// By which server.
    pub server: ProcId,
}

/// An event of a watch came.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watched {
    /// For which informer.
    pub informer: u32,
    /// On which watch.
    pub watch: u64,
    /// ADDED, MODIFIED, DELETED or BOOKMARK.
    pub kind: WatchKind,
    /// The object; empty for a bookmark.
    pub key: StoreKey,
    /// Its revision.
    pub revision: Revision,
    /// The bookmark that ends the initial events.
    pub initial_events_end: bool,
}

/// A watch is over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchOver {
    /// For which informer.
    pub informer: u32,
    /// Which; 0 if it was not accepted.
    pub watch: u64,
    /// What went wrong, if anything did.
    pub why: Option<Trouble>,
}

/// The store of an informer has changed, by what came out of its queue together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Changed {
    /// Which informer.
    pub informer: u32,
    /// The objects that were written, with their revisions, or removed.
    pub changes: Arc<[(StoreKey, Option<Revision>)]>,
}

/// How a handler was called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Call {
    /// OnAdd; does it belong to what the informer began with?
    Add {
        /// `isInInitialList`
        initial: bool,
    },
    /// OnUpdate
    Update,
    /// OnDelete; or was it found missing (`DeletedFinalStateUnknown`)?
    Delete {
        /// Nobody saw it go.
        unseen: bool,
    },
}

/// A handler was called, and is through with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Handled {
    /// Of which informer.
    pub informer: u32,
    /// Its number in the informer.
    pub handler: u32,
    /// How.
    pub call: Call,
    /// With which object.
    pub key: StoreKey,
    /// Its revision, or the last that is known.
    pub revision: Revision,
}

/// The store of an informer is filled (`HasSynced`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Synced {
    /// Which informer.
    pub informer: u32,
}

/// The owner of informers has waited for its caches (`WaitForCacheSync`) and begins to work.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ready {
    /// Which informers they are.
    pub informers: Range<u32>,
}

/// What an informer holds, told when it is asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Content {
    /// Which informer.
    pub informer: u32,
    /// Its store.
    pub store: Arc<[(StoreKey, Revision)]>,
    /// What each handler has made of it.
    pub views: Vec<Arc<[(StoreKey, Revision)]>>,
}

/// An informer is held back, or goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    /// Which.
    pub informer: u32,
    /// Is it held from now on?
    pub held: bool,
}
