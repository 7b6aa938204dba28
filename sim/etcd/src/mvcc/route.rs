//! How a transaction travels: `v3_server.go` `Txn`, `txn.go` `IsTxnReadonly`. What consensus is
//! does not belong here.

use crate::api::{Txn, TxnOp};

fn ops<V>(txn: &Txn<V>) -> impl Iterator<Item = &TxnOp<V>> {
    txn.success.iter().chain(&txn.failure)
}

/// Does it only read, so that it need not go through raft? A nested transaction counts as a write.
pub fn is_read_only<V>(txn: &Txn<V>) -> bool {
    ops(txn).all(|op| matches!(op, TxnOp::Range(_)))
}

/// May it be answered from local, possibly stale state? So says upstream also of one that has
/// conditions and no operations.
pub fn is_serializable<V>(txn: &Txn<V>) -> bool {
    ops(txn).all(|op| matches!(op, TxnOp::Range(range) if range.serializable))
}

/// The transaction as a member applies it on which nobody waits for the answer: without ranges on
/// the top level (`apply.go` `removeNeedlessRangeReqs`, up to 3.6). If one of them cannot be read,
/// members differ in whether they apply the transaction: etcd#18667.
#[must_use]
pub fn without_ranges<V: Clone>(txn: &Txn<V>) -> Txn<V> {
    let without = |ops: &[TxnOp<V>]| {
        let rest = ops.iter().filter(|op| !matches!(op, TxnOp::Range(_)));
        rest.cloned().collect()
    };
    Txn {
        compare: txn.compare.clone(),
        success: without(&txn.success),
        failure: without(&txn.failure),
    }
}
