//! One watch and the group it is in: `watcher` and `eventBatch` of watchable_store.go and
//! watcher_group.go.
//!
//! What moves it between groups does not belong here.

use crate::api::{Change, Filters, Keys, Revision, WatchId, WatchStart};

/// In which group a watch is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WatchGroup {
    /// It gets events as they happen.
    Synced,
    /// It has to catch up.
    Unsynced,
    /// The channel had no room for its events.
    Victim,
    /// Its history was compacted, which was told; it stays known until its client cancels it.
    Compacted,
}

/// A watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Watcher<V> {
    pub id: WatchId,
    pub keys: Keys,
    /// As asked for; 0: from its creation on.
    pub start: Revision,
    /// It gets no event below this one.
    pub min_rev: Revision,
    pub filters: Filters,
    pub prev_kv: bool,
    pub fragment: bool,
    /// With `progress_notify`: tell it at the next tick?
    pub progress: Option<bool>,
    pub place: Place<V>,
}

/// The group, with what belongs to it. Upstream's mark `restore` has no counterpart: it only
/// keeps a check from failing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place<V> {
    Synced,
    Unsynced {
        /// A pass that could not take all had its turn with this one.
        had_turn: bool,
    },
    /// With the events that had no room.
    Victim(Vec<Change<V>>),
    Compacted,
}

impl<V> Place<V> {
    pub const UNSYNCED: Place<V> = Place::Unsynced { had_turn: false };
}

impl<V> Watcher<V> {
    pub fn new(id: WatchId, start: WatchStart, min_rev: Revision, place: Place<V>) -> Watcher<V> {
        Watcher {
            id,
            keys: start.keys,
            start: start.revision,
            min_rev,
            filters: start.filters,
            prev_kv: start.prev_kv,
            fragment: start.fragment,
            progress: start.progress_notify.then_some(true),
            place,
        }
    }

    pub fn group(&self) -> WatchGroup {
        match self.place {
            Place::Synced => WatchGroup::Synced,
            Place::Unsynced { .. } => WatchGroup::Unsynced,
            Place::Victim(_) => WatchGroup::Victim,
            Place::Compacted => WatchGroup::Compacted,
        }
    }

    pub fn is_synced(&self) -> bool {
        self.group() == WatchGroup::Synced
    }

    /// Does it leave this change out?
    pub fn filters_out(&self, change: &Change<V>) -> bool {
        match change.now {
            Some(_) => self.filters.no_put,
            None => self.filters.no_delete,
        }
    }
}

/// Events on the way to one watch. Filters do their work when they are sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Batch<V> {
    pub events: Vec<Change<V>>,
    /// The first revision with events that found no place here; 0: none.
    pub more_rev: Revision,
}

impl<V: Clone> Batch<V> {
    /// What of these commits concerns a watch, at most so many revisions. None if nothing does.
    pub fn of(
        watcher: &Watcher<V>,
        commits: &[(Revision, &[Change<V>])],
        revisions: usize,
    ) -> Option<Batch<V>> {
        let first = commits.partition_point(|(revision, _)| *revision < watcher.min_rev);
        let mut batch = Batch {
            events: Vec::new(),
            more_rev: 0,
        };
        let mut taken = 0;
        for (revision, changes) in &commits[first..] {
            let mut matching = changes
                .iter()
                .filter(|c| watcher.keys.contains(&c.key))
                .peekable();
            if matching.peek().is_none() {
                continue;
            }
            if taken == revisions {
                batch.more_rev = *revision;
                break;
            }
            taken += 1;
            batch.events.extend(matching.map(without_before));
        }
        (!batch.events.is_empty()).then_some(batch)
    }
}

/// What a key was before is read when its event is sent.
fn without_before<V: Clone>(change: &Change<V>) -> Change<V> {
    Change {
        key: change.key.clone(),
        revision: change.revision,
        now: change.now.clone(),
        before: None,
    }
}
