//! What the collector says, for properties and stories.

use std::sync::Arc;

use super::graph::{ObjectReference, OwnerReference};

/// What a node stands for: its key, kind and UID.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Of {
    pub kind: Arc<str>,
    /// `namespace/name`
    pub key: Arc<str>,
    pub uid: Arc<str>,
}

impl From<&ObjectReference> for Of {
    fn from(identity: &ObjectReference) -> Of {
        Of {
            kind: identity.kind.clone(),
            key: identity.key().into(),
            uid: identity.uid.clone(),
        }
    }
}

/// It watches these resources from now on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Monitors(pub Arc<[Arc<str>]>);

/// An informer's event has become part of the graph: an object has these owners, or is gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Processed {
    pub uid: Arc<str>,
    pub owners: Option<Arc<[OwnerReference]>>,
}

/// A worker looks at an object that is in the graph and does not go yet: it asks an apiserver for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Attempts {
    pub object: Of,
}

/// It asks for the deletion of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Deletes {
    pub object: Of,
    pub policy: &'static str,
}

/// It finds that an owner in the foreground waits for nobody any more, and is about to let it go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EndsForeground {
    pub owner: Of,
}

/// It is about to take an owner out of the references of those who depend on it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Orphans {
    pub owner: Of,
    pub dependents: Arc<[Of]>,
}

/// It has done so, as far as it knows, and is about to let the owner go.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EndsOrphaning {
    pub owner: Of,
}

/// It is about to take the finalizer from an owner, or from what has its name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TakesFinalizer {
    pub of: Of,
    pub is_another: bool,
}

/// It is about to take owners out of the references of an object that has others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Releases {
    pub object: Of,
    pub owners: Arc<[Arc<str>]>,
}

/// An object that an informer has shown leaves the graph, since a worker has found that it is gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Forgets(pub Of);
