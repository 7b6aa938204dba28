//! The operations of a sequence: requests whose revisions, leases and watches are *relative* to
//! what was last seen, so that a sequence keeps its meaning when a part of it is cut out.
//!
//! Which operations are likely is in `strategy.rs`, what is done with them in `run.rs`.

use wavetank_etcd::{
    Compare, CompareResult, DeleteRange, Filters, Keys, LeaseId, Put, Range, Request, Revision,
    Target, Txn, TxnOp, WatchId, WatchRequest, WatchStart,
};

use crate::etcd::side::{Bytes, StreamId};

/// A revision, relative to what was last seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// 0: now, or any.
    Zero,
    /// The newest one, plus this.
    Current(i64),
    /// That of the last compaction, plus this.
    Compacted(i64),
}

/// A lease, relative to those that were granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lease {
    /// None.
    None,
    /// One that lives; the number says which.
    Alive(usize),
    /// One that was revoked; the number says which.
    Revoked(usize),
    /// One that never was.
    Unknown,
}

/// A range: what is not relative, the revision, and the four bounds in the order of `Range`.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeOp {
    /// All that is not relative.
    pub range: Range,
    /// Its revision.
    pub at: At,
    /// `min_mod`, `max_mod`, `min_create`, `max_create`.
    pub bounds: [At; 4],
}

/// A put.
#[derive(Clone, PartialEq, Debug)]
pub struct PutOp {
    /// All that is not relative.
    pub put: Put<Bytes>,
    /// Its lease.
    pub lease: Lease,
}

/// What a condition compares.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Against {
    Version(u64),
    Create(At),
    Mod(At),
    Value(Bytes),
    Lease(Lease),
}

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub struct CompareOp {
    /// Whose.
    pub keys: Keys,
    /// The relation.
    pub result: CompareResult,
    /// To what.
    pub against: Against,
}

/// An operation within a transaction.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum InnerOp {
    Range(RangeOp),
    Put(PutOp),
    Delete(DeleteRange),
    Txn(TxnBody),
}

/// A transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct TxnBody {
    /// The conditions.
    pub compare: Vec<CompareOp>,
    /// If they hold.
    pub success: Vec<InnerOp>,
    /// If not.
    pub failure: Vec<InnerOp>,
}

/// The start of a watch.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchOp {
    /// On which stream.
    pub stream: StreamId,
    /// Which keys.
    pub keys: Keys,
    /// From where.
    pub at: At,
    /// The number that is wanted.
    pub id: Option<u32>,
    /// The options, in the order of `WatchStart`.
    pub prev_kv: bool,
    /// See `WatchStart`.
    pub progress_notify: bool,
    /// See `WatchStart`.
    pub fragment: bool,
    /// What is left out.
    pub filters: Filters,
}

/// An operation.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Op {
    Range(RangeOp),
    Put(PutOp),
    Delete(DeleteRange),
    Txn(TxnBody),
    Compact {
        at: At,
        physical: bool,
    },
    Grant {
        id: Option<u64>,
        ttl: u64,
    },
    Revoke(Lease),
    KeepAlive(Lease),
    TimeToLive {
        lease: Lease,
        keys: bool,
    },
    Leases,
    Watch(WatchOp),
    /// Cancels one of the watches of a stream, or one that is not there.
    Cancel {
        stream: StreamId,
        which: Option<usize>,
    },
    Progress {
        stream: StreamId,
    },
    /// Closes a stream with all its watches.
    Close {
        stream: StreamId,
    },
}

/// An operation with all that was relative made absolute.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A request with one answer.
    Call(Request<Bytes>),
    /// Something sent on a watch stream.
    Watch(StreamId, WatchRequest),
    /// The end of a watch stream.
    Close(StreamId),
}

/// What was seen so far, which relative things refer to.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    /// The newest revision.
    pub current: Revision,
    /// The revision of the last compaction; 0: there was none.
    pub compacted: Revision,
    /// The leases that live, in the order they were granted.
    pub alive: Vec<LeaseId>,
    /// Those that were revoked.
    pub revoked: Vec<LeaseId>,
    /// The watches of each stream, also those that a compaction ended.
    pub watches: std::collections::BTreeMap<StreamId, Vec<WatchId>>,
}

/// A lease that is never granted.
const NEVER_GRANTED: LeaseId = LeaseId(4_040_404);
/// A watch that is never opened.
const NEVER_OPENED: WatchId = WatchId(4_040_404);

fn pick<T: Copy>(from: &[T], which: usize) -> Option<T> {
    from.get(which.checked_rem(from.len())?).copied()
}

impl Seen {
    fn at(&self, at: At) -> Revision {
        let (base, offset) = match at {
            At::Zero => (0, 0),
            At::Current(offset) => (self.current, offset),
            At::Compacted(offset) => (self.compacted, offset),
        };
        base.saturating_add_signed(offset)
    }

    fn lease(&self, lease: Lease) -> Option<LeaseId> {
        match lease {
            Lease::None => None,
            Lease::Alive(which) => Some(pick(&self.alive, which).unwrap_or(NEVER_GRANTED)),
            Lease::Revoked(which) => Some(pick(&self.revoked, which).unwrap_or(NEVER_GRANTED)),
            Lease::Unknown => Some(NEVER_GRANTED),
        }
    }

    fn range(&self, op: &RangeOp) -> Range {
        let [min_mod, max_mod, min_create, max_create] = op.bounds.map(|bound| self.at(bound));
        let revision = self.at(op.at);
        Range {
            revision,
            min_mod,
            max_mod,
            min_create,
            max_create,
            ..op.range.clone()
        }
    }

    fn put(&self, op: &PutOp) -> Put<Bytes> {
        Put {
            lease: self.lease(op.lease),
            ..op.put.clone()
        }
    }

    fn txn(&self, body: &TxnBody) -> Txn<Bytes> {
        let compare = body.compare.iter().map(|op| Compare {
            keys: op.keys.clone(),
            result: op.result,
            target: match &op.against {
                Against::Version(version) => Target::Version(*version),
                Against::Create(at) => Target::Create(self.at(*at)),
                Against::Mod(at) => Target::Mod(self.at(*at)),
                Against::Value(value) => Target::Value(value.clone()),
                Against::Lease(lease) => Target::Lease(self.lease(*lease)),
            },
        });
        let ops = |ops: &[InnerOp]| ops.iter().map(|op| self.inner(op)).collect();
        Txn {
            compare: compare.collect(),
            success: ops(&body.success),
            failure: ops(&body.failure),
        }
    }

    fn inner(&self, op: &InnerOp) -> TxnOp<Bytes> {
        match op {
            InnerOp::Range(op) => TxnOp::Range(self.range(op)),
            InnerOp::Put(op) => TxnOp::Put(self.put(op)),
            InnerOp::Delete(delete) => TxnOp::DeleteRange(delete.clone()),
            InnerOp::Txn(body) => TxnOp::Txn(self.txn(body)),
        }
    }

    /// The operation, with all that is relative made absolute.
    pub fn resolve(&self, op: &Op) -> Step {
        // A request for "no lease" has no meaning but that of an unknown one.
        let lease = |lease| self.lease(lease).unwrap_or(NEVER_GRANTED);
        Step::Call(match op {
            Op::Range(op) => Request::Range(self.range(op)),
            Op::Put(op) => Request::Put(self.put(op)),
            Op::Delete(delete) => Request::DeleteRange(delete.clone()),
            Op::Txn(body) => Request::Txn(self.txn(body)),
            Op::Compact { at, physical } => Request::Compact {
                revision: self.at(*at),
                physical: *physical,
            },
            Op::Grant { id, ttl } => Request::LeaseGrant {
                id: id.map(LeaseId),
                ttl: *ttl,
            },
            Op::Revoke(which) => Request::LeaseRevoke(lease(*which)),
            Op::KeepAlive(which) => Request::LeaseKeepAlive(lease(*which)),
            Op::TimeToLive { lease: which, keys } => Request::LeaseTimeToLive {
                id: lease(*which),
                keys: *keys,
            },
            Op::Leases => Request::Leases,
            Op::Watch(op) => return self.watch(op),
            Op::Cancel { stream, which } => {
                let known = self.watches.get(stream).map_or(&[][..], Vec::as_slice);
                let id = which
                    .and_then(|which| pick(known, which))
                    .unwrap_or(NEVER_OPENED);
                return Step::Watch(*stream, WatchRequest::Cancel(id));
            }
            Op::Progress { stream } => return Step::Watch(*stream, WatchRequest::Progress),
            Op::Close { stream } => return Step::Close(*stream),
        })
    }

    fn watch(&self, op: &WatchOp) -> Step {
        let start = WatchStart {
            keys: op.keys.clone(),
            revision: self.at(op.at),
            id: op.id.map(WatchId),
            prev_kv: op.prev_kv,
            progress_notify: op.progress_notify,
            fragment: op.fragment,
            filters: op.filters,
        };
        Step::Watch(op.stream, WatchRequest::Create(start))
    }
}
