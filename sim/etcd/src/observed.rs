//! What clients tell monitors: every call and its answer, every watch and what came of it. A client
//! in a scenario tells these notes; without them only what members tell can be checked.

use wavetank_engine::ProcId;

use crate::api::{EtcdError, LeaseId, Request, Response, Revision, WatchResponse, WatchStart};

/// Names a call: who made it, and its own number for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId {
    /// The client.
    pub client: ProcId,
    /// Its number, unique over all of its lives.
    pub number: u64,
}

/// A client is about to send a request, to one member, once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Called<V> {
    /// Which call.
    pub id: CallId,
    /// What it asks.
    pub request: Request<V>,
}

/// A client has an answer. A call without one, because the client crashed, has an unknown outcome.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Answered<V> {
    /// To which call.
    pub id: CallId,
    /// The answer, never [`Response::Error`], or why there is none.
    pub result: Result<Response<V>, EtcdError>,
}

/// A client begins to watch, or resumes: on a new stream, at one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watching {
    /// Names the watch over all of its streams.
    pub watch: CallId,
    /// How it begins this time. On a resumption `revision` is one after what the client knows.
    pub start: WatchStart,
    /// Is it a resumption?
    pub resumed: bool,
}

/// A message came for a watch; progress of the whole stream is told for each of its watches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watched<V> {
    /// Which.
    pub watch: CallId,
    /// What came.
    pub response: WatchResponse<V>,
}

/// A client has asked for progress on the stream of a watch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProgressAsked {
    /// Which.
    pub watch: CallId,
}

/// A watch is over for good: its client gave it up, or was told to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Unwatched {
    /// Which.
    pub watch: CallId,
    /// The revision up to which its history was compacted, if that was why; else 0.
    pub compacted: Revision,
}

/// A new leader's lessor keeps the time from now on; told by the member.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Promoted {
    /// Each lease, and how many seconds the new leader gives it (without what it adds for its own
    /// election).
    pub leases: Vec<(LeaseId, u64)>,
}

/// The leader's lessor has given a lease its whole time; told by the member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Renewed {
    /// Which.
    pub lease: LeaseId,
    /// How many seconds.
    pub ttl: u64,
}
