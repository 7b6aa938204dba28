//! The calls of clients: what was asked, what was known by then, and which commit was whose. What is
//! promised about them does not belong here.
//!
//! A client that tells of one of its calls has to tell of all of them, each sent once: whose a
//! commit is follows from who can have made it.

use std::collections::BTreeMap;

use wavetank_engine::ProcId;

use crate::api::{EtcdError, Request, Response, Revision, Value};
use crate::observed::{Answered, CallId, Called};
use crate::server::Committed;
use crate::state::Cause;

use super::Truth;
use super::replay::could_make;

/// So many writes that failed for certain are remembered.
const FAILED_REMEMBERED: usize = 16;

/// A call that is not answered, or whose outcome is unknown.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call<V> {
    /// What it asks.
    pub request: Request<V>,
    /// The newest revision that anybody had been answered when it was sent.
    pub floor: Revision,
    /// The newest revision that was made when it was sent.
    pub made: Revision,
    /// It was answered that the outcome is unknown.
    pub unknown: bool,
    /// The revision that only this call can have made.
    pub took: Option<Revision>,
}

/// Whose a commit is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Nobody's who tells of calls, or one of several.
    Nobody,
    /// This call's, and no other's.
    Call(CallId),
    /// That of a call that was answered to have failed for certain.
    Failed(CallId, EtcdError),
    /// That of a call which had made another revision before.
    Twice(CallId, Revision),
}

/// All calls that may still matter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Calls<V> {
    open: BTreeMap<CallId, Call<V>>,
    /// Writes that failed for certain, the oldest first.
    failed: Vec<(CallId, Call<V>, EtcdError)>,
    /// Revisions of several possible owners, and by whom they were made.
    unclaimed: Vec<(Revision, ProcId)>,
    /// The newest revision that anybody was answered.
    answered: Revision,
    /// The newest revision that was looked at.
    seen: Revision,
}

impl<V> Default for Calls<V> {
    fn default() -> Self {
        Calls {
            open: BTreeMap::new(),
            failed: Vec::new(),
            unclaimed: Vec::new(),
            answered: 0,
            seen: 0,
        }
    }
}

impl<V: Value> Calls<V> {
    /// A call is sent.
    pub fn called(&mut self, truth: &Truth<V>, called: &Called<V>) {
        if matches!(called.request, Request::Watch { .. }) {
            return; // it has no answer
        }
        let call = Call {
            request: called.request.clone(),
            floor: self.answered,
            made: truth.revision(),
            unknown: false,
            took: None,
        };
        self.open.insert(called.id, call);
    }

    /// Calls whose outcome is unknown.
    pub fn unknown(&self) -> impl Iterator<Item = (CallId, &Call<V>)> {
        let unknown = self.open.iter().filter(|(_, call)| call.unknown);
        unknown.map(|(id, call)| (*id, call))
    }

    /// An answer came. Returns the call, unless its outcome stays unknown.
    pub fn answered(&mut self, answered: &Answered<V>) -> Option<Call<V>> {
        let id = answered.id;
        match &answered.result {
            Err(error) if error.is_unknown() => {
                let call = self.open.get_mut(&id)?;
                call.unknown = is_write(&call.request);
                if !call.unknown {
                    self.open.remove(&id);
                }
                None
            }
            Err(error) => {
                let call = self.open.remove(&id)?;
                if is_write(&call.request) {
                    self.failed.push((id, call.clone(), *error));
                    if self.failed.len() > FAILED_REMEMBERED {
                        self.failed.remove(0);
                    }
                }
                Some(call)
            }
            Ok(response) => {
                let call = self.open.remove(&id)?;
                if let Some(revision) = header(response) {
                    self.answered = self.answered.max(revision);
                    self.unclaimed
                        .retain(|(r, by)| (*r, *by) != (revision, id.client));
                }
                Some(call)
            }
        }
    }

    /// A commit, known to the history by now.
    pub fn committed(&mut self, truth: &Truth<V>, commit: &Committed<V>) -> Owner {
        let Cause::Client(client) = commit.cause else {
            return Owner::Nobody;
        };
        let revision = commit.revision;
        if revision <= self.seen {
            return Owner::Nobody;
        }
        self.seen = revision;
        let fits = |id: &CallId, call: &Call<V>| {
            id.client == client
                && call.made < revision
                && could_make(truth, &call.request, revision)
        };
        let fitting = self.open.iter_mut().filter(|(id, call)| fits(id, call));
        let mut fitting: Vec<_> = fitting.collect();
        let taken = fitting
            .iter()
            .find_map(|(id, call)| call.took.map(|r| (**id, r)));
        fitting.retain(|(_, call)| call.took.is_none());
        match (&mut fitting[..], taken) {
            ([(id, call)], _) => {
                call.took = Some(revision);
                Owner::Call(**id)
            }
            ([], Some((id, before))) => Owner::Twice(id, before),
            ([], None) => {
                let failed = self.failed.iter().find(|(id, call, _)| fits(id, call));
                failed.map_or(Owner::Nobody, |(id, _, error)| Owner::Failed(*id, *error))
            }
            _ => {
                self.unclaimed.push((revision, client));
                Owner::Nobody
            }
        }
    }

    /// The revision that a failed call made all the same, if no other can have made it.
    pub fn made_by(&self, truth: &Truth<V>, id: CallId, call: &Call<V>) -> Option<Revision> {
        if !is_write(&call.request) {
            return None;
        }
        let others = self
            .open
            .iter()
            .filter(|(other, _)| other.client == id.client);
        let others: Vec<_> = others.map(|(_, call)| call).collect();
        let alone = |revision: &Revision| {
            let by_other = |other: &&Call<V>| could_make(truth, &other.request, *revision);
            *revision > call.made
                && could_make(truth, &call.request, *revision)
                && !others.iter().any(by_other)
        };
        let unclaimed = self.unclaimed.iter().filter(|(_, by)| *by == id.client);
        call.took.or(unclaimed.map(|(r, _)| *r).find(alone))
    }
}

/// May it make a revision?
pub fn is_write<V>(request: &Request<V>) -> bool {
    match request {
        Request::Put(_) | Request::DeleteRange(_) | Request::LeaseRevoke(_) => true,
        Request::Txn(txn) => !crate::mvcc::route::is_read_only(txn),
        _ => false,
    }
}

/// The revision in the header of an answer.
pub fn header<V>(response: &Response<V>) -> Option<Revision> {
    match response {
        Response::Range(ranged) => Some(ranged.revision),
        Response::Put(done) => Some(done.revision),
        Response::DeleteRange(done) => Some(done.revision),
        Response::Txn(done) => Some(done.revision),
        Response::Compact(revision)
        | Response::LeaseRevoke(revision)
        | Response::LeaseGrant { revision, .. }
        | Response::LeaseKeepAlive { revision, .. }
        | Response::Leases { revision, .. } => Some(*revision),
        Response::LeaseTimeToLive(told) => Some(told.revision),
        Response::Error(_) => None,
    }
}
