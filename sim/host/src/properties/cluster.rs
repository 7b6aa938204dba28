//! What is stored, as Rust types.

use kube::Resource as KubeResource;
use serde::de::DeserializeOwned;
use wavetank_api::Object;
use wavetank_components::sieve::objects::Objects;

use crate::kind;

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
        self.0.get(key.as_str()).map(read)
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
