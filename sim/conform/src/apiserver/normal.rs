//! What a real server said, made into a recording: what differs from run to run becomes a symbol (`sim/oracle` binds
//! them again, `symbols.rs` there), what is in no order is sorted.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use regex::{Captures, Regex};
use serde_json::{Value as Json, json};
use wavetank_api::addresses;

use super::gateway::Write;
use super::given::Given;

/// Times so near to that of the recording are those of the server.
const NEAR: Duration = Duration::from_secs(2 * 86_400);
/// Nobody has seen so many writes: a number that is no revision of this server.
const NO_REVISION: u64 = 1 << 40;

const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const TIME: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)";
const GO_TIME: &str =
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4} [A-Z]+(?: m=[+-][\d.]+)?";
const IPV4: &str = r"\d{1,3}(?:\.\d{1,3}){3}";
const AGE: &str = r"^(?:\d+[smhdy])+$";
const SUFFIX: &str = "[bcdfghjklmnpqrstvwxz2456789]{5}";
/// Revisions in messages: the numbers are the groups.
const REVISIONS: [&str; 10] = [
    r#"\\*"resourceVersion\\*":\\*"(\d+)\\*""#,
    r"too old resource version: (\d+) \((\d+)\)",
    r"Too large resource version: (\d+), current: (\d+)",
    r"ResourceVersion in precondition: (\d+), ResourceVersion in object meta: (\d+)",
    r"the requested resource version (\d+)",
    r#"resourceVersion: Invalid value: "(\d+)""#,
    r"the ResourceVersion in the precondition \((\d+)\) does not match the ResourceVersion in record \((\d+)\)",
    r#"resourceVersion: "(\d+)""#,
    r#"invalid resource version "(\d+)""#,
    r"resourceVersion(?:=|: )(\d+)",
];

/// Makes lines of a recording, one after another.
pub(crate) struct Normal {
    /// The revision at which the recording begins.
    begin: u64,
    port: u16,
    cidrs: Vec<(IpAddr, u8)>,
    node_ports: (u64, u64),
    now: Duration,
    patterns: Patterns,
    uids: BTreeMap<String, String>,
    revisions: BTreeMap<u64, String>,
    earlier: BTreeMap<u64, String>,
    /// Writes in no certain order: the first and the last revision of theirs.
    blocks: BTreeMap<u64, (u64, u64)>,
    names: BTreeMap<String, String>,
    prefixes: BTreeMap<String, u64>,
    addresses: Given<String>,
    ports: Given<u64>,
    /// The revision of the object that is being walked through, as far as answers tell.
    at: Option<u64>,
    /// The line is about Events, which are in another etcd.
    events: bool,
}

struct Patterns {
    uuid: Regex,
    time: Regex,
    go_time: Regex,
    ipv4: Regex,
    age: Regex,
    revisions: Vec<Regex>,
}

impl Normal {
    /// For a recording that begins at this revision, of a server with these flags that listens at this port.
    pub fn new(begin: u64, flags: &Json, port: u16) -> Normal {
        let pattern = |text: &str| Regex::new(text).expect("a pattern");
        let ranges = flags["service-cluster-ip-range"]
            .as_str()
            .unwrap_or_default();
        let cidrs: Vec<_> = ranges
            .split(',')
            .filter_map(addresses::parse_range)
            .collect();
        let ends = flags["service-node-port-range"]
            .as_str()
            .unwrap_or("30000-32767");
        let ends = ends
            .split_once('-')
            .map(|(first, last)| [first, last].map(str::parse));
        let node_ports = match ends {
            Some([Ok(first), Ok(last)]) => (first, last),
            _ => (0, 0),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut normal = Normal {
            begin,
            port,
            cidrs,
            node_ports,
            now: now.unwrap_or_default(),
            patterns: Patterns {
                uuid: pattern(UUID),
                time: pattern(TIME),
                go_time: pattern(GO_TIME),
                ipv4: pattern(IPV4),
                age: pattern(AGE),
                revisions: REVISIONS.map(pattern).into(),
            },
            uids: BTreeMap::new(),
            revisions: BTreeMap::new(),
            earlier: BTreeMap::new(),
            blocks: BTreeMap::new(),
            names: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            addresses: Given::new("ip"),
            ports: Given::new("port"),
            at: None,
            events: false,
        };
        normal.know_ends_of_ranges();
        normal
    }

    /// The first address of a range is that of the Service `kubernetes`; nobody is given the ends.
    fn know_ends_of_ranges(&mut self) {
        for (first, length) in self.cidrs.clone() {
            if let IpAddr::V4(first) = addresses::masked(first, length) {
                let last = u64::from(first.to_bits()) + (1_u64 << (32 - length)) - 1;
                let ends = [first.to_bits(), first.to_bits() + 1, last as u32];
                let ends = ends.map(|bits| std::net::Ipv4Addr::from_bits(bits).to_string());
                ends.iter().for_each(|end| self.addresses.know(end));
            }
        }
    }

    /// A line about a request and its answer.
    pub fn exchange(&mut self, request: &Json, answer: &Json, writes: &[Write]) -> Json {
        let path = request["path"].as_str().unwrap_or_default();
        self.events = path.ends_with("/events") || path.contains("/events/");
        let mut answer = answer.clone();
        let failed = answer["code"].as_u64().is_none_or(|code| code >= 400);
        if failed {
            reject_names(request, &mut answer);
        }
        let mut line = json!({"request": self.walk(request, true, "")});
        self.note_allocations(request, writes);
        if !request["query"]["dryRun"].is_null() {
            let asked = self.addresses_in(&request["body"]);
            self.addresses.begin_dry_run(asked);
        }
        line["response"] = self.walk(&answer, false, "");
        self.addresses.end_dry_run();
        self.add_writes(&mut line, writes, failed);
        self.events = false;
        line
    }

    /// A line about something else: `line` with its revisions as objects `{"$rv": n}`, and the writes since the last one.
    pub fn line(&mut self, line: &Json, writes: &[Write]) -> Json {
        self.note_allocations(&Json::Null, writes);
        let mut line = self.walk(line, false, "");
        let settled = line.get("settle").is_some();
        self.add_writes(&mut line, writes, settled);
        line
    }

    /// The table of the last line: how far each revision is from the first.
    pub fn table(&self) -> Json {
        let distance = |(revision, symbol): (&u64, &String)| {
            let distance = match self.blocks.get(revision) {
                Some((first, last)) => json!([first - self.begin, last - self.begin]),
                None => json!(revision - self.begin),
            };
            (symbol.clone(), distance)
        };
        Json::Object(self.revisions.iter().map(distance).collect())
    }

    /// What is allocated again is another allocation.
    fn note_allocations(&mut self, request: &Json, writes: &[Write]) {
        let asked = self.addresses_in(&request["body"]);
        let mut asked_ports = BTreeSet::new();
        numbers(&request["body"], &mut asked_ports);
        for write in writes {
            if let Some(address) = write.key.strip_prefix("/registry/ipaddresses/") {
                let address = address.to_owned();
                match write.what {
                    "DELETE" => self.addresses.release(&address),
                    _ => {
                        let asked = asked.contains(&address);
                        self.addresses.allocate(&address, write.revision, asked);
                    }
                }
            }
            if write.key.ends_with("/ranges/servicenodeports") && write.what == "PUT" {
                let now = self.decode_ports(&write.value);
                let free: Vec<u64> = self.ports.live().difference(&now).copied().collect();
                free.iter().for_each(|port| self.ports.release(port));
                for port in now {
                    let asked = asked_ports.contains(&port);
                    self.ports.allocate(&port, write.revision, asked);
                }
            }
        }
    }

    fn addresses_in(&self, value: &Json) -> BTreeSet<String> {
        let text = value.to_string();
        let found = self.patterns.ipv4.find_iter(&text);
        found.map(|address| address.as_str().to_owned()).collect()
    }

    fn decode_ports(&self, value: &[u8]) -> BTreeSet<u64> {
        let range: Json = serde_json::from_slice(value).unwrap_or_default();
        let data = STANDARD.decode(range["data"].as_str().unwrap_or_default());
        // The bytes of a big number, the highest first.
        let bytes = data.unwrap_or_default().into_iter().rev().enumerate();
        let bits = bytes.flat_map(|(at, byte)| {
            (0..8)
                .filter(move |bit| byte >> bit & 1 == 1)
                .map(move |bit| at as u64 * 8 + bit)
        });
        bits.map(|bit| self.node_ports.0 + bit).collect()
    }

    fn add_writes(&mut self, line: &mut Json, writes: &[Write], unordered: bool) {
        if writes.is_empty() {
            return;
        }
        let mut sorted: Vec<&Write> = writes.iter().collect();
        if unordered && writes.len() > 1 {
            sorted.sort_by(|a, b| (&a.key, a.revision).cmp(&(&b.key, b.revision)));
            line["unordered"] = true.into();
            self.open_block(&sorted);
        }
        // A server writes several quotas in the order of a Go map.
        for run in sorted.chunk_by_mut(|a, b| [a, b].iter().all(|write| is_quota(write))) {
            if run.len() > 1 {
                run.sort_by(|a, b| a.key.cmp(&b.key));
                self.open_block(run);
            }
        }
        let shown: Json = sorted
            .into_iter()
            .map(|write| {
                self.at = Some(write.revision);
                json!([
                    write.what,
                    self.text(&write.key, false),
                    self.revision(write.revision)
                ])
            })
            .collect();
        self.at = None;
        line["writes"] = shown;
    }

    fn open_block(&mut self, writes: &[&Write]) {
        let revisions = || writes.iter().map(|write| write.revision);
        let ends = (
            revisions().min().unwrap_or(0),
            revisions().max().unwrap_or(0),
        );
        self.blocks
            .extend(revisions().map(|revision| (revision, ends)));
    }

    fn walk(&mut self, value: &Json, asked: bool, field: &str) -> Json {
        match value {
            Json::Object(fields) => {
                if let Some(revision) = value["$rv"].as_u64() {
                    return self.revision(revision).into();
                }
                let at = self.at;
                if !asked {
                    self.name_generated(value);
                    self.at = revision_of(value).or(at);
                }
                let mut walked = serde_json::Map::new();
                for (name, value) in fields {
                    let value = match (&**name, value) {
                        ("resourceVersion", Json::String(text)) => self.revision_text(text, asked),
                        ("continue", Json::String(text)) if !text.is_empty() => {
                            self.token(text, asked)
                        }
                        _ => self.walk(value, asked, name),
                    };
                    walked.insert(self.text(name, asked), value);
                }
                self.at = at;
                Json::Object(walked)
            }
            Json::Array(items) => self.walk_items(items, asked, field),
            Json::String(text) if field == "cells" && self.patterns.age.is_match(text) => {
                "age".into()
            }
            Json::String(text) if !asked && self.is_today(text) => "date".into(),
            Json::String(text) => self.text(text, asked).into(),
            Json::Number(number) => match number.as_u64() {
                Some(number) => self.port(number, asked, field),
                None => value.clone(),
            },
            other => other.clone(),
        }
    }

    fn walk_items(&mut self, items: &[Json], asked: bool, field: &str) -> Json {
        let mut items = items.to_vec();
        if field == "items"
            && items
                .iter()
                .all(|item| item["spec"].get("parentRef").is_some())
        {
            items.sort_by_key(|item| {
                let parent = &item["spec"]["parentRef"];
                ["namespace", "name"]
                    .map(|field| parent[field].as_str().unwrap_or_default().to_owned())
                    .join("/")
            });
        }
        for item in &mut items {
            // The value of a JSON patch.
            let is_revision = item["path"]
                .as_str()
                .is_some_and(|path| path.ends_with("/resourceVersion"));
            let value = item["value"]
                .as_str()
                .and_then(|value| value.parse::<u64>().ok());
            if let Some(value) = value.filter(|value| asked && is_revision && *value >= self.begin)
            {
                item["value"] = json!({"$rv": value});
            }
        }
        items
            .iter()
            .map(|item| self.walk(item, asked, field))
            .collect()
    }

    /// An object whose name the server has made up.
    fn name_generated(&mut self, object: &Json) {
        let metadata = &object["metadata"];
        let (Some(prefix), Some(name)) =
            (metadata["generateName"].as_str(), metadata["name"].as_str())
        else {
            return;
        };
        let prefix = &prefix[..prefix.len().min(58)];
        let suffix = name.strip_prefix(prefix).unwrap_or_default();
        let made_up = suffix.len() == 5
            && suffix
                .bytes()
                .all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b));
        if made_up && !self.names.contains_key(name) {
            let prefix = prefix.trim_end_matches('-');
            let number = self.prefixes.entry(prefix.to_owned()).or_default();
            *number += 1;
            self.names
                .insert(name.to_owned(), format!("name-{prefix}-{number}"));
        }
    }

    fn revision_text(&mut self, text: &str, asked: bool) -> Json {
        match text.parse::<u64>() {
            // A number that somebody made up stands for nothing.
            Ok(number) if asked && number < self.begin && !self.earlier.contains_key(&number) => {
                text.into()
            }
            Ok(_) if self.events => "rv-event".into(),
            // A cache of a kind that nobody has written since is where some run before has left it.
            Ok(number) if !asked && (2..self.begin).contains(&number) => "rv".into(),
            Ok(number) => self.revision(number).into(),
            Err(_) => text.into(),
        }
    }

    fn revision(&mut self, number: u64) -> String {
        if number <= 1 || number >= NO_REVISION {
            return number.to_string();
        }
        let (symbols, prefix) = match number < self.begin {
            true => (&mut self.earlier, "rv-pre"),
            false => (&mut self.revisions, "rv"),
        };
        let next = symbols.len() + 1;
        symbols
            .entry(number)
            .or_insert_with(|| format!("{prefix}-{next}"))
            .clone()
    }

    /// Is it a date about now, and nothing else?
    fn is_today(&self, text: &str) -> bool {
        text.len() == "2026-01-01".len() && text.as_bytes()[4] == b'-' && is_near(text, self.now)
    }

    fn token(&mut self, text: &str, asked: bool) -> Json {
        let token = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .unwrap_or_default();
        let token: Json = serde_json::from_slice(&token).unwrap_or_default();
        let (Some(version), Some(start)) = (token["v"].as_str(), token["start"].as_str()) else {
            return text.into();
        };
        let revision = match token["rv"].as_u64() {
            Some(revision) => self.revision(revision),
            None => token["rv"].to_string(),
        };
        let start = self.text(start, asked);
        format!("continue(v={version},rv={revision},start={start})").into()
    }

    fn port(&mut self, number: u64, asked: bool, field: &str) -> Json {
        if number == u64::from(self.port) {
            return 6443.into();
        }
        let (first, last) = self.node_ports;
        if !(first..=last).contains(&number) {
            return number.into();
        }
        if asked {
            self.ports.know(&number);
        }
        let name = match field {
            "nodePort" | "healthCheckNodePort" => self.ports.name_or_new(&number, self.at),
            _ => self.ports.name(&number, self.at),
        };
        name.map_or(number.into(), Json::from)
    }

    fn text(&mut self, text: &str, asked: bool) -> String {
        let mut text = text.to_owned();
        for (name, symbol) in &self.names {
            if text.contains(name) {
                text = text.replace(name, symbol);
            }
        }
        let patterns = &self.patterns;
        let uids = &mut self.uids;
        text = replaced(&patterns.uuid, &text, |uid| {
            let told = uids.values().filter(|symbol| symbol.starts_with("uid-"));
            let symbol = match asked {
                // One that a request has made up.
                true => uid.to_owned(),
                false => format!("uid-{}", told.count() + 1),
            };
            uids.entry(uid.to_owned()).or_insert(symbol).clone()
        });
        text = replaced(&patterns.go_time, &text, |_| "time".to_owned());
        let now = self.now;
        text = replaced(&patterns.time, &text, |time| match is_near(time, now) {
            true => "time".to_owned(),
            false => time.to_owned(),
        });
        for at in 0..self.patterns.revisions.len() {
            text = self.revisions_in(at, &text);
        }
        if text.contains('.') {
            let pattern = self.patterns.ipv4.clone();
            text = replaced(&pattern, &text, |address| self.address(address, asked));
        }
        text = text.replace(&format!(":{}", self.port), ":6443");
        for (port, symbol) in self.ports.all(self.at) {
            text = replace_number(&text, &port.to_string(), &symbol);
        }
        text
    }

    fn revisions_in(&mut self, at: usize, text: &str) -> String {
        let pattern = self.patterns.revisions[at].clone();
        let mut replace = |found: &Captures<'_>| {
            let (whole, begin) = (&found[0], found.get(0).map_or(0, |all| all.start()));
            let (mut made, mut last) = (String::new(), 0);
            for group in found.iter().skip(1).flatten() {
                let (from, to) = (group.start() - begin, group.end() - begin);
                made += &whole[last..from];
                made += &group
                    .as_str()
                    .parse()
                    .map_or(group.as_str().to_owned(), |number| self.revision(number));
                last = to;
            }
            made + &whole[last..]
        };
        pattern
            .replace_all(text, |found: &Captures<'_>| replace(found))
            .into_owned()
    }

    fn address(&mut self, text: &str, asked: bool) -> String {
        let Ok(address) = text.parse::<IpAddr>() else {
            return text.to_owned();
        };
        let is_within = |(first, length): &(IpAddr, u8)| {
            first.is_ipv4() == address.is_ipv4()
                && addresses::masked(address, *length) == addresses::masked(*first, *length)
        };
        let text = text.to_owned();
        if !self.cidrs.iter().any(is_within) {
            return text;
        }
        if asked {
            self.addresses.know(&text);
        }
        let name = self.addresses.name_or_new(&text, self.at);
        name.unwrap_or(text)
    }
}

/// The revision of an object, or of the one that a row of a table or an event shows.
fn revision_of(value: &Json) -> Option<u64> {
    let shown = value.get("object").unwrap_or(value);
    let revision = shown["metadata"]["resourceVersion"].as_str()?;
    revision.parse().ok()
}

/// The name that a rejected request was given is told in its message.
fn reject_names(request: &Json, answer: &mut Json) {
    let Some(prefix) = request["body"]["metadata"]["generateName"].as_str() else {
        return;
    };
    let short = &prefix[..prefix.len().min(58)];
    let symbol = format!("name-{}-rejected", prefix.trim_end_matches(['-', '_']));
    if let Ok(pattern) = Regex::new(&format!("{}{SUFFIX}", regex::escape(short))) {
        let text = pattern
            .replace_all(&answer.to_string(), symbol.as_str())
            .into_owned();
        *answer = serde_json::from_str(&text).unwrap_or_default();
    }
}

fn is_quota(write: &Write) -> bool {
    write.what == "PUT" && write.key.starts_with("/registry/resourcequotas/")
}

fn numbers(value: &Json, all: &mut BTreeSet<u64>) {
    match value {
        Json::Object(fields) => fields.values().for_each(|value| numbers(value, all)),
        Json::Array(items) => items.iter().for_each(|value| numbers(value, all)),
        Json::Number(number) => all.extend(number.as_u64()),
        _ => {}
    }
}

fn replaced(pattern: &Regex, text: &str, mut by: impl FnMut(&str) -> String) -> String {
    pattern
        .replace_all(text, |found: &Captures<'_>| by(&found[0]))
        .into_owned()
}

/// A number in a text, where it is no part of a longer one.
fn replace_number(text: &str, number: &str, symbol: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(number) {
        let (before, after) = (&rest[..at], &rest[at + number.len()..]);
        let joined = |c: char| c.is_ascii_digit() || c == '-';
        let apart = !before.ends_with(joined) && !after.starts_with(joined);
        made += before;
        made += if apart { symbol } else { number };
        rest = after;
    }
    made + rest
}

/// Is the time in RFC 3339 about now?
fn is_near(time: &str, now: Duration) -> bool {
    let number =
        |from: usize, to: usize| time.get(from..to).and_then(|part| part.parse::<i64>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    // Days since 1970 by the civil calendar, with years that begin in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    let today = (now.as_secs() / 86_400) as i64;
    (days - today).unsigned_abs() * 86_400 <= NEAR.as_secs()
}
