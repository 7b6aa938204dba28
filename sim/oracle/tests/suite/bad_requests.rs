//! Requests that no client should send are answered as upstream answers them, and never bring the
//! server down.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use wavetank_oracle::{ask, corpus};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn post(path: &str, body: Json) -> Json {
    json!({"method": "POST", "path": path, "contentType": "application/json", "body": body})
}

fn raw(method: &str, path: &str, content_type: &str, bytes: &[u8]) -> Json {
    json!({
        "method": method,
        "path": path,
        "contentType": content_type,
        "bytes": STANDARD.encode(bytes),
    })
}

/// The code and the message of the one answer.
fn refusal(request: Json) -> (u64, String) {
    let answer = ask(&[request]).remove(0);
    let message = match &answer["body"] {
        Json::String(text) => text.clone(),
        body => body["message"].as_str().unwrap_or_default().to_owned(),
    };
    (answer["code"].as_u64().unwrap_or(0), message)
}

#[test]
fn malformed_json_is_a_bad_request() {
    let (code, message) = refusal(raw("POST", CONFIG_MAPS, "application/json", b"{\"kind\": "));
    assert_eq!(code, 400);
    assert!(
        message.contains("unexpected end of JSON input"),
        "{message}"
    );
}

#[test]
fn what_is_refused_is_warned_of_as_well() {
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "unknown": 1,
    });
    let mut put = post(&format!("{CONFIG_MAPS}/x"), body);
    put["method"] = "PUT".into();
    let answer = ask(&[put]).remove(0);
    assert_eq!(answer["code"], 400, "{answer}");
    let warned = json!([r#"299 - "unknown field \"unknown\"""#]);
    assert_eq!(answer["warnings"], warned);
}

#[test]
fn bytes_that_are_no_text_are_a_bad_request_or_read_as_go_reads_them() {
    let body =
        b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"\xff\xfe\"}}";
    let (code, message) = refusal(raw("POST", CONFIG_MAPS, "application/json", body));
    assert_eq!(code, 422, "{message}");
    let (code, _) = refusal(raw(
        "POST",
        CONFIG_MAPS,
        "application/json",
        b"\xff\xfe\x00",
    ));
    assert_eq!(code, 400);
}

#[test]
fn another_kind_is_a_bad_request() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
    let (code, message) = refusal(post(CONFIG_MAPS, secret));
    assert_eq!(code, 400, "{message}");
}

#[test]
fn a_name_of_10_000_letters_is_invalid() {
    let name = "x".repeat(10_000);
    let long = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let (code, message) = refusal(post(CONFIG_MAPS, long));
    assert_eq!(code, 422);
    assert!(message.contains("must be no more than 253"), "{message}");
}

#[test]
fn a_body_of_more_than_3_mib_is_too_large_and_one_below_is_too_large_for_etcd() {
    let of = |size: usize| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "x"},
            "data": {"k": "v".repeat(size)},
        })
    };
    assert_eq!(refusal(post(CONFIG_MAPS, of(3 * 1024 * 1024))).0, 413);
    let (code, message) = refusal(post(CONFIG_MAPS, of(2 * 1024 * 1024)));
    assert_eq!(code, 422, "{message}");
    assert!(message.contains("Too long"), "{message}");
}

#[test]
fn unknown_paths_are_not_found() {
    for path in [
        "/nothing",
        "/api/v2",
        "/apis/nothing",
        "/apis/apps/v9",
        "/api/v1/nothing",
        "/apis/apps/v1/nothing",
        "//",
    ] {
        let (code, message) = refusal(json!({"method": "GET", "path": path}));
        assert_eq!(code, 404, "{path}: {message}");
    }
}

#[test]
fn another_content_type_is_refused() {
    assert_eq!(refusal(raw("POST", CONFIG_MAPS, "text/csv", b"a,b")).0, 415);
    assert_eq!(
        refusal(raw(
            "PATCH",
            "/api/v1/namespaces/default/configmaps/x",
            "text/csv",
            b"a"
        ))
        .0,
        415
    );
}

#[test]
fn each_check_of_a_health_check_is_served_by_its_name() {
    for (path, code) in [
        ("/livez/poststarthook/bootstrap-controller", 200),
        ("/readyz/etcd-readiness", 200),
        ("/readyz/etcd-override-0", 200),
        ("/healthz/etcd-readiness", 404),
        ("/livez/nothing", 404),
    ] {
        let (found, text) = refusal(json!({"method": "GET", "path": path}));
        let expected = if code == 200 {
            "ok"
        } else {
            "404 page not found\n"
        };
        assert_eq!((found, text.as_str()), (code, expected), "{path}");
    }
}

/// That of the recorded server is a downstream's.
#[test]
fn the_root_lists_the_recorded_paths_and_the_checks_that_a_downstream_leaves_out() {
    let paths = |document: &Json| -> BTreeSet<String> {
        let paths = document["body"]["paths"].as_array().expect("paths").iter();
        paths
            .map(|path| path.as_str().expect("a text").to_owned())
            .collect()
    };
    let files = corpus::bundled().expect("the corpus");
    let file = files.iter().find(|file| file.name == "10-crd-discovery");
    let lines = &file.expect("it is there").lines;
    let root = lines.iter().find(|line| line["request"]["path"] == "/");
    let recorded = paths(&root.expect("it was asked")["response"]);
    let ours = paths(&ask(&[json!({"method": "GET", "path": "/"})])[0]);
    let missing: Vec<_> = recorded.difference(&ours).collect();
    let more: Vec<_> = ours.difference(&recorded).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(more, ["/readyz/etcd", "/readyz/etcd-readiness"]);
}

/// The requests of the corpus, to be spoilt.
fn recorded() -> Vec<Json> {
    let files = corpus::bundled().expect("the corpus");
    let files = files.into_iter().filter(|file| file.name.starts_with("0"));
    let lines = files.flat_map(|file| file.lines);
    let requests = lines.filter_map(|line| line.get("request").cloned());
    requests
        .filter(|request| request["verb"] != "watch")
        .collect()
}

/// A request with some bytes of its body changed, cut off or doubled; an empty body gets one.
fn spoilt(mut request: Json, at: usize, byte: u8, how: u8) -> Json {
    let body = match request["body"].take() {
        Json::Null => return request,
        Json::String(text) => text,
        tree => tree.to_string(),
    };
    let mut bytes = body.into_bytes();
    let at = at % bytes.len().max(1);
    match how % 4 {
        0 if !bytes.is_empty() => bytes[at] = byte,
        1 => bytes.truncate(at),
        2 => bytes.extend_from_within(at..),
        _ => bytes.insert(at, byte),
    }
    request["bytes"] = STANDARD.encode(bytes).into();
    request
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_sent_is_answered(
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<usize>(), any::<u8>(), any::<u8>()), 20),
    ) {
        let recorded = recorded();
        let requests: Vec<Json> = picks
            .iter()
            .map(|(pick, at, byte, how)| spoilt(pick.get(&recorded).clone(), *at, *byte, *how))
            .collect();
        for (request, answer) in requests.iter().zip(ask(&requests)) {
            let code = answer["code"].as_u64().unwrap_or(0);
            prop_assert!((200..600).contains(&code), "{request} was answered {answer}");
        }
    }
}
