//! What single fields of a definition may say: names, columns, webhooks (`apis/apiextensions/validation/validation.go`).

use super::props::Props;
use super::{paths, shown};
use crate::json::{self, Json};
use crate::names;
use crate::render;
use crate::validation::{Bad, ErrorList};

/// Upstream's `acceptedConversionReviewVersions`: does upstream know this version?
pub(super) fn is_accepted(version: &Json) -> bool {
    matches!(version.as_str(), Some("v1" | "v1beta1"))
}

pub(super) fn webhook_client_config(config: &Json, field: &str, errors: &mut ErrorList) {
    let url = config["url"].as_str();
    match (url, config.get("service")) {
        (Some(_), Some(_)) | (None, None) => {
            errors.required(field, "exactly one of url or service is required");
        }
        (Some(url), None) => validate_webhook_url(url, &format!("{field}.url"), errors),
        (None, Some(service)) => {
            for name in ["name", "namespace"] {
                if json::text(service, &[name]).is_empty() {
                    errors.required(format!("{field}.service.{name}"), "");
                }
            }
        }
    }
}

/// `webhook.ValidateWebhookURL`
fn validate_webhook_url(url: &str, field: &str, errors: &mut ErrorList) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.invalid(field, scheme, why);
    }
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        errors.invalid(field, host, format!("host must be specified{FORM}"));
    }
    if host.contains('@') {
        errors.invalid(field, host, "user information is not permitted in the URL");
    }
    if rest.contains('#') {
        errors.invalid(field, url, "fragments are not permitted in the URL");
    }
    if rest.contains('?') {
        errors.invalid(field, url, "query parameters are not permitted in the URL");
    }
}

/// `validateConversionReviewVersions`
pub(super) fn validate_conversion_review_versions(
    reviews: &[Json],
    recognized: bool,
    field: &str,
    errors: &mut ErrorList,
) {
    if reviews.is_empty() {
        return errors.required(field, "");
    }
    for (at, review) in reviews.iter().enumerate() {
        let field = format!("{field}[{at}]");
        let text = review.as_str().unwrap_or_default();
        match reviews[..at].contains(review) {
            true => errors.invalid(field, text, "duplicate version"),
            false => errors.invalid_each(&field, text, names::is_dns1035_label(text)),
        }
    }
    if recognized && !reviews.iter().any(is_accepted) {
        let all: Json = reviews.into();
        let why = "must include at least one of v1, v1beta1";
        errors.invalid(field, Bad::shown(render::sorted(&all)), why);
    }
}

/// Only some fields may stand at the root where `properties.status` is used by itself.
pub(super) fn at_root_with_status(schema: &Props, path: &str, errors: &mut ErrorList) {
    if schema.ty != "object" && !schema.ty.is_empty() {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status \
                   subresource is enabled";
        return errors.invalid(format!("{path}.type"), &schema.ty, why);
    }
    let allowed = Props {
        description: schema.description.clone(),
        ty: schema.ty.clone(),
        format: schema.format.clone(),
        title: schema.title.clone(),
        maximum: schema.maximum,
        exclusive_maximum: schema.exclusive_maximum,
        minimum: schema.minimum,
        exclusive_minimum: schema.exclusive_minimum,
        max_length: schema.max_length,
        min_length: schema.min_length,
        pattern: schema.pattern.clone(),
        max_items: schema.max_items,
        min_items: schema.min_items,
        unique_items: schema.unique_items,
        multiple_of: schema.multiple_of,
        required: schema.required.clone(),
        items: schema.items.clone(),
        properties: schema.properties.clone(),
        external_docs: schema.external_docs.clone(),
        example: schema.example.clone(),
        preserve_unknown_fields: schema.preserve_unknown_fields,
        validations: schema.validations.clone(),
        ..Props::default()
    };
    if allowed != *schema {
        let why = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum \
                   ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems \
                   MultipleOf Required Items Properties ExternalDocs Example \
                   XPreserveUnknownFields XValidations] fields are allowed at the root of the \
                   schema if the status subresource is enabled";
        errors.invalid(path, Bad::shown(shown::props(schema)), why);
    }
}

/// `validateDeprecationWarning`
pub(super) fn validate_deprecation_warning(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut errors = Vec::new();
    if warning.len() > 256 {
        errors.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        errors.push("must not be an empty string".to_owned());
    }
    let mut chars = warning.char_indices();
    if let Some((at, _)) = chars.find(|(_, char)| !crate::quote::is_print(*char)) {
        errors.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    errors
}

/// `ValidateCustomResourceDefinitionNames`
pub(super) fn validate_custom_resource_definition_names(
    names: &Json,
    field: &str,
    errors: &mut ErrorList,
) {
    const MIXED: &str = "may have mixed case, but should otherwise match: ";
    let text = |name: &str| json::text(names, &[name]);
    let mut label = |field: String, shown: &str, checked: &str, prefix: &str| {
        let wrong = crate::names::is_dns1035_label(checked);
        if !wrong.is_empty() {
            errors.invalid(field, shown, format!("{prefix}{}", wrong.join(",")));
        }
    };
    for name in ["plural", "singular"] {
        if !text(name).is_empty() {
            label(format!("{field}.{name}"), text(name), text(name), "");
        }
    }
    for name in ["kind", "listKind"] {
        if !text(name).is_empty() {
            let lower = text(name).to_lowercase();
            label(format!("{field}.{name}"), text(name), &lower, MIXED);
        }
    }
    for (at, name) in json::list(names, &["shortNames"]).iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        label(format!("{field}.shortNames[{at}]"), name, name, "");
    }
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        let why = "kind and listKind may not be the same";
        errors.invalid(format!("{field}.listKind"), text("listKind"), why);
    }
    for (at, name) in json::list(names, &["categories"]).iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let wrong = crate::names::is_dns1035_label(name);
        if !wrong.is_empty() {
            errors.invalid(format!("{field}.categories[{at}]"), name, wrong.join(","));
        }
    }
}

/// `ValidateCustomResourceColumnDefinition`
pub(super) fn validate_custom_resource_column_definition(
    column: &Json,
    field: &str,
    errors: &mut ErrorList,
) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    let text = |name: &str| json::text(column, &[name]);
    let one_of = |known: &[&str]| format!("must be one of {}", known.join(","));
    if text("name").is_empty() {
        errors.required(format!("{field}.name"), "");
    }
    match text("type") {
        "" => errors.required(format!("{field}.type"), one_of(&TYPES)),
        ty if TYPES.contains(&ty) => {}
        ty => errors.invalid(format!("{field}.type"), ty, one_of(&TYPES)),
    }
    let format = text("format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        errors.invalid(format!("{field}.format"), format, one_of(&FORMATS));
    }
    let of_path = format!("{field}.JSONPath");
    match text("jsonPath") {
        "" => errors.required(of_path, ""),
        path => {
            paths::validate_simple_json_path(path, &of_path, errors);
        }
    }
}
