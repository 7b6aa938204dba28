//! What documents say of definitions, and how documents are named.

use serde_json::json;

use super::*;

fn group(kind: &str, plural: &str, below: &[&str]) -> Group {
    let of = |name: String| ApiResource {
        name,
        kind: kind.to_owned(),
        namespaced: true,
        verbs: [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..ApiResource::default()
    };
    let below = below.iter().map(|name| of(format!("{plural}/{name}")));
    let version = GroupVersion {
        version: "v1".to_owned(),
        priority: 100,
        resources: [of(plural.to_owned())].into_iter().chain(below).collect(),
    };
    Group {
        name: "shop.example".to_owned(),
        priority: 1000,
        versions: vec![version],
    }
}

fn definition(schema: &Json) -> Json {
    json!({"spec": {
        "group": "shop.example",
        "names": {"plural": "tools", "kind": "Tool", "listKind": "ToolList"},
        "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}],
    }})
}

fn document(schema: &Json) -> Json {
    let groups = [group("Tool", "tools", &["status"])];
    let crd = definition(schema);
    let all = documents(&groups, std::iter::once(&crd));
    (*all["apis/shop.example/v1"].body).clone()
}

fn tool(document: &Json) -> &Json {
    &document["components"]["schemas"]["example.shop.v1.Tool"]
}

#[test]
fn a_definition_adds_its_schema_and_what_every_object_has() {
    let schema = json!({"type": "object", "required": ["spec"], "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "minimum": 1},
            "edge": {"x-kubernetes-int-or-string": true},
            "rest": {
                "type": "object",
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
            },
        }},
    }});
    let document = document(&schema);
    let tool = tool(&document);
    assert_eq!(tool["required"], json!(["spec"]));
    let kind = json!([{"group": "shop.example", "version": "v1", "kind": "Tool"}]);
    assert_eq!(tool["x-kubernetes-group-version-kind"], kind);
    let meta = |of: &Json| of["allOf"][0]["$ref"].as_str().map(str::to_owned);
    let object_meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(
        meta(&tool["properties"]["metadata"]).as_deref(),
        Some(object_meta)
    );
    let spec = &tool["properties"]["spec"]["properties"];
    assert_eq!(spec["size"], json!({"type": "integer", "minimum": 1}));
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    assert_eq!(spec["edge"]["anyOf"], either);
    assert_eq!(spec["rest"]["required"], json!(["kind", "apiVersion"]));
    assert_eq!(
        meta(&spec["rest"]["properties"]["metadata"]).as_deref(),
        Some(object_meta)
    );
    // What it refers to comes with it.
    let schemas = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    assert!(schemas.contains_key("example.shop.v1.ToolList"));
    assert!(schemas.contains_key("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"));
}

#[test]
fn a_custom_object_is_patched_without_strategy_and_validated() {
    let document = document(&json!({"type": "object"}));
    let object = "/apis/shop.example/v1/namespaces/{namespace}/tools/{name}";
    for path in [object.to_owned(), format!("{object}/status")] {
        let patch = &document["paths"][&path]["patch"];
        let bodies = patch["requestBody"]["content"].as_object().expect("bodies");
        assert!(
            !bodies.contains_key("application/strategic-merge-patch+json"),
            "{path}"
        );
        assert!(
            bodies.contains_key("application/merge-patch+json"),
            "{path}"
        );
        let parameters = patch["parameters"].as_array().expect("parameters");
        let validates = |own: &Json| own["name"] == "fieldValidation";
        assert!(parameters.iter().any(validates), "{path}");
    }
}

#[test]
fn a_schema_that_is_not_structural_says_nothing() {
    // A field without a type.
    let schema = json!({"type": "object", "properties": {"spec": {"minimum": 1}}});
    let document = document(&schema);
    assert_eq!(tool(&document)["properties"], Json::Null);
    assert_eq!(tool(&document)["type"], "object");
}

#[test]
fn an_index_names_each_document_with_its_hash() {
    let groups = [group("Tool", "tools", &[])];
    let crd = definition(&json!({"type": "object"}));
    let all = documents(&groups, std::iter::once(&crd));
    let index = index(&all);
    let of = &index["paths"]["apis/shop.example/v1"]["serverRelativeURL"];
    let url = of.as_str().expect("a path");
    let hash = &all["apis/shop.example/v1"].hash;
    assert_eq!(url, format!("/openapi/v3/apis/shop.example/v1?hash={hash}"));
    // Another schema has another hash.
    let other = definition(&json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let other = documents(&groups, std::iter::once(&other));
    assert_ne!(&other["apis/shop.example/v1"].hash, hash);
}

#[test]
fn a_kind_of_the_table_says_what_merging_and_validation_need() {
    let groups = groups_of(&Kinds::default(), &[], Version::LATEST);
    let all = documents(&groups, std::iter::empty());
    let core = &all["api/v1"].body;
    let schema = |name: &str| &core["components"]["schemas"][format!("io.k8s.api.core.v1.{name}")];
    let containers = &schema("PodSpec")["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let protocol = &schema("ServicePort")["properties"]["protocol"];
    assert_eq!(protocol["enum"], json!(["SCTP", "TCP", "UDP"]));
    assert_eq!(
        schema("ConfigMap")["x-kubernetes-group-version-kind"][0]["kind"],
        "ConfigMap"
    );
    // It names objects, and is none.
    assert_eq!(
        schema("ObjectReference")["x-kubernetes-group-version-kind"],
        Json::Null
    );
}

#[test]
fn a_definition_tells_of_its_selectable_fields_and_of_either_form_of_a_value() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "color": {"type": "string", "example": "red", "externalDocs": {"url": "https://a/b"}},
        "edge": {
            "x-kubernetes-int-or-string": true,
            "anyOf": [{"minimum": 1}, {"pattern": "^x$"}],
        },
    }}}});
    let mut crd = definition(&schema);
    crd["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    let groups = [group("Tool", "tools", &[])];
    let all = documents(&groups, std::iter::once(&crd));
    let document = &all["apis/shop.example/v1"].body;
    let selectable = json!([{"fieldPath": "spec.color"}]);
    for kind in ["Tool", "ToolList"] {
        let schema = &document["components"]["schemas"][format!("example.shop.v1.{kind}")];
        assert_eq!(
            schema["x-kubernetes-selectable-fields"], selectable,
            "{kind}"
        );
    }
    let spec = &tool(document)["properties"]["spec"]["properties"];
    assert_eq!(spec["color"], json!({"type": "string"}));
    let either = json!([{"anyOf": [{"type": "integer"}, {"type": "string"}]}]);
    assert_eq!(spec["edge"]["allOf"], either);
    assert_eq!(spec["edge"]["anyOf"][0]["minimum"], 1);
}

#[test]
fn routes_of_a_definition_are_of_its_kind_and_nobody_writes_cbor() {
    let mut groups = [group("Tool", "tools", &["scale"])];
    let scale = &mut groups[0].versions[0].resources[1];
    scale.kind = "Scale".to_owned();
    scale.group_version = Some(("autoscaling".to_owned(), "v1".to_owned()));
    let crd = definition(&json!({"type": "object"}));
    let all = documents(&groups, std::iter::once(&crd));
    let document = &all["apis/shop.example/v1"].body;
    let path = "/apis/shop.example/v1/namespaces/{namespace}/tools/{name}/scale";
    let scale = &document["paths"][path]["get"];
    assert_eq!(scale["x-kubernetes-group-version-kind"]["kind"], "Tool");
    let options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    let kinds = &document["components"]["schemas"][options]["x-kubernetes-group-version-kind"];
    let kinds = kinds.as_array().expect("kinds");
    assert_eq!(kinds.len(), 53);
    assert_eq!(
        kinds[1],
        json!({"group": "admissionregistration.k8s.io", "version": "v1", "kind": "DeleteOptions"})
    );
    for (path, document) in OF_TABLE.iter() {
        assert!(!document.body.to_string().contains("cbor"), "{path}");
    }
}
