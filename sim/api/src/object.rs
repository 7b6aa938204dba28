//! API objects: immutable and shared JSON trees, with identity and digest beside them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use wavetank_engine::{Payload, is_exact};
use wavetank_etcd::{Revision, Value};

use crate::json::{self, Json};
use crate::times;

/// An object as it is stored: with `apiVersion` and `kind`, without a resourceVersion.
///
/// Equality and digest pass over instants (see `times`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Object(Payload);

struct Content {
    json: Json,
}

/// By hand, as its hash is: the tree is compared with or without its instants.
impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        match is_exact() {
            true => self.json == other.json,
            false => times::alike(&self.json, &other.json),
        }
    }
}
impl Eq for Content {}

/// By hand: see its equality.
impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        times::hash(&self.json, state);
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.json)
    }
}

impl Object {
    /// An object of this tree. A resourceVersion in it is dropped, since etcd keeps it, and so is a
    /// selfLink (`PrepareObjectForStorage`).
    pub fn new(mut json: Json) -> Object {
        json::remove(&mut json, &["metadata", "selfLink"]);
        json::remove(&mut json, &["metadata", "resourceVersion"]);
        Object(Payload::new(Content { json }))
    }

    /// The tree, without a resourceVersion.
    pub fn json(&self) -> &Json {
        &self.0.expect::<Content>().json
    }

    /// `metadata.namespace`, empty if it has none.
    pub fn namespace(&self) -> &str {
        json::text(self.json(), &["metadata", "namespace"])
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        json::text(self.json(), &["metadata", "name"])
    }

    /// `metadata.uid`
    pub fn uid(&self) -> &str {
        json::text(self.json(), &["metadata", "uid"])
    }

    /// Is it on its way out?
    pub fn is_being_deleted(&self) -> bool {
        json::at(self.json(), &["metadata", "deletionTimestamp"]).is_some()
    }

    /// Would etcd hold the same bytes? Unlike `==` it looks at instants, too.
    pub fn is_written_alike(&self, other: &Object) -> bool {
        self.json() == other.json()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Value for Object {
    fn empty() -> Object {
        Object::new(Json::Null)
    }
    fn size(&self) -> usize {
        json::size(self.json())
    }
    /// Kubernetes never compares values; the order is only a fixed one.
    fn order(&self, other: &Object) -> Ordering {
        self.json().to_string().cmp(&other.json().to_string())
    }
}

/// An object as it is read: with the revision that wrote it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stored {
    /// The object.
    pub object: Object,
    /// `metadata.resourceVersion`
    pub resource_version: Revision,
}

impl Stored {
    /// The tree as clients see it.
    pub fn json(&self) -> Json {
        let mut json = self.object.json().clone();
        let version = self.resource_version.to_string();
        json::set(&mut json, &["metadata", "resourceVersion"], version);
        json
    }
}
