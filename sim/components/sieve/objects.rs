//! All that is stored, as properties remember it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use wavetank_api::{Object, json};
use wavetank_engine::Note;
use wavetank_etcd::Committed;

/// All objects, by their keys in etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Objects(BTreeMap<Arc<str>, Object>);

/// A change of an object that is stored.
#[derive(Debug)]
pub struct Stored<'a> {
    /// Its key in etcd.
    pub key: &'a str,
    /// What it was; nothing if it was not there.
    pub before: Option<&'a Object>,
    /// What it is; nothing if it is gone.
    pub now: Option<&'a Object>,
}

/// The changes that a note tells.
pub fn changes(note: &Note) -> impl Iterator<Item = Stored<'_>> {
    let commit = note.body.get::<Committed<Object>>();
    let changes = commit.into_iter().flat_map(|commit| commit.changes.iter());
    changes.map(|change| Stored {
        key: &change.key,
        before: change.before.as_ref().map(|kv| &kv.value),
        now: change.now.as_ref().map(|kv| &kv.value),
    })
}

impl Objects {
    /// Remembers what a note tells. Did it tell anything?
    pub fn take(&mut self, note: &Note) -> bool {
        let mut any = false;
        for Stored { key, now, .. } in changes(note) {
            any = true;
            match now {
                Some(object) => self.0.insert(key.into(), object.clone()),
                None => self.0.remove(key),
            };
        }
        any
    }

    /// All of them, with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.0.iter().map(|(key, object)| (&**key, object))
    }

    /// What has this key.
    pub fn get(&self, key: &str) -> Option<&Object> {
        self.0.get(key)
    }
}

impl FromIterator<(Arc<str>, Object)> for Objects {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Object)>>(all: I) -> Objects {
        Objects(all.into_iter().collect())
    }
}

/// Its uid.
pub fn uid(object: &Object) -> &str {
    json::text(object.json(), &["metadata", "uid"])
}

/// Does it have owners, and are all of them gone?
pub fn is_orphan(object: &Object, all: &Objects) -> bool {
    let owners = json::at(object.json(), &["metadata", "ownerReferences"]);
    let mut owners = owners
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .peekable();
    let is_there = |owner: &Json| {
        let of = owner["uid"].as_str().unwrap_or_default();
        all.iter().any(|(_, object)| uid(object) == of)
    };
    owners.peek().is_some() && !owners.any(is_there)
}

/// As stories name it: `namespace/name`.
pub fn shown(object: &Object) -> String {
    match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    }
}
