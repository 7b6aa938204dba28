//! What a commit changes, as properties of controllers look at it.

use wavetank_api::{Object, Resource};
use wavetank_engine::Note;
use wavetank_etcd::{Change, Committed};

/// The changes of objects of this kind, if a note tells of a commit.
pub(crate) fn changes<'a>(
    note: &'a Note,
    of: &'static Resource,
) -> impl Iterator<Item = &'a Change<Object>> {
    let commit = note.body.get::<Committed<Object>>();
    let all = commit.into_iter().flat_map(|commit| commit.changes.iter());
    all.filter(|change| {
        let rest = change.key.strip_prefix(of.registry);
        rest.is_some_and(|rest| rest.starts_with('/'))
    })
}
