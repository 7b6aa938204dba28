//! What is stored, as properties remember it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Resource as KubeResource;
use serde::de::DeserializeOwned;
use wavetank_api::Object;
use wavetank_engine::Note;
use wavetank_etcd::Committed;

use crate::kind;

/// All objects, by their keys in etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Objects(BTreeMap<Arc<str>, Object>);

/// A change of an object that is stored.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    pub key: &'a str,
    pub before: Option<&'a Object>,
    pub now: Option<&'a Object>,
}

/// The changes that a note tells.
pub(crate) fn changes(note: &Note) -> impl Iterator<Item = Stored<'_>> {
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
    pub(crate) fn take(&mut self, note: &Note) -> bool {
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.0.iter().map(|(key, object)| (&**key, object))
    }
}

#[cfg(test)]
impl FromIterator<Object> for Objects {
    fn from_iter<I: IntoIterator<Item = Object>>(all: I) -> Objects {
        let keyed = all.into_iter().enumerate();
        Objects(
            keyed
                .map(|(at, object)| (at.to_string().into(), object))
                .collect(),
        )
    }
}

/// What is stored, as Rust types.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a>(pub(crate) &'a Objects);

impl Cluster<'_> {
    /// All objects of this type, in the order of their namespaces and names.
    ///
    /// # Panics
    /// If one cannot be read as this type.
    pub fn all<K: KubeResource<DynamicType = ()> + DeserializeOwned>(&self) -> Vec<K> {
        let registry = kind::registry::<K>();
        let own = self.0.iter().filter(|(key, _)| key.starts_with(&registry));
        own.map(|(_, object)| read(object)).collect()
    }

    /// The object of this type with this namespace and name.
    ///
    /// # Panics
    /// If it cannot be read as this type.
    pub fn get<K: KubeResource<DynamicType = ()> + DeserializeOwned>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Option<K> {
        let key = format!("{}{namespace}/{name}", kind::registry::<K>());
        self.0.0.get(key.as_str()).map(read)
    }
}

/// An object as a Rust type.
pub(crate) fn read<K: KubeResource<DynamicType = ()> + DeserializeOwned>(object: &Object) -> K {
    let read = K::deserialize(object.json());
    read.unwrap_or_else(|error| {
        panic!(
            "{} {} is stored otherwise than its type says: {error}",
            K::kind(&()),
            object.name()
        )
    })
}
