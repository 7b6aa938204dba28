//! Server-side apply at the front door, beyond what was recorded.

use serde_json::{Value as Json, json};
use wavetank_oracle::ask;

const PATH: &str = "/api/v1/namespaces/default/configmaps/c";

fn apply(manager: &str, data: Json) -> Json {
    json!({
        "method": "PATCH",
        "path": PATH,
        "query": {"fieldManager": manager},
        "contentType": "application/apply-patch+yaml",
        "body": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data},
    })
}

fn managers(answer: &Json) -> Vec<&str> {
    let entries = answer["body"]["metadata"]["managedFields"].as_array();
    let entries = entries.map_or(&[][..], Vec::as_slice).iter();
    entries
        .filter_map(|entry| entry["manager"].as_str())
        .collect()
}

#[test]
fn appliers_share_an_object_and_each_keeps_its_own() {
    let mut forced = apply("b", json!({"x": "2"}));
    forced["query"]["force"] = "true".into();
    let answers = ask(&[
        apply("a", json!({"x": "1", "y": "1"})),
        apply("b", json!({"x": "2"})),
        forced,
        apply("a", json!({})),
    ]);
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| answer["code"].as_u64())
        .collect();
    assert_eq!(codes, [201, 409, 200, 200].map(Some));
    assert_eq!(managers(&answers[0]), ["a"]);
    assert_eq!(managers(&answers[2]), ["a", "b"]);
    assert_eq!(answers[2]["body"]["data"], json!({"x": "2", "y": "1"}));
    assert_eq!(answers[3]["body"]["data"], json!({"x": "2"}));
    assert_eq!(managers(&answers[3]), ["a", "b"]);
}

#[test]
fn an_apply_that_is_a_dry_run_leaves_nothing() {
    let mut dry = apply("a", json!({"x": "1"}));
    dry["query"]["dryRun"] = "All".into();
    let get = json!({"method": "GET", "path": PATH});
    let answers = ask(&[dry, get]);
    assert_eq!(
        (&answers[0]["code"], &answers[1]["code"]),
        (&201.into(), &404.into())
    );
    assert_eq!(managers(&answers[0]), ["a"]);
}

#[test]
fn a_put_without_its_managers_keeps_them_and_an_empty_list_takes_them_away() {
    let put = |metadata: Json| {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "2"}});
        json!({"method": "PUT", "path": PATH, "query": {"fieldManager": "p"}, "contentType": "application/json",
               "body": body})
    };
    let answers = ask(&[
        apply("a", json!({"x": "1", "y": "1"})),
        put(json!({"name": "c"})),
        put(json!({"name": "c", "managedFields": []})),
        apply("a", json!({"y": "1"})),
    ]);
    assert_eq!(managers(&answers[1]), ["p"]);
    assert_eq!(managers(&answers[2]), Vec::<&str>::new());
    assert_eq!(managers(&answers[3]), ["a", "before-first-apply"]);
}

#[test]
fn what_is_no_configuration_is_a_bad_request() {
    let raw = |body: &str| {
        let mut request = apply("a", json!({}));
        request["body"] = body.into();
        request
    };
    let answers = ask(&[raw("[1]"), raw("a: ["), raw("")]);
    let shown = |answer: &Json| {
        let message = answer["body"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (answer["code"].as_u64().unwrap_or_default(), message)
    };
    let (code, message) = shown(&answers[0]);
    let why = "error decoding YAML: json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!((code, message.as_str()), (400, why));
    let (code, message) = shown(&answers[1]);
    assert!(
        code == 400
            && message.starts_with("error decoding YAML: error converting YAML to JSON: yaml: "),
        "{message}"
    );
    assert_eq!(
        shown(&answers[2]),
        (400, "invalid object type: /, Kind=".to_owned())
    );
}
