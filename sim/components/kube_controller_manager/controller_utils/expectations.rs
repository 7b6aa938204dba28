//! What a controller still expects to see of what it asked for (`UIDTrackingControllerExpectations`,
//! `ControllerExpectations` of `pkg/controller/controller_utils.go`): until its cache has shown that, or 5 minutes are
//! over, it does not act on its count again.
//!
//! Upstream compares times. Here a timer says that the 5 minutes are over, so that worlds which differ by a shift of
//! time stay equal.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Cx, Name, Rx, Timer, mutant};

/// `ExpectationsTimeout`
const EXPECTATIONS_TIMEOUT: Duration = Duration::from_secs(5 * 60);
const EXPIRES: Name = Name::new("expectations-expire");

/// The expectations of all controllers of a process.
static EXPECTATIONS: Cell<Vec<ControlleeExpectations>> = Cell::new("expectations");

/// `ControlleeExpectations`, and the `UIDSet` beside it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ControlleeExpectations {
    /// The controller.
    of: Name,
    key: Item,
    /// By this its timer is named.
    number: u64,
    /// What is expected, if that was ever said.
    counts: Option<Counts>,
    /// The keys of pods whose deletion is expected.
    uids: BTreeSet<Item>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Counts {
    add: i64,
    del: i64,
    expired: bool,
}

impl Counts {
    fn of(add: usize, del: usize) -> Counts {
        let count = |of| i64::try_from(of).expect("few pods");
        Counts {
            add: count(add),
            del: count(del),
            expired: false,
        }
    }

    /// `Fulfilled`
    fn fulfilled(self) -> bool {
        self.add <= 0 && self.del <= 0
    }
}

/// The expectations of a controller, by the keys of its objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Expectations {
    of: Name,
}

type All = Vec<ControlleeExpectations>;

impl Expectations {
    /// Those of the controller with this name.
    pub const fn new(of: Name) -> Expectations {
        Expectations { of }
    }

    fn find<'a>(self, all: &'a mut All, key: &Item) -> Option<&'a mut ControlleeExpectations> {
        let mut those = all.iter_mut();
        those.find(|own| own.of == self.of && own.key == *key)
    }

    /// What stands under this key, made if there is nothing.
    fn entry<'a>(self, all: &'a mut All, key: &Item) -> &'a mut ControlleeExpectations {
        let known = all
            .iter()
            .position(|own| own.of == self.of && own.key == *key);
        let at = known.unwrap_or_else(|| {
            let is_free = |number: &u64| all.iter().all(|own| own.number != *number);
            all.push(ControlleeExpectations {
                of: self.of,
                key: key.clone(),
                number: (0..).find(is_free).expect("numbers do not end"),
                counts: None,
                uids: BTreeSet::new(),
            });
            all.len() - 1
        });
        &mut all[at]
    }

    /// If a fix wants that, puts into the queue what still waits, for when all that it expects has expired. Upstream does not:
    /// expectations expire for those alone who ask. Each sync says that anew, since of several delays the first one counts.
    pub fn wake_when_expired(
        self,
        rx: Rx,
        queue: WorkQueue,
        key: Item,
        is_wanted: impl FnOnce() -> bool,
    ) {
        if !self.satisfied_expectations(rx, &key) && is_wanted() {
            queue.add_after(rx, key, EXPECTATIONS_TIMEOUT + Duration::from_secs(1));
        }
    }

    /// `SatisfiedExpectations`: was all seen, or is it too long ago?
    pub fn satisfied_expectations(self, rx: Rx, key: &Item) -> bool {
        rx.update(&EXPECTATIONS, |all| {
            let counts = self.find(all, key).and_then(|own| own.counts);
            counts.is_none_or(|counts| {
                counts.fulfilled()
                    || counts.expired
                    || mutant!(
                        "expectations-are-ignored",
                        "a controller does not wait for what it did itself"
                    )
            })
        })
    }

    /// `SetExpectations`; what was expected before is forgotten.
    fn set_expectations(self, rx: Rx, key: &Item, counts: Counts, uids: Option<BTreeSet<Item>>) {
        let number = rx.update(&EXPECTATIONS, |all| {
            let own = self.entry(all, key);
            own.counts = Some(counts);
            if let Some(uids) = uids {
                own.uids = uids;
            }
            own.number
        });
        rx.arm(Timer::new(EXPIRES, number), EXPECTATIONS_TIMEOUT);
    }

    /// Upstream's `SetExpectations` for who makes and deletes at once, and counts deletions without knowing of which pods.
    pub fn expect(self, rx: Rx, key: &Item, adds: usize, dels: usize) {
        self.set_expectations(rx, key, Counts::of(adds, dels), None);
    }

    /// How many creations and deletions are still to be seen.
    pub fn awaited(self, rx: Rx, key: &Item) -> (i64, i64) {
        rx.update(&EXPECTATIONS, |all| {
            let counts = self.find(all, key).and_then(|own| own.counts);
            counts.map_or((0, 0), |counts| (counts.add, counts.del))
        })
    }

    /// `ExpectCreations`
    pub fn expect_creations(self, rx: Rx, key: &Item, adds: usize) {
        self.set_expectations(rx, key, Counts::of(adds, 0), None);
    }

    /// `ExpectDeletions`: each of these once, seen as a mark or as a deletion.
    pub fn expect_deletions(self, rx: Rx, key: &Item, pods: impl Iterator<Item = Item>) {
        let uids: BTreeSet<Item> = pods.collect();
        let counts = Counts::of(0, uids.len());
        self.set_expectations(rx, key, counts, Some(uids));
    }

    /// The pods whose deletion was asked for and is not seen yet, once that was too long ago.
    pub fn awaited_deletions(self, rx: Rx, key: &Item) -> BTreeSet<Item> {
        rx.update(&EXPECTATIONS, |all| {
            let own = self.find(all, key).map(|own| &*own);
            let expired = own.filter(|own| own.counts.is_some_and(|counts| counts.expired));
            expired.map_or_else(BTreeSet::new, |own| own.uids.clone())
        })
    }

    /// `CreationObserved`
    pub fn creation_observed(self, rx: Rx, key: &Item) {
        rx.update(&EXPECTATIONS, |all| {
            if let Some(counts) = self.find(all, key).and_then(|own| own.counts.as_mut()) {
                counts.add -= 1;
            }
        });
    }

    /// `DeletionObserved`: was it expected?
    pub fn deletion_observed(self, rx: Rx, key: &Item, pod: &Item) -> bool {
        let expected = rx.update(&EXPECTATIONS, |all| {
            let own = self.find(all, key);
            own.is_some_and(|own| own.uids.remove(pod))
        });
        if expected {
            self.lower_deletions(rx, key);
        }
        expected
    }

    /// Upstream's `DeletionObserved` of the expectations below, which know no pods: there is one less to come.
    pub fn lower_deletions(self, rx: Rx, key: &Item) {
        rx.update(&EXPECTATIONS, |all| {
            if let Some(counts) = self.find(all, key).and_then(|own| own.counts.as_mut()) {
                counts.del -= 1;
            }
        });
    }

    /// `DeleteExpectations`
    pub fn delete_expectations(self, rx: Rx, key: &Item) {
        let gone = rx.update(&EXPECTATIONS, |all| {
            let is_it = |own: &ControlleeExpectations| own.of == self.of && own.key == *key;
            let at = all.iter().position(is_it)?;
            Some(all.remove(at).number)
        });
        if let Some(number) = gone {
            rx.disarm(Timer::new(EXPIRES, number));
        }
    }

    /// A timer of the process; false if it is none of expectations.
    pub fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
        if timer.tag != EXPIRES {
            return false;
        }
        let mut all = cx.cell(&EXPECTATIONS).iter_mut();
        let own = all.find(|own| own.number == timer.arg);
        if let Some(counts) = own.and_then(|own| own.counts.as_mut()) {
            counts.expired = !mutant!(
                "expectations-do-not-expire",
                "a controller waits for ever for what it did itself"
            );
        }
        true
    }
}
