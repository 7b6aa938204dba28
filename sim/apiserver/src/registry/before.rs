//! What is done to the metadata of every kind before it is stored (`apiserver/pkg/registry/rest`:
//! `BeforeCreate`, `BeforeUpdate`), and the validation of the strategies around it.

use wavetank_api::json::{self, Json};
use wavetank_api::metadata;
use wavetank_api::strategy::{Context, Part};
use wavetank_api::validation::ErrorList;
use wavetank_api::{Resource, Status};
use wavetank_engine::mutant;

use crate::registry::{Registry, Warnings};

/// `WipeObjectMetaSystemFields`.
pub fn wipe_object_meta_system_fields(object: &mut Json) {
    for field in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        json::remove(object, &["metadata", field]);
    }
}

/// `EnsureObjectNamespaceMatchesRequestNamespace`, with `ExpectedNamespaceForScope`.
///
/// # Errors
/// 400 if both name one, and not the same.
pub fn ensure_object_namespace_matches_request_namespace(
    resource: &Resource,
    asked: &str,
    object: &mut Json,
) -> Result<(), Status> {
    let expected = if resource.namespaced { asked } else { "" };
    let named = json::text(object, &["metadata", "namespace"]);
    if named == expected {
        return Ok(());
    }
    if named.is_empty() {
        json::set(object, &["metadata", "namespace"], expected);
        return Ok(());
    }
    if expected.is_empty() {
        json::remove(object, &["metadata", "namespace"]);
        return Ok(());
    }
    Err(Status::new_bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

impl Registry {
    fn invalid(&self, object: &Json, errors: &ErrorList) -> Status {
        let name = json::text(object, &["metadata", "name"]);
        // An object whose type is a schema says itself what it is, right or wrong.
        let kind = match self.resource.strategy.custom() {
            Some(_) => json::text(object, &["kind"]),
            None => self.resource.kind,
        };
        Status::new_invalid(kind, self.resource.group, name, errors)
    }

    /// `BeforeCreate`.
    pub(super) fn before_create(
        &self,
        cx: &Context,
        object: &mut Json,
        warnings: &mut Warnings,
    ) -> Result<(), Status> {
        ensure_object_namespace_matches_request_namespace(self.resource, &self.namespace, object)?;
        let strategy = self.served.strategy;
        strategy.prepare_for_create(cx, object);
        let mut errors = strategy.validate(cx, object);
        if errors.is_empty() {
            errors = metadata::validate_common(object, self.resource.namespaced);
        }
        if !errors.is_empty() {
            return Err(self.invalid(object, &errors));
        }
        warn(warnings, strategy.warnings(cx, object, None));
        strategy.canonicalize(object);
        Ok(())
    }

    /// `BeforeUpdate`.
    pub(super) fn before_update(
        &self,
        cx: &Context,
        object: &mut Json,
        old: &Json,
        warnings: &mut Warnings,
    ) -> Result<(), Status> {
        ensure_object_namespace_matches_request_namespace(self.resource, &self.namespace, object)?;
        keep(object, old, "generation", |_| true);
        let strategy = self.served.strategy;
        strategy.prepare_for_update(cx, self.part, object, old);
        keep(object, old, "uid", |now| {
            now.is_none() && !mutant!("uid-is-lost", "an update that names no uid loses it")
        });
        if json::at(old, &["metadata", "creationTimestamp"]).is_some() {
            keep(object, old, "creationTimestamp", |_| true);
        }
        if json::at(old, &["metadata", "deletionTimestamp"]).is_some() {
            keep(object, old, "deletionTimestamp", |_| {
                !mutant!("deletion-is-undone", "an update can take a deletion back")
            });
        }
        if json::at(old, &["metadata", "deletionGracePeriodSeconds"]).is_some() {
            keep(object, old, "deletionGracePeriodSeconds", |now| {
                now.is_none()
            });
        }
        let mut errors = metadata::validate_common(object, self.resource.namespaced);
        errors.extend(metadata::validate_common_update(object, old));
        errors.extend(strategy.validate_update(cx, self.part, object, old));
        if !errors.is_empty() {
            return Err(self.invalid(object, &errors));
        }
        if self.part == Part::Whole {
            warn(warnings, strategy.warnings(cx, object, Some(old)));
        }
        strategy.canonicalize(object);
        Ok(())
    }
}

/// Makes a field of the metadata what it was, if `when` what it is now says so.
fn keep(object: &mut Json, old: &Json, field: &str, when: impl Fn(Option<&Json>) -> bool) {
    let path = ["metadata", field];
    if !when(json::at(object, &path)) {
        return;
    }
    match json::at(old, &path) {
        Some(value) => json::set(object, &path, value.clone()),
        None => {
            json::remove(object, &path);
        }
    }
}

/// Adds warnings, in the form of their header (`net/http/httputil` `NewWarningHeader`).
pub fn warn(warnings: &mut Warnings, new: Vec<String>) {
    let header = |text: String| format!("299 - {}", serde_json::Value::from(text)).into();
    warnings.extend(new.into_iter().map(header));
}
