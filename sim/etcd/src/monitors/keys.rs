//! What a key says of its own history.

use wavetank_engine::{Always, Check, Class, Note, World};

use crate::api::{Change, Revision, Value};
use crate::server::Committed;

use super::violated;

/// `keys-count-their-changes`: `create_revision`, `mod_revision` and `version` of a key are those of its changes.
pub fn keys_count_their_changes<V: Value>() -> Always {
    Always {
        name: "keys-count-their-changes",
        class: Class::Guarantee,
        check: check::<V>,
    }
}

fn check<V: Value>(_: &World, note: &Note) -> Check {
    let Some(commit) = note.body.get::<Committed<V>>() else {
        return Check::Idle;
    };
    let mut checked = Check::Idle;
    for change in commit.changes.iter() {
        let Some(now) = &change.now else {
            continue;
        };
        let told = (now.create_revision, now.mod_revision, now.version);
        let counted = counted(change);
        if told != counted {
            let key = &change.key;
            let words = |(created, changed, version)| {
                format!(
                    "was created at {created}, changed at {changed} and has the version {version}"
                )
            };
            let message = format!("{key} says that it {}, but {}", words(told), words(counted));
            return violated("key", key, message);
        }
        checked = Check::Held;
    }
    checked
}

/// The revision that created a key, that which has changed it, and its version.
fn counted<V>(change: &Change<V>) -> (Revision, Revision, u64) {
    let (created, version) = match &change.before {
        Some(before) => (before.create_revision, before.version),
        None => (change.revision, 0),
    };
    (created, change.revision, version + 1)
}
