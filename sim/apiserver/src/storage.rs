//! Objects in etcd, as `apiserver/pkg/storage/etcd3/store.go` keeps them; step by step alike in
//! v1.16, v1.20 and v1.36 as far as it is used here. Each etcd call is an await.

use wavetank_engine::Rx;
use wavetank_etcd::{
    Client, Compare, DeleteRange, EtcdError, Key, KeyValue, Keys, LeaseId, OpResponse, Put, Range,
    Revision, Txn, TxnOp, TxnResponse,
};

use crate::object::{Object, Stored};

/// Objects under keys of an etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Storage {
    /// The etcd client.
    pub etcd: Client,
}

/// Why storage refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StorageError {
    /// No such key.
    NotFound,
    /// There is one already.
    Exists,
    /// Its resourceVersion is another.
    Conflict,
    /// etcd did not do it, or nobody knows.
    Etcd(EtcdError),
}

impl From<EtcdError> for StorageError {
    fn from(error: EtcdError) -> StorageError {
        StorageError::Etcd(error)
    }
}

fn stored(kv: KeyValue<Object>) -> Stored {
    Stored {
        object: kv.value,
        resource_version: kv.mod_revision,
    }
}

impl Storage {
    /// `Get` with no resourceVersion: one linearizable read.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn get(self, rx: Rx, key: Key) -> Result<Stored, StorageError> {
        let found = self.read(rx, key).await?;
        found.ok_or(StorageError::NotFound)
    }

    /// `List` of everything under a prefix: one linearizable read. With its revision.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn list(self, rx: Rx, prefix: Key) -> Result<(Vec<Stored>, Revision), StorageError> {
        let ranged = self
            .etcd
            .range::<Object>(rx, Range::of(Keys::Prefix(prefix)))
            .await?;
        let items = ranged.kvs.into_iter().map(stored).collect();
        Ok((items, ranged.revision))
    }

    /// `Create`: a transaction that the key does not exist.
    ///
    /// # Errors
    /// [`StorageError`]; the outcome may be unknown.
    pub async fn create(self, rx: Rx, key: Key, object: Object) -> Result<Stored, StorageError> {
        let txn = Txn {
            compare: vec![Compare::mod_revision(key.clone(), 0)],
            success: vec![TxnOp::Put(Put::new(key, object.clone()))],
            failure: vec![],
        };
        let response = self.etcd.txn(rx, txn).await?;
        if !response.succeeded {
            return Err(StorageError::Exists);
        }
        Ok(Stored {
            object,
            resource_version: response.revision,
        })
    }

    /// `GuaranteedUpdate` without a cached object: read, change, compare and swap; on a conflict
    /// again from what the transaction found, without a limit.
    ///
    /// `change` gets what is stored (`None` only if `ignore_not_found`). An object equal to the
    /// stored one is not written.
    ///
    /// # Errors
    /// What `change` returned, or [`StorageError`]; the outcome may be unknown.
    pub async fn guaranteed_update(
        self,
        rx: Rx,
        key: Key,
        ignore_not_found: bool,
        ttl: Option<u64>,
        mut change: impl FnMut(Option<&Stored>) -> Result<Object, StorageError>,
    ) -> Result<Stored, StorageError> {
        let mut original = self.read(rx, key.clone()).await?;
        loop {
            if original.is_none() && !ignore_not_found {
                return Err(StorageError::NotFound);
            }
            let object = change(original.as_ref())?;
            if let Some(original) = &original
                && original.object == object
            {
                return Ok(original.clone());
            }
            let lease = match ttl {
                Some(ttl) => Some(self.lease(rx, ttl).await?),
                None => None,
            };
            let revision = original.as_ref().map_or(0, |o| o.resource_version);
            let put = TxnOp::Put(Put {
                lease,
                ..Put::new(key.clone(), object.clone())
            });
            let response = self.if_unchanged(rx, &key, revision, put).await?;
            if response.succeeded {
                return Ok(Stored {
                    object,
                    resource_version: response.revision,
                });
            }
            original = found(response);
        }
    }

    /// `Delete` (`conditionalDelete`) without preconditions: read, then delete if unchanged; on a
    /// conflict again.
    ///
    /// # Errors
    /// [`StorageError`]; the outcome may be unknown.
    pub async fn delete(self, rx: Rx, key: Key) -> Result<Stored, StorageError> {
        let mut original = self.read(rx, key.clone()).await?;
        loop {
            let Some(current) = original else {
                return Err(StorageError::NotFound);
            };
            let delete = TxnOp::DeleteRange(DeleteRange {
                keys: Keys::One(key.clone()),
                prev_kv: false,
            });
            let response = self
                .if_unchanged(rx, &key, current.resource_version, delete)
                .await?;
            if response.succeeded {
                return Ok(current);
            }
            original = found(response);
        }
    }

    async fn read(self, rx: Rx, key: Key) -> Result<Option<Stored>, StorageError> {
        let ranged = self
            .etcd
            .range::<Object>(rx, Range::of(Keys::One(key)))
            .await?;
        Ok(ranged.kvs.into_iter().next().map(stored))
    }

    async fn if_unchanged(
        self,
        rx: Rx,
        key: &Key,
        revision: Revision,
        then: TxnOp<Object>,
    ) -> Result<TxnResponse<Object>, EtcdError> {
        let txn = Txn {
            compare: vec![Compare::mod_revision(key.clone(), revision)],
            success: vec![then],
            failure: vec![TxnOp::Range(Range::of(Keys::One(key.clone())))],
        };
        self.etcd.txn(rx, txn).await
    }

    /// `lease_manager.go` `GetLease`. A previous lease is reused only if now + TTL is before its
    /// end and now + TTL + extra is not, where extra = min(5 % of the TTL, 60 s) in whole seconds.
    /// Below a TTL of 20 s extra is 0 and that is never so: every call grants.
    async fn lease(self, rx: Rx, ttl: u64) -> Result<LeaseId, EtcdError> {
        let extra = (ttl / 20).min(60);
        self.etcd.lease_grant::<Object>(rx, ttl + extra).await
    }
}

/// What the failed transaction read in its else branch.
fn found(mut response: TxnResponse<Object>) -> Option<Stored> {
    match response.responses.pop()? {
        OpResponse::Range(mut ranged) => ranged.kvs.pop().map(stored),
        other => unreachable!("a range was asked for: {other:?}"),
    }
}
