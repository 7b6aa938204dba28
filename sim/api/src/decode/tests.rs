use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wavetank_releases::{V1_16, V1_20, V1_36};

use super::*;
use crate::kinds;

fn read(text: &str, validation: FieldValidation) -> Result<(Json, Vec<String>), String> {
    let body = Body::Bytes(Arc::from(text.as_bytes()));
    object(
        &body,
        Some("application/json"),
        &kinds::CONFIG_MAPS,
        Reading::newest(validation),
    )
    .map_err(|status| status.message)
}

fn error(text: &str) -> String {
    read(text, FieldValidation::Warn).expect_err(text)
}

#[test]
fn an_object_is_read_and_written_as_its_type_is() {
    let text = r#"{"metadata":{"name":"x","labels":{},"generation":0,"uid":null},
                   "data":{"k":null},"binaryData":{"b":"eA=="},"immutable":false}"#;
    let (json, warnings) = read(text, FieldValidation::Strict).expect("an object");
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"},
        "data": {"k": ""}, "binaryData": {"b": "eA=="}, "immutable": false,
    });
    assert_eq!((json, warnings), (expected, Vec::new()));
}

#[test]
fn who_says_that_nobody_manages_an_object_is_heard_however_it_is_written() {
    let says = |text: &str| resets_managed_fields(&Body::Bytes(Arc::from(text.as_bytes())));
    for text in [
        r#"{"metadata":{"managedFields":[]}}"#,
        r#"{"metadata":{"managed\u0046ields":[]}}"#,
        "metadata:\n  managedFields: []\n",
        "metadata: {? \"managed\\x46ields\" : []}",
        "metadata: {!!str managedFields: []}",
    ] {
        assert!(says(text), "{text}");
    }
    for text in [
        "",
        r#"{"metadata":{"name":"x"}}"#,
        r#"{"metadata":{"managedFields":[{}]}}"#,
        r#"{"metadata":{"name":"managedFields"},"data":{"managedFields":"[]"}}"#,
    ] {
        assert!(!says(text), "{text}");
    }
}

#[test]
fn unknown_and_duplicate_fields_are_told_in_their_order() {
    let text = r#"{"metadata":{"name":"d","name":"e","zzz":1},"data":{"a":"1","a":"2"},"Data":{}}"#;
    let all = [
        "duplicate field \"metadata.name\"",
        "unknown field \"metadata.zzz\"",
        "duplicate field \"data.a\"",
        "unknown field \"Data\"",
    ];
    let (json, warnings) = read(text, FieldValidation::Warn).expect("an object");
    assert_eq!(json["metadata"]["name"], "e");
    assert_eq!(warnings, all);
    let (_, none) = read(text, FieldValidation::Ignore).expect("an object");
    assert!(none.is_empty());
    let strict = read(text, FieldValidation::Strict).expect_err("refused");
    let expected = format!(
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: {}",
        all.join(", ")
    );
    assert_eq!(strict, expected);
}

#[test]
fn refusals_are_worded_as_upstream_words_them() {
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): \
                        couldn't get version/kind; json parse error: ";
    let handled = "cannot be handled as a ConfigMap: ";
    for (text, expected) in [
        (
            "",
            format!("{unrecognized}unexpected end of JSON input (<empty>)"),
        ),
        (
            "not json at all",
            format!(
                "{unrecognized}invalid character 'o' in literal null (expecting 'u') \
                 (6e6f74206a736f6e20617420616c6c)"
            ),
        ),
        (
            "[]",
            format!(
                "{unrecognized}json: cannot unmarshal array into Go value of type struct {{ \
                 APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                 \"json:\\\"kind,omitempty\\\"\" }} (5b5d)"
            ),
        ),
        (
            r#"{"kind":"Secret","apiVersion":"v1"}"#,
            format!(
                "Secret in version \"v1\" {handled}converting (v1.Secret) to (core.ConfigMap): \
                 unknown conversion"
            ),
        ),
        (
            r#"{"kind":"Job","apiVersion":"batch/v1"}"#,
            format!(
                "Job in version \"v1\" {handled}converting (v1.Job) to (core.ConfigMap): unknown \
                 conversion"
            ),
        ),
        (
            r#"{"kind":"ConfigMap","apiVersion":"apps/v1"}"#,
            format!(
                "ConfigMap in version \"v1\" {handled}no kind \"ConfigMap\" is registered for \
                 version \"apps/v1\" in scheme \"{SCHEME}\""
            ),
        ),
        (
            r#"{"data":{"a":1}}"#,
            format!(
                "ConfigMap in version \"v1\" {handled}json: cannot unmarshal number into Go \
                 struct field ConfigMap.data of type string"
            ),
        ),
        (
            r#"{"data":[]}"#,
            format!(
                "ConfigMap in version \"v1\" {handled}json: cannot unmarshal array into Go \
                 struct field ConfigMap.data of type map[string]string"
            ),
        ),
        (
            r#"{"metadata":{"generation":1.5}}"#,
            format!(
                "ConfigMap in version \"v1\" {handled}json: cannot unmarshal number 1.5 into Go \
                 struct field ObjectMeta.metadata.generation of type int64"
            ),
        ),
        (
            r#"{"binaryData":{"b":"not base64!"}}"#,
            format!("ConfigMap in version \"v1\" {handled}illegal base64 data at input byte 3"),
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    let plain = object(
        &Body::Empty,
        Some("text/plain"),
        &kinds::CONFIG_MAPS,
        Reading::newest(FieldValidation::Warn),
    );
    assert_eq!(plain.expect_err("refused").code, 415);
}

#[test]
fn yaml_is_read_too() {
    let body = Body::Bytes(Arc::from(&b"metadata:\n  name: why\ndata:\n  k: v\n"[..]));
    let (json, _) = object(
        &body,
        Some("application/yaml; charset=utf-8"),
        &kinds::CONFIG_MAPS,
        Reading::newest(FieldValidation::Strict),
    )
    .expect("an object");
    assert_eq!(json["metadata"]["name"], "why");
    assert_eq!(json["data"]["k"], "v");
}

#[test]
fn options_of_a_deletion_come_in_the_body_or_not_at_all() {
    let read = |text: &str| {
        let body = Body::Bytes(Arc::from(text.as_bytes()));
        delete_options(&body, None, None).map_err(|status| status.message)
    };
    assert_eq!(read(""), Ok(None));
    let zero = read(r#"{"gracePeriodSeconds":0}"#).expect("options");
    assert_eq!(zero, Some(json!({"gracePeriodSeconds": 0})));
    let expected = format!(
        "no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"{META_SCHEME}\""
    );
    assert_eq!(
        read(r#"{"kind":"ConfigMap","apiVersion":"v1"}"#),
        Err(expected)
    );
    let per_group =
        read(r#"{"kind":"DeleteOptions","apiVersion":"apps/v1","orphanDependents":true}"#);
    assert!(per_group.expect("options").is_some());
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-z0-9=:.-]{0,8}".prop_map(Json::from),
    ];
    let name = prop_oneof![
        Just("metadata"),
        Just("name"),
        Just("labels"),
        Just("spec"),
        Just("data"),
        Just("binaryData"),
        Just("containers"),
        Just("template"),
        Just("ports"),
        Just("port"),
        Just("resources"),
        Just("limits"),
        Just("cpu"),
        Just("creationTimestamp"),
        Just("kind"),
        Just("apiVersion"),
        Just("selector"),
        Just("x"),
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            proptest::collection::btree_map(name.clone(), inner, 0..6).prop_map(|map| {
                Json::Object(map.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_tree_is_read_or_refused_and_reading_again_changes_nothing(json in any_json()) {
        for resource in Resource::ALL {
            let body = Body::Json(Arc::new(json.clone()));
            let text = Body::Bytes(Arc::from(json.to_string().as_bytes()));
            let read = object(&body, None, resource, Reading::newest(FieldValidation::Warn));
            let same = object(&text, None, resource, Reading::newest(FieldValidation::Warn));
            prop_assert_eq!(read.clone().is_ok(), same.is_ok());
            if let Ok((object, _)) = read {
                prop_assert_eq!(canonical(resource, &object), Ok(object.clone()));
            }
            if let Ok(Some(options)) = delete_options(&body, None, None) {
                let again = Body::Json(Arc::new(options.clone()));
                prop_assert_eq!(delete_options(&again, None, None), Ok(Some(options)));
            }
        }
    }
    #[test]
    fn any_bytes_are_refused_or_mean_what_they_are_read_as(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let body = Body::Bytes(Arc::from(bytes));
        for content in ["application/json", "application/yaml"] {
            if let Ok((read, _)) = object(&body, Some(content), &kinds::CONFIG_MAPS, Reading::newest(FieldValidation::Warn)) {
                prop_assert_eq!(canonical(&kinds::CONFIG_MAPS, &read), Ok(read));
            }
            if let Ok(Some(options)) = delete_options(&body, Some(content), None) {
                let again = Body::Json(Arc::new(options.clone()));
                prop_assert_eq!(delete_options(&again, None, None), Ok(Some(options)));
            }
        }
    }
}

/// What an older release does not have it takes for unknown, and it writes no zero value of it.
#[test]
fn an_older_release_knows_fewer_fields() {
    let service = br#"{"spec": {"internalTrafficPolicy": "Local", "clusterIPs": ["10.0.0.1"]}}"#;
    let set = br#"{"status": {"availableReplicas": 1}}"#;
    let read = |text: &[u8], resource, release| {
        let reading = Reading {
            validation: FieldValidation::Warn,
            release,
        };
        let body = Body::Bytes(Arc::from(text));
        object(&body, None, resource, reading).expect("it is read")
    };
    let unknown = |path: &str| format!("unknown field \"{path}\"");
    let policy = unknown("spec.internalTrafficPolicy");
    let addresses = unknown("spec.clusterIPs");
    for (release, expected) in [
        (V1_16, vec![policy.clone(), addresses]),
        (V1_20, vec![policy]),
        (V1_36, vec![]),
    ] {
        let (json, warnings) = read(service, &kinds::SERVICES, Some(release));
        assert_eq!(warnings, expected, "{release}");
        let has = json["spec"].get("internalTrafficPolicy").is_some();
        assert_eq!(has, release == V1_36, "{release}");
        let (json, warnings) = read(set, &kinds::STATEFUL_SETS, Some(release));
        let has = json["status"].get("availableReplicas").is_some();
        assert_eq!(
            (has, warnings.is_empty()),
            (release == V1_36, has),
            "{release}"
        );
        let (json, _) = read(b"{}", &kinds::STATEFUL_SETS, Some(release));
        let has = json["status"].get("availableReplicas").is_some();
        assert_eq!(has, release == V1_36, "the zero value, {release}");
    }
    let (json, warnings) = read(set, &kinds::STATEFUL_SETS, None);
    assert_eq!(
        (&json["status"]["availableReplicas"], warnings.len()),
        (&1.into(), 0)
    );
}
