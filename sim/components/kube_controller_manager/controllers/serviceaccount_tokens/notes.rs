//! What the controller of tokens says, for properties and stories.

use std::sync::Arc;

use wavetank_client::workqueue::Item;

/// What it is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Does {
    /// Writes what a Secret is to have.
    FillsIn,
    /// Deletes a Secret whose account is gone.
    Deletes,
    /// Takes a Secret that is gone out of what its account refers to.
    Unrefers,
}

/// It is about to do this with a Secret.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Acts {
    pub does: Does,
    /// Its namespace and name.
    pub secret: Item,
    pub uid: Arc<str>,
    pub account: Arc<str>,
}

/// A server says that it has deleted a Secret: the one that was meant, or another of its name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Deleted {
    pub secret: Item,
    pub meant: Arc<str>,
    pub gone: Arc<str>,
}

/// It begins: it remembers nothing of who led before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Begins;

/// It was told that a Secret is gone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct HearsOfDeletion {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub account: Arc<str>,
    /// Empty if the Secret did not say it.
    pub account_uid: Arc<str>,
}
