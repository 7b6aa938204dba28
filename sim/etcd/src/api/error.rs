//! Why a request failed: `api/v3rpc/rpctypes/error.go`, with the texts and codes of the wire.

use thiserror::Error;

/// Why a request failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Error)]
#[error("rpc error: code = {:?} desc = {}", self.code(), self.message())]
#[allow(missing_docs, reason = "each has its text")]
pub enum EtcdError {
    EmptyKey,
    ValueProvided,
    LeaseProvided,
    KeyNotFound,
    DuplicateKey,
    TooManyOps,
    RequestTooLarge,
    Compacted,
    FutureRevision,
    LeaseNotFound,
    LeaseExists,
    LeaseTtlTooLarge,
    NoLeader,
    /// Of a read only: it did not happen.
    LeaderChanged,
    /// A write may have happened, or may happen yet.
    Timeout,
    /// As `Timeout`, soon after this member became leader.
    TimeoutLeaderFailed,
    /// As `Timeout`, without a connection to the leader or to a quorum.
    TimeoutConnectionLost,
    /// This member has too much to apply: the request was not taken.
    TooManyRequests,
    /// The request was not taken: it will not happen.
    ProposalDropped,
    /// No leader took the request in time: it will not happen.
    DeadlineExceeded,
    Stopped,
    NotPrimary,
    /// The connection broke: the outcome of a write is unknown.
    Unavailable,
    /// The caller's context ended: the outcome of a write is unknown.
    Cancelled,
}

/// A gRPC status code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names of gRPC")]
pub enum Code {
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    FailedPrecondition,
    OutOfRange,
    Unavailable,
}

impl EtcdError {
    /// Might a write have had an effect all the same, or have one yet?
    pub fn is_unknown(self) -> bool {
        matches!(
            self,
            EtcdError::Unavailable
                | EtcdError::Cancelled
                | EtcdError::Timeout
                | EtcdError::TimeoutLeaderFailed
                | EtcdError::TimeoutConnectionLost
                | EtcdError::Stopped
        )
    }

    /// Is it certain that it had none, and will have none?
    pub fn is_definite(self) -> bool {
        !self.is_unknown()
    }

    /// The code on the wire.
    pub fn code(self) -> Code {
        use EtcdError as E;
        match self {
            E::EmptyKey
            | E::ValueProvided
            | E::LeaseProvided
            | E::KeyNotFound
            | E::DuplicateKey
            | E::TooManyOps
            | E::RequestTooLarge => Code::InvalidArgument,
            E::Compacted | E::FutureRevision | E::LeaseTtlTooLarge => Code::OutOfRange,
            E::LeaseNotFound => Code::NotFound,
            E::LeaseExists => Code::FailedPrecondition,
            E::NoLeader
            | E::LeaderChanged
            | E::Timeout
            | E::TimeoutLeaderFailed
            | E::TimeoutConnectionLost
            | E::Stopped
            | E::Unavailable => Code::Unavailable,
            E::TooManyRequests | E::ProposalDropped | E::NotPrimary => Code::Unknown,
            E::DeadlineExceeded => Code::DeadlineExceeded,
            E::Cancelled => Code::Cancelled,
        }
    }

    /// The text on the wire.
    pub fn message(self) -> &'static str {
        match self {
            EtcdError::EmptyKey => "etcdserver: key is not provided",
            EtcdError::ValueProvided => "etcdserver: value is provided",
            EtcdError::LeaseProvided => "etcdserver: lease is provided",
            EtcdError::KeyNotFound => "etcdserver: key not found",
            EtcdError::DuplicateKey => "etcdserver: duplicate key given in txn request",
            EtcdError::TooManyOps => "etcdserver: too many operations in txn request",
            EtcdError::RequestTooLarge => "etcdserver: request is too large",
            EtcdError::Compacted => "etcdserver: mvcc: required revision has been compacted",
            EtcdError::FutureRevision => "etcdserver: mvcc: required revision is a future revision",
            EtcdError::LeaseNotFound => "etcdserver: requested lease not found",
            EtcdError::LeaseExists => "etcdserver: lease already exists",
            EtcdError::LeaseTtlTooLarge => "etcdserver: too large lease TTL",
            EtcdError::NoLeader => "etcdserver: no leader",
            EtcdError::LeaderChanged => "etcdserver: leader changed",
            EtcdError::Timeout => "etcdserver: request timed out",
            EtcdError::TimeoutLeaderFailed => {
                "etcdserver: request timed out, possibly due to previous leader failure"
            }
            EtcdError::TimeoutConnectionLost => {
                "etcdserver: request timed out, possibly due to connection lost"
            }
            EtcdError::TooManyRequests => "etcdserver: too many requests",
            EtcdError::ProposalDropped => "raft proposal dropped",
            EtcdError::DeadlineExceeded => "context deadline exceeded",
            EtcdError::Stopped => "etcdserver: server stopped",
            EtcdError::NotPrimary => "not a primary lessor",
            EtcdError::Unavailable => "transport is closing",
            EtcdError::Cancelled => "context canceled",
        }
    }
}
