//! What is wrong with a request by its form, before anybody looks at the store:
//! `v3rpc/key.go`, and the limit on its size of `v3_server.go`.

use std::collections::BTreeSet;

use crate::api::{Compare, DeleteRange, EtcdError, Keys, Put, Range, Request, Txn, TxnOp, Value};

/// `embed/config.go` `DefaultMaxTxnOps`.
pub const MAX_TXN_OPS: usize = 128;
/// `embed/config.go` `DefaultMaxRequestBytes`: 1.5 MiB.
pub const MAX_REQUEST_BYTES: usize = 3 * 1024 * 1024 / 2;

/// Refuses what is not well formed.
///
/// # Errors
/// `EmptyKey`, `ValueProvided`, `LeaseProvided`, `TooManyOps` or `DuplicateKey`, the first in
/// upstream's order.
pub fn form<V: Value>(request: &Request<V>) -> Result<(), EtcdError> {
    match request {
        Request::Range(range) => check_range(range),
        Request::Put(put) => check_put(put),
        Request::DeleteRange(delete) => check_delete(delete),
        Request::Txn(txn) => {
            check_txn(txn, MAX_TXN_OPS)?;
            Written::by(&txn.success)?;
            Written::by(&txn.failure)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Refuses what is too large to go through raft; only what does go is measured.
///
/// # Errors
/// `RequestTooLarge`.
pub fn size<V: Value>(request: &Request<V>) -> Result<(), EtcdError> {
    let size = match request {
        Request::Range(range) => keys_size(&range.keys),
        Request::Put(put) => put_size(put),
        Request::DeleteRange(delete) => keys_size(&delete.keys),
        Request::Txn(txn) => txn_size(txn),
        _ => 0,
    };
    match size > MAX_REQUEST_BYTES {
        true => Err(EtcdError::RequestTooLarge),
        false => Ok(()),
    }
}

fn check_keys(keys: &Keys) -> Result<(), EtcdError> {
    match keys.start().is_empty() {
        true => Err(EtcdError::EmptyKey),
        false => Ok(()),
    }
}

fn check_range(range: &Range) -> Result<(), EtcdError> {
    check_keys(&range.keys)
}

fn check_delete(delete: &DeleteRange) -> Result<(), EtcdError> {
    check_keys(&delete.keys)
}

fn check_put<V: Value>(put: &Put<V>) -> Result<(), EtcdError> {
    if put.key.is_empty() {
        Err(EtcdError::EmptyKey)
    } else if put.ignore_value && put.value.size() != 0 {
        Err(EtcdError::ValueProvided)
    } else if put.ignore_lease && put.lease.is_some() {
        Err(EtcdError::LeaseProvided)
    } else {
        Ok(())
    }
}

/// Each level may have as many operations as the level above has left.
fn check_txn<V: Value>(txn: &Txn<V>, allowance: usize) -> Result<(), EtcdError> {
    let ops = [txn.compare.len(), txn.success.len(), txn.failure.len()];
    let widest = ops.into_iter().max().unwrap_or(0);
    let left = allowance.checked_sub(widest).ok_or(EtcdError::TooManyOps)?;
    for compare in &txn.compare {
        check_keys(&compare.keys)?;
    }
    for op in txn.success.iter().chain(&txn.failure) {
        match op {
            TxnOp::Range(range) => check_range(range)?,
            TxnOp::Put(put) => check_put(put)?,
            TxnOp::DeleteRange(delete) => check_delete(delete)?,
            TxnOp::Txn(txn) => check_txn(txn, left)?,
        }
    }
    Ok(())
}

/// What operations write, with the levels below them: `checkIntervals`.
#[derive(Default)]
struct Written<'a> {
    puts: BTreeSet<&'a str>,
    deletes: Vec<&'a Keys>,
}

impl<'a> Written<'a> {
    /// `DuplicateKey` if something is put twice, or put and deleted. Upstream's order, which
    /// matters: a key that one nested transaction puts may be deleted by a later one, but not the
    /// other way round, since nested deletions are not compared with the puts before them.
    fn by<V>(ops: &'a [TxnOp<V>]) -> Result<Written<'a>, EtcdError> {
        let mut written = Written::default();
        for op in ops {
            if let TxnOp::DeleteRange(delete) = op {
                written.deletes.push(&delete.keys);
            }
        }
        for op in ops {
            if let TxnOp::Txn(txn) = op {
                let then = Written::by(&txn.success)?;
                let otherwise = Written::by(&txn.failure)?;
                // Only one of the two branches is taken: a key in both is no duplicate.
                written.check_all(&then.puts)?;
                written.check_all(&otherwise.puts)?;
                written.add(then);
                written.add(otherwise);
            }
        }
        for op in ops {
            if let TxnOp::Put(put) = op {
                written.check(&put.key)?;
                written.puts.insert(&put.key);
            }
        }
        Ok(written)
    }

    fn check_all(&self, puts: &BTreeSet<&str>) -> Result<(), EtcdError> {
        puts.iter().try_for_each(|key| self.check(key))
    }

    fn check(&self, key: &str) -> Result<(), EtcdError> {
        // Upstream takes the end `\0` literally here: such an interval ends before it begins and
        // meets nothing.
        let deletes = |keys: &&Keys| !matches!(keys, Keys::From(_)) && keys.contains(key);
        match self.puts.contains(key) || self.deletes.iter().any(deletes) {
            true => Err(EtcdError::DuplicateKey),
            false => Ok(()),
        }
    }

    fn add(&mut self, other: Written<'a>) {
        self.puts.extend(other.puts);
        self.deletes.extend(other.deletes);
    }
}

fn keys_size(keys: &Keys) -> usize {
    match keys {
        Keys::One(key) => key.len(),
        Keys::Prefix(prefix) => 2 * prefix.len(),
        Keys::Between(first, end) => first.len() + end.len(),
        Keys::From(first) => first.len() + 1,
    }
}

fn put_size<V: Value>(put: &Put<V>) -> usize {
    put.key.len() + put.value.size()
}

fn compare_size<V: Value>(compare: &Compare<V>) -> usize {
    let value = match &compare.target {
        crate::api::Target::Value(value) => value.size(),
        _ => 0,
    };
    keys_size(&compare.keys) + value
}

fn txn_size<V: Value>(txn: &Txn<V>) -> usize {
    let ops = txn.success.iter().chain(&txn.failure).map(|op| match op {
        TxnOp::Range(range) => keys_size(&range.keys),
        TxnOp::Put(put) => put_size(put),
        TxnOp::DeleteRange(delete) => keys_size(&delete.keys),
        TxnOp::Txn(txn) => txn_size(txn),
    });
    ops.sum::<usize>() + txn.compare.iter().map(compare_size).sum::<usize>()
}
