//! The back-off of containers that end again and again (`client-go/util/flowcontrol/backoff.go`, v1.36.2, as
//! `pkg/kubelet/kubelet.go` makes it: 10 s, twice as long each time, up to 5 min).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Cell, Rx, Time};

use crate::runtime::cri::Uid;

/// `initialBackOff` and `MaxCrashLoopBackOff`
pub(crate) const FIRST: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(300);

/// Upstream's key is of the pod and the container.
pub(crate) type Key = (Uid, Arc<str>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entry {
    back_off: Duration,
    last_update: Time,
}

static ENTRIES: Cell<BTreeMap<Key, Entry>> = Cell::new("crash-loop-back-off");

/// How long after.
pub(crate) fn since(then: Time, now: Time) -> Duration {
    Duration::from_nanos(now.nanos().saturating_sub(then.nanos()))
}

/// `hasExpired`
fn has_expired(event: Time, last_update: Time) -> bool {
    since(last_update, event) > MOST * 2
}

/// `IsInBackOffSince`, and how long it lasts.
pub(crate) fn is_in_back_off_since(rx: Rx, key: &Key, event: Time, now: Time) -> Option<Duration> {
    rx.look(&ENTRIES, |own| {
        let own = own
            .get(key)
            .filter(|own| !has_expired(event, own.last_update))?;
        let left = own.back_off.checked_sub(since(event, now))?;
        (left > Duration::ZERO).then_some(left)
    })
}

/// `Next`
pub(crate) fn next(rx: Rx, key: Key, event: Time, now: Time) {
    rx.update(&ENTRIES, |all| {
        let known = all
            .get(&key)
            .filter(|own| !has_expired(event, own.last_update));
        let back_off = known.map_or(FIRST, |own| (own.back_off * 2).min(MOST));
        all.insert(
            key,
            Entry {
                back_off,
                last_update: now,
            },
        );
    });
}

/// `GC`
pub(crate) fn gc(rx: Rx) {
    let now = rx.clock();
    let any = rx.look(&ENTRIES, |all| {
        all.values().any(|own| has_expired(now, own.last_update))
    });
    if any {
        rx.update(&ENTRIES, |all| {
            all.retain(|_, own| !has_expired(now, own.last_update))
        });
    }
}
