//! Events of a watch cache, and what a watch makes of them.

use std::sync::Arc;

use wavetank_api::selector::Predicate;
use wavetank_api::{Resource, Stored, WatchEvent, WatchKind};
use wavetank_etcd::{Key, Revision};

use wavetank_engine::{Instant, mutant};

/// `watchCacheEvent`: a change of one object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Event {
    pub key: Key,
    /// Is it gone?
    pub deleted: bool,
    /// What it is now; of one that is gone what it was, at the revision of its end.
    pub object: Stored,
    /// What the cache had before.
    pub before: Option<Stored>,
    pub revision: Revision,
    pub recorded: Instant,
}

/// What goes through the channels of a cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Item {
    Event(Arc<Event>),
    Bookmark(Revision),
}

impl Item {
    pub fn revision(&self) -> Revision {
        match self {
            Item::Event(event) => event.revision,
            Item::Bookmark(revision) => *revision,
        }
    }
}

/// What a watch is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Selection {
    pub resource: &'static Resource,
    /// A key, or the beginning of keys with a slash at its end.
    pub under: Key,
    pub predicate: Predicate,
    /// Is what it shows decorated?
    pub decorated: bool,
}

/// An event whose object the watch has copied (`getMutableObject`). What is dispatched to all watchers they share
/// (`cachingObject`), and a decorator passes it by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OwnCopy(pub WatchEvent);

impl Selection {
    /// `hasPathPrefix`.
    pub fn has_path_prefix(&self, key: &str) -> bool {
        covers(&self.under, key)
    }

    pub fn passes(&self, key: &str, object: &Stored) -> bool {
        self.has_path_prefix(key) && self.predicate.matches(self.resource, object.object.json())
    }

    /// `convertToWatchEvent`: an object that begins or ceases to match is added or deleted.
    pub fn convert_to_watch_event(&self, event: &Event) -> Option<WatchEvent> {
        let now = !event.deleted && self.passes(&event.key, &event.object);
        let before = event.before.as_ref();
        let before = before.filter(|before| self.passes(&event.key, before));
        let (kind, object) = match (now, before) {
            (true, None) => (WatchKind::Added, event.object.clone()),
            (true, Some(_)) => (WatchKind::Modified, event.object.clone()),
            (false, Some(_))
                if !event.deleted
                    && mutant!(
                        "leaving-selector-is-not-told",
                        "no DELETED comes when an object leaves a selector"
                    ) =>
            {
                return None;
            }
            (false, Some(before)) => {
                let gone = Stored {
                    object: before.object.clone(),
                    resource_version: match mutant!(
                        "deleted-at-last-write",
                        "a DELETED has the revision of the object's last write"
                    ) {
                        true => before.resource_version,
                        false => event.revision,
                    },
                };
                (WatchKind::Deleted, gone)
            }
            (false, None) => return None,
        };
        Some(WatchEvent::Object(kind, object))
    }
}

/// Is `key` this one, or under it?
pub(super) fn covers(under: &str, key: &str) -> bool {
    match key.strip_prefix(under) {
        Some(rest) => rest.is_empty() || under.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}
