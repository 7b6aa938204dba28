//! What is asked of storage: the options of lists, watches and writes, and its errors
//! (`apiserver/pkg/storage/interfaces.go`, `errors.go`). The same words for etcd and for the watch
//! cache before it.

use std::sync::Arc;

use wavetank_api::{Stored, selector::Predicate};
use wavetank_etcd::{EtcdError, Revision};

/// `resourceVersionMatch`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Match {
    /// At exactly this revision.
    Exact,
    /// At this revision or a later one.
    NotOlderThan,
}

/// `storage.ListOptions`, of lists and watches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListOptions {
    /// `resourceVersion`: unset (the newest), 0 (any), or a revision.
    pub resource_version: Option<Revision>,
    /// `resourceVersionMatch`
    pub resource_version_match: Option<Match>,
    /// Selectors.
    pub predicate: Predicate,
    /// `limit`, 0 for none.
    pub limit: u64,
    /// `continue`, decoded.
    pub continues: Option<Continue>,
    /// One object, by its name in the path, and not all under a prefix.
    pub one: bool,
    /// `sendInitialEvents`
    pub send_initial_events: Option<bool>,
    /// `allowWatchBookmarks`
    pub bookmarks: bool,
}

/// A continue token (`apiserver/pkg/storage/continue.go`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Continue {
    /// The revision of the first page; −1 for the newest, at any later page.
    pub revision: Revision,
    /// Where the next page begins, without the prefix of the list.
    pub start: Arc<str>,
}

/// What a list found.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Listed {
    /// The objects.
    pub items: Vec<Stored>,
    /// The revision of the list.
    pub revision: Revision,
    /// The token of the next page.
    pub continues: Option<Arc<str>>,
    /// How many are left, if it is known.
    pub remaining: Option<u64>,
}

/// `storage.Preconditions`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Preconditions {
    /// The uid that the object must have.
    pub uid: Option<Arc<str>>,
    /// The resourceVersion that it must have.
    pub resource_version: Option<Arc<str>>,
}

/// Why storage refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StoreError {
    /// `ErrCodeKeyNotFound`
    NotFound,
    /// `ErrCodeKeyExists`
    Exists,
    /// `ErrCodeResourceVersionConflicts`
    Conflict,
    /// `ErrCodeInvalidObj`: a precondition does not hold. With its message.
    Precondition(String),
    /// What the function of the update returned, or what storage words itself.
    Status(Box<wavetank_api::Status>),
    /// etcd did not do it, or nobody knows.
    Etcd(EtcdError),
}

impl From<EtcdError> for StoreError {
    fn from(error: EtcdError) -> StoreError {
        StoreError::Etcd(error)
    }
}

impl From<wavetank_api::Status> for StoreError {
    fn from(status: wavetank_api::Status) -> StoreError {
        StoreError::Status(Box::new(status))
    }
}
