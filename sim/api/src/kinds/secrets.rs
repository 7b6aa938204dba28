//! Secrets (`kubernetes/pkg/registry/core/secret/strategy.go`, `pkg/apis/core/validation/validation.go`,
//! `pkg/apis/core/v1/conversion.go`).

use super::config_maps::{MAX_SIZE, binary_size, immutable};
use super::pod_spec::default;
use crate::decode::{base64, text};
use crate::json::{self, Json, Map};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::{Bad, ErrorList};

/// The rules of Secrets.
pub struct Secrets;

impl Strategy for Secrets {
    fn default(&self, secret: &mut Json) {
        let Some(secret) = secret.as_object_mut() else {
            return;
        };
        // What is written as text is kept as bytes.
        if let Some(Json::Object(texts)) = secret.remove("stringData") {
            let data = secret.entry("data").or_insert(Json::Null);
            if !data.is_object() {
                *data = Json::Object(Map::new());
            }
            for (key, text) in texts {
                let text = text.as_str().unwrap_or_default();
                if let Some(data) = data.as_object_mut() {
                    data.insert(key, base64::encode(text.as_bytes()).into());
                }
            }
        }
        default(secret, "type", "Opaque");
    }

    fn validate(&self, _cx: &Context, secret: &Json) -> ErrorList {
        validate(secret)
    }

    fn prepare_for_update(&self, _cx: &Context, _part: Part, secret: &mut Json, old: &Json) {
        if json::text(secret, &["type"]).is_empty() {
            super::pods::keep(secret, old, &["type"]);
        }
    }

    fn validate_update(&self, _cx: &Context, _part: Part, secret: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(secret, old);
        let kind = json::text(secret, &["type"]);
        if kind != json::text(old, &["type"]) {
            errors.invalid("type", kind, metadata::IMMUTABLE);
        }
        immutable(secret, old, &["data"], &mut errors);
        errors.extend(validate(secret));
        errors
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "type" | "metadata.namespace" | "metadata.name" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }
}

fn validate(secret: &Json) -> ErrorList {
    let mut errors = metadata::validate_object_meta(secret, true, &names::name_is_dns_subdomain);
    let mut size = 0;
    for (key, value) in metadata::entries(secret, &["data"]) {
        errors.invalid_each(&format!("data[{key}]"), key, names::is_config_map_key(key));
        size += binary_size(value);
    }
    if size > MAX_SIZE {
        errors.too_long("data", MAX_SIZE);
    }
    let value = |key| json::at(secret, &["data", key]).and_then(Json::as_str);
    match json::text(secret, &["type"]) {
        "kubernetes.io/service-account-token" => {
            const KEY: &str = "kubernetes.io/service-account.name";
            if json::text(secret, &["metadata", "annotations", KEY]).is_empty() {
                errors.required(format!("metadata.annotations[{KEY}]"), "");
            }
        }
        "kubernetes.io/dockercfg" => well_formed(value, ".dockercfg", &mut errors),
        "kubernetes.io/dockerconfigjson" => {
            well_formed(value, ".dockerconfigjson", &mut errors);
        }
        "kubernetes.io/basic-auth"
            if value("username").is_none() && value("password").is_none() =>
        {
            errors.required("data[username]", "");
            errors.required("data[password]", "");
        }
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(str::is_empty) => {
            errors.required("data[ssh-privatekey]", "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if value(key).is_none() {
                    errors.required(format!("data[{key}]"), "");
                }
            }
        }
        _ => {}
    }
    errors
}

/// Is there an object in JSON under this key?
fn well_formed<'a>(
    value: impl Fn(&'static str) -> Option<&'a str>,
    key: &'static str,
    errors: &mut ErrorList,
) {
    let field = format!("data[{key}]");
    let Some(value) = value(key) else {
        errors.required(field, "");
        return;
    };
    let bytes = base64::decode(value).unwrap_or_default();
    if let Err(error) = text::parse(&bytes) {
        errors.invalid(field, Bad::from("<secret contents redacted>"), error);
    }
}
