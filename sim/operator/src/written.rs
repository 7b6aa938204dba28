//! What properties look at: what becomes of the stored objects, at each commit.

use wavetank_api::{Object, Resource};
use wavetank_engine::{Always, Check, Class, Note, Property, Violation, World};
use wavetank_etcd::Committed;

/// An object that is written or deleted.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// What it was; nothing if it is new.
    pub before: Option<&'a Object>,
    /// What it is; nothing if it is deleted.
    pub now: Option<&'a Object>,
}

/// The objects of a resource that a note writes or deletes.
pub fn written<'a>(note: &'a Note, resource: &Resource) -> impl Iterator<Item = Written<'a>> {
    let prefix = resource.key("", "");
    let commit = note.body.get::<Committed<Object>>();
    let changes = commit.into_iter().flat_map(|commit| commit.changes.iter());
    let own = changes.filter(move |change| change.key.starts_with(&*prefix));
    own.map(|change| Written {
        before: change.before.as_ref().map(|kv| &kv.value),
        now: change.now.as_ref().map(|kv| &kv.value),
    })
}

/// A guarantee that is looked at with each note, and remembers nothing.
pub fn always(name: &'static str, check: fn(&World, &Note) -> Check) -> Box<dyn Property> {
    Box::new(Always {
        name,
        class: Class::Guarantee,
        check,
    })
}

/// It is violated, by an object of a kind.
pub fn violated(kind: &'static str, object: &str, message: String) -> Check {
    Check::Violated(Violation {
        kind,
        object: object.to_owned(),
        message,
    })
}
