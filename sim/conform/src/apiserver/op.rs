//! What is asked of both servers. A request may name what an earlier answer has told (a revision, a uid, a token, a whole
//! object), so that what is left of a sequence still makes sense when parts of it are taken out.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use wavetank_api::patch;

/// One operation.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// A request as recordings hold it, with places that [`Seen::fill`] fills.
    Request(Json),
    /// A watch is opened; until it is read its events wait.
    Open(u32, Json),
    /// The watch of this number is read and ended.
    Read(u32),
    /// etcd is compacted at so many revisions before the newest one that an answer has told.
    Compact(u64),
    /// What is allocated is looked at: addresses and node ports.
    Allocations,
}

/// What answers have told.
#[derive(Default)]
pub(crate) struct Seen {
    /// The objects at a path, oldest first.
    objects: BTreeMap<String, Vec<Json>>,
    /// All revisions since the run has begun, oldest first.
    revisions: Vec<u64>,
    begin: u64,
    /// The last token of each list.
    tokens: BTreeMap<String, String>,
    /// What stands for `{a}`.
    names: Vec<(&'static str, String)>,
}

impl Seen {
    /// In a run of this number, which begins at a revision. Names that a whole cluster shares are its own.
    pub fn new(run: u64, begin: u64) -> Seen {
        Seen {
            names: vec![
                ("{a}", format!("a-{run}")),
                ("{b}", format!("b-{run}")),
                ("{run}", format!("r{run}")),
            ],
            begin,
            ..Seen::default()
        }
    }

    /// A text with names in their places.
    pub fn named(&self, text: &str) -> String {
        let name = |text: String, (place, name): &(&str, String)| text.replace(place, name);
        self.names.iter().fold(text.to_owned(), name)
    }

    /// The newest revision so many before the last.
    pub fn revision(&self, back: u64) -> u64 {
        let at = self.revisions.len().checked_sub(1 + back as usize);
        at.map_or(self.begin, |at| self.revisions[at])
    }

    /// A template with its places filled. A place is an object with one of these fields:
    /// - `$rv`, `$uid`: of the object at a path as it was seen, `back` times before the last;
    /// - `$object`: that object, with `merge` merged into it; or what `or` says where there was none;
    /// - `$revision`: any revision, so many before the last;
    /// - `$future`: one so far after the newest;
    /// - `$continue`: the token of the last list of this path.
    pub fn fill(&self, template: &Json) -> Json {
        match template {
            Json::String(text) => self.named(text).into(),
            Json::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Json::Object(fields) => match self.place(template) {
                Some(filled) => filled,
                None => {
                    let field =
                        |(name, value): (&String, &Json)| (self.named(name), self.fill(value));
                    Json::Object(fields.iter().map(field).collect())
                }
            },
            other => other.clone(),
        }
    }

    fn place(&self, template: &Json) -> Option<Json> {
        let path = |field: &str| template[field].as_str().map(|path| self.named(path));
        let back = template["back"].as_u64().unwrap_or(0) as usize;
        let object = |path: &str| {
            let versions = self.objects.get(path)?;
            versions.get(versions.len().checked_sub(1 + back)?)
        };
        if let Some(path) = path("$rv") {
            let version = object(&path).map(|object| object["metadata"]["resourceVersion"].clone());
            // Those before the run may be compacted, and the other server has none.
            return Some(version.unwrap_or_else(|| self.begin.to_string().into()));
        }
        if let Some(path) = path("$uid") {
            let uid = object(&path).map(|object| object["metadata"]["uid"].clone());
            return Some(uid.unwrap_or_else(|| "no-uid".into()));
        }
        if let Some(path) = path("$object") {
            return Some(match object(&path) {
                Some(object) => {
                    let fields = |json: Json| match json {
                        Json::Object(fields) => fields,
                        _ => serde_json::Map::new(),
                    };
                    let patch = fields(self.fill(&template["merge"]));
                    Json::Object(patch::merged(fields(object.clone()), patch))
                }
                None => self.fill(&template["or"]),
            });
        }
        if let Some(path) = path("$continue") {
            return Some(self.tokens.get(&path).cloned().unwrap_or_default().into());
        }
        if let Some(back) = template["$revision"].as_u64() {
            return Some(self.revision(back).to_string().into());
        }
        let ahead = template["$future"].as_u64()?;
        Some((self.revision(0) + ahead).to_string().into())
    }

    /// Looks at an answer.
    pub fn see(&mut self, request: &Json, answer: &Json) {
        let (path, body) = (
            request["path"].as_str().unwrap_or_default(),
            &answer["body"],
        );
        let metadata = &body["metadata"];
        if let Some(revision) = metadata["resourceVersion"]
            .as_str()
            .and_then(|rv| rv.parse().ok())
            // Of what was before, the simulated server has nothing.
            .filter(|revision| *revision >= self.begin)
        {
            self.revisions.push(revision);
            // Revisions of lists and of watches come in any order; the newest is what is newest.
            self.revisions.sort_unstable();
        }
        if body["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"))
        {
            let token = metadata["continue"].as_str().unwrap_or_default();
            self.tokens.insert(path.to_owned(), token.to_owned());
            return;
        }
        let is_dry = !request["query"]["dryRun"].is_null();
        let name = metadata["name"].as_str();
        let Some(name) = name.filter(|_| !metadata["resourceVersion"].is_null() && !is_dry) else {
            return;
        };
        let at = match request["method"].as_str() {
            Some("POST") => format!("{path}/{name}"),
            _ => path.to_owned(),
        };
        // What is told of a status is the object.
        let at = at.strip_suffix("/status").unwrap_or(&at).to_owned();
        self.objects.entry(at).or_default().push(body.clone());
    }
}

/// A request of this method.
pub(crate) fn request(method: &str, path: &str) -> Json {
    json!({"method": method, "path": path, "query": {}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_with_what_answers_told() {
        let mut seen = Seen::new(7, 50);
        let create =
            json!({"method": "POST", "path": "/api/v1/namespaces/a-7/configmaps", "query": {}});
        for revision in ["60", "61"] {
            let told = json!({"metadata": {"name": "x", "uid": "u", "resourceVersion": revision}});
            seen.see(&create, &json!({"code": 201, "body": told}));
        }
        let at = "/api/v1/namespaces/{a}/configmaps/x";
        let template = json!({
            "path": at,
            "query": {"resourceVersion": {"$rv": at, "back": 1}},
            "body": {"$object": at, "merge": {"data": {"k": "1"}, "metadata": {"uid": null}}},
            "new": {"$object": "/nowhere", "or": {"name": "{run}"}},
            "future": {"$future": 5},
            "old": {"$rv": at, "back": 2},
        });
        let filled = seen.fill(&template);
        assert_eq!(filled["path"], "/api/v1/namespaces/a-7/configmaps/x");
        assert_eq!(filled["query"]["resourceVersion"], "60");
        assert_eq!(
            filled["body"]["metadata"],
            json!({"name": "x", "resourceVersion": "61"})
        );
        assert_eq!(filled["body"]["data"]["k"], "1");
        assert_eq!(filled["new"]["name"], "r7");
        assert_eq!(filled["future"], "66");
        assert_eq!(filled["old"], "50");
    }

    #[test]
    fn what_a_dry_run_told_is_not_kept() {
        let mut seen = Seen::new(1, 0);
        let create = json!({"method": "POST", "path": "/c", "query": {"dryRun": "All"}});
        let told = json!({"metadata": {"name": "x", "resourceVersion": "5"}});
        seen.see(&create, &json!({"code": 201, "body": told}));
        assert_eq!(seen.fill(&json!({"$rv": "/c/x"})), "0");
    }
}
