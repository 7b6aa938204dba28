//! Every call takes effect at once, at a revision, between its call and its answer.

use wavetank_engine::{Check, Note, Property, World};

use crate::api::{Request, Response, Value};
use crate::mvcc::route;
use crate::observed::{Answered, CallId, Called};
use crate::server::{Committed, Restored};

use super::calls::{Call, Calls, Owner, header, is_write};
use super::leases::GoneLeases;
use super::replay::fits;
use super::{Learned, Truth, violated};

/// `strictly-serializable`: each answer is what the history says of its revision, and no answer is
/// older than what anybody had been answered before the call (unless it is a serializable read).
/// What failed for certain has no effect, what may have failed at most one. Who knows that a lease is gone is not told
/// later that it lives; how much is left of one is no promise, since a leader answers that without asking others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StrictlySerializable<V: Value> {
    truth: Truth<V>,
    calls: Calls<V>,
    leases: GoneLeases,
}

impl<V: Value> Default for StrictlySerializable<V> {
    fn default() -> Self {
        StrictlySerializable {
            truth: Truth::default(),
            calls: Calls::default(),
            leases: GoneLeases::default(),
        }
    }
}

/// Is it answered by one member as it is, without asking the others?
pub fn is_local<V>(request: &Request<V>) -> bool {
    match request {
        Request::Range(range) => range.serializable,
        Request::Txn(txn) => route::is_read_only(txn) && route::is_serializable(txn),
        Request::LeaseKeepAlive(_) | Request::LeaseTimeToLive { .. } | Request::Leases => true,
        _ => false,
    }
}

impl<V: Value> StrictlySerializable<V> {
    fn wrong(&self, world: &World, id: CallId, what: &str) -> Check {
        let client = world.name(id.client);
        let object = format!("call {} of {client}", id.number);
        violated("call", &object, format!("{object} {what}"))
    }

    fn committed(&mut self, world: &World, commit: &Committed<V>) -> Check {
        let revision = commit.revision;
        match self.calls.committed(&self.truth, commit) {
            Owner::Nobody => Check::Idle,
            Owner::Call(_) => Check::Held,
            Owner::Failed(id, error) => {
                let what = format!("made revision {revision}, and had failed: {error}");
                self.wrong(world, id, &what)
            }
            Owner::Twice(id, before) => {
                let what = format!("took effect twice, at revisions {before} and {revision}");
                self.wrong(world, id, &what)
            }
        }
    }

    fn answered(&mut self, world: &World, answered: &Answered<V>) -> Check {
        let id = answered.id;
        let of_lease = self.leases.answered(answered);
        if let Some(Err(what)) = of_lease {
            self.calls.answered(answered);
            return self.wrong(world, id, &what);
        }
        let Some(call) = self.calls.answered(answered) else {
            return Check::Idle;
        };
        let response = match &answered.result {
            Ok(response) => response,
            Err(error) => {
                return match self.calls.made_by(&self.truth, id, &call) {
                    Some(revision) => {
                        let what = format!("made revision {revision}, and is told: {error}");
                        self.wrong(world, id, &what)
                    }
                    None => Check::Idle,
                };
            }
        };
        match self.judge(&call, response) {
            Ok(true) => Check::Held,
            Ok(false) => Check::Idle,
            Err(what) => self.wrong(world, id, &what),
        }
    }

    fn judge(&self, call: &Call<V>, response: &Response<V>) -> Result<bool, String> {
        let Some(revision) = header(response) else {
            return Ok(false);
        };
        if !is_local(&call.request) && revision < call.floor {
            let floor = call.floor;
            return Err(format!(
                "is answered at revision {revision}; before it, revision {floor} had been seen"
            ));
        }
        if !self.truth.is_whole() || revision > self.truth.revision() {
            return Ok(false);
        }
        let fits = |before, made| fits(&self.truth, &call.request, response, before, made);
        let writes = is_write(&call.request) && revision > call.made && fits(revision - 1, true);
        if writes {
            return match call.took {
                Some(took) if took != revision => Err(format!(
                    "took effect twice, at revisions {took} and {revision}"
                )),
                _ => Ok(true),
            };
        }
        match fits(revision, false) {
            true => Ok(true),
            false => Err(format!("is answered what is not so at revision {revision}")),
        }
    }
}

impl<V: Value> Property for StrictlySerializable<V> {
    fn name(&self) -> &'static str {
        "strictly-serializable"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Learned::Conflict(revision) = self.truth.learn(world, note) {
            let object = format!("revision {revision}");
            return violated("revision", &object, format!("{object} was made twice"));
        }
        if note.body.get::<Restored>().is_some() {
            self.leases.forget();
        }
        if let Some(commit) = note.body.get::<Committed<V>>() {
            return self.committed(world, commit);
        }
        if let Some(called) = note.body.get::<Called<V>>() {
            self.calls.called(&self.truth, called);
            self.leases.called(called);
            return Check::Idle;
        }
        match note.body.get::<Answered<V>>() {
            Some(answered) => self.answered(world, answered),
            None => Check::Idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Bytes, bytes, is_violated, put};
    use super::*;
    use crate::api::{Compare, EtcdError, Keys, PutDone, Range, Ranged, Revision, Txn, TxnOp};
    use crate::api::{OpResponse, Put, TxnResponse};

    type Monitor = StrictlySerializable<Bytes>;

    fn write(value: &str) -> Request<Bytes> {
        Request::Put(Put::new("/a", bytes(value)))
    }

    fn wrote(revision: Revision) -> Response<Bytes> {
        let prev = None;
        Response::Put(PutDone { revision, prev })
    }

    fn read(serializable: bool) -> Request<Bytes> {
        Request::Range(Range {
            serializable,
            ..Range::of(Keys::one("/a"))
        })
    }

    fn got(revision: Revision, kvs: &[crate::api::Change<Bytes>]) -> Response<Bytes> {
        Response::Range(Ranged {
            revision,
            kvs: kvs.iter().filter_map(|change| change.now.clone()).collect(),
            more: false,
            count: kvs.len() as u64,
        })
    }

    /// `/a` was written at revision 2, and that was answered.
    fn written(bench: &Bench) -> Monitor {
        let mut monitor = Monitor::default();
        let notes = [
            bench.called(1, write("1")),
            bench.committed(2, vec![put("/a", 2, "1")]),
            bench.answered(1, Ok(wrote(2))),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        monitor
    }

    #[test]
    fn a_stale_or_wrong_read_is_found() {
        let bench = Bench::new();
        let mut monitor = written(&bench);
        let calls = [bench.called(2, read(false)), bench.called(3, read(true))];
        bench.feed(&mut monitor, &calls);
        let right = got(2, &[put("/a", 2, "1")]);
        let feed = |number, response: &Response<Bytes>| {
            let notes = [bench.answered(number, Ok(response.clone()))];
            bench.feed(&mut monitor.clone(), &notes)
        };
        assert_eq!(feed(2, &right), Check::Held);
        assert!(is_violated(&feed(2, &got(1, &[]))));
        assert_eq!(feed(3, &got(1, &[])), Check::Held, "it may be old");
        assert!(is_violated(&feed(3, &got(2, &[]))));
        assert!(is_violated(&feed(2, &got(2, &[put("/a", 2, "2")]))));
    }

    #[test]
    fn a_write_that_failed_or_was_made_twice_is_found() {
        let bench = Bench::new();
        let mut monitor = Monitor::default();
        let first = [
            bench.called(1, write("1")),
            bench.answered(1, Err(EtcdError::ProposalDropped)),
            bench.committed(2, vec![put("/a", 2, "1")]),
        ];
        assert!(is_violated(&bench.feed(&mut monitor.clone(), &first)));
        let late = [
            bench.called(1, write("1")),
            bench.committed(2, vec![put("/a", 2, "1")]),
            bench.answered(1, Err(EtcdError::ProposalDropped)),
        ];
        assert!(is_violated(&bench.feed(&mut monitor.clone(), &late)));
        let mut again = put("/a", 3, "1");
        again.before = put("/a", 2, "1").now;
        let now = again.now.as_mut().expect("a put");
        (now.create_revision, now.version) = (2, 2);
        let unknown = [
            bench.called(1, write("1")),
            bench.answered(1, Err(EtcdError::Timeout)),
            bench.committed(2, vec![put("/a", 2, "1")]),
        ];
        assert_eq!(bench.feed(&mut monitor, &unknown), Check::Held);
        let twice = [bench.committed(3, vec![again])];
        assert!(is_violated(&bench.feed(&mut monitor, &twice)));
    }

    #[test]
    fn a_transaction_is_judged_by_its_conditions_and_steps() {
        let bench = Bench::new();
        let mut monitor = written(&bench);
        let txn = Txn {
            compare: vec![Compare::mod_revision("/b", 0)],
            success: vec![TxnOp::Put(Put::new("/b", bytes("1")))],
            failure: Vec::new(),
        };
        let notes = [
            bench.called(2, Request::Txn(txn)),
            bench.committed(3, vec![put("/b", 3, "1")]),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        let answer = |succeeded, revision| {
            let done = PutDone {
                revision,
                prev: None,
            };
            let responses = vec![OpResponse::Put(done)];
            let response = Response::Txn(TxnResponse {
                revision,
                succeeded,
                responses: if succeeded { responses } else { Vec::new() },
            });
            [bench.answered(2, Ok(response))]
        };
        assert_eq!(
            bench.feed(&mut monitor.clone(), &answer(true, 3)),
            Check::Held
        );
        assert!(is_violated(
            &bench.feed(&mut monitor.clone(), &answer(true, 2))
        ));
        assert!(is_violated(&bench.feed(&mut monitor, &answer(false, 2))));
    }

    #[test]
    fn a_lease_that_comes_back_is_found() {
        let bench = Bench::new();
        let mut monitor = Monitor::default();
        let lease = crate::api::LeaseId(7);
        let renewed = |ttl| Ok(Response::LeaseKeepAlive { revision: 1, ttl });
        let revoked = [
            bench.called(1, Request::LeaseKeepAlive(lease)),
            bench.called(2, Request::LeaseRevoke(lease)),
            bench.answered(2, Ok(Response::LeaseRevoke(1))),
            bench.called(3, Request::LeaseKeepAlive(lease)),
        ];
        bench.feed(&mut monitor, &revoked);
        let feed = |number, ttl| {
            let notes = [bench.answered(number, renewed(ttl))];
            bench.feed(&mut monitor.clone(), &notes)
        };
        assert!(
            !is_violated(&feed(1, 10)),
            "it may have been renewed before it went"
        );
        assert!(!is_violated(&feed(3, 0)));
        assert!(is_violated(&feed(3, 10)));
    }

    #[test]
    fn a_revision_with_two_contents_is_found() {
        let bench = Bench::new();
        let mut monitor = written(&bench);
        let other = [bench.committed(2, vec![put("/a", 2, "other")])];
        assert!(is_violated(&bench.feed(&mut monitor, &other)));
    }
}
