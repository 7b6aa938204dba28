//! `wavetank serve`: what its apiservers have is what clients get, stale or not; a watch goes on when time does; nothing
//! is written unless it is asked for; and kubectl, where there is one, prints it.

mod normal;
mod recorded;
mod serving;
mod session;

use std::io::{BufRead as _, BufReader, Read as _};

use serde_json::Value as Json;

use crate::support::{Done, root, wavetank};
use serving::{Serving, scenario};

/// Of the scenario in which a watch cache stands still.
fn stale(at: &str, more: &[&str]) -> Serving {
    Serving::of(&scenario("stale"), &[&["--at", at], more].concat())
}

fn services(serving: &Serving, of: &str) -> Vec<String> {
    names(&serving.get(of, "/api/v1/services"))
}

fn names(list: &Json) -> Vec<String> {
    let items = list["items"].as_array().expect("a list");
    let name = |item: &Json| {
        item["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    items.iter().map(name).collect()
}

#[test]
fn of_two_servers_one_shows_what_is_stale() {
    let serving = stale("35s", &[]);
    // The time that was asked for, and the event that it stands at.
    let opening = &serving.opening;
    assert!(opening.contains("at 35 s, after event "), "{opening}");
    assert!(opening.contains(", which was at 34."), "{opening}");
    assert_eq!(services(&serving, "a1"), ["kubernetes", "n1"]);
    assert_eq!(services(&serving, "a2"), ["kubernetes", "n2"]);
    // Time stands still: the same again.
    assert_eq!(services(&serving, "a1"), ["kubernetes", "n1"]);
    let one = serving.get("a1", "/api/v1/namespaces/default/services/n1");
    assert_eq!(one["spec"]["clusterIP"], "10.96.0.5");
    let (code, body) = serving.ask("a2", "GET", "/api/v1/namespaces/default/services/n1", "");
    assert_eq!(code, 404, "{body}");
    // What nobody writes, and what nobody serves.
    let (code, body) = serving.ask("a1", "DELETE", "/api/v1/namespaces/default/services/n1", "");
    assert_eq!((code, body.contains("--writes")), (405, true), "{body}");
    let groups = serving.get("a1", "/apis");
    assert_eq!(groups["kind"], "APIGroupList");
    assert_eq!(serving.get("a1", "/version")["major"], "1");
}

/// Its servers have no watch cache of it. Whoever asks is told in words, reader, watcher or writer, and a world that is
/// written to goes on.
#[test]
fn what_nobody_in_a_scenario_uses_is_not_there() {
    let serving = stale("35s", &["--writes"]);
    let maps = "/api/v1/namespaces/default/configmaps";
    for (method, path) in [
        ("GET", maps.to_owned()),
        ("GET", format!("{maps}?watch=true")),
        ("DELETE", format!("{maps}/a")),
    ] {
        let (code, body) = serving.ask("a1", method, &path, "");
        assert_eq!(code, 404, "{method} {path}: {body}");
        let status: Json = serde_json::from_str(&body).expect("a Status");
        assert_eq!(
            status["message"],
            "nobody in this scenario uses configmaps, so its apiservers do not have them; with `guests: true` in the \
             topology of a scenario file they have everything"
        );
    }
    let (code, body) = serving.ask("a1", "DELETE", "/api/v1/namespaces/default/services/n2", "");
    assert_eq!(code, 200, "{body}");
}

#[test]
fn a_consistent_read_is_sent_as_it_is() {
    let serving = stale("35s", &["--consistent"]);
    // The cache does not come to where etcd is, and after 3 s the server asks etcd.
    assert_eq!(services(&serving, "a1"), ["kubernetes", "n2"]);
}

#[test]
fn a_watch_goes_on_when_time_does() {
    let serving = stale("22s", &[]);
    let list = serving.get("a2", "/api/v1/services");
    let revision = list["metadata"]["resourceVersion"].as_str().expect("one");
    let path = format!("/api/v1/services?watch=true&resourceVersion={revision}");
    let stream = serving.send("a2", "GET", &path, "");
    let mut lines = BufReader::new(stream).lines();
    let state = serving.control("/goto?to=35s");
    assert_eq!(state["left"], Json::Null);
    let mut next = || {
        let events = lines.by_ref().map(|line| line.expect("it goes on"));
        let mut events = events.filter(|line| line.starts_with("{\"object\""));
        let event: Json = serde_json::from_str(&events.next().expect("an event")).expect("JSON");
        let name = event["object"]["metadata"]["name"]
            .as_str()
            .expect("a name");
        (
            event["type"].as_str().expect("a type").to_owned(),
            name.to_owned(),
        )
    };
    let mut seen = vec![next()];
    while seen.last() != Some(&("ADDED".to_owned(), "n2".to_owned())) {
        seen.push(next());
    }
    assert!(
        seen.contains(&("DELETED".to_owned(), "n1".to_owned())),
        "{seen:?}"
    );
    // To the end: what is released is told at once.
    let state = serving.control("/goto?to=45s");
    assert!(
        state["now"]
            .as_str()
            .is_some_and(|now| now.starts_with("4")),
        "{state}"
    );
    assert_eq!(services(&serving, "a1"), ["kubernetes", "n2"]);
    let (code, _) = serving.ask("control", "POST", "/next", "Content-Length: 0\r\n");
    assert_eq!(code, 403, "no other page moves time");
    let (code, body) = serving.ask("control", "GET", "/", "");
    assert_eq!((code, body.contains("stands still")), (200, true));
}

#[test]
fn time_follows_its_speed() {
    let serving = stale("22s", &["--speed", "60"]);
    let now = || {
        let state = serving.get("control", "/state");
        state["now"]
            .as_str()
            .and_then(|now| now.parse::<f64>().ok())
            .expect("a time")
    };
    let begun = now();
    assert!((19.0..30.0).contains(&begun), "{begun}");
    let mut tries = 0;
    while now() < 30.0 {
        tries += 1;
        assert!(tries < 20_000, "time stands still");
    }
    serving.control("/speed?x=0");
    let stopped = now();
    assert_eq!(now(), stopped);
}

#[test]
fn a_write_leaves_the_trace() {
    let serving = stale("22s", &["--writes"]);
    let body = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"mine"},"spec":{"ports":[{"port":80}]}}"#;
    let head = format!(
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let path = "/api/v1/namespaces/default/services";
    let mut stream = serving.send("a2", "POST", path, &head);
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    assert!(text.starts_with("HTTP/1.1 201"), "{text}");
    assert!(serving.get("control", "/state")["left"].is_u64());
    serving.control("/next?events=40");
    assert!(services(&serving, "a2").contains(&"mine".to_owned()));
    assert_eq!(services(&serving, "a1"), ["kubernetes", "n1"]);
}

#[test]
fn kubectl_shows_the_stale_and_the_fresh_view() {
    let serving = stale("35s", &[]);
    let Some(stale) = serving.kubectl("a1") else {
        return;
    };
    let fresh = serving.kubectl("a2").expect("there is one");
    let shown = stale.run(&["get", "services", "-A"]).expect(
        0,
        &[
            "NAMESPACE   NAME         TYPE        CLUSTER-IP",
            "10.96.0.5",
        ],
    );
    assert!(!shown.stdout.contains("n2"), "{}", shown.stdout);
    let shown = fresh
        .run(&["get", "services", "-A"])
        .expect(0, &["10.96.0.6"]);
    assert!(!shown.stdout.contains("n1"), "{}", shown.stdout);
    let described = stale.run(&["describe", "service", "n1"]);
    described.expect(0, &["Name:                     n1", "10.96.0.5"]);
    let gone = fresh.run(&["describe", "service", "n1"]);
    gone.expect(1, &["services \"n1\" not found"]);
    // It ends by itself when the time that it asks for is over.
    let watched = stale.run(&["get", "services", "-w", "--request-timeout=2s"]);
    assert!(
        watched.stdout.contains("10.96.0.5"),
        "{}{}",
        watched.stdout,
        watched.stderr
    );
}

/// In this trace (finding 10) the watch cache of one server is behind while the other gives an address to a second Service.
#[test]
fn kubectl_shows_both_views_of_a_kept_trace() {
    let trace = "snapshots/traces/finding-10-address-of-a-service-that-is-gone.trace";
    let trace = root().join(trace);
    let serving = Serving::of(trace.to_str().expect("UTF-8"), &["--at", "181.0013s"]);
    let shows = |of: &str| {
        let kubectl = serving.kubectl(of)?;
        let names = "jsonpath={range .items[*]}{.metadata.name} {.spec.clusterIP}{\"\\n\"}{end}";
        let services = kubectl
            .run(&["get", "services", "-A", "-o", names])
            .expect(0, &[]);
        let table = kubectl
            .run(&["get", "services", "-A"])
            .expect(0, &["NAMESPACE"]);
        let lines: Vec<String> = services.stdout.lines().map(str::to_owned).collect();
        // The table has a row for each.
        assert_eq!(table.stdout.lines().count(), 1 + lines.len());
        Some(lines)
    };
    let (Some(stale), Some(fresh)) = (shows("a1"), shows("a2")) else {
        return;
    };
    assert_eq!(stale, ["kubernetes 10.96.0.1", "n1 10.96.0.2"]);
    let ours = [
        "kubernetes 10.96.0.1",
        "n1 10.96.0.3",
        "n2 10.96.0.2",
        "n4 10.96.0.4",
    ];
    assert_eq!(fresh, ours);
}

#[test]
fn the_cluster_of_the_page_is_that_of_the_tests() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is text");
    let file = read("scenarios/tests/suite/serve/cluster.yaml");
    let (_, cluster) = file.split_once('\n').expect("a comment and a scenario");
    assert!(read("docs/LOOK.md").contains(&format!("```yaml\n{cluster}```")));
}

/// The documents of OpenAPI: an index with hashes, and each document once.
#[test]
fn openapi_is_told_once() {
    let serving = stale("35s", &[]);
    let index = serving.get("a1", "/openapi/v3");
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str();
    let url = url.expect("it is listed").to_owned();
    let document = serving.get("a1", &url);
    let replicas = "/components/schemas/io.k8s.api.apps.v1.DeploymentSpec/properties/replicas";
    assert_eq!(
        document.pointer(replicas).expect("a field")["format"],
        "int32"
    );
    let (head, _) = serving.answer("a1", "GET", "/openapi/v3/apis/apps/v1?hash=OLD", "");
    assert!(head.starts_with("HTTP/1.1 301"), "{head}");
    assert!(head.contains(&format!("Location: {url}")), "{head}");
    let (_, hash) = url.split_once("hash=").expect("with a hash");
    let known = format!("If-None-Match: \"{hash}\"\r\n");
    let (head, body) = serving.answer("a1", "GET", &url, &known);
    assert!(head.starts_with("HTTP/1.1 304"), "{head}");
    // Whoever keeps the document would take this for its type.
    assert!(
        !head.contains("Content-Type") && body.is_empty(),
        "{head}\n{body}"
    );
    let protobuf = "Accept: application/com.github.proto-openapi.spec.v3@v1.0+protobuf\r\n";
    let (code, body) = serving.ask("a1", "GET", &url, protobuf);
    assert_eq!(
        (code, body.contains("application/json")),
        (406, true),
        "{body}"
    );
    let (code, body) = serving.ask("a1", "GET", "/openapi/v2", "");
    assert_eq!((code, body.contains("/openapi/v3")), (404, true), "{body}");
    assert_eq!(
        serving.ask("a1", "GET", "/openapi/v3/apis/nosuch/v1", "").0,
        404
    );
}

#[test]
fn what_cannot_be_served_is_refused() {
    let serve = |args: &[&str]| -> Done {
        let mut command = wavetank();
        command
            .arg("serve")
            .args(args)
            .output()
            .expect("it starts")
            .into()
    };
    serve(&["no-such"]).expect(2, &["there is no scenario or scope `no-such`"]);
    serve(&[&scenario("stale"), "--at", "soon"])
        .expect(2, &["neither a number of events nor a time"]);
    serve(&[&scenario("stale"), "--at", "99999999"]).expect(2, &["there are only"]);
    serve(&["etcd-storm"]).expect(2, &["has no apiservers"]);
    serve(&[&scenario("stale"), "--speed", "-1"]).expect(2, &[]);
}
