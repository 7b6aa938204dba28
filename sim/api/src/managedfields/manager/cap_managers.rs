//! No more than so many entries of updates: the oldest become one (`capmanagers.go`).

use std::collections::BTreeMap;

use super::{Failure, Managed, Manager};
use crate::json::Json;
use crate::managedfields::managed::Identifier;

/// `oldUpdatesManagerName`
const ANCIENT: &str = "ancient-changes";

/// `capManagersManager`
pub(in crate::managedfields) struct CapManagers<M> {
    pub(in crate::managedfields) inner: M,
    /// `maxUpdateManagers`
    pub(in crate::managedfields) most: usize,
}

impl<M: Manager> Manager for CapManagers<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        let (object, managed) = self.inner.update(live, new, managed, manager)?;
        Ok((object, self.cap_update_managers(managed)))
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        self.inner.apply(live, config, managed, manager, force)
    }
}

impl<M> CapManagers<M> {
    /// `capUpdateManagers`: a bucket for each version, made when a second entry of it goes.
    fn cap_update_managers(&self, mut managed: Managed) -> Managed {
        let updates = managed.fields.iter().filter(|(_, of)| !of.applied);
        let mut updaters: Vec<String> = updates.map(|(manager, _)| manager.clone()).collect();
        updaters.sort_by_key(|manager| (managed.times.get(manager).cloned(), manager.clone()));
        let mut length = updaters.len();
        let mut first_of: BTreeMap<String, String> = BTreeMap::new();
        for manager in updaters {
            if length <= self.most {
                break;
            }
            let Some(of) = managed.fields.get(&manager).cloned() else {
                continue;
            };
            let version = of.api_version.clone();
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, manager);
                continue;
            };
            let bucket = Identifier {
                manager: ANCIENT.to_owned(),
                applies: false,
                api_version: version,
                subresource: String::new(),
            };
            let bucket = bucket.build();
            if !managed.fields.contains_key(&bucket)
                && let Some(first) = managed.fields.remove(first)
            {
                managed.fields.insert(bucket.clone(), first);
            }
            if let Some(old) = managed.fields.get_mut(&bucket) {
                old.set.add(&of.set);
                old.applied = of.applied;
            }
            managed.fields.remove(&manager);
            length -= 1;
            match managed.times.get(&manager).cloned() {
                Some(time) => managed.times.insert(bucket, time),
                None => managed.times.remove(&bucket),
            };
        }
        managed
    }
}
