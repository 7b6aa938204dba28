//! One sequence of operations on a real server, and the recording of it.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_oracle::corpus::Recording;

use super::clean;
use super::http::{Line, Lines};
use super::normal::Normal;
use super::op::{Op, Seen};
use super::server::Server;

/// What a cache answers may trail: one waits before.
const CATCH_UP: Duration = Duration::from_millis(80);
/// The controller that repairs addresses looks at each change of a Service.
const REPAIR: Duration = Duration::from_millis(40);
/// So long without an event, and a watch is read.
const QUIET: Duration = Duration::from_millis(350);
/// The server ends a watch that has a time limit. None here is longer.
const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// Controllers in the server have done what a request asks of them when nothing is written for so long.
const SETTLED: Duration = Duration::from_millis(400);

/// Requests that controllers in the server act upon later.
const ASYNCHRONOUS: [&str; 3] = [
    "/customresourcedefinitions",
    "/apiservices",
    "/servicecidrs",
];

/// A watch that is open, or refused.
struct Watch {
    lines: Result<Lines, Json>,
    request: Json,
    opened_before: u64,
}

struct Recorder<'a> {
    server: &'a mut Server,
    seen: Seen,
    normal: Normal,
    lines: Vec<Json>,
    watches: BTreeMap<u32, Watch>,
}

/// Runs the operations on the server, on objects that no other run uses, and takes away what they leave; with what was left
/// to the server's own repair.
///
/// # Errors
/// The server or its etcd cannot be spoken to.
pub(crate) fn record(
    server: &mut Server,
    run: u64,
    ops: &[Op],
) -> Result<(Recording, Option<String>), String> {
    let begin = server.gateway.mark()?;
    server.gateway.follow(begin)?;
    let normal = Normal::new(begin, &server.head()["flags"], server.port());
    let mut recorder = Recorder {
        lines: vec![json!({"step": 0, "cluster": server.head()})],
        server,
        seen: Seen::new(run, begin),
        normal,
        watches: BTreeMap::new(),
    };
    for op in ops {
        recorder.op(op)?;
    }
    let open: Vec<u32> = recorder.watches.keys().copied().collect();
    for watch in open {
        recorder.op(&Op::Read(watch))?;
    }
    let step = recorder.lines.len();
    let end = json!({"step": step, "end": true, "rv": recorder.normal.table()});
    recorder.lines.push(end);
    let (lines, seen) = (recorder.lines, recorder.seen);
    clean::up(&server.http, &seen)?;
    server.come_to_rest(SETTLED / 2)?;
    let left = clean::wait_for_repair(server)?;
    let recording = Recording {
        name: "live".to_owned(),
        file: "live".to_owned(),
        lines,
    };
    Ok((recording, left))
}

impl Recorder<'_> {
    fn op(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Request(template) => {
                let request = self.seen.fill(template);
                self.request(&request)
            }
            Op::Open(watch, template) => {
                let request = self.seen.fill(template);
                self.open(*watch, request)
            }
            Op::Read(watch) => match self.watches.remove(watch) {
                Some(watch) => self.read(watch),
                // Its beginning was taken out.
                None => Ok(()),
            },
            Op::Compact(back) => {
                let revision = self.seen.revision(*back);
                // A compaction that was done already is refused.
                let _ = self.server.gateway.compact(revision);
                self.emit(json!({"etcd": {"op": "compact", "revision": {"$rv": revision}}}))
            }
            Op::Allocations => self.allocations(),
        }
    }

    fn push(&mut self, mut line: Json) {
        line["step"] = self.lines.len().into();
        self.lines.push(line);
    }

    fn emit(&mut self, line: Json) -> Result<(), String> {
        let writes = self.server.gateway.writes(None)?;
        let line = self.normal.line(&line, &writes);
        self.push(line);
        Ok(())
    }

    fn request(&mut self, request: &Json) -> Result<(), String> {
        if is_served_by_a_cache(request) {
            thread::sleep(CATCH_UP);
        }
        let answer = self.server.http.send(request)?;
        self.seen.see(request, &answer);
        let path = request["path"].as_str().unwrap_or_default();
        let asynchronous = ASYNCHRONOUS.iter().any(|part| path.contains(part));
        let is_get = request["method"] == "GET";
        // What controllers write follows in a line of its own.
        let limit = (asynchronous && !is_get).then(|| {
            let revision = &answer["body"]["metadata"]["resourceVersion"];
            let revision = revision.as_str().and_then(|revision| revision.parse().ok());
            revision.unwrap_or(0)
        });
        let writes = self.server.gateway.writes(limit)?;
        let changes_addresses = writes
            .iter()
            .any(|write| write.key.contains("/ipaddresses/"));
        let line = self.normal.exchange(request, &answer, &writes);
        self.push(line);
        if limit.is_some() {
            self.server.come_to_rest(SETTLED)?;
            let writes = self.server.gateway.writes(None)?;
            if !writes.is_empty() {
                let line = self.normal.line(&json!({"settle": true}), &writes);
                self.push(line);
            }
        }
        if changes_addresses {
            thread::sleep(REPAIR);
        }
        Ok(())
    }

    fn open(&mut self, watch: u32, request: Json) -> Result<(), String> {
        if is_served_by_a_cache(&request) {
            thread::sleep(CATCH_UP);
        }
        let lines = self.server.http.open(&request, None)?;
        let opened_before = self.lines.len() as u64;
        let watch_is = Watch {
            lines,
            request,
            opened_before,
        };
        self.watches.insert(watch, watch_is);
        Ok(())
    }

    fn read(&mut self, watch: Watch) -> Result<(), String> {
        let mut told = json!({
            "path": watch.request["path"],
            "query": watch.request["query"],
            "openedBefore": watch.opened_before,
        });
        if let Some(headers) = watch.request.get("headers") {
            told["headers"] = headers.clone();
        }
        // What a request sends is named as it is in requests.
        let asked = self.normal.exchange(&told, &Json::Null, &[]);
        let mut line = json!({});
        match watch.lines {
            Err(answer) => {
                line["events"] = json!([]);
                line["end"] = "error".into();
                line["response"] = json!({"code": answer["code"], "body": answer["body"]});
            }
            Ok(lines) => {
                let ends = !watch.request["query"]["timeoutSeconds"].is_null();
                let (events, end) = read(lines, if ends { ENDS_WITHIN } else { QUIET });
                line["events"] = events.into();
                line["end"] = end.into();
            }
        }
        let writes = self.server.gateway.writes(None)?;
        let mut line = self.normal.line(&line, &writes);
        line["watch"] = asked["request"].clone();
        self.push(line);
        Ok(())
    }

    fn allocations(&mut self) -> Result<(), String> {
        let gateway = &self.server.gateway;
        let owner = |(_, address): &(String, Json)| {
            let parent = &address["spec"]["parentRef"];
            let text = |field: &str| parent[field].as_str().unwrap_or_default().to_owned();
            json!([
                address["metadata"]["name"],
                format!("{}/{}", text("namespace"), text("name"))
            ])
        };
        let mut addresses: Vec<Json> = gateway
            .range("/registry/ipaddresses/")?
            .iter()
            .map(owner)
            .collect();
        addresses.sort_by_key(|pair| pair[1].as_str().map(str::to_owned));
        self.emit(json!({"ipaddresses": addresses}))
    }
}

/// All events of a watch, and how it ended.
fn read(mut lines: Lines, quiet: Duration) -> (Vec<Json>, &'static str) {
    let mut events: Vec<Json> = Vec::new();
    let mut end = "closed";
    loop {
        match lines.next(quiet) {
            Line::End => break,
            Line::Quiet => {
                end = "timeout";
                break;
            }
            Line::Text(text) => {
                let Ok(mut event) = serde_json::from_str::<Json>(&text) else {
                    continue;
                };
                if event.get("type").is_none() {
                    event = json!({"raw": event});
                }
                // Bookmarks near the time limit may come once or twice.
                if event["type"] != "BOOKMARK" || events.last() != Some(&event) {
                    events.push(event);
                }
            }
        }
    }
    if events.iter().any(|event| event["type"] == "ERROR") {
        end = "error";
    }
    (events, end)
}

/// A list or watch of any revision comes from a cache.
fn is_served_by_a_cache(request: &Json) -> bool {
    let version = request["query"]["resourceVersion"].as_str();
    let watch = !request["query"]["watch"].is_null();
    version == Some("0") || watch && version.is_none_or(str::is_empty)
}
