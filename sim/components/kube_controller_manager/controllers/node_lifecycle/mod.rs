//! The node lifecycle controller: it says of nodes that are silent that nobody knows how they are, taints those that are not
//! ready, so that nothing is scheduled there and their pods go, and says of their pods that they are not ready. `controller` is
//! what it does and when, `judge` how the health of a node is judged, `health` what is remembered of that, `tainting` how
//! taints change, `zones` how fast, `pods` what becomes of pods; `options` are its periods, `properties` what is promised,
//! `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod health;
mod judge;
mod notes;
mod options;
mod pods;
mod properties;
mod tainting;
mod zones;

use wavetank_api::kinds::{DAEMON_SETS, LEASES, NODES, PODS};
use wavetank_component::{Keys, Need};
use wavetank_version::Listed;

use crate::declared::Declared;
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::NodeLifecycleDefect;
use options::{Options, Periods};

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the node lifecycle controller, which does not run",
    add: "`controllers: [node-lifecycle-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    parts: &[Keys::of::<Options>],
    check: options::check,
    resources: |_| vec![&LEASES, &PODS, &NODES, &DAEMON_SETS],
    defects: &[NodeLifecycleDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "node-lifecycle",
            "the controller that taints nodes which are not ready, and takes those that are silent for lost",
        ),
        (CONTROLLER, gates::NODE_LIFECYCLE_CONTROLLER),
        None,
        NEEDED,
        |setup, cx, _| controller::new(cx, Periods::of(setup)),
    )
};
