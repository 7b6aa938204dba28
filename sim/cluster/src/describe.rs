//! Notes in words, for stories: each component puts its own into words, and says what the keys mean that it keeps in
//! etcd.

use std::iter;

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
        let text = self.stored(change).find_map(|stored| stored.text);
        let text = text.unwrap_or_else(|| {
            let addresses = views::addresses(now.value.json());
            match addresses.is_empty() {
                true => "no address".to_owned(),
                false => addresses.join(", "),
            }
        });
        format!("{} := {text}", change.key)
    }
}
