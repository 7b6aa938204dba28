//! The controller that aggregates ClusterRoles: one with an `aggregationRule` has the rules of those that it selects. `controller` is the
//! algorithm, `rules` how rules are put together and compared, `users` are who makes roles in a scenario, `properties` what is promised to
//! them, `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod notes;
mod properties;
mod rules;
mod users;

use wavetank_api::kinds::CLUSTER_ROLES;
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::CONTROLLER;
use defects::AggregationDefect;
use users::UsesRoles;

/// The key of the number of those who use ClusterRoles.
const USERS: &str = "role-users";
/// What they are told.
const USE: &str = "use-roles";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller that aggregates ClusterRoles, which does not run",
    add: "`controllers: [clusterrole-aggregation-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "ro",
        "The number of clients that make, label, change and delete ClusterRoles, and write and apply the rules of aggregated ones, named \
         ro1, ro2 and so on.",
    ),
    Load::command(
        USE,
        "use",
        "Until the storm ends, users make, label, change or delete a ClusterRole, or write or apply the rules of an aggregated one.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use ClusterRoles",
            add: "`role-users: 2` to `topology`",
        },
    ),
    add_user::<UsesRoles>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&CLUSTER_ROLES],
    defects: &[AggregationDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    applies: true,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "clusterroleaggregation",
            "the controller that gives aggregated ClusterRoles the rules of those that they select, and who makes roles for it",
        ),
        (CONTROLLER, gates::CLUSTER_ROLE_AGGREGATION),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
