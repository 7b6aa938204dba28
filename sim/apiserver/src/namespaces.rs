//! How a Namespace goes (`kubernetes/pkg/registry/core/namespace/storage/storage.go`): the first DELETE
//! makes it Terminating; it is deleted once its spec names no finalizer any more. Here is what its storage adds to the
//! generic registry; the rules of the kind are in `wavetank_api::kinds`.

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::options::{DeleteOptions, Propagation};
use wavetank_api::{Object, Stamp, Status};
use wavetank_engine::Rx;

use crate::registry::delete::{self, FOREGROUND, ORPHAN};
use crate::registry::{Deletion, Hooked, Made, Registry, RestStorage};
use crate::storage::Updated;

/// The storage of Namespaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Namespaces;

impl RestStorage for Namespaces {
    fn delete<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        name: &'a str,
        options: DeleteOptions,
    ) -> Hooked<'a, Result<Deletion, Status>> {
        Box::pin(self.terminate_or_delete(rx, registry, name, options))
    }
}

impl Namespaces {
    async fn terminate_or_delete(
        self,
        rx: Rx,
        registry: &Registry,
        name: &str,
        mut options: DeleteOptions,
    ) -> Result<Deletion, Status> {
        let key = registry.resource.key(&registry.namespace, name);
        let found = registry.storage.get(rx, key.clone(), 0).await;
        let found = found.map_err(|error| registry.refusal(error, "get", name))?;
        let object = found.json();
        delete::hold_to(registry, name, &object, &mut options)?;
        if json::at(&object, &["metadata", "deletionTimestamp"]).is_some() {
            if registry.resource.strategy.is_held(&object) {
                let made = Made::Stored(found);
                return Ok(Deletion {
                    made,
                    deleted: false,
                    late: false,
                });
            }
            return registry.delete(rx, name, options).await;
        }
        let now = registry.context(rx).now;
        let made = if registry.dry_run {
            let mut object = object;
            terminate(&mut object, &options, now);
            Made::Unsaved(Arc::new(object))
        } else {
            let preconditions = delete::preconditions(&options);
            let marked = registry
                .storage
                .guaranteed_update(rx, key, false, &preconditions, |existing| {
                    let mut object = existing.map(|stored| stored.json()).unwrap_or_default();
                    terminate(&mut object, &options, now);
                    Ok(Updated::of(Object::new(object)))
                })
                .await;
            Made::Stored(marked.map_err(|error| registry.refusal(error, "update", name))?)
        };
        Ok(Deletion {
            made,
            deleted: false,
            late: false,
        })
    }
}

/// What the first DELETE does to it.
fn terminate(namespace: &mut Json, options: &DeleteOptions, now: Stamp) {
    const DELETION: [&str; 2] = ["metadata", "deletionTimestamp"];
    const FINALIZERS: [&str; 2] = ["metadata", "finalizers"];
    if json::at(namespace, &DELETION).is_none() {
        json::set(namespace, &DELETION, now.seconds());
    }
    json::set(namespace, &["status", "phase"], "Terminating");
    let mut finalizers = json::list(namespace, &FINALIZERS).to_vec();
    for (finalizer, policy) in [
        (ORPHAN, Propagation::Orphan),
        (FOREGROUND, Propagation::Foreground),
    ] {
        let has = finalizers.iter().any(|each| each == finalizer);
        let should = match (options.orphan, options.propagation) {
            (Some(orphan), _) => orphan == (policy == Propagation::Orphan),
            (None, Some(asked)) => asked == policy,
            (None, None) => has,
        };
        match (has, should) {
            (false, true) => finalizers.push(finalizer.into()),
            (true, false) => finalizers.retain(|each| each != finalizer),
            _ => {}
        }
    }
    if finalizers.is_empty() {
        json::remove(namespace, &FINALIZERS);
    } else {
        json::set(namespace, &FINALIZERS, finalizers);
    }
}
