//! The rules of `metadata`, for every kind
//! (`apimachinery/pkg/api/validation/objectmeta.go`, `kubernetes/pkg/apis/core/validation/validation.go`).

use std::collections::BTreeSet;

use crate::json::{self, Json};
use crate::names;
use crate::quote;
use crate::render;
use crate::validation::{Bad, ErrorList};

/// `FieldImmutableErrorMsg`
pub(crate) const IMMUTABLE: &str = "field is immutable";
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
/// `TotalAnnotationSizeLimitB`
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Errors of a name, or with `true` of a generateName.
pub type NameErrors<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

/// What the registry checks on every object (`ValidateObjectMetaAccessor` with
/// `validatePathSegment`).
pub fn validate_common(object: &Json, namespaced: bool) -> ErrorList {
    validate_object_meta_accessor(object, namespaced, &names::is_valid_path_segment_name)
}

/// What the registry checks on every update, after [`validate_common`]
/// (`ValidateObjectMetaAccessorUpdate`). `object` carries the resourceVersion it will be compared by.
pub fn validate_common_update(object: &Json, old: &Json) -> ErrorList {
    let mut errors = ErrorList::default();
    let meta = |json, field| json::at(json, &["metadata", field]).filter(|v: &&Json| !v.is_null());
    if meta(old, "deletionTimestamp").is_some() {
        let before: BTreeSet<&str> = texts(old, "finalizers").collect();
        let new: BTreeSet<&str> = texts(object, "finalizers").collect();
        let extra: Vec<&str> = new.difference(&before).copied().collect();
        if !extra.is_empty() {
            errors.forbidden(
                "metadata.finalizers",
                format!(
                    "no new finalizers can be added if the object is being deleted, found new \
                     finalizers {}",
                    quote::go_strings(&extra)
                ),
            );
        }
    }
    if json::text(object, &["metadata", "resourceVersion"]).is_empty() {
        errors.invalid(
            "metadata.resourceVersion",
            "",
            "must be specified for an update",
        );
    }
    let generation = |json| json::number(json, &["metadata", "generation"]).unwrap_or(0);
    if generation(object) < generation(old) {
        errors.invalid(
            "metadata.generation",
            generation(object),
            "must not be decremented",
        );
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, old) = (meta(object, field), meta(old, field));
        if new != old {
            let absent = match field {
                "name" | "namespace" | "uid" => Bad::from(""),
                _ => Bad::shown("null"),
            };
            let bad = new.map_or(absent, Bad::from);
            errors.invalid(format!("metadata.{field}"), bad, IMMUTABLE);
        }
    }
    validate_labels(
        object,
        &["metadata", "labels"],
        "metadata.labels",
        &mut errors,
    );
    validate_annotations(
        object,
        &["metadata", "annotations"],
        "metadata.annotations",
        &mut errors,
    );
    validate_owner_references(object, &mut errors);
    validate_managed_fields(object, &mut errors);
    errors
}

/// `ValidateObjectMeta` of the core API, as `Validate` of most kinds calls it.
pub fn validate_object_meta(object: &Json, namespaced: bool, names: NameErrors<'_>) -> ErrorList {
    let mut errors = validate_object_meta_accessor(object, namespaced, names);
    legacy_finalizers(object, &mut errors);
    errors
}

/// `ValidateObjectMetaUpdate` of the core API, as `ValidateUpdate` of most kinds calls it.
pub fn validate_object_meta_update(object: &Json, old: &Json) -> ErrorList {
    let mut errors = validate_common_update(object, old);
    legacy_finalizers(object, &mut errors);
    errors
}

/// `ValidateObjectMetaAccessor`
pub(crate) fn validate_object_meta_accessor(
    object: &Json,
    namespaced: bool,
    names: NameErrors<'_>,
) -> ErrorList {
    let mut errors = ErrorList::default();
    let text = |field| json::text(object, &["metadata", field]);
    let generate = text("generateName");
    if !generate.is_empty() {
        errors.invalid_each("metadata.generateName", generate, names(generate, true));
    }
    match text("name") {
        "" => errors.required("metadata.name", "name or generateName is required"),
        name => errors.invalid_each("metadata.name", name, names(name, false)),
    }
    match (namespaced, text("namespace")) {
        (true, "") => errors.required("metadata.namespace", ""),
        (true, namespace) => {
            let found = names::name_is_dns_label(namespace, false);
            errors.invalid_each("metadata.namespace", namespace, found);
        }
        (false, "") => {}
        (false, _) => errors.forbidden("metadata.namespace", "not allowed on this type"),
    }
    let generation = json::number(object, &["metadata", "generation"]).unwrap_or(0);
    if generation < 0 {
        errors.invalid("metadata.generation", generation, NOT_NEGATIVE);
    }
    validate_labels(
        object,
        &["metadata", "labels"],
        "metadata.labels",
        &mut errors,
    );
    validate_annotations(
        object,
        &["metadata", "annotations"],
        "metadata.annotations",
        &mut errors,
    );
    validate_owner_references(object, &mut errors);
    validate_finalizers(object, &mut errors);
    validate_managed_fields(object, &mut errors);
    errors
}

/// `dedupOwnerReferencesAndAddWarning`: takes owner references away that are there twice, with the
/// warning that tells so. On a create and an update before admission (`after_admission` is false) and
/// again after it; on a patch only after it.
pub fn dedup_owner_references_and_add_warning(
    object: &mut Json,
    after_admission: bool,
) -> Option<String> {
    let owners = json::list(object, &["metadata", "ownerReferences"]);
    let (mut kept, mut twice): (Vec<Json>, Vec<&str>) = (Vec::new(), Vec::new());
    for owner in owners {
        if kept.contains(owner) {
            twice.push(json::text(owner, &["uid"]));
        } else {
            kept.push(owner.clone());
        }
    }
    if twice.is_empty() {
        return None;
    }
    let when = match after_admission {
        true => " after mutating admission happens",
        false => "",
    };
    let warning = format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner \
         references in 1.20+, and may reject such requests as early as 1.24; please fix your \
         requests; duplicate UID(s) observed: {}",
        twice.join(", ")
    );
    json::set(object, &["metadata", "ownerReferences"], kept);
    Some(warning)
}

fn texts<'a>(object: &'a Json, field: &str) -> impl Iterator<Item = &'a str> {
    json::list(object, &["metadata", field])
        .iter()
        .filter_map(Json::as_str)
}

/// The entries of a map of strings.
pub(crate) fn entries<'a>(
    object: &'a Json,
    path: &[&str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = json::at(object, path).and_then(Json::as_object);
    let entries = map.into_iter().flatten();
    entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// `ValidateLabels`
pub(crate) fn validate_labels(object: &Json, path: &[&str], field: &str, errors: &mut ErrorList) {
    for (key, value) in entries(object, path) {
        errors.invalid_each(field, key, names::is_qualified_name(key));
        errors.invalid_each(field, value, names::is_valid_label_value(value));
    }
}

/// `ValidateAnnotations`
pub(crate) fn validate_annotations(
    object: &Json,
    path: &[&str],
    field: &str,
    errors: &mut ErrorList,
) {
    let mut size = 0;
    for (key, value) in entries(object, path) {
        errors.invalid_each(field, key, names::is_qualified_name(&key.to_lowercase()));
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_LIMIT {
        errors.too_long(field, ANNOTATIONS_LIMIT);
    }
}

/// `ValidateOwnerReferences`
fn validate_owner_references(object: &Json, errors: &mut ErrorList) {
    const FIELD: &str = "metadata.ownerReferences";
    let owners = json::list(object, &["metadata", "ownerReferences"]);
    let mut controller: Option<String> = None;
    for owner in owners {
        let text = |field| json::text(owner, &[field]);
        let version = text("apiVersion");
        if version.is_empty() || version.ends_with('/') || version.matches('/').count() > 1 {
            let field = format!("{FIELD}.apiVersion");
            errors.invalid(field, version, "version must not be empty");
        }
        for field in ["kind", "name", "uid"] {
            if text(field).is_empty() {
                errors.invalid(format!("{FIELD}.{field}"), "", "must not be empty");
            }
        }
        if (version, text("kind")) == ("v1", "Event") {
            let shown = render::list_of(std::slice::from_ref(owner), "meta.OwnerReference");
            let shown = shown
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned();
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.invalid(FIELD, Bad::shown(shown), detail);
        }
        if owner.get("controller") == Some(&Json::Bool(true)) {
            let name = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(name),
                Some(first) => errors.invalid(
                    FIELD,
                    Bad::shown(render::list_of(owners, "meta.OwnerReference")),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in \
                         references for {first} and {name}"
                    ),
                ),
            }
        }
    }
}

/// `ValidateFinalizers`
fn validate_finalizers(object: &Json, errors: &mut ErrorList) {
    const FIELD: &str = "metadata.finalizers";
    for finalizer in texts(object, "finalizers") {
        errors.invalid_each(FIELD, finalizer, names::is_qualified_name(finalizer));
    }
    let has = |name| texts(object, "finalizers").any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        errors.invalid(
            FIELD,
            json::at(object, &["metadata", "finalizers"]),
            "finalizer orphan and foregroundDeletion cannot be both set",
        );
    }
}

fn legacy_finalizers(object: &Json, errors: &mut ErrorList) {
    for (at, finalizer) in texts(object, "finalizers").enumerate() {
        validate_kube_finalizer_name(finalizer, &format!("metadata.finalizers[{at}]"), errors);
    }
}

/// `validateKubeFinalizerName`
pub(crate) fn validate_kube_finalizer_name(finalizer: &str, field: &str, errors: &mut ErrorList) {
    let standard = ["kubernetes", "orphan", "foregroundDeletion"];
    if !finalizer.contains('/') && !standard.contains(&finalizer) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(field, finalizer, detail);
    }
}

/// `ValidateManagedFields`
fn validate_managed_fields(object: &Json, errors: &mut ErrorList) {
    let all = json::list(object, &["metadata", "managedFields"]);
    for (at, entry) in all.iter().enumerate() {
        let path = format!("metadata.managedFields[{at}]");
        let text = |field| json::text(entry, &[field]);
        let operation = text("operation");
        if !matches!(operation, "Apply" | "Update") {
            let field = format!("{path}.operation");
            errors.invalid(field, operation, "must be `Apply` or `Update`");
        }
        let kind = text("fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            errors.invalid(format!("{path}.fieldsType"), kind, "must be `FieldsV1`");
        }
        validate_field_manager(text("manager"), &format!("{path}.manager"), errors);
        if text("subresource").len() > 256 {
            errors.too_long(format!("{path}.subresource"), 256);
        }
    }
}

/// `ValidateFieldManager`
pub(crate) fn validate_field_manager(manager: &str, field: &str, errors: &mut ErrorList) {
    if manager.len() > 128 {
        errors.too_long(field, 128);
    }
    for (at, char) in manager.char_indices() {
        if !quote::is_print(char) {
            let detail = format!("invalid character U+{:04X} (at position {at})", char as u32);
            errors.invalid(field, manager, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn create(metadata: Json) -> String {
        let object = json!({"metadata": metadata});
        validate_object_meta(&object, true, &names::name_is_dns_subdomain).to_string()
    }

    #[test]
    fn metadata_is_checked_on_create() {
        assert_eq!(create(json!({"name": "a", "namespace": "n"})), "[]");
        assert_eq!(
            create(json!({"namespace": "n"})),
            "metadata.name: Required value: name or generateName is required"
        );
        let owner = |name, uid| json!({"apiVersion": "v1", "kind": "X", "name": name, "uid": uid, "controller": true});
        let two = create(json!({"name": "a", "namespace": "n",
                                "ownerReferences": [owner("o", "1"), owner("p", "2")]}));
        assert_eq!(
            two,
            "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"kind\":\"X\",\
             \"name\":\"o\",\"uid\":\"1\",\"controller\":true},{\"apiVersion\":\"v1\",\
             \"kind\":\"X\",\"name\":\"p\",\"uid\":\"2\",\"controller\":true}]: Only one reference \
             can have Controller set to true. Found \"true\" in references for X/o and X/p"
        );
        assert_eq!(
            create(json!({"name": "a", "namespace": "n", "finalizers": ["x"]})),
            "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer \
             name nor is it fully qualified"
        );
    }

    #[test]
    fn owners_are_told_once() {
        let owner = json!({"uid": "u", "name": "o"});
        let mut object = json!({"metadata": {"ownerReferences": [owner, {"uid": "u"}, owner]}});
        let warning =
            dedup_owner_references_and_add_warning(&mut object, false).expect("a warning");
        assert!(warning.ends_with("duplicate UID(s) observed: u"));
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([owner, {"uid": "u"}])
        );
        assert_eq!(
            dedup_owner_references_and_add_warning(&mut object, true),
            None
        );
    }

    #[test]
    fn what_is_written_once_stays() {
        let old = json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "1",
                                      "deletionTimestamp": "2020-01-01T00:00:00Z"}});
        let new = json!({"metadata": {"name": "a", "uid": "2", "resourceVersion": "1",
                                      "finalizers": ["example.com/x"]}});
        assert_eq!(
            validate_common_update(&new, &old).to_string(),
            "[metadata.finalizers: Forbidden: no new finalizers can be added if the object is \
             being deleted, found new finalizers []string{\"example.com/x\"}, metadata.uid: Invalid \
             value: \"2\": field is immutable, metadata.deletionTimestamp: Invalid value: null: \
             field is immutable]"
        );
    }
}
