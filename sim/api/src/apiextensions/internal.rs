//! The internal form of a definition's spec (`apis/apiextensions/v1/conversion.go`): what all versions have alike stands
//! at its top, where errors name it.

use crate::json::{self, Json};

/// What moves to the top, with its name there.
const SHARED: [(&str, &str); 4] = [
    ("subresources", "subresources"),
    ("schema", "validation"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Upstream's `Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec`: a tree of the same names.
pub(super) fn internal_spec(spec: &Json) -> Json {
    let mut spec = spec.clone();
    convert_conversion(&mut spec);
    let versions = json::list(&spec, &["versions"]).to_vec();
    let Some(first) = versions.first() else {
        return spec;
    };
    json::set(&mut spec, &["version"], first["name"].clone());
    let mut versions = versions.clone();
    let first = versions[0].clone();
    for (own, shared) in SHARED {
        let value = first.get(own);
        if !versions.iter().all(|version| version.get(own) == value) {
            continue;
        }
        if let Some(value) = value {
            json::set(&mut spec, &[shared], value.clone());
        }
        for version in &mut versions {
            json::remove(version, &[own]);
        }
    }
    json::set(&mut spec, &["versions"], versions);
    spec
}

/// Upstream's `Convert_v1_CustomResourceConversion_To_apiextensions_CustomResourceConversion`
fn convert_conversion(spec: &mut Json) {
    let Some(webhook) = json::remove(spec, &["conversion", "webhook"]) else {
        return;
    };
    for (own, internal) in [
        ("clientConfig", "webhookClientConfig"),
        ("conversionReviewVersions", "conversionReviewVersions"),
    ] {
        if let Some(value) = webhook.get(own).filter(|value| !value.is_null()) {
            json::set(spec, &["conversion", internal], value.clone());
        }
    }
}
