//! Places that a sweep should reach, so that the guarantees mean something.

use std::marker::PhantomData;
use std::time::Duration;

use wavetank_engine::{Check, Class, Note, Property, Reached, World};

use crate::api::{EtcdError, Request, Revision, Value};
use crate::observed::{Answered, CallId, Called, ProgressAsked, Unwatched, Watched, Watching};
use crate::server::{Committed, Etcd, Installed, Led};
use crate::state::Cause;

use super::Truth;
use super::calls::{Calls, Owner, header};
use super::serializable::is_local;

/// `snapshot-installed`
pub fn snapshot_installed() -> Reached {
    Reached {
        name: "snapshot-installed",
        here: |_, note| note.body.get::<Installed>().is_some(),
    }
}

/// `watch-compacted`
pub fn watch_compacted<V: Value>() -> Reached {
    Reached {
        name: "watch-compacted",
        here: |_, note| {
            let watched = note.body.get::<Watched<V>>();
            let over = note.body.get::<Unwatched>();
            watched.is_some_and(|w| w.response.compact_revision > 0)
                || over.is_some_and(|over| over.compacted > 0)
        },
    }
}

/// `watch-resumed`
pub fn watch_resumed() -> Reached {
    Reached {
        name: "watch-resumed",
        here: |_, note| note.body.get::<Watching>().is_some_and(|w| w.resumed),
    }
}

/// `lease-expired`
pub fn lease_expired<V: Value>() -> Reached {
    Reached {
        name: "etcd-lease-expired",
        here: |_, note| {
            let commit = note.body.get::<Committed<V>>();
            commit.is_some_and(|commit| matches!(commit.cause, Cause::Expiry(_)))
        },
    }
}

/// `leader-changed-error`
pub fn leader_changed_error<V: Value>() -> Reached {
    Reached {
        name: "leader-changed-error",
        here: |_, note| {
            let answered = note.body.get::<Answered<V>>();
            answered.is_some_and(|a| a.result == Err(EtcdError::LeaderChanged))
        },
    }
}

/// `leader-changed`: a second leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaderChanged {
    term: u64,
}

impl Property for LeaderChanged {
    fn name(&self) -> &'static str {
        "leader-changed"
    }
    fn class(&self) -> Class {
        Class::Sometimes
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        let Some(Led { term, .. }) = note.body.get() else {
            return Check::Idle;
        };
        match std::mem::replace(&mut self.term, *term) {
            0 => Check::Idle,
            _ => Check::Held,
        }
    }
}

/// `progress-requested-and-answered`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProgressAnswered<V> {
    asked: Vec<CallId>,
    value: PhantomData<V>,
}

impl<V> Default for ProgressAnswered<V> {
    fn default() -> Self {
        ProgressAnswered {
            asked: Vec::new(),
            value: PhantomData,
        }
    }
}

impl<V: Value> Property for ProgressAnswered<V> {
    fn name(&self) -> &'static str {
        "progress-requested-and-answered"
    }
    fn class(&self) -> Class {
        Class::Sometimes
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(ProgressAsked { watch }) = note.body.get() {
            if !self.asked.contains(watch) {
                self.asked.push(*watch);
            }
        } else if let Some(Unwatched { watch, .. }) = note.body.get() {
            self.asked.retain(|asked| asked != watch);
        } else if let Some(Watched { watch, response }) = note.body.get::<Watched<V>>()
            && response.is_progress()
            && response.id.is_none()
            && self.asked.contains(watch)
        {
            self.asked.retain(|asked| asked != watch);
            return Check::Held;
        }
        Check::Idle
    }
}

/// What of calls is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    Committed,
    Lost,
    Stale,
    StaleAtMinority,
}

/// `timed-out-write-committed`, `timed-out-write-lost`, `stale-serializable-read`,
/// `minority-serves-old-read`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OfCalls<V: Value> {
    place: Place,
    /// How long after calm a write is lost that was not made by then.
    lost_after: Duration,
    truth: Truth<V>,
    calls: Calls<V>,
}

impl<V: Value> OfCalls<V> {
    fn new(place: Place, lost_after: Duration) -> OfCalls<V> {
        OfCalls {
            place,
            lost_after,
            truth: Truth::default(),
            calls: Calls::default(),
        }
    }

    /// A write whose outcome was unknown to its client was made.
    pub fn committed() -> OfCalls<V> {
        OfCalls::new(Place::Committed, Duration::ZERO)
    }

    /// A write whose outcome was unknown to its client was not made, and will not be: so long after
    /// calm no proposal is under way.
    pub fn lost(after: Duration) -> OfCalls<V> {
        OfCalls::new(Place::Lost, after)
    }

    /// A serializable read was older than what had been answered before it was sent.
    pub fn stale() -> OfCalls<V> {
        OfCalls::new(Place::Stale, Duration::ZERO)
    }

    /// So was one from a member that knew of no leader.
    pub fn stale_at_minority() -> OfCalls<V> {
        OfCalls::new(Place::StaleAtMinority, Duration::ZERO)
    }

    fn reached(&self, place: Place, here: bool) -> Check {
        match here && self.place == place {
            true => Check::Held,
            false => Check::Idle,
        }
    }

    fn answered(&mut self, world: &World, answered: &Answered<V>) -> Check {
        match (self.calls.answered(answered), &answered.result) {
            (Some(call), Ok(response)) => {
                let read = matches!(call.request, Request::Range(_) | Request::Txn(_));
                let old = header(response).filter(|revision| *revision < call.floor);
                match old.filter(|_| read && is_local(&call.request)) {
                    None => Check::Idle,
                    Some(_) if self.place == Place::Stale => Check::Held,
                    Some(old) => self.reached(Place::StaleAtMinority, is_cut_off::<V>(world, old)),
                }
            }
            (_, Err(error)) if error.is_unknown() => {
                let mut unknown = self.calls.unknown();
                let made = unknown.any(|(id, call)| id == answered.id && call.took.is_some());
                self.reached(Place::Committed, made)
            }
            _ => Check::Idle,
        }
    }
}

/// Is there a member at this revision that knows of no leader? Clients do not tell whom they ask.
fn is_cut_off<V: Value>(world: &World, revision: Revision) -> bool {
    let members = world
        .processes()
        .filter_map(|p| world.process::<Etcd<V>>(p));
    let mut old = members.filter(|member| member.store().revision() == revision);
    old.any(|member| !member.has_leader())
}

impl<V: Value> Property for OfCalls<V> {
    fn name(&self) -> &'static str {
        match self.place {
            Place::Committed => "timed-out-write-committed",
            Place::Lost => "timed-out-write-lost",
            Place::Stale => "stale-serializable-read",
            Place::StaleAtMinority => "minority-serves-old-read",
        }
    }
    fn class(&self) -> Class {
        Class::Sometimes
    }
    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.truth.learn(world, note);
        if let Some(called) = note.body.get::<Called<V>>() {
            self.calls.called(&self.truth, called);
        } else if let Some(answered) = note.body.get::<Answered<V>>() {
            return self.answered(world, answered);
        } else if let Some(commit) = note.body.get::<Committed<V>>()
            && let Owner::Call(owner) = self.calls.committed(&self.truth, commit)
        {
            let late = self.calls.unknown().any(|(id, _)| id == owner);
            return self.reached(Place::Committed, late);
        }
        Check::Idle
    }
    fn calm(&mut self, _: &World) -> Option<Duration> {
        (self.place == Place::Lost).then_some(self.lost_after)
    }
    fn deadline(&mut self, _: &World) -> Check {
        let lost = self.calls.unknown().any(|(id, call)| {
            call.took.is_none() && self.calls.made_by(&self.truth, id, call).is_none()
        });
        self.reached(Place::Lost, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::api::{Keys, Put, Range, Ranged, Response};
    use crate::raft::MemberId;

    fn write(value: &str) -> Request<Bytes> {
        Request::Put(Put::new("/a", bytes(value)))
    }

    #[test]
    fn a_timed_out_write_is_seen_or_lost() {
        let bench = Bench::new();
        let mut notes = vec![
            bench.called(1, write("1")),
            bench.answered(1, Err(EtcdError::Timeout)),
        ];
        let mut lost = OfCalls::<Bytes>::lost(Duration::from_secs(60));
        assert_eq!(bench.feed(&mut lost, &notes), Check::Idle);
        assert_eq!(lost.deadline(&bench.world), Check::Held);
        notes.push(bench.committed(2, vec![put("/a", 2, "1")]));
        let held = bench.feed(&mut OfCalls::<Bytes>::committed(), &notes);
        assert_eq!(held, Check::Held);
        bench.feed(&mut lost, &notes[2..]);
        assert_eq!(lost.deadline(&bench.world), Check::Idle);
        notes.swap(1, 2);
        let held = bench.feed(&mut OfCalls::<Bytes>::committed(), &notes);
        assert_eq!(held, Check::Held);
    }

    #[test]
    fn a_stale_read_is_seen() {
        let bench = Bench::new();
        let read = Request::Range(Range {
            serializable: true,
            ..Range::of(Keys::one("/a"))
        });
        let at = |revision| {
            let (kvs, more, count) = (Vec::new(), false, 0);
            Ok(Response::Range(Ranged {
                revision,
                kvs,
                more,
                count,
            }))
        };
        let notes = [
            bench.called(1, read.clone()),
            bench.answered(1, at(3)),
            bench.called(2, read),
            bench.answered(2, at(2)),
        ];
        let mut stale = OfCalls::<Bytes>::stale();
        assert_eq!(bench.feed(&mut stale, &notes[..2]), Check::Idle);
        assert_eq!(bench.feed(&mut stale, &notes[2..]), Check::Held);
    }

    #[test]
    fn the_others_are_reached_at_their_notes() {
        let bench = Bench::new();
        let mut led = LeaderChanged::default();
        let leads = |term| {
            let member = MemberId(0);
            [bench.note(Led { member, term })]
        };
        assert_eq!(bench.feed(&mut led, &leads(2)), Check::Idle);
        assert_eq!(bench.feed(&mut led, &leads(3)), Check::Held);
        let mut answered = ProgressAnswered::<Bytes>::default();
        let told = bench.watched(1, progress(2, true));
        assert_eq!(
            bench.feed(&mut answered, std::slice::from_ref(&told)),
            Check::Idle
        );
        let notes = [bench.asked(1), told];
        assert_eq!(bench.feed(&mut answered, &notes), Check::Held);
        let ends = [bench.watched(1, compacted(2))];
        assert_eq!(
            bench.feed(&mut watch_compacted::<Bytes>(), &ends),
            Check::Held
        );
        let resumes = [bench.watching(1, 2, true)];
        assert_eq!(bench.feed(&mut watch_resumed(), &resumes), Check::Held);
        let error = [bench.answered(1, Err(EtcdError::LeaderChanged))];
        let mut changed = leader_changed_error::<Bytes>();
        assert_eq!(bench.feed(&mut changed, &error), Check::Held);
        assert_eq!(bench.feed(&mut snapshot_installed(), &error), Check::Idle);
        let gone = delete(&put("/a", 2, "1"), 3);
        let expires = Cause::Expiry(crate::api::LeaseId(7));
        let expired = [bench.caused(3, vec![gone], expires)];
        assert_eq!(
            bench.feed(&mut lease_expired::<Bytes>(), &expired),
            Check::Held
        );
    }
}
