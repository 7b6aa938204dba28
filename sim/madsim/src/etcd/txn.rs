//! Transactions.

use wavetank_api::Object;
use wavetank_etcd as etcd;
use wavetank_etcd::{CompareResult, Keys, OpResponse, Target};

use super::kv::{
    DeleteOptions, DeleteResponse, GetOptions, GetResponse, PutOptions, PutResponse, lease,
};
use super::{ResponseHeader, Result, value};

/// How what is there stands to what is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CompareOp {
    Equal,
    Greater,
    Less,
    NotEqual,
}

/// A condition.
#[derive(Clone, Debug)]
pub struct Compare {
    key: Vec<u8>,
    op: CompareOp,
    with: With,
}

#[derive(Clone, Debug)]
enum With {
    Version(i64),
    Create(i64),
    Mod(i64),
    Value(Vec<u8>),
    Lease(i64),
}

impl Compare {
    fn new(key: impl Into<Vec<u8>>, op: CompareOp, with: With) -> Compare {
        Compare {
            key: key.into(),
            op,
            with,
        }
    }

    /// Of the number of writes.
    pub fn version(key: impl Into<Vec<u8>>, cmp: CompareOp, version: i64) -> Compare {
        Compare::new(key, cmp, With::Version(version))
    }

    /// Of the revision that created it.
    pub fn create_revision(key: impl Into<Vec<u8>>, cmp: CompareOp, revision: i64) -> Compare {
        Compare::new(key, cmp, With::Create(revision))
    }

    /// Of the revision that wrote it last.
    pub fn mod_revision(key: impl Into<Vec<u8>>, cmp: CompareOp, revision: i64) -> Compare {
        Compare::new(key, cmp, With::Mod(revision))
    }

    /// Of the value.
    pub fn value(key: impl Into<Vec<u8>>, cmp: CompareOp, value: impl Into<Vec<u8>>) -> Compare {
        Compare::new(key, cmp, With::Value(value.into()))
    }

    /// Of the lease.
    pub fn lease(key: impl Into<Vec<u8>>, cmp: CompareOp, lease: i64) -> Compare {
        Compare::new(key, cmp, With::Lease(lease))
    }

    fn into_request(self) -> Result<etcd::Compare<Object>> {
        Ok(etcd::Compare {
            keys: Keys::One(value::key(self.key)?),
            result: match self.op {
                CompareOp::Equal => CompareResult::Equal,
                CompareOp::Greater => CompareResult::Greater,
                CompareOp::Less => CompareResult::Less,
                CompareOp::NotEqual => CompareResult::NotEqual,
            },
            target: match self.with {
                With::Version(version) => Target::Version(version as u64),
                With::Create(revision) => Target::Create(revision as u64),
                With::Mod(revision) => Target::Mod(revision as u64),
                With::Value(bytes) => Target::Value(value::object(&bytes)),
                With::Lease(id) => Target::Lease(lease(id)),
            },
        })
    }
}

/// An operation of a transaction.
#[derive(Clone, Debug)]
pub struct TxnOp(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Put(Vec<u8>, Vec<u8>, PutOptions),
    Get(Vec<u8>, GetOptions),
    Delete(Vec<u8>, DeleteOptions),
    Txn(Txn),
}

impl TxnOp {
    /// Writes a key.
    pub fn put(
        key: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
        options: Option<PutOptions>,
    ) -> TxnOp {
        TxnOp(Kind::Put(
            key.into(),
            value.into(),
            options.unwrap_or_default(),
        ))
    }

    /// Reads.
    pub fn get(key: impl Into<Vec<u8>>, options: Option<GetOptions>) -> TxnOp {
        TxnOp(Kind::Get(key.into(), options.unwrap_or_default()))
    }

    /// Deletes.
    pub fn delete(key: impl Into<Vec<u8>>, options: Option<DeleteOptions>) -> TxnOp {
        TxnOp(Kind::Delete(key.into(), options.unwrap_or_default()))
    }

    /// A transaction within.
    pub fn txn(txn: Txn) -> TxnOp {
        TxnOp(Kind::Txn(txn))
    }

    fn into_request(self) -> Result<etcd::TxnOp<Object>> {
        Ok(match self.0 {
            Kind::Put(key, bytes, options) => etcd::TxnOp::Put(options.put(key, &bytes)?),
            Kind::Get(key, options) => etcd::TxnOp::Range(options.range(key)?),
            Kind::Delete(key, options) => etcd::TxnOp::DeleteRange(options.delete(key)?),
            Kind::Txn(txn) => etcd::TxnOp::Txn(txn.into_request()?),
        })
    }
}

/// A transaction.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    compare: Vec<Compare>,
    success: Vec<TxnOp>,
    failure: Vec<TxnOp>,
}

impl Txn {
    /// One without conditions and operations.
    pub const fn new() -> Txn {
        Txn {
            compare: Vec::new(),
            success: Vec::new(),
            failure: Vec::new(),
        }
    }

    /// If all of these hold,
    #[must_use]
    pub fn when(mut self, compares: impl Into<Vec<Compare>>) -> Txn {
        self.compare = compares.into();
        self
    }

    /// do these,
    #[must_use]
    pub fn and_then(mut self, operations: impl Into<Vec<TxnOp>>) -> Txn {
        self.success = operations.into();
        self
    }

    /// else those.
    #[must_use]
    pub fn or_else(mut self, operations: impl Into<Vec<TxnOp>>) -> Txn {
        self.failure = operations.into();
        self
    }

    pub(super) fn into_request(self) -> Result<etcd::Txn<Object>> {
        let compare = self.compare.into_iter().map(Compare::into_request);
        let success = self.success.into_iter().map(TxnOp::into_request);
        let failure = self.failure.into_iter().map(TxnOp::into_request);
        Ok(etcd::Txn {
            compare: compare.collect::<Result<_>>()?,
            success: success.collect::<Result<_>>()?,
            failure: failure.collect::<Result<_>>()?,
        })
    }
}

/// What an operation did.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TxnOpResponse {
    Put(PutResponse),
    Get(GetResponse),
    Delete(DeleteResponse),
    Txn(TxnResponse),
}

/// What a transaction did.
#[derive(Clone, Debug)]
pub struct TxnResponse {
    header: ResponseHeader,
    succeeded: bool,
    op_responses: Vec<TxnOpResponse>,
}

impl From<etcd::TxnResponse<Object>> for TxnResponse {
    fn from(done: etcd::TxnResponse<Object>) -> TxnResponse {
        let responses = done.responses.into_iter().map(|one| match one {
            OpResponse::Range(ranged) => TxnOpResponse::Get(ranged.into()),
            OpResponse::Put(done) => TxnOpResponse::Put(done.into()),
            OpResponse::DeleteRange(done) => TxnOpResponse::Delete(done.into()),
            OpResponse::Txn(done) => TxnOpResponse::Txn(done.into()),
        });
        TxnResponse {
            header: ResponseHeader::at(done.revision),
            succeeded: done.succeeded,
            op_responses: responses.collect(),
        }
    }
}

impl TxnResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// Did all conditions hold?
    pub const fn succeeded(&self) -> bool {
        self.succeeded
    }

    /// What each operation did.
    pub fn op_responses(&self) -> Vec<TxnOpResponse> {
        self.op_responses.clone()
    }
}
