//! Requests as no client means them, made of recorded ones, and what every answer has to be. Whatever a client sends, the
//! server does not fall over: it answers with an object, or with a Status that says what is wrong.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use crate::ask::Server;
use crate::corpus::Recording;

/// So many are sent to a server before the next one begins with an empty store.
const BATCH: u64 = 64;

/// The namespaces of most recordings, which a batch begins with.
const NAMESPACES: [&str; 2] = ["a", "b"];

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
const CONTENT_TYPES: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/csv",
    "",
];
const ACCEPTED: [&str; 6] = [
    "application/json",
    "*/*",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=Nothing;g=meta.k8s.io;v=v9",
    "image/png, text/*;q=",
];
/// Query parameters with values that fit and values that do not.
const PARAMETERS: [(&str, &[&str]); 15] = [
    ("limit", &["0", "1", "-1", "99999999999999999999", "x"]),
    (
        "continue",
        &[
            "x",
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8ifQ",
        ],
    ),
    (
        "resourceVersion",
        &["0", "1", "60", "18446744073709551616", "-1", "x"],
    ),
    ("resourceVersionMatch", &["Exact", "NotOlderThan", "x"]),
    (
        "labelSelector",
        &["a", "a in (b,c)", "!a", "a=,b", "a>1,(", "a notin ()"],
    ),
    (
        "fieldSelector",
        &["metadata.name=a", "spec.nothing=1", "=", "a\\=b"],
    ),
    ("dryRun", &["All", "x"]),
    ("fieldManager", &["me", "", "\u{0}"]),
    ("force", &["true", "maybe"]),
    ("fieldValidation", &["Strict", "Warn", "Ignore", "x"]),
    (
        "propagationPolicy",
        &["Orphan", "Foreground", "Background", "x"],
    ),
    ("gracePeriodSeconds", &["0", "-1", "x"]),
    ("timeoutSeconds", &["1", "-5", "x"]),
    ("pretty", &["true", "x"]),
    ("sendInitialEvents", &["true", "x"]),
];

/// Random numbers of a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    fn one<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Makes requests of recorded ones.
#[derive(Clone, Debug)]
pub struct Generator {
    recorded: Vec<Json>,
}

impl Generator {
    /// Of the requests of these recordings, but for watches, which have no one answer.
    pub fn of(recordings: &[Recording]) -> Generator {
        let lines = recordings.iter().flat_map(|file| &file.lines);
        let requests = lines.filter_map(|line| line.get("request").cloned());
        let is_watch =
            |request: &Json| request["verb"] == "watch" || !request["query"]["watch"].is_null();
        let recorded = requests.filter(|request| !is_watch(request)).map(numbered);
        Generator {
            recorded: recorded.collect(),
        }
    }

    /// The requests of a batch: the same for the same number. Most follow each other as they were recorded, so that there is
    /// something to find.
    pub fn batch(&self, number: u64, size: u64) -> Vec<Json> {
        let mut draw = Draw(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let begin = draw.below(self.recorded.len());
        let request = |at| match NAMESPACES.get(at as usize) {
            Some(name) => json!({
                "method": "POST",
                "path": "/api/v1/namespaces",
                "contentType": "application/json",
                "body": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            }),
            None => self.request(begin + at as usize, &mut draw),
        };
        (0..size).map(request).collect()
    }

    fn request(&self, next: usize, draw: &mut Draw) -> Json {
        let at = match draw.below(8) {
            0 => draw.below(self.recorded.len()),
            _ => next % self.recorded.len(),
        };
        let mut request = self.recorded[at].clone();
        // Some are spoilt in one way, some in several, some in none.
        for _ in 0..[0, 0, 0, 1, 1, 1, 2, 4][draw.below(8)] {
            self.spoil(&mut request, draw);
        }
        request
    }

    fn spoil(&self, request: &mut Json, draw: &mut Draw) {
        match draw.below(10) {
            0 => request["method"] = draw.one(&METHODS).into(),
            1 => request["contentType"] = draw.one(&CONTENT_TYPES).into(),
            2 => request["headers"] = json!({"Accept": draw.one(&ACCEPTED)}),
            3 => {
                let (name, values) = PARAMETERS[draw.below(PARAMETERS.len())];
                request["query"][name] = draw.one(values).into();
            }
            4 => request["path"] = spoilt_path(request["path"].as_str().unwrap_or(""), draw).into(),
            5 => {
                let other = &self.recorded[draw.below(self.recorded.len())];
                request["body"] = other["body"].clone();
            }
            6 => spoil_bytes(request, draw),
            _ => spoil_tree(&mut request["body"], draw),
        }
    }
}

/// Symbols of revisions as numbers.
fn numbered(mut request: Json) -> Json {
    fn fill(value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Some(number) = text.strip_prefix("rv-") {
                    *text = number.to_owned();
                }
            }
            Json::Array(items) => items.iter_mut().for_each(fill),
            Json::Object(fields) => fields.values_mut().for_each(fill),
            _ => {}
        }
    }
    fill(&mut request);
    request
}

/// A segment changed, doubled, left out or added.
fn spoilt_path(path: &str, draw: &mut Draw) -> String {
    let mut segments: Vec<&str> = path.split('/').collect();
    let at = draw.below(segments.len());
    let strange = draw.one(&[
        "",
        "..",
        "a%2Fb",
        "namespaces",
        "status",
        "v1",
        "\u{fffd}",
        "default",
        "*",
    ]);
    match draw.below(4) {
        0 => segments[at] = strange,
        1 => segments.insert(at, strange),
        2 => drop(segments.remove(at)),
        _ => segments.push(segments[at]),
    }
    // Whatever is sent over HTTP begins with a slash.
    format!("/{}", segments.join("/").trim_start_matches('/'))
}

/// A byte of the body changed, all behind it cut off or doubled, or one put in.
fn spoil_bytes(request: &mut Json, draw: &mut Draw) {
    let mut bytes = match request["body"].take() {
        Json::Null => return,
        Json::String(text) => text.into_bytes(),
        tree => tree.to_string().into_bytes(),
    };
    let (at, byte) = (draw.below(bytes.len()), draw.number() as u8);
    match draw.below(4) {
        0 if !bytes.is_empty() => bytes[at] = byte,
        1 => bytes.truncate(at),
        2 => bytes.extend_from_within(at..),
        _ => bytes.insert(at, byte),
    }
    request["bytes"] = STANDARD.encode(bytes).into();
}

/// A value of the tree is another one, gone, or somewhere else.
fn spoil_tree(value: &mut Json, draw: &mut Draw) {
    let size = match value {
        Json::Array(items) => items.len(),
        Json::Object(fields) => fields.len(),
        _ => 0,
    };
    if size == 0 || draw.below(5) == 0 {
        *value = strange(draw);
        return;
    }
    let at = draw.below(size);
    match value {
        Json::Array(items) => match draw.below(5) {
            0 => drop(items.remove(at)),
            1 => items.push(items[at].clone()),
            _ => spoil_tree(&mut items[at], draw),
        },
        Json::Object(fields) => {
            let key = fields.keys().nth(at).cloned().unwrap_or_default();
            match draw.below(6) {
                0 => drop(fields.remove(&key)),
                1 => {
                    let moved = fields.remove(&key).unwrap_or_default();
                    let to =
                        draw.one(&["name", "kind", "spec", "metadata", "", "$patch", "unknown"]);
                    fields.insert(to.to_owned(), moved);
                }
                _ => spoil_tree(fields.get_mut(&key).expect("it is there"), draw),
            }
        }
        _ => {}
    }
}

fn strange(draw: &mut Draw) -> Json {
    match draw.below(12) {
        0 => Json::Null,
        1 => true.into(),
        2 => (-1).into(),
        3 => u64::MAX.into(),
        4 => 1.5e300.into(),
        5 => "".into(),
        6 => "x".repeat(300).into(),
        7 => "\u{0}\u{202e}\u{10ffff}".into(),
        8 => json!([]),
        9 => json!({}),
        10 => (0..40).fold(json!("deep"), |inner, _| json!({ "a": [inner] })),
        _ => json!([{"name": "a"}, {"name": "a"}, null, 3]),
    }
}

/// What was seen of so many requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// How many were answered.
    pub answered: u64,
    /// How many of them with a refusal.
    pub refused: u64,
    /// Requests with answers that are none, the first few.
    pub wrong: Vec<String>,
}

/// Sends batches of requests, each to a server of its own.
pub fn knock(generator: &Generator, server: &Server, requests: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    let mut next = requests.start;
    while next < requests.end {
        let size = BATCH.min(requests.end - next);
        let batch = generator.batch(next, size);
        for (request, answer) in batch.iter().zip(server.ask(&batch)) {
            seen.answered += 1;
            seen.refused += u64::from(answer["code"].as_u64().is_some_and(|code| code >= 400));
            if let Err(why) = is_an_answer(&answer) {
                seen.wrong
                    .push(format!("{request} was answered {answer}: {why}"));
            }
        }
        next += size;
    }
    seen.wrong.truncate(10);
    seen
}

/// Is it an object, or a Status that fits its code? What is no part of the API is answered in words, as by Go's own server.
fn is_an_answer(answer: &Json) -> Result<(), &'static str> {
    let code = answer["code"].as_u64().unwrap_or(0);
    let body = &answer["body"];
    if !(200..600).contains(&code) {
        return Err("it has no code of HTTP");
    }
    if code < 400 || body.is_string() {
        return Ok(());
    }
    let is_status = body["kind"] == "Status" && body["apiVersion"] == "v1";
    if !is_status || body["status"] != "Failure" {
        return Err("it is no Status");
    }
    match body["code"] == code {
        true => Ok(()),
        false => Err("the Status has another code"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;

    #[test]
    fn what_is_no_answer_is_seen() {
        let status = |code: u64| {
            json!({
                "code": 404,
                "body": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code},
            })
        };
        assert_eq!(is_an_answer(&status(404)), Ok(()));
        assert!(is_an_answer(&status(500)).is_err());
        assert!(is_an_answer(&json!({"code": 0})).is_err());
        assert!(is_an_answer(&json!({"code": 500, "body": {"kind": "Pod"}})).is_err());
    }

    #[test]
    fn whatever_is_sent_is_answered_and_much_of_it_is_refused() {
        let generator = Generator::of(&corpus::bundled().expect("the corpus"));
        assert_eq!(generator.batch(7, 20), generator.batch(7, 20));
        let seen = knock(&generator, &Server::default(), 0..640);
        assert_eq!(seen.wrong, [""; 0]);
        assert_eq!(seen.answered, 640);
        assert!(
            (64..600).contains(&seen.refused),
            "{} refused",
            seen.refused
        );
    }
}
