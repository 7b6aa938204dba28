//! The controller that gives each node a range of addresses for its pods (`pkg/controller/nodeipam`). `cidr_set` knows which ranges
//! are taken, `controller` is who takes them for nodes, `options` are the ranges of the cluster, `users` are who makes and deletes
//! nodes in a scenario, `properties` what is promised, `defects` what may be wrong, `describe` how that is told.

mod cidr_set;
mod controller;
mod defects;
mod describe;
mod notes;
mod options;
mod properties;
mod users;

use wavetank_api::kinds::NODES;
use wavetank_component::{Keys, Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::NodeIpamDefect;
use options::Options;
use users::ProvisionsNodes;

/// The key of the number of those who make and delete nodes.
const USERS: &str = "node-provisioners";
/// What they are told.
const USE: &str = "provision-nodes";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller that gives ranges to nodes, which does not run",
    add: "`controllers: [node-ipam-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "np",
        "The number of clients that make and delete nodes, some of which a finalizer holds, named np1, np2 and so on.",
    ),
    Load::command(
        USE,
        "use",
        "Until the storm ends, provisioners make, mark, drain or delete a few nodes.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to make nodes",
            add: "`node-provisioners: 1` to `topology`",
        },
    ),
    add_user::<ProvisionsNodes>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    parts: &[Keys::of::<Options>],
    users: Some(CLIENTS),
    check: options::check,
    resources: |_| vec![&NODES],
    defects: &[NodeIpamDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "node-ipam",
            "the controller that gives each node a range of addresses for its pods, and who makes nodes for it",
        ),
        (CONTROLLER, gates::NODE_IPAM_CONTROLLER),
        None,
        NEEDED,
        |setup, cx, _| controller::new(cx, options::cidr_sets(setup)),
    )
};
