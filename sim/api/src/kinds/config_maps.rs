//! ConfigMaps (`kubernetes/pkg/registry/core/configmap/strategy.go`,
//! `pkg/apis/core/validation/validation.go`).

use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// `MaxSecretSize`: what the values of a ConfigMap or Secret may take together.
pub(super) const MAX_SIZE: usize = 1024 * 1024;

/// The rules of ConfigMaps.
pub struct ConfigMaps;

impl Strategy for ConfigMaps {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown::called(&["cm"])
    }

    fn validate(&self, _cx: &Context, object: &Json) -> ErrorList {
        validate(object)
    }

    fn validate_update(&self, _cx: &Context, _part: Part, object: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(object, old);
        immutable(object, old, &["data", "binaryData"], &mut errors);
        errors.extend(validate(object));
        errors
    }
}

/// Once `immutable` is set, neither it nor these fields change.
pub(super) fn immutable(object: &Json, old: &Json, fields: &[&str], errors: &mut ErrorList) {
    const DETAIL: &str = "field is immutable when `immutable` is set";
    let set = |json: &Json| json.get("immutable") == Some(&Json::Bool(true));
    if !set(old) {
        return;
    }
    if !set(object) {
        errors.forbidden("immutable", DETAIL);
    }
    for field in fields {
        if object.get(field) != old.get(field) {
            errors.forbidden(*field, DETAIL);
        }
    }
}

fn validate(object: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta(object, true, &names::name_is_dns_subdomain);
    let mut size = 0;
    for (key, value) in metadata::entries(object, &["data"]) {
        let field = format!("data[{key}]");
        errors.invalid_each(&field, key, names::is_config_map_key(key));
        if json::at(object, &["binaryData", key]).is_some() {
            errors.invalid(field, key, "duplicate of key present in binaryData");
        }
        size += value.len();
    }
    for (key, value) in metadata::entries(object, &["binaryData"]) {
        errors.invalid_each(
            &format!("binaryData[{key}]"),
            key,
            names::is_config_map_key(key),
        );
        size += binary_size(value);
    }
    if size > MAX_SIZE {
        errors.too_long("", MAX_SIZE);
    }
    errors
}

/// How many bytes a base64 text stands for.
pub(super) fn binary_size(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}
