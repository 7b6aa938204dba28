use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::kinds;

fn current() -> Json {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "7",
                     "labels": {"z": "w"}},
    })
}

fn patched(
    kind: PatchKind,
    text: &str,
    validation: FieldValidation,
) -> Result<(Json, Vec<String>), Status> {
    let body = Body::Bytes(Arc::from(text.as_bytes()));
    apply(
        kind,
        &current(),
        &body,
        &kinds::CONFIG_MAPS,
        Reading::newest(validation),
    )
}

fn refused(kind: PatchKind, text: &str) -> (u16, String) {
    let status = patched(kind, text, FieldValidation::Warn).expect_err(text);
    (status.code, status.message)
}

#[test]
fn merge_patches_are_applied() {
    let (json, warnings) = patched(
        PatchKind::Merge,
        r#"{"data":{"a":null,"b":"2"},"metadata":{"labels":null},"bogus":1}"#,
        FieldValidation::Warn,
    )
    .expect("applies");
    assert_eq!(json["data"], json!({"b": "2"}));
    assert_eq!(json["metadata"].get("labels"), None);
    assert_eq!(warnings, ["unknown field \"bogus\""]);
}

#[test]
fn what_does_not_fit_is_shown_as_it_would_be_written() {
    let shown = "{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":1},\\\"kind\\\":\\\"ConfigMap\\\",\
                 \\\"metadata\\\":{\\\"name\\\":\\\"c\\\",\\\"namespace\\\":\\\"n\\\",\\\"uid\\\":\\\"u\\\",\
                 \\\"resourceVersion\\\":\\\"7\\\",\\\"labels\\\":{\\\"z\\\":\\\"w\\\"}}}";
    let expected = format!(
        " \"\" is invalid: patch: Invalid value: \"{shown}\": json: cannot unmarshal number into Go \
         struct field ConfigMap.data of type string"
    );
    assert_eq!(
        refused(PatchKind::Merge, r#"{"data":{"a":1}}"#),
        (422, expected)
    );
    let secret = refused(PatchKind::Merge, r#"{"kind":"Secret"}"#);
    assert!(
        secret.1.ends_with(": illegal base64 data at input byte 0"),
        "{}",
        secret.1
    );
    let version = refused(PatchKind::Merge, r#"{"apiVersion":"v2"}"#);
    assert!(
        version
            .1
            .contains(": no kind \"ConfigMap\" is registered for version \"v2\" in scheme")
    );
}

#[test]
fn patches_that_cannot_be_read_are_refused() {
    let array = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    let syntax = "invalid character 'b' looking for beginning of object key string";
    let operations = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
    let no_reason = "the server rejected our request due to an error in our request";
    for (kind, text, code, message) in [
        (PatchKind::Merge, "[]", 400, format!("error decoding patch: {array}")),
        (PatchKind::Merge, "{bad", 400, format!("error decoding patch: {syntax}")),
        (PatchKind::Merge, "null", 400, "Invalid JSON Patch".to_owned()),
        (PatchKind::Json, "{}", 400, format!("error decoding patch: {operations}")),
        (PatchKind::Json, r#"[{"op":"remove","path":"/data/x"}]"#, 422, no_reason.to_owned()),
        (PatchKind::Strategic, "[]", 400, array.to_owned()),
        (
            PatchKind::Strategic,
            r#"{"data":{"$patch":"bogus"}}"#,
            500,
            "unknown patch type: bogus in map: map[$patch:bogus]".to_owned(),
        ),
        (
            PatchKind::Strategic,
            r#"{"data":{"a":1}}"#,
            422,
            " \"\" is invalid: patch: Invalid value: \"map[data:map[a:1]]\": cannot convert int64 to \
             string"
                .to_owned(),
        ),
    ] {
        assert_eq!(refused(kind, text), (code, message), "{text}");
    }
    assert_eq!(
        PatchKind::of(Some("application/json"))
            .expect_err("none")
            .code,
        415
    );
}

#[test]
fn a_whole_document_is_replaced() {
    let text = r#"[{"op":"replace","path":"","value":{"metadata":{"name":"c"},"data":{"w":"d"}}}]"#;
    let (json, _) = patched(PatchKind::Json, text, FieldValidation::Strict).expect("applies");
    assert_eq!(json["data"], json!({"w": "d"}));
    let (json, warnings) = patched(
        PatchKind::Strategic,
        "{\"$patch\":\"delete\"}",
        FieldValidation::Warn,
    )
    .expect("applies");
    assert_eq!(
        json,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    );
    assert!(warnings.is_empty());
}

fn any_patch() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-2..3i64).prop_map(Json::from),
        prop_oneof![
            Just("delete"),
            Just("replace"),
            Just("merge"),
            Just("a"),
            Just("/data/a"),
            Just("/metadata/finalizers/0"),
            Just("add"),
            Just("remove"),
            Just("copy"),
            Just("/"),
        ]
        .prop_map(Json::from),
    ];
    let name = prop_oneof![
        Just("metadata"),
        Just("finalizers"),
        Just("ownerReferences"),
        Just("uid"),
        Just("data"),
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/finalizers"),
        Just("$setElementOrder/ownerReferences"),
        Just("$deleteFromPrimitiveList/finalizers"),
        Just("$deleteFromPrimitiveList"),
        Just("$setElementOrder"),
        Just("op"),
        Just("path"),
        Just("from"),
        Just("value"),
        Just("labels"),
        Just("x"),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
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
    fn any_patch_applies_or_is_refused(json in any_patch()) {
        let mut current = current();
        json::set(&mut current, &["metadata", "finalizers"], vec!["a", "b"]);
        json::set(&mut current, &["metadata", "ownerReferences"], json!([{"uid": "a"}, {"uid": 1}]));
        let body = Body::Json(Arc::new(json));
        for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic, PatchKind::Apply] {
            let [ignored, warned, strict] =
                [FieldValidation::Ignore, FieldValidation::Warn, FieldValidation::Strict]
                    .map(|validation| apply(kind, &current, &body, &kinds::CONFIG_MAPS, Reading::newest(validation)));
            let object = |applied: &Result<(Json, Vec<String>), _>| applied.as_ref().ok().map(|(object, _)| object.clone());
            prop_assert_eq!(object(&ignored), object(&warned), "what is warned of is dropped all the same");
            // What is strictly right is right, and there is nothing to warn of.
            if strict.is_ok() {
                prop_assert_eq!(strict, warned);
            }
            if let (PatchKind::Merge, Ok((once, _))) = (kind, ignored) {
                let again = apply(kind, &once, &body, &kinds::CONFIG_MAPS, Reading::newest(FieldValidation::Ignore));
                prop_assert_eq!(object(&again), Some(once), "a merge patch says what is to be");
            }
        }
    }
    #[test]
    fn any_bytes_apply_as_json_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let body = Body::Bytes(Arc::from(bytes));
        for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic] {
            let applied = apply(kind, &current(), &body, &kinds::CONFIG_MAPS, Reading::newest(FieldValidation::Warn));
            if let Ok(applied) = applied {
                let Body::Bytes(bytes) = &body else { unreachable!("they are bytes") };
                let read = Body::Json(Arc::new(decode::json(bytes).expect("it applies")));
                let again = apply(kind, &current(), &read, &kinds::CONFIG_MAPS, Reading::newest(FieldValidation::Warn));
                prop_assert_eq!(again, Ok(applied));
            }
        }
    }
}
