//! What differs from run to run: generated names, hashes of templates, uids, revisions, times. What is simulated is
//! written in the words of the recording.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value as Json;
use wavetank_api::Body;
use wavetank_apiserver::Audited;

use super::write::Write;

/// What is named by the hash of a template: its resource, its kind, and the label that has the hash.
const HASHED: [(&str, &str, &str); 2] = [
    ("apps/replicasets", "ReplicaSet", "pod-template-hash"),
    (
        "apps/controllerrevisions",
        "ControllerRevision",
        "controller-revision-hash",
    ),
];

/// Uids that stand for each other: that of the recording, and ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Uids {
    ours: BTreeMap<String, String>,
    recorded: BTreeMap<String, String>,
}

impl Uids {
    /// Do these stand for each other, or may they from now on?
    pub fn bind(&mut self, recorded: &str, ours: &str) -> bool {
        let known = (self.ours.get(recorded), self.recorded.get(ours));
        match known {
            (None, None) => {
                self.ours.insert(recorded.to_owned(), ours.to_owned());
                self.recorded.insert(ours.to_owned(), recorded.to_owned());
                true
            }
            (Some(known), _) => known == ours,
            (None, Some(_)) => false,
        }
    }
}

/// The names of one recording.
#[derive(Debug)]
pub(super) struct Names {
    /// Ours, and what the recording says for it.
    generated: BTreeMap<String, String>,
    /// How many names there are by their beginning, in the recording's words.
    counts: BTreeMap<String, u64>,
    /// The hashes of the recording, in the order in which they came up; and ours.
    hashes: Vec<String>,
    our_hashes: Vec<String>,
    uids: Uids,
    time: Regex,
}

/// Is this the symbol of a uid?
pub(super) fn is_uid(text: &str) -> bool {
    let number = text.strip_prefix("uid-");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The hash that an object is labelled with and named by.
fn hash_of(object: &Json) -> Option<&str> {
    let mut all = HASHED.iter();
    let (_, _, label) = all.find(|(_, kind, _)| object["kind"] == *kind)?;
    object["metadata"]["labels"][label].as_str()
}

fn is_hashed(resource: &Json) -> bool {
    HASHED.iter().any(|(own, _, _)| resource == own)
}

impl Names {
    pub fn new(lines: &[Json]) -> Names {
        let mut hashes: Vec<String> = Vec::new();
        let writes = lines
            .iter()
            .flat_map(|line| line["writes"].as_array().into_iter().flatten());
        let made = writes.filter(|own| own["verb"] == "create" && is_hashed(&own["resource"]));
        for hash in made.filter_map(|own| hash_of(&own["body"])) {
            if !hashes.iter().any(|known| known == hash) {
                hashes.push(hash.to_owned());
            }
        }
        Names {
            generated: BTreeMap::new(),
            counts: BTreeMap::new(),
            hashes,
            our_hashes: Vec::new(),
            uids: Uids::default(),
            time: Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
                .expect("a pattern"),
        }
    }

    pub fn uids(&mut self) -> &mut Uids {
        &mut self.uids
    }

    /// Learns the name and the hash of what was made.
    pub fn learn(&mut self, audited: &Audited) {
        let object = audited.response.json();
        if audited.response.code != 201 {
            return;
        }
        if let Some(hash) = hash_of(&object)
            && !self.our_hashes.iter().any(|known| known == hash)
        {
            self.our_hashes.push(hash.to_owned());
        }
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (prefix, name) = (text("generateName"), text("name"));
        // Who says both asks for the name.
        let is_given = match &audited.request.body {
            Body::Json(asked) => !asked["metadata"]["name"].is_null(),
            _ => false,
        };
        if !is_given
            && !prefix.is_empty()
            && name.starts_with(prefix)
            && !self.generated.contains_key(name)
        {
            let prefix = self.text(prefix);
            let count = self.counts.entry(prefix.clone()).or_default();
            *count += 1;
            let symbol = format!("name-{prefix}{count}");
            self.generated.insert(name.to_owned(), symbol);
        }
    }

    /// A text of ours in the recording's words.
    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Longer names before those that they begin with.
        for (ours, recorded) in self.generated.iter().rev() {
            text = text.replace(ours, recorded);
        }
        for (ours, recorded) in self.our_hashes.iter().zip(&self.hashes) {
            text = text.replace(ours, recorded);
        }
        self.time.replace_all(&text, "time").into_owned()
    }

    /// A write of ours in the recording's words, but for uids.
    pub fn normalise(&self, write: &mut Write) {
        write.name = self.text(&write.name);
        write.error = write.error.as_deref().map(|error| self.text(error));
        write.body = self.walk(&write.body);
    }

    fn walk(&self, value: &Json) -> Json {
        match value {
            Json::Object(fields) => {
                let kept = fields.iter().filter(|(key, _)| *key != "managedFields");
                let walked = kept.map(|(key, value)| match &**key {
                    "resourceVersion" => (key.clone(), Json::from("rv")),
                    // The recorded manager was given no root certificate.
                    "ca.crt" => (key.clone(), Json::from("")),
                    _ => (self.text(key), self.walk(value)),
                });
                Json::Object(walked.collect())
            }
            Json::Array(items) => items.iter().map(|item| self.walk(item)).collect(),
            Json::String(text) => self.text(text).into(),
            other => other.clone(),
        }
    }

    /// A text of the recording in our words.
    pub fn fill_text(&self, text: &str) -> String {
        let mut symbols: Vec<(&String, &String)> = self.generated.iter().collect();
        // `name-a-10` before `name-a-1`.
        symbols.sort_by_key(|(_, symbol)| std::cmp::Reverse(symbol.len()));
        let mut text = text.to_owned();
        for (ours, symbol) in symbols {
            text = text.replace(symbol, ours);
        }
        for (ours, recorded) in self.our_hashes.iter().zip(&self.hashes) {
            text = text.replace(recorded, ours);
        }
        text
    }

    /// A body of the recording in our words, at this time, where these objects are stored: a uid stands beside a kind and a
    /// name.
    pub fn fill(&mut self, recorded: &Json, now: &str, stored: &[Json]) -> Json {
        match recorded {
            Json::String(text) if text == "time" => now.into(),
            Json::String(text) => match self.uids.ours.get(text) {
                Some(uid) => uid.clone().into(),
                None => self.fill_text(text).into(),
            },
            Json::Array(items) => {
                let filled = items.iter().map(|item| self.fill(item, now, stored));
                filled.collect()
            }
            Json::Object(fields) => {
                if let Some(uid) = recorded["uid"].as_str().filter(|uid| is_uid(uid)) {
                    self.find(uid, recorded, stored);
                }
                let mut filled = serde_json::Map::new();
                for (key, value) in fields {
                    filled.insert(self.fill_text(key), self.fill(value, now, stored));
                }
                Json::Object(filled)
            }
            other => other.clone(),
        }
    }

    /// Finds the object that a reference is about, by its kind and name.
    fn find(&mut self, uid: &str, reference: &Json, stored: &[Json]) {
        let name = self.fill_text(reference["name"].as_str().unwrap_or_default());
        let is_it = |object: &&Json| {
            let is_near = reference["namespace"].is_null()
                || object["metadata"]["namespace"] == reference["namespace"];
            object["kind"] == reference["kind"] && object["metadata"]["name"] == *name && is_near
        };
        if let Some(ours) = stored
            .iter()
            .find(is_it)
            .and_then(|own| own["metadata"]["uid"].as_str())
        {
            self.uids.bind(uid, ours);
        }
    }
}
