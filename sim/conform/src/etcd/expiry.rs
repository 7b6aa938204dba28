//! What leases do over time: a small suite of cases, for any side that has a clock.
//!
//! Random sequences have only leases that outlive them, as two servers never expire one at the
//! same moment. Here each case says in which span of time something must happen.

use std::time::Duration;

use wavetank_etcd::{
    Change, EtcdError, Key, Keys, LeaseId, Put, Range, Request, Response, TimeToLive, WatchId,
    WatchRequest, WatchStart,
};

use crate::etcd::side::{Bytes, Item, Outcome, Side, Until};

/// A side with a clock: that of the wall, or of a simulated world.
pub trait Timed: Side {
    /// The time since some moment in the past.
    fn now(&self) -> Duration;

    /// Lets this much time pass.
    fn pass(&mut self, time: Duration);
}

/// The server looks for expired leases this often (`lease/lessor.go`).
const LOOKS_EVERY: Duration = Duration::from_millis(500);

/// A case: its name, and what it does on a side that was restarted, with default ticks. The
/// duration is what the machine may add to each span: none in a simulated world.
pub type Case<S> = (&'static str, fn(&mut S, Duration) -> Result<(), String>);

/// All cases.
pub fn cases<S: Timed>() -> [Case<S>; 5] {
    [
        ("a TTL below the least becomes the least", least_ttl),
        ("an expired lease takes its keys along", takes_keys_along),
        ("a keep-alive postpones the end", keep_alive),
        ("a key under another lease stays", detached),
        ("the TTL tells whole seconds", time_to_live),
    ]
}

/// Fails with what was seen unless a condition holds.
fn demand(holds: bool, seen: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(seen()) }
}

fn grant<S: Side>(side: &mut S, ttl: u64) -> Result<(LeaseId, u64), String> {
    match side.call(&Request::LeaseGrant { id: None, ttl }) {
        Outcome::Answer(Response::LeaseGrant { id, ttl, .. }) => Ok((id, ttl)),
        other => Err(format!("a lease of {ttl} s: {other}")),
    }
}

/// Writes a key and answers the revision.
fn put<S: Side>(side: &mut S, key: &str, lease: Option<LeaseId>) -> Result<u64, String> {
    let put = Put {
        lease,
        ..Put::new(key, Bytes::from([]))
    };
    match side.call(&Request::Put(put)) {
        Outcome::Answer(Response::Put(done)) => Ok(done.revision),
        other => Err(format!("put {key}: {other}")),
    }
}

fn left<S: Side>(side: &mut S, id: LeaseId) -> Result<TimeToLive, String> {
    match side.call(&Request::LeaseTimeToLive { id, keys: true }) {
        Outcome::Answer(Response::LeaseTimeToLive(answer)) => Ok(answer),
        other => Err(format!("time-to-live: {other}")),
    }
}

fn keys<S: Side>(side: &mut S) -> Result<Vec<Key>, String> {
    match side.call(&Request::Range(Range::of(Keys::all()))) {
        Outcome::Answer(Response::Range(answer)) => {
            Ok(answer.kvs.into_iter().map(|kv| kv.key).collect())
        }
        other => Err(format!("range: {other}")),
    }
}

/// The deletions after a revision, once they come.
fn deletions<S: Side>(side: &mut S, after: u64) -> Result<Vec<Change<Bytes>>, String> {
    let id = WatchId(7);
    let start = WatchStart {
        id: Some(id),
        ..WatchStart::of(Keys::all(), after + 1)
    };
    side.watch(0, &WatchRequest::Create(start));
    demand(side.wait(0, Some(id), Until::Event(after + 1)), || {
        "nothing expired".to_owned()
    })?;
    let items = side.take().remove(&(0, Some(id))).unwrap_or_default();
    let events = items.into_iter().filter_map(|item| match item {
        Item::Event(event) => Some(event),
        _ => None,
    });
    Ok(events.collect())
}

/// Did something that was seen now happen `ttl` after a moment between `from` and `to`?
fn in_time<S: Timed>(
    side: &S,
    (from, to): (Duration, Duration),
    ttl: Duration,
    slack: Duration,
) -> Result<(), String> {
    let now = side.now();
    let span = from + ttl..=to + ttl + LOOKS_EVERY + slack;
    demand(span.contains(&now), || {
        format!("at {now:?}, but it should be within {span:?}")
    })
}

fn least_ttl<S: Timed>(side: &mut S, _: Duration) -> Result<(), String> {
    for (asked, expected) in [(0, 2), (1, 2), (2, 2), (3, 3)] {
        let (_, got) = grant(side, asked)?;
        demand(got == expected, || {
            format!("{asked} s became {got} s, not {expected} s")
        })?;
    }
    Ok(())
}

fn takes_keys_along<S: Timed>(side: &mut S, slack: Duration) -> Result<(), String> {
    let from = side.now();
    let (lease, _) = grant(side, 2)?;
    let to = side.now();
    put(side, "stays", None)?;
    for key in ["c", "a"] {
        put(side, key, Some(lease))?;
    }
    let last = put(side, "b", Some(lease))?;
    let events = deletions(side, last)?;
    in_time(side, (from, to), Duration::from_secs(2), slack)?;
    // All in one revision, in the order of the keys.
    let seen: Vec<_> = events
        .iter()
        .map(|event| (&*event.key, event.revision))
        .collect();
    let expected = [("a", last + 1), ("b", last + 1), ("c", last + 1)];
    demand(seen == expected, || {
        format!("{seen:?} were deleted, not {expected:?}")
    })?;
    demand(events.iter().all(|event| event.now.is_none()), || {
        "not deletions".to_owned()
    })?;
    let rest = keys(side)?;
    demand(rest == [Key::from("stays")], || format!("{rest:?} remain"))?;
    let gone = left(side, lease)?;
    demand((gone.ttl, gone.granted) == (-1, 0), || {
        format!("the lease has {gone:?}")
    })?;
    let renewed = side.call(&Request::LeaseKeepAlive(lease));
    let none = |ttl| {
        Outcome::Answer(Response::LeaseKeepAlive {
            revision: last + 1,
            ttl,
        })
    };
    demand(renewed == none(0), || format!("its keep-alive: {renewed}"))?;
    let revoked = side.call(&Request::LeaseRevoke(lease));
    let unknown = Outcome::Answer(Response::Error(EtcdError::LeaseNotFound));
    demand(revoked == unknown, || format!("its revocation: {revoked}"))
}

fn keep_alive<S: Timed>(side: &mut S, slack: Duration) -> Result<(), String> {
    let (lease, _) = grant(side, 2)?;
    let last = put(side, "a", Some(lease))?;
    let mut span = (Duration::ZERO, Duration::ZERO);
    // The third comes after the lease would have ended without the first two.
    for _ in 0..3 {
        side.pass(Duration::from_secs(1));
        span.0 = side.now();
        let renewed = side.call(&Request::LeaseKeepAlive(lease));
        let whole = Outcome::Answer(Response::LeaseKeepAlive {
            revision: last,
            ttl: 2,
        });
        demand(renewed == whole, || format!("keep-alive: {renewed}"))?;
        span.1 = side.now();
    }
    let events = deletions(side, last)?;
    in_time(side, span, Duration::from_secs(2), slack)?;
    demand(events.len() == 1, || format!("{} events", events.len()))
}

fn detached<S: Timed>(side: &mut S, slack: Duration) -> Result<(), String> {
    let from = side.now();
    let (short, _) = grant(side, 2)?;
    let to = side.now();
    let (long, _) = grant(side, 1000)?;
    for key in ["gone", "moved", "freed", "deleted"] {
        put(side, key, Some(short))?;
    }
    put(side, "moved", Some(long))?;
    put(side, "freed", None)?;
    let delete = wavetank_etcd::DeleteRange {
        keys: Keys::one("deleted"),
        prev_kv: false,
    };
    side.call(&Request::DeleteRange(delete));
    let last = put(side, "deleted", None)?;
    let attached = left(side, short)?.keys;
    demand(attached == [Key::from("gone")], || {
        format!("the lease has {attached:?}")
    })?;
    let events = deletions(side, last)?;
    in_time(side, (from, to), Duration::from_secs(2), slack)?;
    demand(events.len() == 1, || format!("{} events", events.len()))?;
    let rest = keys(side)?;
    let expected = ["deleted", "freed", "moved"].map(Key::from);
    demand(rest == expected, || format!("{rest:?} remain"))
}

fn time_to_live<S: Timed>(side: &mut S, _: Duration) -> Result<(), String> {
    let from = side.now();
    let (lease, _) = grant(side, 5)?;
    let to = side.now();
    for _ in 0..4 {
        let before = side.now();
        let answer = left(side, lease)?;
        let after = side.now();
        // Cut off to whole seconds.
        let whole = |elapsed: Duration| Duration::from_secs(5).saturating_sub(elapsed).as_secs();
        let span = whole(after - from)..=whole(before - to);
        demand(
            u64::try_from(answer.ttl).is_ok_and(|ttl| span.contains(&ttl)) && answer.granted == 5,
            || format!("{answer:?}, but it should have {span:?}"),
        )?;
        side.pass(Duration::from_millis(1100));
    }
    Ok(())
}
