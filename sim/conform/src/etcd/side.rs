//! What is compared: a [`Side`] is an etcd, real or simulated, that answers requests of the
//! simulator's vocabulary in one normal form.
//!
//! The protocol of one particular side does not belong here, nor what is asked of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_etcd::{
    Change, EtcdError, LeaseId, Request, Response, Revision, WatchId, WatchRequest,
};

/// The errors that a single server without faults may answer.
pub(crate) const ERRORS: [EtcdError; 12] = [
    EtcdError::EmptyKey,
    EtcdError::ValueProvided,
    EtcdError::LeaseProvided,
    EtcdError::KeyNotFound,
    EtcdError::DuplicateKey,
    EtcdError::TooManyOps,
    EtcdError::RequestTooLarge,
    EtcdError::Compacted,
    EtcdError::FutureRevision,
    EtcdError::LeaseNotFound,
    EtcdError::LeaseExists,
    EtcdError::LeaseTtlTooLarge,
];

/// What keys hold here.
pub type Bytes = Arc<[u8]>;

/// The number of a watch stream.
pub type StreamId = usize;

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// An answer, errors of the API included.
    Answer(Response<Bytes>),
    /// One that the API does not know.
    Unexpected(String),
}

impl Outcome {
    /// The answer without what depends on the clock: the seconds that a living lease still has
    /// become its whole TTL. (The timed suite looks at them.)
    pub fn timeless(mut self) -> Outcome {
        if let Outcome::Answer(Response::LeaseTimeToLive(left)) = &mut self
            && u64::try_from(left.ttl).is_ok_and(|ttl| ttl <= left.granted)
        {
            left.ttl = left.granted.cast_signed();
        }
        self
    }
}

/// A part of what came on a watch stream for one watch, or for all (no number).
///
/// Events stand alone: how a server gathers them into messages depends on timing. So does the
/// revision in the header of such a message, which therefore is not here; that it is not lower
/// than its events' is checked by [`gather`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// The watch stands, as of this revision.
    Created(Revision),
    /// The watch was refused.
    Refused(Revision, String),
    /// A key changed.
    Event(Change<Bytes>),
    /// The watch is over: the revision of the header, that of the compaction, the reason.
    Canceled(Revision, Revision, String),
    /// A progress notification.
    Progress(Revision),
    /// What should not have come: a broken invariant, or the end of the stream.
    Broken(String),
}

/// What came for each watch of each stream, in its order. Between watches there is no order:
/// a server goes through them in that of a hash map.
pub type Log = BTreeMap<(StreamId, Option<WatchId>), Vec<Item>>;

/// One message of a watch stream, before it is taken apart.
#[derive(Clone, Debug)]
pub struct Message {
    /// Whose; `None` for all.
    pub id: Option<WatchId>,
    /// Of the header.
    pub revision: Revision,
    /// The watch stands, or was refused.
    pub created: bool,
    /// The watch is over.
    pub canceled: bool,
    /// Of a compaction that ended the watch.
    pub compact_revision: Revision,
    /// Why it is over.
    pub cancel_reason: String,
    /// What happened.
    pub events: Vec<Change<Bytes>>,
}

/// Takes a message apart and puts its parts where they belong.
pub fn gather(log: &mut Log, stream: StreamId, message: Message) {
    let items = log.entry((stream, message.id)).or_default();
    if message.created && message.canceled {
        items.push(Item::Refused(message.revision, message.cancel_reason));
    } else if message.created {
        items.push(Item::Created(message.revision));
    } else if message.canceled {
        let compacted = message.compact_revision;
        items.push(Item::Canceled(
            message.revision,
            compacted,
            message.cancel_reason,
        ));
    } else if message.events.is_empty() {
        items.push(Item::Progress(message.revision));
    }
    let newest = message.events.iter().map(|event| event.revision).max();
    if newest.is_some_and(|newest| newest > message.revision) {
        items.push(Item::Broken(format!(
            "events up to revision {} came under a header of revision {}",
            newest.unwrap_or_default(),
            message.revision,
        )));
    }
    items.extend(message.events.into_iter().map(Item::Event));
}

/// What may be waited for on a watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// That it stands.
    Created,
    /// That it is over.
    Canceled,
    /// That it showed an event of this revision or a later one.
    Event(Revision),
}

impl Until {
    /// Is it there?
    pub fn is_met(self, log: &Log, stream: StreamId, id: Option<WatchId>) -> bool {
        let items = log.get(&(stream, id)).map_or(&[][..], Vec::as_slice);
        items.iter().any(|item| match (self, item) {
            (Until::Created, Item::Created(_) | Item::Refused(..)) => true,
            (Until::Canceled, Item::Canceled(..)) => true,
            (Until::Event(revision), Item::Event(event)) => event.revision >= revision,
            _ => false,
        })
    }
}

/// An etcd that is compared with another one.
///
/// Leases that the server numbers itself are called [`auto_lease`]`(n)` on the way in and out,
/// `n` counting them from 0: each server draws its own numbers ([`LeaseNames`] translates).
/// The keys of a lease are sorted: a server lists them in the order of a hash map. Ids of
/// cluster and member and raft terms are dropped: they are drawn anew for each server.
pub trait Side {
    /// What it is, for people.
    fn name(&self) -> String;

    /// Begins anew on an empty store.
    fn restart(&mut self) -> Result<(), String>;

    /// One request (never [`Request::Watch`]) and its answer.
    fn call(&mut self, request: &Request<Bytes>) -> Outcome;

    /// Sends this on a watch stream, which is opened if it is not open.
    fn watch(&mut self, stream: StreamId, request: &WatchRequest);

    /// Closes a watch stream. What was on its way on it is lost.
    fn close(&mut self, stream: StreamId);

    /// Waits for something on a watch (`None`: on what is addressed to none) that came since the
    /// last [`take`](Side::take). False if it does not come.
    fn wait(&mut self, stream: StreamId, id: Option<WatchId>, until: Until) -> bool;

    /// All that came on watch streams since it was last called.
    fn take(&mut self) -> Log;
}

/// The name of the n-th lease that the server numbers itself.
pub fn auto_lease(n: usize) -> LeaseId {
    LeaseId(FIRST_AUTO + n as u64)
}

/// Above all numbers that the generator asks for.
const FIRST_AUTO: u64 = 1_000_000;

/// Which number a side gave to which of the leases that it numbered itself.
#[derive(Clone, Default, Debug)]
pub struct LeaseNames {
    real: Vec<u64>,
}

impl LeaseNames {
    /// The server chose this number: gives it its name.
    pub fn granted(&mut self, real: u64) -> LeaseId {
        self.real.push(real);
        auto_lease(self.real.len() - 1)
    }

    /// The server's number for a name.
    pub fn real(&self, name: LeaseId) -> u64 {
        let index = name
            .0
            .checked_sub(FIRST_AUTO)
            .and_then(|index| usize::try_from(index).ok());
        index
            .and_then(|index| self.real.get(index))
            .copied()
            .unwrap_or(name.0)
    }

    /// The name for a server's number.
    pub fn name(&self, real: u64) -> LeaseId {
        self.real
            .iter()
            .position(|&known| known == real)
            .map_or(LeaseId(real), auto_lease)
    }
}
