//! What the controller of ReplicaSets is told of the kind that it controls, so that it serves ReplicationControllers,
//! too (`pkg/controller/replication/conversion.go` converts them; here their fields are read where they stand).

use serde_json::json;
use wavetank_api::Resource;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_api::kinds::{REPLICA_SETS, REPLICATION_CONTROLLERS};
use wavetank_api::selector::LabelSelector;
use wavetank_client::workqueue::WorkQueue;
use wavetank_engine::Name;
use wavetank_version::Version;

use crate::controller_utils::Expectations;
use crate::gates;

/// Which kind a controller serves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    ReplicaSet,
    ReplicationController,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::ReplicaSet, Kind::ReplicationController];

    pub fn resource(self) -> &'static Resource {
        match self {
            Kind::ReplicaSet => &REPLICA_SETS,
            Kind::ReplicationController => &REPLICATION_CONTROLLERS,
        }
    }

    /// The name of its controller in `--controllers`.
    pub const fn controller(self) -> &'static str {
        match self {
            Kind::ReplicaSet => "replicaset-controller",
            Kind::ReplicationController => "replicationcontroller-controller",
        }
    }

    pub const fn queue(self) -> WorkQueue {
        let queue = match self {
            Kind::ReplicaSet => "replicaset",
            Kind::ReplicationController => "replicationmanager",
        };
        WorkQueue::new(Name::new(self.controller()), queue)
    }

    pub const fn expectations(self) -> Expectations {
        Expectations::new(Name::new(self.controller()))
    }

    /// What an object of it selects; nothing if its selector is none.
    pub fn selector(self, object: &Json) -> Option<LabelSelector> {
        let selector = json::at(object, &["spec", "selector"])?;
        match self {
            Kind::ReplicaSet => label_selector_as_selector(selector),
            Kind::ReplicationController => {
                label_selector_as_selector(&json!({ "matchLabels": selector }))
            }
        }
    }

    /// Upstream's `EnableStatusTerminatingReplicas`, where the release has them.
    pub fn counts_terminating(self, release: Version) -> bool {
        self == Kind::ReplicaSet && release.has(gates::TERMINATING_REPLICAS)
    }
}
