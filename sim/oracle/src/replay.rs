//! One recording, line by line, in one pass from an empty store. Nothing is set right after a
//! difference: what follows from it differs, too.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::{Resource, WatchEvent, WatchPart, json as tree};
use wavetank_components::services::ServiceRanges;
use wavetank_components::services::allocators::Bitmap;

use crate::bookmarks;
use crate::causes;
use crate::corpus::Recording;
use crate::endpoints;
use crate::head;
use crate::lab::{self, Lab, Write, taken};
use crate::lines::OF_APISERVERS;
use crate::managed_fields;
use crate::recorder;
use crate::symbols::{Symbols, Unequal};

/// Between two steps; before a step that a cache answers, so that it has caught up; the longest that
/// an answer may take; until a server is quiet.
const PAUSE: Duration = Duration::from_millis(20);
const CATCH_UP: Duration = Duration::from_millis(400);
const LONGEST: Duration = Duration::from_secs(120);
const QUIET: Duration = Duration::from_secs(2);
/// A round of the bootstrap controller.
const SETTLED: Duration = Duration::from_secs(70);
/// Three rounds of a repair loop.
const REPAIRED: Duration = Duration::from_secs(600);
/// How long a watch is read that the server does not end.
const READ: Duration = Duration::from_millis(900);

const CLUSTER_IPS: &str = "/registry/ranges/serviceips";
const NODE_PORTS: &str = "/registry/ranges/servicenodeports";

/// A step that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The step.
    pub step: u64,
    /// What was done in it.
    pub what: String,
    /// What differs.
    pub unequal: Unequal,
}

/// What the replay of a recording came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// The recording.
    pub name: String,
    /// How many steps were compared.
    pub steps: u64,
    /// The steps that differ.
    pub differences: Vec<Difference>,
}

struct Replay<'a> {
    lab: Lab,
    /// Does the recording tell who manages objects?
    managed: bool,
    /// What Services are allocated.
    ranges: ServiceRanges,
    symbols: Symbols,
    recording: &'a Recording,
    /// The watches that are open, by the step that reads them.
    open: BTreeMap<u64, u64>,
    /// Writes of the last request that belong to the next line.
    left: Vec<Write>,
}

/// The resources that somebody asks for.
pub(crate) fn asked_for(lines: &[Json]) -> Vec<&'static Resource> {
    fn add(value: &Json, all: &mut Vec<&'static Resource>) {
        match value {
            Json::Object(fields) => {
                let path = fields.get("path").and_then(Json::as_str);
                let path = path.and_then(|path| path.split('?').next());
                all.extend(path.and_then(Resource::at_path));
                fields.values().for_each(|value| add(value, all));
            }
            Json::Array(items) => items.iter().for_each(|item| add(item, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    lines.iter().for_each(|line| add(line, &mut all));
    all
}

/// Replays a recording.
///
/// # Errors
/// The recording is of servers that cannot be simulated, or a line asks what no server is asked.
pub fn replay(recording: &Recording) -> Result<Replayed, String> {
    let head = &recording.lines[0]["cluster"];
    let cluster = OF_APISERVERS
        .knows_head(head)
        .and_then(|()| head::cluster(head, asked_for(&recording.lines)));
    let cluster = cluster.map_err(|what| recording.wrong(0, &what))?;
    let servers = cluster.servers;
    for (at, line) in recording.lines.iter().enumerate().skip(1) {
        can_be_replayed(line, servers).map_err(|what| recording.wrong(at, &what))?;
    }
    let mut lab = Lab::new(&cluster);
    lab.writes();
    let symbols = Symbols::new(&recording.lines, lab.revision());
    let mut replay = Replay {
        lab,
        managed: managed_fields::are_kept(recording),
        ranges: cluster.ranges,
        symbols,
        recording,
        open: BTreeMap::new(),
        left: Vec::new(),
    };
    let mut replayed = Replayed {
        name: recording.name.clone(),
        steps: 0,
        differences: Vec::new(),
    };
    for line in &recording.lines[1..] {
        let step = line["step"].as_u64().unwrap_or(0);
        replay.open_watches(step);
        endpoints::follow(&mut replay.lab, note(line));
        let Some(result) = replay.step(line) else {
            continue;
        };
        replayed.steps += 1;
        if let Err(unequal) = result {
            replay.symbols.lose_anchor();
            replayed.differences.push(Difference {
                step,
                what: describe(line),
                unequal,
            });
        }
        replay.lab.run(PAUSE);
    }
    if replayed.steps == 0 {
        let why = "there is nothing in it to compare: no request, watch or state";
        return Err(format!("{}: {why}", recording.file));
    }
    Ok(replayed)
}

/// Is all that a line asks for possible among so many servers?
fn can_be_replayed(line: &Json, servers: usize) -> Result<(), String> {
    OF_APISERVERS.knows(line)?;
    if let Some(request) = line.get("request") {
        lab::request(request)?;
    }
    endpoints::can_be_followed(note(line), servers)
}

/// What a line says about what was done before it.
fn note(line: &Json) -> &str {
    let note = line.get("note").or_else(|| line["fact"].get("note"));
    note.and_then(Json::as_str).unwrap_or_default()
}

fn describe(line: &Json) -> String {
    let of = |what: &str, request: &Json| {
        let query = &request["query"];
        let query = match query.as_object() {
            Some(fields) if !fields.is_empty() => format!(" {query}"),
            _ => String::new(),
        };
        format!(
            "{what} {}{query}",
            request["path"].as_str().unwrap_or_default()
        )
    };
    if let Some(request) = line.get("request") {
        return of(request["method"].as_str().unwrap_or_default(), request);
    }
    match line.get("watch") {
        Some(watch) => of("WATCH", watch),
        None => {
            let found = OF_APISERVERS.kind(line);
            found.unwrap_or("step").to_owned()
        }
    }
}

impl Replay<'_> {
    fn first_port(&self) -> u32 {
        self.ranges.node_ports.0.into()
    }

    /// Opens the watches that were open before this line.
    fn open_watches(&mut self, step: u64) {
        for line in &self.recording.lines {
            let watch = &line["watch"];
            if watch["openedBefore"].as_u64() == Some(step) {
                let request = self.symbols.fill(&json!({
                    "method": "GET",
                    "path": watch["path"],
                    "query": watch["query"],
                    "headers": watch["headers"],
                }));
                if is_served_by_a_cache(&request) {
                    self.lab.run(CATCH_UP);
                }
                let number = self.lab.send(&request, true);
                self.open.insert(line["step"].as_u64().unwrap_or(0), number);
                // As the recorder did: until there are headers.
                self.lab
                    .run_until(LONGEST, |lab| lab.answer(number).has_begun());
                self.lab.run(PAUSE);
            }
        }
    }

    /// One line; `None` if there is nothing to compare.
    fn step(&mut self, line: &Json) -> Option<Result<(), Unequal>> {
        if line.get("request").is_some() {
            return Some(self.request(line));
        }
        if line.get("watch").is_some() {
            return Some(self.watch(line));
        }
        if let Some(etcd) = line.get("etcd") {
            let revision = etcd["revision"].as_str().unwrap_or_default();
            let revision = self.symbols.fill_text(revision);
            if let (Some("compact"), Ok(revision)) = (etcd["op"].as_str(), revision.parse()) {
                self.lab.compact(revision);
            }
            if etcd["op"] == "range" && line.get("kvs").is_some() {
                return Some(self.range(line));
            }
            return None;
        }
        if line.get("restart").is_some() {
            self.lab.crash("apiserver");
            self.lab.run(PAUSE);
            self.lab.start("apiserver");
            self.lab.run(QUIET);
            return Some(self.writes(line));
        }
        if line.get("settle").is_some() {
            let wanted = line["writes"].as_array().map_or(0, Vec::len);
            let left = self.left.len();
            self.lab
                .run_until(SETTLED, |lab| left + lab.seen() >= wanted);
            self.lab.run(QUIET);
            return Some(self.writes(line));
        }
        self.allocations(line)
    }

    /// What is stored under a prefix.
    fn range(&mut self, line: &Json) -> Result<(), Unequal> {
        let prefix = line["etcd"]["prefix"].as_str().unwrap_or_default();
        let events = line["etcd"]["store"] == "events";
        let stored = self.lab.range(prefix, events).into_iter();
        // Of allocation bitmaps the recording tells no value.
        let is_told = line["kvs"][0].get("value").is_some();
        let said: Json = stored
            .map(|(key, value, revision, version)| {
                let mut kv = json!({"key": key, "version": version});
                if is_told {
                    kv["value"] = value;
                }
                // Those of Events are not told.
                if !events {
                    kv["modRevision"] = revision.to_string().into();
                }
                kv
            })
            .collect();
        self.compare(&line["kvs"], said, "kvs")
    }

    /// A line about what is allocated, or about what nobody plays yet.
    fn allocations(&mut self, line: &Json) -> Option<Result<(), Unequal>> {
        let note = line["note"].as_str().unwrap_or_default();
        if let Some(what) = note.strip_prefix("written directly: ") {
            self.write_directly(line, what);
        }
        if line.get("ipaddresses").is_some() {
            return Some(self.ip_addresses(&line["ipaddresses"]));
        }
        if line.get("nodeports").is_some() {
            return Some(self.node_ports(&line["nodeports"]));
        }
        if line.get("bitmap").is_some() {
            return Some(self.bitmap(&line["bitmap"]));
        }
        if let Some(round) = line["repairRound"].as_u64() {
            let rounds = self.lab.rounds();
            let mut said = rounds.get(round as usize - 1).cloned().unwrap_or_default();
            said.sort();
            let said = Json::from(said);
            return Some(self.symbols.compare(&line["messages"], &said, "messages"));
        }
        let said = endpoints::say(&self.lab, line)?;
        let recorded = line.get("masterleases").or_else(|| line.get("fact"));
        Some(self.symbols.compare(recorded?, &said, ""))
    }

    /// What the recorder wrote past the server: a bitmap, or one bit for a node port.
    fn write_directly(&mut self, line: &Json, what: &str) {
        let (key, data) = match line.get("bitmap") {
            Some(bitmap) => (CLUSTER_IPS, bitmap["data"].clone()),
            None => {
                let numbers = what.split(|c: char| !c.is_ascii_digit());
                let port: u32 = numbers.filter_map(|n| n.parse().ok()).next().unwrap_or(0);
                let mut taken = Bitmap::default();
                if let Some((range, ..)) = self.lab.stored(NODE_PORTS) {
                    taken = Bitmap::parse(range["data"].as_str().unwrap_or_default())
                        .unwrap_or_default();
                }
                taken.allocate(port.saturating_sub(self.first_port()));
                (NODE_PORTS, taken.text().into())
            }
        };
        if let Some((mut range, ..)) = self.lab.stored(key) {
            range["data"] = data;
            self.lab.put(key, &range);
            self.lab.run(PAUSE);
        }
    }

    fn ip_addresses(&mut self, recorded: &Json) -> Result<(), Unequal> {
        let said = self
            .lab
            .all("/registry/ipaddresses/")
            .into_iter()
            .map(|address| {
                let parent = &address["spec"]["parentRef"];
                let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
                let owner = format!("{}/{}", text(&parent["namespace"]), text(&parent["name"]));
                json!([address["metadata"]["name"], owner])
            });
        self.compare_sets(recorded, said.collect(), "ipaddresses")
    }

    fn node_ports(&mut self, recorded: &Json) -> Result<(), Unequal> {
        let Some((range, ..)) = self.lab.stored(NODE_PORTS) else {
            return self.symbols.compare(recorded, &Json::Null, "nodeports");
        };
        let (_, taken) = taken(&range);
        let said: Vec<Json> = taken
            .into_iter()
            .map(|at| (self.first_port() + at).into())
            .collect();
        let same = self
            .symbols
            .compare(&recorded["range"], &range["range"], "range");
        same.and(self.compare_sets(&recorded["allocated"], said, "nodeports"))
    }

    /// The order of what the server has chosen is not that of the recording.
    fn compare_sets(&self, recorded: &Json, said: Vec<Json>, at: &str) -> Result<(), Unequal> {
        let sorted = |items: Vec<Json>| {
            let mut items = items;
            items.sort_by_key(Json::to_string);
            Json::from(items)
        };
        let filled = self.symbols.fill(recorded);
        let recorded = sorted(filled.as_array().cloned().unwrap_or_default());
        let said = sorted(said);
        match recorded == said {
            true => Ok(()),
            false => Err(Unequal {
                at: at.to_owned(),
                recorded: recorded.to_string(),
                simulated: said.to_string(),
            }),
        }
    }

    /// The ClusterIP bitmap, once it has been written as often: perhaps by the repair loop, which
    /// takes its time.
    fn bitmap(&mut self, recorded: &Json) -> Result<(), Unequal> {
        let wanted = recorded["version"].as_u64().unwrap_or(0);
        let version = |lab: &Lab| lab.stored(CLUSTER_IPS).map_or(0, |(.., version)| version);
        self.lab.run_until(REPAIRED, |lab| version(lab) >= wanted);
        self.lab.run(QUIET);
        self.lab.writes();
        let Some((range, revision, version)) = self.lab.stored(CLUSTER_IPS) else {
            return self.symbols.compare(recorded, &Json::Null, "bitmap");
        };
        let said = json!({
            "range": range["range"],
            "metadata": range["metadata"],
            "version": version,
            "revision": revision.to_string(),
        });
        let mut kept = recorded.clone();
        for apart in ["data", "allocated"] {
            tree::remove(&mut kept, &[apart]);
        }
        let same = self.symbols.compare(&kept, &said, "bitmap");
        let (data, taken) = taken(&range);
        let first = self.ranges.first_address().unwrap_or_default();
        let first = first.parse().unwrap_or(Ipv4Addr::UNSPECIFIED);
        let ip = |at: u32| Ipv4Addr::from_bits(first.to_bits() + at).to_string();
        let allocated: Vec<Json> = taken.into_iter().map(|at| ip(at).into()).collect();
        let random = recorded["data"] == "depends on random addresses";
        let data = if random {
            recorded["data"].clone()
        } else {
            data.into()
        };
        same.and(self.symbols.compare(&recorded["data"], &data, "data"))
            .and(self.compare_sets(&recorded["allocated"], allocated, "allocated"))
    }

    fn request(&mut self, line: &Json) -> Result<(), Unequal> {
        let by_uid = |object: Json| {
            let uid = tree::text(&object, &["metadata", "uid"]).to_owned();
            (uid, object)
        };
        let objects = self.lab.all("/registry/").into_iter().map(by_uid);
        let recorded = recorder::with_accept(line);
        let request = self.symbols.fill_request(&recorded, &objects.collect());
        if is_served_by_a_cache(&request) {
            self.lab.run(CATCH_UP);
        }
        let is_watch = request["verb"] == "watch";
        let number = self.lab.send(&request, is_watch);
        self.lab.run_until(LONGEST, |lab| lab.answer(number).over);
        let answer = self.lab.answer(number);
        let mut said = json!({"code": 0, "body": answer.broken.map(|e| e.to_string())});
        if is_watch {
            let lines = answer.parts.iter().filter_map(|part| match part {
                WatchPart::Event(event) => Some(format!("{}\n", event.json())),
                _ => None,
            });
            said = json!({"code": 200, "body": lines.collect::<String>()});
        }
        if let Some(response) = &answer.response {
            said = json!({"code": response.code, "body": response.json()});
            if !response.warnings.is_empty() {
                let warnings = response.warnings.iter().map(|text| Json::from(&**text));
                said["warnings"] = warnings.collect();
            }
            if let Some(seconds) = response.retry_after {
                said["retryAfter"] = seconds.to_string().into();
            }
            // Recordings of old do not tell it.
            let content_type = &line["response"]["headers"]["Content-Type"];
            if !content_type.is_null() {
                said["headers"] = json!({"Content-Type": response.content_type()});
            }
        }
        let response = self.compare(&line["response"], said, "response");
        response.and(self.writes(line))
    }

    /// The writes since the last line, but those that the recorder has left to the next one.
    fn writes(&mut self, line: &Json) -> Result<(), Unequal> {
        let mut said = std::mem::take(&mut self.left);
        said.extend(self.lab.writes());
        if let Some(last) = recorder::last_write_of(line) {
            let last = self.symbols.fill_text(last).parse().unwrap_or(0);
            self.left = said.extract_if(.., |write| write.revision > last).collect();
        }
        if self.recording.is_without_revisions() {
            return Ok(());
        }
        if line["unordered"] == true {
            said.sort_by(|a, b| (&a.key, a.revision).cmp(&(&b.key, b.revision)));
        }
        let write = |w: &Write| json!([w.what, w.key, w.revision.to_string()]);
        let said: Json = said.iter().map(write).collect();
        let none = json!([]);
        let recorded = line.get("writes").unwrap_or(&none);
        self.symbols.compare(recorded, &said, "writes")
    }

    fn watch(&mut self, line: &Json) -> Result<(), Unequal> {
        let step = line["step"].as_u64().unwrap_or(0);
        let Some(number) = self.open.remove(&step) else {
            return Ok(());
        };
        match line["end"].as_str() {
            Some("timeout") => self.lab.run(READ),
            _ => self.lab.run_until(LONGEST, |lab| lab.answer(number).over),
        }
        let answer = self.lab.answer(number);
        let mut events: Vec<Json> = Vec::new();
        let mut end = if answer.over { "closed" } else { "timeout" };
        let mut refused = None;
        for part in &answer.parts {
            match part {
                WatchPart::Accepted | WatchPart::Closed => {}
                WatchPart::Refused(response) => {
                    end = "error";
                    refused = Some(json!({"code": response.code, "body": response.json()}));
                }
                WatchPart::Event(event) => {
                    if matches!(event, WatchEvent::Error(_)) {
                        end = "error";
                    }
                    let event = event.json();
                    // Bookmarks near the time limit may come once or twice.
                    if event["type"] != "BOOKMARK" || events.last() != Some(&event) {
                        events.push(event);
                    }
                }
            }
        }
        match &answer.response {
            Some(response) if response.code == 200 => {
                events.push(json!({"raw": response.json()}));
            }
            Some(response) => {
                end = "error";
                refused = Some(json!({"code": response.code, "body": response.json()}));
            }
            None => {}
        }
        let mut said = json!({"events": events, "end": end});
        let mut recorded = json!({"events": line["events"], "end": line["end"]});
        if let Some(bookmarks) = self.bookmarks(&mut recorded, &mut said) {
            return self.compare(&recorded, said, "").and(Err(bookmarks));
        }
        if line.get("response").is_some() || refused.is_some() {
            recorded["response"] = line.get("response").cloned().unwrap_or_default();
            said["response"] = refused.unwrap_or_default();
        }
        self.compare(&recorded, said, "")
    }

    /// What of a watch that goes on is a matter of time. Taken away, and told if nothing else differs.
    fn bookmarks(&self, recorded: &mut Json, said: &mut Json) -> Option<Unequal> {
        if [&*recorded, &*said].iter().any(|of| of["end"] != "timeout") {
            return None;
        }
        let events = recorded["events"].as_array_mut()?;
        let other = said["events"].as_array_mut()?;
        bookmarks::set_aside(events, other, |revision| self.symbols.fill(revision))
    }

    /// Compares an answer, whose objects say who manages them.
    fn compare(&mut self, recorded: &Json, said: Json, at: &str) -> Result<(), Unequal> {
        let (mut recorded, mut said) = (recorded.clone(), said);
        managed_fields::normalise(&mut recorded, self.managed);
        managed_fields::normalise(&mut said, self.managed);
        for answer in [&mut recorded, &mut said] {
            causes::normalise(answer);
        }
        if let Some(body) = said.get_mut("body") {
            sort_ip_addresses(body);
        }
        for answer in [&mut recorded, &mut said] {
            leave_descriptions_out(answer);
        }
        self.symbols.compare(&recorded, &said, at)
    }
}

/// Columns of tables are described in sentences of upstream's, which ours are without.
fn leave_descriptions_out(answer: &mut Json) {
    match answer {
        Json::Array(items) => items.iter_mut().for_each(leave_descriptions_out),
        Json::Object(map) => {
            if let Some(Json::Array(columns)) = map.get_mut("columnDefinitions") {
                for column in columns {
                    column["description"] = "".into();
                }
            }
            map.values_mut().for_each(leave_descriptions_out);
        }
        _ => {}
    }
}

/// Lists of IPAddress objects are sorted by the Service that they belong to.
fn sort_ip_addresses(body: &mut Json) {
    if body.get("kind").is_none_or(|kind| kind != "IPAddressList") {
        return;
    }
    if let Some(items) = body.get_mut("items").and_then(Json::as_array_mut) {
        items.sort_by_key(|item| {
            let parent = &item["spec"]["parentRef"];
            let text = |field: &str| parent[field].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", text("namespace"), text("name"))
        });
    }
}

/// A list or watch of "any" revision comes from a cache that may trail; the recorder waited.
fn is_served_by_a_cache(request: &Json) -> bool {
    let version = request["query"]["resourceVersion"].as_str();
    let watch = request["query"].get("watch").is_some();
    version == Some("0") || watch && version.is_none_or(str::is_empty)
}
