//! The storage of definitions (`registry/customresourcedefinition/etcd.go`): the first DELETE marks one, and its
//! finalizer deletes the objects of it.

use std::sync::Arc;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_CLEANUP_FINALIZER;
use wavetank_api::apiextensions::conditions::{Condition, crd_has_finalizer, set_crd_condition};
use wavetank_api::json::{self, Json};
use wavetank_api::options::DeleteOptions;
use wavetank_api::{Object, Stamp, Status};
use wavetank_engine::Rx;

use super::defects::{CustomDefect, DEFECTS};
use crate::registry::delete;
use crate::registry::{Deletion, Hooked, Made, Registry, RestStorage};
use crate::storage::Updated;

/// The storage of definitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definitions;

impl RestStorage for Definitions {
    fn delete<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        name: &'a str,
        options: DeleteOptions,
    ) -> Hooked<'a, Result<Deletion, Status>> {
        Box::pin(self.mark_or_delete(rx, registry, name, options))
    }
}

impl Definitions {
    /// Upstream's `Delete`
    async fn mark_or_delete(
        self,
        rx: Rx,
        registry: &Registry,
        name: &str,
        mut options: DeleteOptions,
    ) -> Result<Deletion, Status> {
        let found = registry.get(rx, name, None).await?;
        let crd = found.json();
        delete::hold_to(registry, name, &crd, &mut options)?;
        let marked = json::at(&crd, &["metadata", "deletionTimestamp"]).is_some();
        if marked
            || rx
                .read(&DEFECTS)
                .has(CustomDefect::DefinitionWithoutFinalizer)
        {
            return registry.delete(rx, name, options).await;
        }
        let now = registry.context(rx).now;
        let made = if registry.dry_run {
            let mut crd = crd;
            mark(&mut crd, now);
            Made::Unsaved(Arc::new(crd))
        } else {
            let key = registry.resource.key(&registry.namespace, name);
            let preconditions = delete::preconditions(&options);
            let marked = registry
                .storage
                .guaranteed_update(rx, key, false, &preconditions, |existing| {
                    let mut crd = existing.map(|stored| stored.json()).unwrap_or_default();
                    mark(&mut crd, now);
                    Ok(Updated::of(Object::new(crd)))
                })
                .await;
            Made::Stored(marked.map_err(|error| registry.refusal(error, "update", name))?)
        };
        Ok(Deletion::pending(made))
    }
}

/// What the first DELETE does to it.
fn mark(crd: &mut Json, now: Stamp) {
    const DELETION: [&str; 2] = ["metadata", "deletionTimestamp"];
    const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];
    if json::at(crd, &DELETION).is_none() {
        json::set(crd, &DELETION, now.seconds());
    }
    if !crd_has_finalizer(crd, CUSTOM_RESOURCE_CLEANUP_FINALIZER) {
        let mut finalizers = json::list(crd, &FINALIZERS).to_vec();
        finalizers.push(CUSTOM_RESOURCE_CLEANUP_FINALIZER.into());
        json::set(crd, &FINALIZERS, finalizers);
    }
    let pending =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let condition = Condition {
        ty: "Terminating",
        status: "True",
        reason: "InstanceDeletionPending",
        message: pending.to_owned(),
    };
    set_crd_condition(crd, &condition, now);
}
