//! A manager is told apart by its name, what it does and where (`buildmanagerinfo.go`).

use super::{Failure, Managed, Manager};
use crate::json::Json;
use crate::managedfields::managed::Identifier;

/// `buildManagerInfoManager`
pub(in crate::managedfields) struct BuildManagerInfo<M> {
    pub(in crate::managedfields) inner: M,
    pub(in crate::managedfields) api_version: String,
    pub(in crate::managedfields) subresource: String,
}

impl<M> BuildManagerInfo<M> {
    fn build(&self, manager: &str, applies: bool) -> String {
        let manager = if manager.is_empty() {
            "unknown"
        } else {
            manager
        };
        let identifier = Identifier {
            manager: manager.to_owned(),
            applies,
            api_version: self.api_version.clone(),
            subresource: self.subresource.clone(),
        };
        identifier.build()
    }
}

impl<M: Manager> Manager for BuildManagerInfo<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        self.inner
            .update(live, new, managed, &self.build(manager, false))
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        self.inner
            .apply(live, config, managed, &self.build(manager, true), force)
    }
}
