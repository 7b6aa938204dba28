//! A real etcd by its JSON gateway: the newest revision, compactions, and the keys that are written.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::http::{Http, Line, Lines};

/// A write is seen within this time.
const SEEN_WITHIN: Duration = Duration::from_secs(20);
/// The longest that one run takes.
const FOLLOWED: Duration = Duration::from_secs(1_800);

/// An etcd, and a watch of all its keys.
pub(crate) struct Gateway {
    http: Http,
    writes: Option<Lines>,
    seen: u64,
    kept: Vec<Write>,
}

/// What was done, the key, the revision, and what was written.
pub(crate) struct Write {
    /// `PUT` or `DELETE`
    pub what: &'static str,
    pub key: String,
    pub revision: u64,
    pub value: Vec<u8>,
}

impl Gateway {
    pub fn new(endpoint: &str) -> Gateway {
        Gateway {
            http: Http::plain(endpoint),
            writes: None,
            seen: 0,
            kept: Vec::new(),
        }
    }

    fn call(&self, path: &str, body: &Json) -> Result<Json, String> {
        let answer = self.http.send(&post(path, body))?;
        match answer["code"].as_u64() {
            Some(200) => Ok(answer["body"].clone()),
            _ => Err(format!("etcd answers {path} with {answer}")),
        }
    }

    /// The newest revision.
    pub fn revision(&self) -> Result<u64, String> {
        let asked = json!({"key": STANDARD.encode("none"), "count_only": true});
        let answer = self.call("/v3/kv/range", &asked)?;
        number(&answer["header"]["revision"])
            .ok_or_else(|| format!("etcd tells no revision: {answer}"))
    }

    /// The objects under a prefix, with their keys.
    pub fn range(&self, prefix: &str) -> Result<Vec<(String, Json)>, String> {
        let mut end = prefix.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        let asked = json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end)});
        let answer = self.call("/v3/kv/range", &asked)?;
        let found = answer["kvs"].as_array().map_or(&[][..], Vec::as_slice);
        let object = |kv: &Json| {
            let value = serde_json::from_slice(&decoded(&kv["value"])).unwrap_or_default();
            (text(&kv["key"]), value)
        };
        Ok(found.iter().map(object).collect())
    }

    /// Writes a key outside of what the apiserver uses: the revision of it.
    pub fn mark(&self) -> Result<u64, String> {
        let put = json!({"key": STANDARD.encode("/marker"), "value": STANDARD.encode("1")});
        let answer = self.call("/v3/kv/put", &put)?;
        number(&answer["header"]["revision"])
            .ok_or_else(|| format!("etcd tells no revision: {answer}"))
    }

    pub fn compact(&self, revision: u64) -> Result<(), String> {
        let asked = json!({"revision": revision.to_string(), "physical": true});
        self.call("/v3/kv/compaction", &asked).map(|_| ())
    }

    /// From now on writes after this revision are kept.
    pub fn follow(&mut self, after: u64) -> Result<(), String> {
        let from_first = STANDARD.encode([0]);
        let create = json!({"create_request": {
            "key": from_first, "range_end": from_first, "start_revision": (after + 1).to_string(),
        }});
        self.seen = after;
        self.kept.clear();
        // It is followed as long as the server runs.
        match self
            .http
            .open(&post("/v3/watch", &create), Some(FOLLOWED))?
        {
            Ok(lines) => self.writes = Some(lines),
            Err(answer) => return Err(format!("etcd refuses a watch: {answer}")),
        }
        Ok(())
    }

    /// What was written since it was last asked, up to a revision, or to the newest.
    pub fn writes(&mut self, limit: Option<u64>) -> Result<Vec<Write>, String> {
        let newest = self.revision()?;
        while self.seen < newest {
            let lines = self.writes.as_mut().ok_or("nobody follows etcd")?;
            let Line::Text(line) = lines.next(SEEN_WITHIN) else {
                return Err(format!("etcd does not tell of revision {newest}"));
            };
            let told: Json = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            for event in told["result"]["events"].as_array().into_iter().flatten() {
                let kv = &event["kv"];
                let revision = number(&kv["mod_revision"]).unwrap_or(0);
                self.seen = self.seen.max(revision);
                self.kept.push(Write {
                    what: if event["type"] == "DELETE" {
                        "DELETE"
                    } else {
                        "PUT"
                    },
                    key: text(&kv["key"]),
                    revision,
                    value: decoded(&kv["value"]),
                });
            }
        }
        let limit = limit.unwrap_or(u64::MAX);
        let later = self.kept.iter().position(|write| write.revision > limit);
        let rest = self.kept.split_off(later.unwrap_or(self.kept.len()));
        Ok(std::mem::replace(&mut self.kept, rest))
    }
}

fn post(path: &str, body: &Json) -> Json {
    json!({"method": "POST", "path": path, "contentType": "application/json", "body": body})
}

/// The gateway writes 64-bit numbers as texts.
fn number(value: &Json) -> Option<u64> {
    value.as_str()?.parse().ok()
}

fn decoded(value: &Json) -> Vec<u8> {
    STANDARD
        .decode(value.as_str().unwrap_or_default())
        .unwrap_or_default()
}

fn text(value: &Json) -> String {
    String::from_utf8_lossy(&decoded(value)).into_owned()
}
