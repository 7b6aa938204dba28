//! The back-off of containers that end again and again (`client-go/util/flowcontrol/backoff.go`, v1.36.2, as
//! `pkg/kubelet/kubelet.go` makes it: 10 s, twice as long each time, up to 5 min).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Cell, Rx, Time};

use crate::runtime::cri::Uid;

/// `initialBackOff` and `MaxCrashLoopBackOff`
const FIRST: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(300);

/// Upstream's key is of the pod and the container.
pub(crate) type Key = (Uid, Arc<str>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entry {
    back_off: Duration,
    last_update: Time,
}

/// `Backoff`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct BackOff(BTreeMap<Key, Entry>);

static BACK_OFF: Cell<BackOff> = Cell::new("crash-loop-back-off");

/// How long after.
pub(crate) fn since(then: Time, now: Time) -> Duration {
    Duration::from_nanos(now.nanos().saturating_sub(then.nanos()))
}

/// `hasExpired`
fn has_expired(event: Time, last_update: Time) -> bool {
    since(last_update, event) > MOST * 2
}

impl BackOff {
    fn known(&self, key: &Key, event: Time) -> Option<&Entry> {
        self.0
            .get(key)
            .filter(|own| !has_expired(event, own.last_update))
    }

    /// `IsInBackOffSince`, and how long it lasts.
    fn is_in_back_off_since(&self, key: &Key, event: Time, now: Time) -> Option<Duration> {
        let left = self
            .known(key, event)?
            .back_off
            .checked_sub(since(event, now))?;
        (left > Duration::ZERO).then_some(left)
    }

    /// `Next`
    fn next(&mut self, key: Key, event: Time, now: Time) {
        let known = self.known(&key, event);
        let back_off = known.map_or(FIRST, |own| (own.back_off * 2).min(MOST));
        let last_update = now;
        let entry = Entry {
            back_off,
            last_update,
        };
        self.0.insert(key, entry);
    }
}

/// `IsInBackOffSince`, and how long it lasts.
pub(crate) fn is_in_back_off_since(rx: Rx, key: &Key, event: Time, now: Time) -> Option<Duration> {
    rx.look(&BACK_OFF, |own| own.is_in_back_off_since(key, event, now))
}

/// `Next`
pub(crate) fn next(rx: Rx, key: Key, event: Time, now: Time) {
    rx.update(&BACK_OFF, |own| own.next(key, event, now));
}

/// `GC`
pub(crate) fn gc(rx: Rx) {
    let now = rx.clock();
    let is_over = |own: &Entry| has_expired(now, own.last_update);
    if rx.look(&BACK_OFF, |own| own.0.values().any(is_over)) {
        rx.update(&BACK_OFF, |own| own.0.retain(|_, own| !is_over(own)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn key() -> Key {
        ("uid".into(), "main".into())
    }

    #[test]
    fn a_container_that_ran_for_long_begins_anew() {
        let mut own = BackOff::default();
        own.next(key(), at(0), at(0));
        own.next(key(), at(600), at(600));
        assert_eq!(own.0[&key()].back_off, FIRST * 2);
        own.next(key(), at(1201), at(1201));
        assert_eq!(own.0[&key()].back_off, FIRST);
        let others: Key = ("uid".into(), "other".into());
        assert_eq!(own.is_in_back_off_since(&others, at(1201), at(1201)), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Started as soon as it may be, a container that runs for less than 5 min waits for the n-th time as long as n says.
        #[test]
        fn each_wait_is_twice_the_one_before(runs in prop::collection::vec(0_u64..300, 1..12)) {
            let mut own = BackOff::default();
            let mut now = 0;
            for (n, run) in runs.into_iter().enumerate() {
                now += run;
                let ended = at(now);
                let left = own.is_in_back_off_since(&key(), ended, ended);
                let expected = match n {
                    0 => None,
                    n => Some(Duration::from_secs((10 << (n - 1)).min(300))),
                };
                prop_assert_eq!(left, expected);
                now += left.unwrap_or_default().as_secs();
                prop_assert_eq!(own.is_in_back_off_since(&key(), ended, at(now)), None);
                own.next(key(), ended, at(now));
            }
        }
    }
}
