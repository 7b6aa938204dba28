//! What a commit changes, as properties look at it.

use wavetank_api::{Object, Resource};
use wavetank_engine::Note;
use wavetank_etcd::{Change, Committed};

/// All of them, if a note tells of a commit.
pub fn all_changes(note: &Note) -> &[Change<Object>] {
    let commit = note.body.get::<Committed<Object>>();
    commit.map_or(&[], |commit| &commit.changes)
}

/// Is it one of an object of this kind?
pub fn is_of(change: &Change<Object>, of: &Resource) -> bool {
    let rest = change.key.strip_prefix(of.registry);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Those of objects of this kind.
pub fn changes<'a>(
    note: &'a Note,
    of: &'static Resource,
) -> impl Iterator<Item = &'a Change<Object>> {
    all_changes(note).iter().filter(|change| is_of(change, of))
}
