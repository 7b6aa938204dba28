//! Objects that `kubectl apply` kept in an annotation, and then server-side (`lastappliedmanager.go`,
//! `lastappliedupdater.go`, `lastapplied.go`): its conflicts with itself are none, and the annotation follows.

use super::structured_merge::object_to_typed;
use super::{Failure, Managed, Manager, Scope};
use crate::json::{self, Json};
use crate::render;
use crate::smd::fieldpath::Set;
use crate::smd::merge::Conflicts;
use crate::smd::typed::Duplicates;

/// `LastAppliedConfigAnnotation`
const ANNOTATION: [&str; 3] = [
    "metadata",
    "annotations",
    "kubectl.kubernetes.io/last-applied-configuration",
];
/// The manager that all this is for.
const KUBECTL: &str = "kubectl";
/// `TotalAnnotationSizeLimitB`
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// `lastAppliedManager`
pub(in crate::managedfields) struct LastAppliedManager<M> {
    pub(in crate::managedfields) inner: M,
    pub(in crate::managedfields) scope: Scope,
}

impl<M: Manager> Manager for LastAppliedManager<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        self.inner.update(live, new, managed, manager)
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        let applied = self
            .inner
            .apply(live, config, managed.clone(), manager, force);
        let conflicts = match applied {
            Err(Failure::Conflicts(conflicts)) if manager == KUBECTL => conflicts,
            applied => return applied,
        };
        let Some(allowed) = self.allowed_conflicts_from_last_applied(live) else {
            return Err(Failure::Conflicts(conflicts));
        };
        if !conflicts.to_set().difference(&allowed).is_empty() {
            let left = conflicts
                .0
                .into_iter()
                .filter(|conflict| !allowed.has(&conflict.path));
            return Err(Failure::Conflicts(Conflicts(left.collect())));
        }
        self.inner.apply(live, config, managed, manager, true)
    }
}

impl<M> LastAppliedManager<M> {
    /// `allowedConflictsFromLastApplied`: the fields of the annotation that are still as it says.
    fn allowed_conflicts_from_last_applied(&self, live: &Json) -> Option<Set> {
        let text = json::text(live, &ANNOTATION);
        let last: Json = serde_json::from_str(text).ok()?;
        if json::text(&last, &["apiVersion"]) != self.scope.api_version {
            return None;
        }
        let live = object_to_typed(&self.scope, live, Duplicates::Refused).ok()?;
        let last = object_to_typed(&self.scope, &last, Duplicates::Refused).ok()?;
        let fields = last.to_field_set().ok()?;
        let differs = last.compare(&live).ok()?;
        let fields = fields
            .difference(&differs.modified)
            .difference(&differs.added);
        Some(fields.difference(&differs.removed))
    }
}

/// `lastAppliedUpdater`
pub(in crate::managedfields) struct LastAppliedUpdater<M> {
    pub(in crate::managedfields) inner: M,
}

impl<M: Manager> Manager for LastAppliedUpdater<M> {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        self.inner.update(live, new, managed, manager)
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        let (mut object, managed) = self.inner.apply(live, config, managed, manager, force)?;
        if let Some(object) = &mut object
            && manager == KUBECTL
            && !json::text(object, &ANNOTATION).is_empty()
        {
            set_last_applied(object, build_last_applied(config));
        }
        Ok((object, managed))
    }
}

/// `buildLastApplied`
fn build_last_applied(config: &Json) -> String {
    let mut config = config.clone();
    json::remove(&mut config, &ANNOTATION);
    let is_empty = |annotations: &Json| annotations.as_object().is_some_and(json::Map::is_empty);
    if json::at(&config, &ANNOTATION[..2]).is_some_and(is_empty) {
        json::remove(&mut config, &ANNOTATION[..2]);
    }
    render::sorted(&config) + "\n"
}

/// `SetLastApplied`: no annotation that is too long.
fn set_last_applied(object: &mut Json, value: String) {
    json::set(object, &ANNOTATION, value);
    let annotations = json::at(object, &ANNOTATION[..2]).and_then(Json::as_object);
    let size = annotations
        .into_iter()
        .flatten()
        .map(|(k, v)| k.len() + v.as_str().map_or(0, str::len));
    if size.sum::<usize>() > ANNOTATIONS_LIMIT {
        json::remove(object, &ANNOTATION);
    }
}
