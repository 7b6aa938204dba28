//! Objects as they compare between runs: without what a server makes up.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use wavetank_api::Object;

use super::cluster::Objects;
use super::every::{shown, uid};

/// What servers count or keep for themselves.
const LEFT_OUT: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
];

/// What texts of the objects of a run stand for.
#[derive(Debug)]
pub(super) struct Normal {
    /// Names that were made, and uids.
    made_up: BTreeMap<String, String>,
}

impl Normal {
    pub fn of(objects: &Objects) -> Normal {
        let mut made_up = BTreeMap::new();
        for (_, object) in objects.iter() {
            if !uid(object).is_empty() {
                let kind = object.json()["kind"].as_str().unwrap_or("object");
                let of = format!("(the uid of {kind} {})", shown(object));
                made_up.insert(uid(object).to_owned(), of);
            }
            if let Some(generated) = generated(object) {
                made_up.insert(object.name().to_owned(), format!("{generated}…"));
            }
        }
        Normal { made_up }
    }

    /// An object that is being deleted says so.
    pub fn object(&self, object: &Object) -> Json {
        let is_going = !object.json()["metadata"]["deletionTimestamp"].is_null();
        let mut normal = self.value(object.json());
        normal["isDeleted"] = is_going.into();
        normal
    }

    fn value(&self, value: &Json) -> Json {
        match value {
            Json::String(text) => self.text(text).into(),
            Json::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Json::Object(fields) => {
                let kept = fields.iter();
                let kept = kept.filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
                let kept = kept.map(|(name, value)| (name.clone(), self.value(value)));
                Json::Object(kept.collect::<Map<String, Json>>())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        if is_time(text) {
            return "(a time)".to_owned();
        }
        if let Some(known) = self.made_up.get(text) {
            return known.clone();
        }
        let mut text = text.to_owned();
        for (made_up, stands_for) in &self.made_up {
            if text.contains(made_up.as_str()) {
                text = text.replace(made_up.as_str(), stands_for);
            }
        }
        match is_uid(&text) {
            true => "(a uid)".to_owned(),
            false => text,
        }
    }
}

fn generated(object: &Object) -> Option<&str> {
    let generated = object.json()["metadata"]["generateName"].as_str()?;
    (!generated.is_empty() && object.name().starts_with(generated)).then_some(generated)
}

/// `2026-01-02T03:04:05Z`, with or without fractions and an offset.
fn is_time(text: &str) -> bool {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let shape: String = text.chars().take(19).map(shape).collect();
    shape == "0000-00-00T00:00:00"
}

/// Of an object that is gone: 8-4-4-4-12 hexadecimal digits.
fn is_uid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normal(value: &Json) -> Json {
        let made_up = [
            (
                "11111111-2222-3333-4444-555555555555",
                "(the uid of Shop default/one)",
            ),
            ("page-x7k2p", "page-…"),
        ];
        let made_up = made_up.map(|(name, of)| (name.to_owned(), of.to_owned()));
        let made_up = made_up.into_iter().collect();
        Normal { made_up }.value(value)
    }

    #[test]
    fn what_a_server_makes_up_is_the_same_in_each_run() {
        let stored = json!({
            "metadata": {"name": "page-x7k2p", "generateName": "page-", "uid": "u", "generation": 7, "labels": {"a": "b"}},
            "data": {"of": "shop/11111111-2222-3333-4444-555555555555", "was": "99999999-2222-3333-4444-555555555555"},
            "status": {"conditions": [{"at": "2026-01-02T03:04:05.678Z", "is": true}], "observedGeneration": 3},
        });
        let told = json!({
            "metadata": {"name": "page-…", "generateName": "page-", "labels": {"a": "b"}},
            "data": {"of": "shop/(the uid of Shop default/one)", "was": "(a uid)"},
            "status": {"conditions": [{"at": "(a time)", "is": true}]},
        });
        assert_eq!(normal(&stored), told);
    }
}
