//! The pods of whose tracking finalizer the controller expects to see that it is gone
//! (`uidTrackingExpectations` of `pkg/controller/job/tracking_utils.go`), and the Jobs of which it expects to see that they
//! have finished (`finishedJobExpectations`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Rx};

/// UIDs.
pub(super) type Uids = BTreeSet<Arc<str>>;

/// `uidTrackingExpectations`, by the keys of Jobs.
static EXPECTATIONS: Cell<BTreeMap<Item, Uids>> = Cell::new("job-finalizer-expectations");
/// `finishedJobExpectations`: the UIDs of Jobs.
static FINISHED: Cell<Uids> = Cell::new("finished-job-expectations");

/// Upstream's `getExpectedUIDs`
pub(super) fn get_expected_uids(rx: Rx, job: &Item) -> Uids {
    rx.look(&EXPECTATIONS, |all| {
        all.get(job).cloned().unwrap_or_default()
    })
}

/// `expectFinalizersRemoved`
pub(super) fn expect_finalizers_removed(rx: Rx, job: &Item, pods: Uids) {
    rx.update(&EXPECTATIONS, |all| {
        all.entry(job.clone()).or_default().extend(pods);
    });
}

/// `finalizerRemovalObserved`
pub(super) fn finalizer_removal_observed(rx: Rx, job: &Item, pod: &str) {
    rx.update(&EXPECTATIONS, |all| {
        if let Some(own) = all.get_mut(job) {
            own.remove(pod);
        }
    });
}

/// `deleteExpectations`
pub(super) fn delete_expectations(rx: Rx, job: &Item) {
    rx.update(&EXPECTATIONS, |all| drop(all.remove(job)));
}

/// The Job with this UID was written as finished.
pub(super) fn expect_finished(rx: Rx, job: &str) {
    rx.update(&FINISHED, |all| {
        all.insert(job.into());
    });
}

/// Is that still to be seen?
pub(super) fn is_finish_expected(rx: Rx, job: &str) -> bool {
    rx.look(&FINISHED, |all| all.contains(job))
}

/// It is seen, or the Job is gone.
pub(super) fn finish_observed(rx: Rx, job: &str) {
    rx.update(&FINISHED, |all| {
        all.remove(job);
    });
}
