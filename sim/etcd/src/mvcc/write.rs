//! Puts and deletions (`etcdserver/txn/put.go`, `delete.go`; `mvcc/kvstore_txn.go`), alone and as
//! steps of a transaction. A write changes the keys at once and leaves its change in a draft; the
//! draft becomes one revision at the end.

use std::mem;
use wavetank_engine::mutant;

use crate::api::{
    Change, DeleteRange, DeletedRange, EtcdError, Key, KeyValue, LeaseId, Put, PutDone, Revision,
    Value,
};
use crate::leases::Leases;

use super::store::{Changes, Store};

impl<V: Value> Store<V> {
    /// A put outside a transaction.
    ///
    /// # Errors
    /// `LeaseNotFound`, then (in a transaction: before that) `KeyNotFound` if a value or a lease
    /// is to be kept that is not there.
    pub fn put(
        &mut self,
        put: &Put<V>,
        leases: &Leases,
    ) -> Result<(PutDone<V>, Changes<V>), EtcdError> {
        check_lease(put, leases)?;
        let mut draft = Vec::new();
        let done = self.put_in(&mut draft, put)?;
        Ok((done, self.commit(draft)))
    }

    /// A deletion outside a transaction.
    pub fn delete_range(&mut self, delete: &DeleteRange) -> (DeletedRange<V>, Changes<V>) {
        let mut draft = Vec::new();
        let done = self.delete_in(&mut draft, delete);
        (done, self.commit(draft))
    }

    /// Deletes these keys in one revision, in the given order: what the end of a lease does.
    pub fn delete_all(&mut self, keys: &[Key]) -> Changes<V> {
        let mut draft = Vec::new();
        for key in keys {
            self.remove(&mut draft, key);
        }
        self.commit(draft)
    }

    /// The newest revision as a step of a transaction sees it: the next one after the first write.
    pub(super) fn revision_in(&self, draft: &[Change<V>]) -> Revision {
        self.revision + u64::from(!draft.is_empty())
    }

    /// A put as a step of a transaction.
    ///
    /// # Errors
    /// `KeyNotFound` if a value or a lease is to be kept that is not there; nothing is written.
    pub(super) fn put_in(
        &mut self,
        draft: &mut Vec<Change<V>>,
        put: &Put<V>,
    ) -> Result<PutDone<V>, EtcdError> {
        let (mut value, mut lease) = (put.value.clone(), put.lease);
        if put.ignore_value || put.ignore_lease {
            let kept = self.get(&put.key).ok_or(EtcdError::KeyNotFound)?;
            if put.ignore_value {
                value = kept.value.clone();
            }
            if put.ignore_lease {
                lease = kept.lease;
            }
        }
        self.write(draft, &put.key, value, lease);
        let before = draft.last().and_then(|change| change.before.as_ref());
        Ok(PutDone {
            revision: self.revision_in(draft),
            prev: before.filter(|_| put.prev_kv).cloned(),
        })
    }

    /// A deletion as a step of a transaction.
    pub(super) fn delete_in(
        &mut self,
        draft: &mut Vec<Change<V>>,
        delete: &DeleteRange,
    ) -> DeletedRange<V> {
        let first = draft.len();
        let keys: Vec<Key> = self.iter(&delete.keys).map(|kv| kv.key.clone()).collect();
        for key in &keys {
            self.remove(draft, key);
        }
        let before = draft[first..].iter().filter_map(|c| c.before.as_ref());
        DeletedRange {
            revision: self.revision_in(draft),
            deleted: keys.len() as u64,
            prev: before.filter(|_| delete.prev_kv).cloned().collect(),
        }
    }

    fn write(&mut self, draft: &mut Vec<Change<V>>, key: &Key, value: V, lease: Option<LeaseId>) {
        let revision = self.revision + 1;
        let mut kv = KeyValue {
            key: key.clone(),
            value,
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease,
        };
        let before = if let Some(now) = self.live.get_mut(key) {
            kv.key = now.key.clone();
            if !mutant!(
                "create-revision-moves",
                "a put of a key that exists sets its create revision"
            ) {
                kv.create_revision = now.create_revision;
            }
            kv.version = now.version
                + u64::from(!mutant!(
                    "version-stays",
                    "a put leaves the version of its key"
                ));
            Some(mem::replace(now, kv.clone()))
        } else {
            self.live.insert(key.clone(), kv.clone());
            None
        };
        draft.push(Change {
            key: kv.key.clone(),
            revision,
            now: Some(kv),
            before,
        });
    }

    fn remove(&mut self, draft: &mut Vec<Change<V>>, key: &Key) {
        if let Some(before) = self.live.remove(key) {
            draft.push(Change {
                key: before.key.clone(),
                revision: self.revision + 1,
                now: None,
                before: Some(before),
            });
        }
    }
}

/// Does the lease of a put exist?
pub(super) fn check_lease<V>(put: &Put<V>, leases: &Leases) -> Result<(), EtcdError> {
    match put.lease {
        Some(lease)
            if !leases.exists(lease)
                && !mutant!(
                    "put-under-no-lease",
                    "a put under a lease that is gone is accepted"
                ) =>
        {
            Err(EtcdError::LeaseNotFound)
        }
        _ => Ok(()),
    }
}
