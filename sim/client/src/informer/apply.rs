//! What popped deltas do to the store, and what handlers are told of it (`processDeltas`,
//! `processDeltasInBatch`; `HandleDeltas` of v1.16 and v1.20).

use wavetank_api::Stored;
use wavetank_engine::mutant;
use wavetank_etcd::Revision;
use wavetank_version::Version;

use crate::fifo::{Delta, Gone, Popped, StoreKey, key_of};
use crate::gates;
use crate::indexer::Indexer;
use crate::observed::Call;

/// What a handler is notifications.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Notice {
    /// OnAdd
    Added {
        /// The object.
        new: Stored,
        /// `isInInitialList`
        initial: bool,
    },
    /// OnUpdate
    Updated {
        /// What it was.
        old: Stored,
        /// What it is.
        new: Stored,
    },
    /// OnDelete
    Deleted(Gone),
}

impl Notice {
    /// The key of the object.
    pub fn key(&self) -> StoreKey {
        match self {
            Notice::Added { new, .. } | Notice::Updated { new, .. } => key_of(&new.object),
            Notice::Deleted(gone) => gone.key.clone(),
        }
    }

    /// Its revision.
    pub fn revision(&self) -> Revision {
        match self {
            Notice::Added { new, .. } | Notice::Updated { new, .. } => new.resource_version,
            Notice::Deleted(gone) => gone.last.as_ref().map_or(0, |last| last.resource_version),
        }
    }

    pub(super) fn call(&self) -> Call {
        match self {
            Notice::Added { initial, .. } => Call::Add { initial: *initial },
            Notice::Updated { .. } => Call::Update,
            Notice::Deleted(gone) => Call::Delete {
                unseen: gone.unseen,
            },
        }
    }
}

/// What handlers are notifications, and which.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Notification {
    /// What.
    pub notice: Notice,
    /// It is no news: only handlers whose resync is under way are notifications.
    pub only_syncing: bool,
}

/// Takes popped deltas into the store.
pub(super) fn apply(release: Version, indexer: &mut Indexer, popped: &Popped) -> Vec<Notification> {
    let mut notifications = Vec::new();
    for delta in &popped.deltas {
        match delta {
            Delta::Added(stored)
            | Delta::Updated(stored)
            | Delta::Replaced(stored)
            | Delta::Sync(stored) => {
                let old = indexer.put(stored.clone());
                notifications.push(written(release, delta, old, stored, popped.initial));
            }
            Delta::Deleted(gone) => {
                if !mutant!(
                    "store-keeps-deleted",
                    "an object that was deleted stays in the informer's store"
                ) {
                    indexer.remove(&gone.key);
                }
                if let Some(last) = gone.last.as_ref().filter(|_| !gone.unseen) {
                    indexer.bookmark(last.resource_version);
                }
                notifications.push(Notification {
                    notice: Notice::Deleted(gone.clone()),
                    only_syncing: false,
                });
            }
            Delta::ReplacedAll(list, revision) => {
                process_replaced_all_info(
                    indexer,
                    list,
                    *revision,
                    popped.initial,
                    &mut notifications,
                );
            }
            Delta::SyncAll => {
                notifications.extend(indexer.iter().map(|(_, stored)| Notification {
                    notice: Notice::Updated {
                        old: stored.clone(),
                        new: stored.clone(),
                    },
                    only_syncing: true,
                }))
            }
            Delta::Bookmark(revision) => indexer.bookmark(*revision),
        }
    }
    notifications
}

fn written(
    release: Version,
    delta: &Delta,
    old: Option<Stored>,
    new: &Stored,
    initial: bool,
) -> Notification {
    let is_sync = matches!(delta, Delta::Sync(_));
    let Some(old) = old else {
        return Notification {
            notice: Notice::Added {
                new: new.clone(),
                initial,
            },
            only_syncing: is_sync && !release.has(gates::LISTS_ARE_REPLACED),
        };
    };
    let same = old.resource_version == new.resource_version;
    let only_syncing = match delta {
        Delta::Replaced(_)
            if !same
                && mutant!(
                    "list-is-a-sync",
                    "what a list changes is told only to handlers that resync"
                ) =>
        {
            true
        }
        _ if release.has(gates::SAME_REVISION_IS_A_SYNC) => same,
        Delta::Replaced(_) => same,
        _ => is_sync,
    };
    Notification {
        notice: Notice::Updated {
            old,
            new: new.clone(),
        },
        only_syncing,
    }
}

/// `processReplacedAllInfo`: the store first, then deletions, then what stands in the list.
fn process_replaced_all_info(
    indexer: &mut Indexer,
    list: &[Stored],
    revision: Revision,
    initial: bool,
    notifications: &mut Vec<Notification>,
) {
    let before = indexer.clone();
    indexer.replace(list, revision);
    for (key, last) in before.iter() {
        if indexer.get(key).is_none()
            && !mutant!(
                "unseen-deletion-is-not-told",
                "no handler hears of objects that are missing in a list"
            )
        {
            notifications.push(Notification {
                notice: Notice::Deleted(Gone {
                    key: key.clone(),
                    last: Some(last.clone()),
                    unseen: true,
                }),
                only_syncing: false,
            });
        }
    }
    for new in list {
        let delta = Delta::Replaced(new.clone());
        let old = before.get(&key_of(&new.object)).cloned();
        notifications.push(written(Version::LATEST, &delta, old, new, initial));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo::testing::stored;
    use wavetank_releases::{V1_16, V1_36, VERSIONS};

    fn popped(deltas: Vec<Delta>) -> Popped {
        Popped {
            deltas,
            initial: true,
        }
    }

    fn known(names: &[(&str, Revision)]) -> Indexer {
        let mut indexer = Indexer::default();
        for (name, revision) in names {
            indexer.put(stored(name, *revision));
        }
        indexer
    }

    #[test]
    fn a_list_tells_of_deletions_before_what_stands_in_it() {
        let mut indexer = known(&[("a", 1), ("b", 2), ("c", 3)]);
        let list = [stored("d", 4), stored("c", 5), stored("b", 2)];
        let deltas = popped(vec![Delta::ReplacedAll(list.into(), 5)]);
        let notifications = apply(V1_36, &mut indexer, &deltas);
        let calls: Vec<_> = notifications
            .iter()
            .map(|t| (t.notice.key().to_string(), t.notice.call(), t.only_syncing))
            .collect();
        let expected = [
            ("ns/a".to_owned(), Call::Delete { unseen: true }, false),
            ("ns/d".to_owned(), Call::Add { initial: true }, false),
            ("ns/c".to_owned(), Call::Update, false),
            ("ns/b".to_owned(), Call::Update, true),
        ];
        assert_eq!(calls, expected);
        assert_eq!((indexer.len(), indexer.revision()), (3, 5));
    }

    /// What a list brings is news to all, but in v1.16, where it is a Sync.
    #[test]
    fn only_what_is_no_news_goes_to_those_who_resync() {
        let sync = |stored| popped(vec![Delta::Sync(stored)]);
        for release in VERSIONS {
            let mut indexer = known(&[("a", 1)]);
            let news = apply(release, &mut indexer, &sync(stored("a", 2)));
            assert_eq!(news[0].only_syncing, release < V1_36, "{release}");
            let added = apply(release, &mut indexer, &sync(stored("b", 2)));
            assert_eq!(added[0].only_syncing, release == V1_16, "{release}");
            let deltas = popped(vec![Delta::Replaced(stored("a", 2))]);
            assert!(apply(release, &mut indexer, &deltas)[0].only_syncing);
            let deltas = popped(vec![Delta::Replaced(stored("a", 3))]);
            assert!(!apply(release, &mut indexer, &deltas)[0].only_syncing);
        }
    }
}
