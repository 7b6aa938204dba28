//! Which of its own writes a controller has not read yet (`pkg/controller/util/consistency/consistency.go`): an object
//! is not synced before the caches have seen what was last written for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Resource;
use wavetank_client::informer::Lister;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Name, Rx};
use wavetank_etcd::Revision;

use super::SyncError;

/// The records of all controllers of a process.
static WRITES: Cell<BTreeMap<(Name, Item), OwnerRecord>> = Cell::new("own-writes");

/// `ownerRecord`: what was written for an owner, by resource.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OwnerRecord {
    uid: Arc<str>,
    versions: BTreeMap<u32, Revision>,
}

/// `ConsistencyStore` of a controller; one that has no caches is the `NoopConsistencyStore`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConsistencyStore {
    of: Name,
    stores: Vec<(&'static Resource, Lister)>,
}

impl ConsistencyStore {
    /// That of the controller with this name, over these caches (`NewConsistencyStore`).
    pub fn new(of: Name, stores: Vec<(&'static Resource, Lister)>) -> ConsistencyStore {
        ConsistencyStore { of, stores }
    }

    fn key(&self, owner: &Item) -> (Name, Item) {
        (self.of, owner.clone())
    }

    /// `WroteAt`
    pub fn wrote_at(&self, rx: Rx, owner: &Item, uid: &str, of: &Resource, revision: Revision) {
        if self.stores.is_empty() {
            return;
        }
        rx.update(&WRITES, |all| {
            let record = all.entry(self.key(owner)).or_insert_with(|| OwnerRecord {
                uid: uid.into(),
                versions: BTreeMap::new(),
            });
            if *record.uid != *uid {
                record.uid = uid.into();
                record.versions.clear();
            }
            let last = record.versions.entry(of.number()).or_default();
            *last = revision.max(*last);
        });
    }

    /// `Clear`: what is known of an owner, if it is still that one, or whichever it is.
    pub fn clear(&self, rx: Rx, owner: &Item, uid: Option<&str>) {
        if self.stores.is_empty() {
            return;
        }
        rx.update(&WRITES, |all| {
            let key = self.key(owner);
            let is_it = |record: &OwnerRecord| uid.is_none_or(|uid| *record.uid == *uid);
            if all.get(&key).is_some_and(is_it) {
                all.remove(&key);
            }
        });
    }

    /// `EnsureReady`
    ///
    /// # Errors
    /// If a cache has not seen what was written for the owner.
    pub fn ensure_ready(&self, rx: Rx, owner: &Item) -> Result<(), SyncError> {
        let key = self.key(owner);
        let record = rx.look(&WRITES, |all| all.get(&key).cloned());
        let Some(record) = record else {
            return Ok(());
        };
        for (resource, store) in &self.stores {
            let Some(wrote) = record.versions.get(&resource.number()) else {
                continue;
            };
            let read = store.last_store_sync_resource_version(rx);
            if *wrote > read {
                return Err(SyncError::Stale {
                    read,
                    wrote: *wrote,
                    resource: resource.qualified(),
                });
            }
        }
        self.clear(rx, owner, Some(&record.uid));
        Ok(())
    }
}
