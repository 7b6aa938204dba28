//! What controllers share, most of it those of pods (`pkg/controller/controller_utils.go`, `controller_ref_manager.go`,
//! `util/consistency/consistency.go`). Each controller has its own folder; nothing here knows one of them.
//!
//! - `pods`: what is said of a pod, and who controls it;
//! - `expectations`: what a controller still expects to see of what it asked for;
//! - `consistency`: which of its own writes a controller has not read yet;
//! - `pod_control`: how pods are made, patched and deleted;
//! - `ref_manager`: who is adopted, and who is released;
//! - `batch`: how many pods are made at once;
//! - `history`: templates that there were (`pkg/controller/history`); `hash`: what a template is named by;
//! - `int_or_percent`: counts that may be percents;
//! - `discovery`: which resources there are, and the mapping of kinds to them;
//! - `ranks`: which pods go first; `defects`: mistakes in these;
//! - `taints`: taints, and how the taints and labels of a node are changed; `pod_status`: how the status of a
//!   pod is patched; `protectionutil`: finalizers that keep what is used.

mod batch;
mod consistency;
mod defects;
pub mod discovery;
mod expectations;
mod hash;
mod history;
mod int_or_percent;
mod pod_control;
mod pod_status;
mod pods;
pub mod protectionutil;
mod ranks;
mod ref_manager;
mod taints;

use thiserror::Error;
use wavetank_api::{Reason, Status};
use wavetank_client::Failure;
use wavetank_etcd::Revision;

pub use batch::{SLOW_START_INITIAL_BATCH_SIZE, slow_start_batch};
pub use consistency::ConsistencyStore;
pub use defects::PodOwnerDefect;
pub use expectations::Expectations;
pub use hash::compute_hash;
pub use history::{
    CONTROLLER_REVISION_CONTROLLER_INDEX, History, RevisionData, equal_revision, get_patch,
};
pub use int_or_percent::get_scaled_value_from_int_or_percent;
pub use pod_control::{ControllerRef, RealPodControl, get_pod_from_template};
pub use pod_status::{prepare_patch_bytes_for_pod_status, update_pod_condition};
pub use pods::{
    POD_CONTROLLER_INDEX, POD_NODE_NAME_INDEX, filter_pods_by_owner,
    find_min_next_pod_availability_check, get_controller_of, is_controlled_by, is_pod_active,
    is_pod_available, is_pod_ready, is_pod_terminating, pod_key,
};
pub use ranks::{Ranked, sort_active_pods, sort_by_deletion};
pub use ref_manager::{Claimed, Claims, ControllerRefManager};
pub use taints::{
    add_or_update_labels_on_node, add_or_update_taint_on_node, remove_taint_off_node, taint,
    taint_exists, taint_set_diff, taints,
};

/// Why an item could not be synced. It comes again after a while.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Error)]
pub enum SyncError {
    /// A request failed.
    #[error("{0}")]
    Request(#[from] Failure),
    /// A request failed, in the words of whoever made it: for callers it is no answer of a server any more.
    #[error("{0}")]
    Worded(String),
    /// A request failed, and whoever made it says what for: for callers it is still what the server answered (`%w`).
    #[error("{why}: {failure}")]
    Wrapped {
        /// What it was for.
        why: String,
        /// What went wrong.
        failure: Failure,
    },
    /// `ConsistencyError`: the cache has not seen what the controller wrote.
    #[error(
        "read version: {read} is not as new as written version: {wrote} for group resource {resource}"
    )]
    Stale {
        /// What the cache has seen.
        read: Revision,
        /// What was written.
        wrote: Revision,
        /// Of which resource.
        resource: String,
    },
}

impl SyncError {
    /// Did a server answer with this reason?
    pub fn is(&self, reason: Reason) -> bool {
        self.failure().is_some_and(|failure| failure.is(reason))
    }

    /// The request that failed, if one did.
    fn failure(&self) -> Option<&Failure> {
        match self {
            SyncError::Request(failure) | SyncError::Wrapped { failure, .. } => Some(failure),
            SyncError::Worded(_) | SyncError::Stale { .. } => None,
        }
    }

    /// This error, with what the request was for.
    pub fn wrapped(self, why: String) -> SyncError {
        match self {
            SyncError::Request(failure) => SyncError::Wrapped { why, failure },
            other => SyncError::Worded(format!("{why}: {other}")),
        }
    }

    /// Did a server answer because its namespace ends (`HasStatusCause` of `NamespaceTerminating`)?
    pub fn is_of_a_namespace_that_ends(&self) -> bool {
        let ends = |status: &Status| status.has_cause("NamespaceTerminating");
        matches!(self.failure(), Some(Failure::Status(status)) if ends(status))
    }
}
