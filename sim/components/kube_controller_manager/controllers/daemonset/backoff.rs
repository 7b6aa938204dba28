//! How long pods that failed are left before they go (`failedPodsBackoff`, a `Backoff` of `client-go/util/flowcontrol`).
//! Upstream compares times; here a timer says that the wait is over, and a later one that all is forgotten, so that worlds
//! which differ by a shift of time stay equal.

use std::time::Duration;

use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Cx, Name, Rx, Timer};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// After so long an entry counts no more.
const EXPIRES: Duration = Duration::from_secs(30 * 60);
const TIMER: Name = Name::new("failed-pods-backoff");

static ENTRIES: Cell<Vec<Entry>> = Cell::new("failed-pods-backoff");

/// `backoffEntry`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Entry {
    key: Item,
    /// By this its timer is named.
    number: u64,
    backoff: Duration,
    is_waiting: bool,
}

fn find<'a>(all: &'a mut [Entry], key: &Item) -> Option<&'a mut Entry> {
    all.iter_mut().find(|own| own.key == *key)
}

/// How long is to be waited, if it is (`IsInBackOffSinceUpdate`, `Get`).
pub(super) fn in_backoff(rx: Rx, key: &Item) -> Option<Duration> {
    rx.update(&ENTRIES, |all| {
        let own = find(all, key).filter(|own| own.is_waiting);
        own.map(|own| own.backoff)
    })
}

/// `Next`
pub(super) fn next(rx: Rx, key: &Item) {
    let (number, backoff) = rx.update(&ENTRIES, |all| {
        if let Some(own) = find(all, key) {
            own.backoff = (own.backoff * 2).min(LONGEST);
            own.is_waiting = true;
            return (own.number, own.backoff);
        }
        let is_free = |number: &u64| all.iter().all(|own| own.number != *number);
        let number = (0..).find(is_free).expect("numbers do not end");
        all.push(Entry {
            key: key.clone(),
            number,
            backoff: FIRST,
            is_waiting: true,
        });
        (number, FIRST)
    });
    rx.arm(Timer::new(TIMER, number), backoff);
}

/// A timer of the process; false if it is none of these.
pub(super) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer.tag != TIMER {
        return false;
    }
    let all = cx.cell(&ENTRIES);
    let Some(at) = all.iter().position(|own| own.number == timer.arg) else {
        return true;
    };
    if !all[at].is_waiting {
        all.remove(at);
        return true;
    }
    all[at].is_waiting = false;
    let left = EXPIRES - all[at].backoff;
    cx.arm(timer, left);
    true
}
