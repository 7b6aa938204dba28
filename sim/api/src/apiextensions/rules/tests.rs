//! What a definition that keeps unknown fields may not say.

use serde_json::json;

use super::*;

fn definition(spec: &Json) -> Json {
    let properties = json!({"spec": {"type": "object", "properties": {"a": spec}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
    json!({
        "metadata": {"name": "things.g.example"},
        "spec": {
            "group": "g.example",
            "scope": "Namespaced",
            "preserveUnknownFields": true,
            "names": {
                "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList",
            },
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

fn causes(errors: &ErrorList) -> Vec<(&str, &str)> {
    let all = errors.iter();
    all.map(|error| (error.field.as_str(), error.detail.as_str()))
        .collect()
}

const PRESERVES: &str = "spec.preserveUnknownFields";
const NOT_ANY_MORE: &str = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                            spec.versions[*].schema instead";
const NO_DEFAULTS: &str = "must be false in order to use defaults in the schema";

#[test]
fn defaults_want_unknown_fields_to_be_pruned() {
    let plain = definition(&json!({"type": "string"}));
    let plain = validate_custom_resource_definition(&plain);
    assert_eq!(causes(&plain), [(PRESERVES, NOT_ANY_MORE)]);
    let defaulted = definition(&json!({"type": "string", "default": "x"}));
    let errors = validate_custom_resource_definition(&defaulted);
    assert_eq!(
        causes(&errors),
        [(PRESERVES, NO_DEFAULTS), (PRESERVES, NOT_ANY_MORE)]
    );
    // One that was stored so may stay so, but gets no defaults.
    let old = definition(&json!({"type": "string"}));
    let errors = validate_custom_resource_definition_update(&defaulted, &old);
    let of_spec = causes(&errors)
        .into_iter()
        .filter(|(field, _)| field.starts_with("spec"));
    assert_eq!(of_spec.collect::<Vec<_>>(), [(PRESERVES, NO_DEFAULTS)]);
}

#[test]
fn extensions_want_a_structural_schema_where_one_was_not_before() {
    // A field without a type is not structural.
    let old = definition(&json!({"minimum": 1}));
    let errors = validate_custom_resource_definition_update(&old, &old);
    let is_of_schema = |(field, _): &(&str, &str)| field.contains("openAPIV3Schema");
    assert!(!causes(&errors).iter().any(is_of_schema), "{errors}");
    let mut new = old.clone();
    let schema = &mut new["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["b"] =
        json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}});
    let errors = validate_custom_resource_definition_update(&new, &old);
    assert!(causes(&errors).iter().any(is_of_schema), "{errors}");
}

#[test]
fn what_keeps_unknown_fields_is_not_converted_by_a_webhook() {
    let mut crd = definition(&json!({"type": "string"}));
    let client = json!({"url": "https://nowhere/convert"});
    crd["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    });
    let errors = validate_custom_resource_definition(&crd);
    let why = "must be None if spec.preserveUnknownFields is true";
    assert!(
        causes(&errors).contains(&("spec.conversion.strategy", why)),
        "{errors}"
    );
}
