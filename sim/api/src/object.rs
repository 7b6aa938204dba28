//! API objects: immutable and shared JSON trees, with identity and digest beside them.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    shown: OnceLock<Forms>,
}

/// What an object is shown as, by how.
type Forms = Arc<Mutex<Vec<(Arc<dyn Any + Send + Sync>, Object)>>>;

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
        let shown = OnceLock::new();
        Object(Payload::new(Content { json, shown }))
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

    /// What it is shown as to whoever sees it in this form. It is made for the first one, and all others share it
    /// (`cachingObject.CacheEncode` in `apiserver/pkg/storage/cacher/caching_object.go`): so `make` must be a function of the
    /// object and of `how`.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn shown<T, E>(
        &self,
        how: T,
        make: impl FnOnce(&Json) -> Result<Object, E>,
    ) -> Result<Object, E>
    where
        T: PartialEq + Send + Sync + 'static,
    {
        let content = self.0.expect::<Content>();
        let forms = content.shown.get_or_init(Forms::default);
        let mut forms = forms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = forms.iter();
        if let Some((_, object)) = known.find(|(own, _)| own.downcast_ref() == Some(&how)) {
            return Ok(object.clone());
        }
        let object = make(&content.json)?;
        forms.push((Arc::new(how), object.clone()));
        Ok(object)
    }

    /// Are they one in memory, and not only alike?
    pub fn is_shared_with(&self, other: &Object) -> bool {
        std::ptr::eq(self.0.expect::<Content>(), other.0.expect::<Content>())
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
