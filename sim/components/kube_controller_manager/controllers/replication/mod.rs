//! The ReplicationController controller: that of ReplicaSets, over another kind
//! (`pkg/controller/replication/replication_controller.go`). All that it does is in `replicaset`.

use wavetank_api::kinds::PODS;
use wavetank_component::Need;

use super::replicaset::{self, Kind};
use crate::declared::{Declared, Syncs};
use crate::{gates, runs};

const KIND: Kind = Kind::ReplicationController;

const NEEDED: Need = Need {
    met: |spec| runs(spec, KIND.controller()),
    lacking: "the controller of ReplicationControllers, which does not run",
    add: "`controllers: [replicationcontroller-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-rc-syncs",
    about: "The number of ReplicationControllers that their controller syncs at once (`--concurrent-rc-syncs`); without it 5.",
    default: 5,
};

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    resources: |_| vec![&PODS, KIND.resource()],
    defects_of_parts: replicaset::DEFECTS,
    ..Declared::new(
        (
            "replication",
            "the controller that keeps as many pods of a ReplicationController as it asks for",
        ),
        (KIND.controller(), gates::REPLICA_SET_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| replicaset::new(cx, KIND, workers),
    )
};
