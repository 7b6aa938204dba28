//! What a manager watches, and which key is reconciled when an object of it changes.

use std::sync::Arc;

use wavetank_api::json;
use wavetank_api::{Object, Resource};

/// A watch (`For`, `Owns`, `Watches`): all objects of a resource.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// The resource.
    pub resource: &'static Resource,
    key: Key,
}

#[derive(Clone, Copy, Debug)]
enum Key {
    Own,
    Label(&'static str),
}

impl Watch {
    /// The object itself is reconciled (`For`).
    pub const fn of(resource: &'static Resource) -> Watch {
        let key = Key::Own;
        Watch { resource, key }
    }

    /// What this label names, in the same namespace, is reconciled (`Watches`).
    pub const fn labelled(resource: &'static Resource, label: &'static str) -> Watch {
        let key = Key::Label(label);
        Watch { resource, key }
    }

    /// The key that is reconciled when this object changes: `namespace/name`, or `name`.
    pub(crate) fn key(&self, object: &Object) -> Option<Arc<str>> {
        let name = match self.key {
            Key::Own => object.name(),
            Key::Label(label) => json::text(object.json(), &["metadata", "labels", label]),
        };
        if name.is_empty() {
            return None;
        }
        Some(match object.namespace() {
            "" => name.into(),
            namespace => format!("{namespace}/{name}").into(),
        })
    }
}
