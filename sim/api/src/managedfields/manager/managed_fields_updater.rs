//! When a manager wrote last (`managedfieldsupdater.go`).

use super::{Failure, Managed, Manager, Scope};
use crate::json::Json;
use crate::managedfields::managed::remove_object_managed_fields;
use wavetank_engine::mutant;

/// What an update is called until it is known to have changed something.
const SELF: &str = "current-operation";

/// `managedFieldsUpdater`
pub(in crate::managedfields) struct ManagedFieldsUpdater<M> {
    pub(in crate::managedfields) inner: M,
    pub(in crate::managedfields) scope: Scope,
}

impl<M: Manager> Manager for ManagedFieldsUpdater<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        let (object, mut managed) = self.inner.update(live, new, managed, SELF)?;
        if let Some(mut of) = managed.fields.remove(SELF) {
            if let Some(previous) = managed.fields.get(manager)
                && !mutant!(
                    "manager-forgets-earlier",
                    "a manager that updates again owns what it changed last only"
                )
            {
                of.set.add(&previous.set);
            }
            managed.fields.insert(manager.to_owned(), of);
            managed
                .times
                .insert(manager.to_owned(), self.scope.now.seconds());
        }
        Ok((object, managed))
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        let (object, mut managed) = self.inner.apply(live, config, managed, manager, force)?;
        let object = match object {
            Some(object) => {
                managed
                    .times
                    .insert(manager.to_owned(), self.scope.now.seconds());
                object
            }
            None => {
                let mut object = live.clone();
                remove_object_managed_fields(&mut object);
                object
            }
        };
        Ok((Some(object), managed))
    }
}
