//! What is asked of storage: the options of lists, watches and writes, and its errors
//! (`apiserver/pkg/storage/interfaces.go`, `errors.go`). The same words for etcd and for the watch
//! cache before it.

use std::sync::Arc;
use wavetank_engine::mutant;

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
    /// `continue`
    pub continues: Option<Arc<str>>,
    /// One object, by its name in the path, and not all under a prefix.
    pub one: bool,
    /// `sendInitialEvents`
    pub send_initial_events: Option<bool>,
    /// `allowWatchBookmarks`
    pub bookmarks: bool,
    /// Is what a watch shows decorated? Then its own copies are told apart from what all watchers share.
    pub decorated: bool,
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
    /// `ErrCodeInvalidObj`: a precondition does not hold. With the whole message.
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

impl Preconditions {
    /// What `Preconditions.Check` says of a dry run: `DryRunnableStorage` knows the key without the prefix of all keys.
    ///
    /// # Errors
    /// [`StoreError::Precondition`].
    pub fn check_dry_run(&self, key: &str, stored: Option<&Stored>) -> Result<(), StoreError> {
        self.check(key.strip_prefix("/registry").unwrap_or(key), stored)
    }

    /// `Preconditions.Check`: does the stored object (`None` for one that does not exist) fit?
    ///
    /// # Errors
    /// [`StoreError::Precondition`].
    pub fn check(&self, key: &str, stored: Option<&Stored>) -> Result<(), StoreError> {
        let failed = |what: &str, asked: &str, is: &str| {
            StoreError::Precondition(format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: {what} in precondition: {asked}, \
                 {what} in object meta: {is}"
            ))
        };
        if let Some(asked) = &self.uid {
            let is = stored.map_or("", |stored| stored.object.uid());
            if **asked != *is
                && !mutant!(
                    "uid-precondition-is-ignored",
                    "a precondition on the uid always holds"
                )
            {
                return Err(failed("UID", asked, is));
            }
        }
        if let Some(asked) = &self.resource_version {
            let is = stored.map(|stored| stored.resource_version.to_string());
            let is = is.unwrap_or_default();
            if **asked != *is
                && !mutant!(
                    "revision-precondition-is-ignored",
                    "a precondition on the revision always holds"
                )
            {
                return Err(failed("ResourceVersion", asked, &is));
            }
        }
        Ok(())
    }
}
