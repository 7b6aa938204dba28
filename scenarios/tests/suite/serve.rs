//! `wavetank serve`: what its apiservers have is what clients get, stale or not; a watch goes on when time does; nothing
//! is written unless it is asked for; and kubectl, where there is one, prints it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::{Done, root, wavetank};

/// A command that serves, until it is dropped.
struct Serving {
    child: Child,
    ports: Vec<(String, u16)>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn scenario() -> String {
    let path = root().join("scenarios/tests/suite/serve/stale.yaml");
    path.to_str().expect("UTF-8").to_owned()
}

impl Serving {
    fn at(at: &str, more: &[&str]) -> Serving {
        let mut command = wavetank();
        command.args(["serve", &scenario(), "--at", at]).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let mut ports = Vec::new();
        for line in out.lines() {
            let line = line.expect("UTF-8");
            if let Some((name, port)) = line.split_once("http://127.0.0.1:") {
                let port = port.trim().parse();
                ports.extend(port.ok().map(|port| (name.trim().to_owned(), port)));
            }
            if line.contains("Ctrl-C") {
                break;
            }
        }
        assert_eq!(ports.len(), 3, "a1, a2 and control: {ports:?}");
        Serving { child, ports }
    }

    fn port(&self, of: &str) -> u16 {
        let mut all = self.ports.iter();
        all.find(|(name, _)| name == of).expect("it is served").1
    }

    fn send(&self, of: &str, method: &str, path: &str, more: &str) -> TcpStream {
        let port = self.port(of);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("it can be set");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{more}\r\n"
        )
        .expect("it is sent");
        stream
    }

    /// The status and the body of an answer.
    fn ask(&self, of: &str, method: &str, path: &str, more: &str) -> (u16, String) {
        let mut text = String::new();
        let mut stream = self.send(of, method, path, more);
        stream.read_to_string(&mut text).expect("it answers");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        (code.expect("a status"), body.to_owned())
    }

    fn get(&self, of: &str, path: &str) -> Json {
        let (code, body) = self.ask(of, "GET", path, "");
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }

    fn control(&self, path: &str) -> Json {
        let (code, body) = self.ask(
            "control",
            "POST",
            path,
            "X-Wavetank: test\r\nContent-Length: 0\r\n",
        );
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }

    fn services(&self, of: &str) -> Vec<String> {
        names(&self.get(of, "/api/v1/services"))
    }

    fn kubectl(&self, of: &str, args: &[&str]) -> Option<Done> {
        let server = format!("http://127.0.0.1:{}", self.port(of));
        let home = crate::support::scratch(&format!("kubectl-{}-{of}", self.port(of)));
        let mut command = Command::new("kubectl");
        command.env("HOME", home).env_remove("KUBECONFIG");
        let output = command.args(["--server", &server]).args(args).output();
        if output.is_err() {
            eprintln!("no kubectl on the PATH: it is not asked");
        }
        output.ok().map(Done::from)
    }
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
    let serving = Serving::at("35s", &[]);
    assert_eq!(serving.services("a1"), ["kubernetes", "n1"]);
    assert_eq!(serving.services("a2"), ["kubernetes", "n2"]);
    // Time stands still: the same again.
    assert_eq!(serving.services("a1"), ["kubernetes", "n1"]);
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

#[test]
fn a_consistent_read_is_sent_as_it_is() {
    let serving = Serving::at("35s", &["--consistent"]);
    // The cache does not come to where etcd is, and after 3 s the server asks etcd.
    assert_eq!(serving.services("a1"), ["kubernetes", "n2"]);
}

#[test]
fn a_watch_goes_on_when_time_does() {
    let serving = Serving::at("22s", &[]);
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
    assert_eq!(serving.services("a1"), ["kubernetes", "n2"]);
    let (code, _) = serving.ask("control", "POST", "/next", "Content-Length: 0\r\n");
    assert_eq!(code, 403, "no other page moves time");
    let (code, body) = serving.ask("control", "GET", "/", "");
    assert_eq!((code, body.contains("stands still")), (200, true));
}

#[test]
fn time_follows_its_speed() {
    let serving = Serving::at("22s", &["--speed", "60"]);
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
    let serving = Serving::at("22s", &["--writes"]);
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
    assert!(serving.services("a2").contains(&"mine".to_owned()));
    assert_eq!(serving.services("a1"), ["kubernetes", "n1"]);
}

#[test]
fn kubectl_shows_the_stale_and_the_fresh_view() {
    let serving = Serving::at("35s", &[]);
    let Some(stale) = serving.kubectl("a1", &["get", "services", "-A"]) else {
        return;
    };
    let stale = stale.expect(
        0,
        &[
            "NAMESPACE   NAME         TYPE        CLUSTER-IP",
            "10.96.0.5",
        ],
    );
    assert!(!stale.stdout.contains("n2"), "{}", stale.stdout);
    let fresh = serving
        .kubectl("a2", &["get", "services", "-A"])
        .expect("there is one");
    let fresh = fresh.expect(0, &["10.96.0.6"]);
    assert!(!fresh.stdout.contains("n1"), "{}", fresh.stdout);
    let described = serving
        .kubectl("a1", &["describe", "service", "n1"])
        .expect("there is one");
    described.expect(0, &["Name:                     n1", "10.96.0.5"]);
    let gone = serving
        .kubectl("a2", &["describe", "service", "n1"])
        .expect("there is one");
    gone.expect(1, &["services \"n1\" not found"]);
    // It ends by itself when the time that it asks for is over.
    let watch = ["get", "services", "-w", "--request-timeout=2s"];
    let watched = serving.kubectl("a1", &watch).expect("there is one");
    assert!(
        watched.stdout.contains("10.96.0.5"),
        "{}{}",
        watched.stdout,
        watched.stderr
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
    serve(&[&scenario(), "--at", "soon"]).expect(2, &["neither a number of events nor a time"]);
    serve(&[&scenario(), "--at", "99999999"]).expect(2, &["there are only"]);
    serve(&["etcd-storm"]).expect(2, &["has no apiservers"]);
    serve(&[&scenario(), "--speed", "-1"]).expect(2, &[]);
}
