//! Namespaces (`kubernetes/pkg/registry/core/namespace/strategy.go`,
//! `pkg/apis/core/validation/validation.go`). Their deletion in two steps is the registry's.

use std::borrow::Cow;

use serde_json::json;
use wavetank_version::Version;

use super::pods::keep;
use crate::gates;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The label that every namespace carries since v1.21.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The rules of Namespaces.
pub struct Namespaces;

impl Strategy for Namespaces {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown::called(&["ns"])
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn default(&self, namespace: &mut Json) {
        label(namespace);
        if json::text(namespace, &["status", "phase"]).is_empty() {
            json::set(namespace, &["status", "phase"], "Active");
        }
    }

    fn prepare_for_create(&self, cx: &Context, namespace: &mut Json) {
        unlabel(cx.release, namespace);
        json::set(namespace, &["status"], json!({"phase": "Active"}));
        let finalizers = json::list(namespace, &["spec", "finalizers"]);
        let has = finalizers.iter().any(|finalizer| finalizer == "kubernetes");
        if !has {
            let mut all = finalizers.to_vec();
            all.push("kubernetes".into());
            json::set(namespace, &["spec", "finalizers"], all);
        }
    }

    fn validate(&self, _cx: &Context, namespace: &Json) -> ErrorList {
        validate(namespace)
    }

    fn prepare_for_update(&self, cx: &Context, part: Part, namespace: &mut Json, old: &Json) {
        unlabel(cx.release, namespace);
        match part {
            Part::Whole => {
                keep(namespace, old, &["spec", "finalizers"]);
                keep(namespace, old, &["status"]);
            }
            Part::Status => keep(namespace, old, &["spec"]),
            _ => keep(namespace, old, &["status"]),
        }
        // A struct that is empty is still written.
        json::map_mut(namespace, &["spec"]);
    }

    fn validate_update(
        &self,
        _cx: &Context,
        part: Part,
        namespace: &Json,
        old: &Json,
    ) -> ErrorList {
        let of_update = metadata::validate_object_meta_update(namespace, old);
        match part {
            Part::Whole => {
                let mut errors = validate(namespace);
                errors.extend(of_update);
                errors
            }
            Part::Status => {
                let mut errors = of_update;
                let phase = json::text(namespace, &["status", "phase"]);
                let deleted = json::at(namespace, &["metadata", "deletionTimestamp"]).is_some();
                let (only, detail) = match deleted {
                    true => (
                        "Terminating",
                        "may only be 'Terminating' if `deletionTimestamp` is not empty",
                    ),
                    false => (
                        "Active",
                        "may only be 'Active' if `deletionTimestamp` is empty",
                    ),
                };
                if phase != only {
                    errors.invalid("status.Phase", phase, detail);
                }
                errors
            }
            _ => {
                let mut errors = of_update;
                let finalizers = json::list(namespace, &["spec", "finalizers"]);
                for (at, finalizer) in finalizers.iter().enumerate() {
                    let field = format!("spec.finalizers[{at}]");
                    validate_finalizer_name(finalizer, &field, &mut errors);
                }
                errors
            }
        }
    }

    fn canonicalize(&self, namespace: &mut Json) {
        // A name that was generated was not there when defaults were set.
        if !json::text(namespace, &["metadata", "generateName"]).is_empty() {
            label(namespace);
        }
    }

    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        names::name_is_dns_label(name, prefix)
    }

    fn is_held(&self, namespace: &Json) -> bool {
        !json::list(namespace, &["spec", "finalizers"]).is_empty()
    }

    fn deletes_collections(&self, _release: Version) -> bool {
        false
    }

    fn has(&self, _part: Part) -> bool {
        true
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "status.phase" | "metadata.name" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }

    fn field<'a>(&self, namespace: &'a Json, field: &str) -> Cow<'a, str> {
        let value = match field {
            "status.phase" => json::text(namespace, &["status", "phase"]),
            "name" | "metadata.name" => json::text(namespace, &["metadata", "name"]),
            _ => "",
        };
        value.into()
    }
}

/// Before v1.21 nobody labelled them.
fn unlabel(release: Version, namespace: &mut Json) {
    if release.has(gates::NAMESPACES_ARE_LABELLED) {
        return;
    }
    let labels = json::map_mut(namespace, &["metadata", "labels"]);
    labels.remove(NAME_LABEL);
    if labels.is_empty() {
        json::remove(namespace, &["metadata", "labels"]);
    }
}

fn label(namespace: &mut Json) {
    let name = json::text(namespace, &["metadata", "name"]).to_owned();
    if !name.is_empty() {
        json::set(namespace, &["metadata", "labels", NAME_LABEL], name);
    }
}

fn validate(namespace: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta(namespace, false, &names::name_is_dns_label);
    for finalizer in json::list(namespace, &["spec", "finalizers"]) {
        validate_finalizer_name(finalizer, "spec.finalizers", &mut errors);
    }
    errors
}

/// `validateFinalizerName`
fn validate_finalizer_name(finalizer: &Json, field: &str, errors: &mut ErrorList) {
    let name = finalizer.as_str().unwrap_or_default();
    errors.invalid_each(field, name, names::is_qualified_name(name));
    metadata::validate_kube_finalizer_name(name, field, errors);
}
