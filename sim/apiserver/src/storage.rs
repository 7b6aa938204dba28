//! Objects in etcd, as `apiserver/pkg/storage/etcd3/store.go` keeps them. Each etcd call is an
//! await. Lists are in `list`, updates in `update`, leases of keys in `lease`; what a kind wants does not belong here.

mod codec;
pub(crate) mod continues;
mod definition;
mod lease;
mod list;
pub(crate) mod update;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stored};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::{
    Client, Compare, DeleteRange, EtcdError, Key, KeyValue, Keys, OpResponse, Put, Range, Revision,
    Txn, TxnOp, TxnResponse,
};
use wavetank_version::Version;

use crate::CacheDefect;
use crate::Defects;
use crate::gates;
use crate::options::{Preconditions, StoreError};

pub(crate) use codec::STORED_IN_NEWEST_VERSION;
pub use codec::{Codec, StorageVersions};
pub use update::Updated;

/// Objects under keys of an etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Storage {
    /// The etcd client.
    pub etcd: Client,
    /// The release of the server.
    pub release: Version,
    /// Its known bugs and fixes.
    pub defects: Defects,
    /// How objects are written and read.
    pub codec: Codec,
}

impl Storage {
    /// `Get`: one linearizable read; `at_least` is the resourceVersion that was asked for.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get(self, rx: Rx, key: Key, at_least: Revision) -> Result<Stored, StoreError> {
        let range = Range::of(Keys::One(key));
        let ranged = self.etcd.range::<Object>(rx, range).await?;
        validate_minimum_resource_version(at_least, ranged.revision)?;
        let found = ranged.kvs.into_iter().next();
        self.codec
            .stored(rx, found.ok_or(StoreError::NotFound)?)
            .await
    }

    /// `GetCurrentResourceVersion`: the newest revision, by a read of a key that need not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get_current_resource_version(
        self,
        rx: Rx,
        key: Key,
    ) -> Result<Revision, StoreError> {
        let range = Range {
            limit: 1,
            count_only: true,
            ..Range::of(Keys::One(key))
        };
        Ok(self.etcd.range::<Object>(rx, range).await?.revision)
    }

    /// `DryRunnableStorage.copyInto`: an object that is not stored, as it would be read again.
    ///
    /// # Errors
    /// It could not be written or read.
    pub async fn copy_into(self, rx: Rx, object: Json) -> Result<Json, StoreError> {
        if self.codec == Codec::PLAIN {
            return Ok(object);
        }
        // What is stored says no revision of its own; a copy keeps it.
        const REVISION: [&str; 2] = ["metadata", "resourceVersion"];
        let revision = json::at(&object, &REVISION).cloned();
        let written = self.codec.encode(rx, Object::new(object)).await?;
        let mut read = self.codec.decode(rx, written).await?.json().clone();
        if let Some(revision) = revision {
            json::set(&mut read, &REVISION, revision);
        }
        Ok(read)
    }

    /// `Create`: a transaction that the key does not exist.
    ///
    /// # Errors
    /// [`StoreError`]; the outcome may be unknown.
    pub async fn create(
        self,
        rx: Rx,
        key: Key,
        object: Object,
        ttl: Option<u64>,
    ) -> Result<Stored, StoreError> {
        let lease = self.get_lease(rx, ttl).await?;
        let written = self.codec.encode(rx, object).await?;
        let put = Put {
            lease,
            ..Put::new(key.clone(), written.clone())
        };
        loop {
            let definition = self.of_definition(rx, written.name()).await?;
            let also = definition.is_some();
            let failure = TxnOp::Range(Range::of(Keys::One(key.clone())));
            let txn = Txn {
                compare: match mutant!(
                    "create-overwrites",
                    "a create writes over an object that is there"
                ) {
                    true => vec![],
                    false => std::iter::once(Compare::mod_revision(key.clone(), 0))
                        .chain(definition)
                        .collect(),
                },
                success: vec![TxnOp::Put(put.clone())],
                failure: also.then_some(failure).into_iter().collect(),
            };
            let response = self.etcd.txn(rx, txn).await?;
            if response.succeeded {
                return Ok(Stored {
                    object: self.codec.decode(rx, written).await?,
                    resource_version: response.revision,
                });
            }
            // Otherwise the definition has changed, and may do so without being on its way out.
            if !also || found(response).is_some() {
                return Err(StoreError::Exists);
            }
        }
    }

    /// `Delete` (`conditionalDelete`): what is stored, or `cached`, must pass the preconditions and
    /// `validate`; then it is deleted if it is still the same. What does not pass on a cached object
    /// is tried again on a fresh one.
    ///
    /// # Errors
    /// [`StoreError`]; the outcome may be unknown.
    pub async fn delete(
        self,
        rx: Rx,
        key: Key,
        preconditions: &Preconditions,
        validate: impl Fn(&Stored) -> Result<(), StoreError>,
        cached: Option<Stored>,
    ) -> Result<Stored, StoreError> {
        let mut is_current = cached.is_none();
        let mut current = match cached {
            Some(cached) => cached,
            None => self.get(rx, key.clone(), 0).await?,
        };
        loop {
            let passes = preconditions.check(&key, Some(&current));
            if let Err(refusal) = passes.and_then(|()| validate(&current)) {
                if is_current || self.defects.cache.has(CacheDefect::StaleRefusalIsFinal) {
                    return Err(refusal);
                }
                let seen = current.resource_version;
                current = self.get(rx, key.clone(), 0).await?;
                is_current = true;
                if current.resource_version == seen {
                    return Err(refusal);
                }
                continue;
            }
            let delete = TxnOp::DeleteRange(DeleteRange {
                keys: Keys::One(key.clone()),
                prev_kv: false,
            });
            let revision = current.resource_version;
            let response = self.if_unchanged(rx, &key, revision, None, delete).await?;
            if response.succeeded {
                if self.release.has(gates::DELETED_HAVE_THEIR_REVISION)
                    && !mutant!(
                        "deleted-has-old-revision",
                        "the answer to a deletion has the revision of the last write"
                    )
                {
                    current.resource_version = response.revision;
                }
                return Ok(current);
            }
            let found = found(response).ok_or(StoreError::NotFound)?;
            current = self.codec.stored(rx, found).await?;
            is_current = true;
            if mutant!(
                "deletion-skips-preconditions-on-retry",
                "a deletion that was overtaken does not check preconditions again"
            ) {
                let revision = current.resource_version;
                let delete = TxnOp::DeleteRange(DeleteRange {
                    keys: Keys::One(key.clone()),
                    prev_kv: false,
                });
                self.if_unchanged(rx, &key, revision, None, delete).await?;
                return Ok(current);
            }
        }
    }

    async fn read(self, rx: Rx, key: Key) -> Result<Option<KeyValue<Object>>, StoreError> {
        let range = Range::of(Keys::One(key));
        let ranged = self.etcd.range::<Object>(rx, range).await?;
        Ok(ranged.kvs.into_iter().next())
    }

    async fn if_unchanged(
        self,
        rx: Rx,
        key: &Key,
        revision: Revision,
        also: Option<Compare<Object>>,
        then: TxnOp<Object>,
    ) -> Result<TxnResponse<Object>, EtcdError> {
        let own = Compare::mod_revision(key.clone(), revision);
        let txn = Txn {
            compare: match mutant!(
                "write-without-compare",
                "an update or a deletion does not compare what it has read"
            ) {
                true => vec![],
                false => std::iter::once(own).chain(also).collect(),
            },
            success: vec![then],
            failure: vec![TxnOp::Range(Range::of(Keys::One(key.clone())))],
        };
        self.etcd.txn(rx, txn).await
    }
}

/// `validateMinimumResourceVersion`.
fn validate_minimum_resource_version(
    at_least: Revision,
    actual: Revision,
) -> Result<(), StoreError> {
    if at_least <= actual {
        return Ok(());
    }
    let status = wavetank_api::Status::new_too_large_resource_version_error(at_least, actual, 0);
    Err(status.into())
}

/// What the failed transaction read in its else branch.
fn found(mut response: TxnResponse<Object>) -> Option<KeyValue<Object>> {
    match response.responses.pop()? {
        OpResponse::Range(mut ranged) => ranged.kvs.pop(),
        other => unreachable!("a range was asked for: {other:?}"),
    }
}
