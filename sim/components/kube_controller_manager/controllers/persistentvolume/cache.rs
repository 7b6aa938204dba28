//! The controller's own caches of volumes and claims: besides what informers show they have at once what the controller itself has
//! written, so that it does not do again what it has done (PR #25881).

use std::collections::BTreeMap;

use wavetank_api::Stored;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, ProcId, Rx, World};

/// One of them: its objects by their keys.
pub(super) struct Cache(Cell<BTreeMap<Item, Stored>>);

/// `volumes`
pub(super) static VOLUMES: Cache = Cache(Cell::new("binder-volumes"));
/// `claims`
pub(super) static CLAIMS: Cache = Cache(Cell::new("binder-claims"));

impl Cache {
    /// `GetByKey`
    pub(super) fn get_by_key(&self, rx: Rx, key: &str) -> Option<Stored> {
        rx.update(&self.0, |all| all.get(key).cloned())
    }

    /// All that it has, in the order of keys.
    pub(super) fn all(&self, rx: Rx) -> Vec<Stored> {
        rx.update(&self.0, |all| all.values().cloned().collect())
    }

    /// What it has, for those who look at a process from outside.
    pub(super) fn look(&self, world: &World, process: ProcId) -> Vec<(Item, Stored)> {
        let all = world.cell(process, &self.0).into_iter();
        all.collect()
    }

    /// `Delete`
    pub(super) fn delete(&self, rx: Rx, key: &str) {
        rx.update(&self.0, |all| all.remove(key));
    }

    /// `storeObjectUpdate`: false if it has a newer version.
    pub(super) fn store_object_update(&self, rx: Rx, key: Item, stored: &Stored) -> bool {
        rx.update(&self.0, |all| {
            let version = |of: &Stored| of.resource_version;
            let is_old = all
                .get(&key)
                .is_some_and(|own| version(own) > version(stored));
            if !is_old {
                all.insert(key, stored.clone());
            }
            !is_old
        })
    }
}
