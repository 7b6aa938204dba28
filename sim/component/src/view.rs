//! A point of view: what a process holds of a cluster's objects, for somebody who looks at a world.

use wavetank_api::{Resource, Stored};

/// What a process holds of objects at one moment: all of a store, or a cache of one resource.
#[derive(Clone, Debug)]
pub struct View {
    /// What holds them: `store`, `watch-cache`, `informer`.
    pub name: &'static str,
    /// Of which resource; `None` if of any.
    pub resource: Option<&'static Resource>,
    /// The revision as of which it shows them.
    pub revision: u64,
    /// The objects, in the order of their keys.
    pub objects: Vec<Held>,
}

/// An object as somebody holds it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its key in etcd.
    pub key: String,
    /// The object, with its resourceVersion.
    pub object: Stored,
}
