//! A point of view: what a process holds of a cluster's objects, for somebody who looks at a world.

use wavetank_api::{Resource, Stored};

/// What a process holds of objects at one moment: all of a store, or a cache of one resource.
#[derive(Clone, Debug)]
pub struct View {
    /// What holds them: `store`, `watch-cache`, `informer`.
    pub name: &'static str,
    /// What that is to others.
    pub holds: Holds,
    /// Of which resource; `None` if of any.
    pub resource: Option<&'static Resource>,
    /// The revision as of which it shows them.
    pub revision: u64,
    /// The objects, in the order of their keys.
    pub objects: Vec<Held>,
}

/// What a view is to those who look from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// What is stored: what all others show is as it was here once.
    Stored,
    /// What requests are answered from.
    Served,
    /// What a client knows.
    Known,
}

/// An object as somebody holds it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its key in etcd.
    pub key: String,
    /// The object, with its resourceVersion.
    pub object: Stored,
}
