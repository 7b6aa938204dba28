//! The controller of namespaces: one that is being deleted is emptied, and then let go. `controller` says when it is looked
//! at, `deleter` how it is emptied, `conditions` what it says meanwhile; `users` are who makes namespaces and what is in
//! them, `properties` what is promised to them, `defects` what may be wrong, `describe` how that is told.

mod conditions;
mod controller;
mod defects;
mod deleter;
mod describe;
mod notes;
mod ordered;
mod properties;
mod users;

use std::sync::Arc;

use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES, PODS};
use wavetank_component::{Load, Need, Replicas, Setup};
use wavetank_version::Listed;

use crate::controller::{Controller, ControllerContext};
use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::NamespaceController;
use defects::NamespaceDefect;
use users::UsesNamespaces;

/// Its name in `--controllers`.
const CONTROLLER: &str = "namespace-controller";
/// The key of the number of those who use namespaces.
const USERS: &str = "namespace-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller of namespaces, which does not run",
    add: "`controllers: [namespace-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-namespace-syncs",
    about: "The number of namespaces that their controller empties at once (`--concurrent-namespace-syncs`); without it 10.",
    default: 10,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "n",
        "The number of clients that make namespaces and objects in them, take finalizers from these, and delete \
         namespaces, named n1, n2 and so on.",
    ),
    Load::command(
        "use-namespaces",
        "use",
        "Until the storm ends, users make a namespace or an object in one, take a finalizer, or delete one.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use namespaces",
            add: "`namespace-users: 2` to `topology`",
        },
    ),
    add_user::<UsesNamespaces>,
);

/// It empties namespaces of the resources that somebody uses: of others there are no objects.
fn new(setup: &Setup, cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    let used = setup.kinds.used().filter(|own| !own.is_custom());
    Arc::new(NamespaceController::new(cx, used, workers))
}

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&NAMESPACES, &CONFIG_MAPS, &PODS],
    defects: &[NamespaceDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "namespace",
            "the controller that empties namespaces that are deleted, and who makes namespaces for it",
        ),
        (CONTROLLER, gates::NAMESPACE_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        new,
    )
};
