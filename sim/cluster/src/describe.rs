//! Notes in words, for stories: each component puts its own into words, and says what the keys mean that it keeps in
//! etcd.

use std::iter;

use serde_json::Value as Json;
use wavetank_api::{Object, views};
use wavetank_component::{Description, Stored};
use wavetank_engine::{Note, World};
use wavetank_etcd::{Cause, Change, Committed};

use crate::Components;

impl Components {
    /// Puts a note into words; `None` for what no story needs.
    pub fn describe(&self, world: &World, note: &Note) -> Option<Description> {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            return Some(self.committed(world, commit));
        }
        self.iter().find_map(|own| own.describe(world, note))
    }

    fn committed(&self, world: &World, commit: &Committed<Object>) -> Description {
        let changes: Vec<String> = commit.changes.iter().map(|own| self.change(own)).collect();
        let cause = match commit.cause {
            Cause::Client(client) => format!("by {}", world.name(client)),
            Cause::Expiry(lease) => format!("lease {} expired", lease.0),
            Cause::Internal => "by etcd itself".to_owned(),
        };
        let about = commit.changes.iter().flat_map(|own| self.concerned(own));
        Description {
            text: format!(
                "revision {}: {} ({cause})",
                commit.revision,
                changes.join("; ")
            ),
            about: about.collect(),
        }
    }

    fn stored(&self, change: &Change<Object>) -> impl Iterator<Item = Stored> {
        let value = change.now.as_ref().map(|now| now.value.json());
        self.iter()
            .filter_map(move |own| own.describe_stored(&change.key, value))
    }

    /// The key, the addresses that are written there, and what components say.
    fn concerned(&self, change: &Change<Object>) -> Vec<String> {
        let now = change.now.iter();
        let listed = now.flat_map(|now| views::addresses(now.value.json()));
        let listed = listed.map(|address| address.to_string());
        let about = self.stored(change).flat_map(|stored| stored.about);
        let all = iter::once(change.key.to_string()).chain(listed);
        all.chain(about).collect()
    }

    fn change(&self, change: &Change<Object>) -> String {
        let Some(now) = &change.now else {
            return format!("deletes {}", change.key);
        };
        format!(
            "{} := {}",
            change.key,
            self.value(&change.key, now.value.json())
        )
    }
}

impl Components {
    /// What is kept under a key, in words.
    pub(crate) fn value(&self, key: &str, value: &Json) -> String {
        let mut stored = self
            .iter()
            .filter_map(|own| own.describe_stored(key, Some(value)));
        let text = stored.find_map(|stored| stored.text);
        text.unwrap_or_else(|| contents(value))
    }
}

/// So much of an object is told that nobody has words for.
const CONTENTS: usize = 60;

/// What is in an object: labels, and the fields besides its metadata, as far as they fit in a line.
fn contents(object: &Json) -> String {
    let labels = object.pointer("/metadata/labels");
    let labels = labels.map(|labels| ("labels", labels));
    let fields = object.as_object().into_iter().flatten();
    let fields = fields
        .map(|(name, value)| (name.as_str(), value))
        .filter(|(name, _)| !["apiVersion", "kind", "metadata"].contains(name));
    let all = labels.into_iter().chain(fields);
    let all: Vec<String> = all.map(|(name, value)| format!("{name} {value}")).collect();
    let leaves = object.pointer("/metadata/deletionTimestamp").is_some();
    let prefix = if leaves { "being deleted, " } else { "" };
    let text = match all.is_empty() {
        true => object["kind"].as_str().unwrap_or("an object").to_owned(),
        false => all.join(", "),
    };
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(CONTENTS).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    prefix.to_owned() + &short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_without_words_of_its_own_is_told_by_what_is_in_it() {
        let mut object =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}});
        assert_eq!(contents(&object), "ConfigMap");
        object["data"] = json!({"n": "5"});
        object["metadata"]["labels"] = json!({"app": "x"});
        assert_eq!(contents(&object), r#"labels {"app":"x"}, data {"n":"5"}"#);
        object["metadata"]["deletionTimestamp"] = "now".into();
        object["data"] = json!({"text": "ä".repeat(100)});
        let told = contents(&object);
        assert!(told.starts_with("being deleted, labels "), "{told}");
        assert!(told.ends_with("ä…"), "{told}");
    }
}
