//! What differs between versions of etcd inside the store. What differs in watches, in the cluster
//! and in clients does not belong here.

/// How a version behaves. The default is the newest 3.6, with all known defects fixed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quirks {
    /// etcd#18089, up to 3.4.33 and 3.5.15: compaction also forgets a deletion at exactly the
    /// compact revision, so that a watch from there, which is allowed, never learns of it.
    pub drops_tombstone_at_compaction: bool,
    /// From 3.6 on the operations of a transaction are checked in their order
    /// (`txn.go` `checkTxn`); before, first all puts and then all ranges (`checkRequests`).
    pub txn_checks_in_op_order: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Quirks {
            drops_tombstone_at_compaction: false,
            txn_checks_in_op_order: true,
        }
    }
}
