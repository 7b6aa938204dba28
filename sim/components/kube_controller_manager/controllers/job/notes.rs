//! What the controller says, for properties and stories.

use std::sync::Arc;

use wavetank_api::Stamp;
use wavetank_client::workqueue::Item;

/// UIDs of pods.
pub(super) type Pods = Arc<[Arc<str>]>;

/// What it counts in a sync of a Job.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CountsPods {
    /// `namespace/name`
    pub job: Item,
    /// The UID of the Job.
    pub uid: Arc<str>,
    /// How many have succeeded, or indexes.
    pub succeeded: i64,
    /// Those that have failed of which the status does not say so yet, and when.
    pub failed: Arc<[(Arc<str>, Option<Stamp>)]>,
    /// When those of the other kind succeeded.
    pub successes: Arc<[Option<Stamp>]>,
}

/// The status with these counts was written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FlushedCounts {
    /// The UID of the Job.
    pub uid: Arc<str>,
}

/// It still waits to see so many pods come and go before it makes or deletes others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AwaitsPods {
    pub job: Item,
    pub uid: Arc<str>,
    pub creations: i64,
    pub deletions: i64,
}

/// It is about to make so many pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MakesJobPods {
    pub job: Item,
    pub uid: Arc<str>,
    /// The pods of the Job that it sees.
    pub seen: Pods,
    pub count: usize,
    pub parallelism: i64,
    /// Do pods that go keep others from being made?
    pub only_replaces_failed: bool,
    /// Does each index have a wait of its own?
    pub waits_by_index: bool,
}

/// It made a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MadeJobPod {
    /// The UID of the Job.
    pub job: Arc<str>,
    pub pod: Item,
    pub uid: Arc<str>,
}

/// It is about to have these pods deleted, of which there are too many or which are no more wanted: they are not counted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct DropsJobPods {
    pub job: Item,
    pub uid: Arc<str>,
    pub pods: Pods,
}

/// It is about to write the status of a Job.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct WritesJobStatus {
    pub job: Item,
    pub finishes: bool,
}

/// An apiserver took the status for invalid.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct JobStatusIsInvalid {
    pub job: Item,
    pub why: Arc<str>,
}

/// It wrote that a Job has finished.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FinishedJob {
    /// The UID of the Job.
    pub uid: Arc<str>,
}
