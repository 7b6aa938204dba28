//! The controller of quotas, which counts again what is used of them; what is made is charged by the apiservers' admission
//! plugin. `controller` is one count, `monitors` what wakes it up; `users` are who uses quotas in a scenario, `properties`
//! what is promised to them, `defects` what may be wrong, `describe` how that is told. What an object uses is worked out in
//! `wavetank_api::quota`.

mod controller;
mod defects;
mod describe;
mod monitors;
mod notes;
mod properties;
mod users;

use std::sync::Arc;

use wavetank_api::kinds::{CONFIG_MAPS, PODS, RESOURCE_QUOTAS};
use wavetank_component::{Load, Need, Replicas, Setup};
use wavetank_components::kube_apiserver;
use wavetank_version::Listed;

use crate::controller::{Controller, ControllerContext};
use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::QuotaController;
use defects::RecountDefect;
use users::UsesQuotas;

/// Its name in `--controllers`.
const CONTROLLER: &str = "resourcequota-controller";
/// The name of the component.
pub(crate) const NAME: &str = kube_apiserver::QUOTAS;
/// The key of the number of those who use quotas.
const USERS: &str = "quota-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller of quotas, which does not run",
    add: "`controllers: [resourcequota-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-resource-quota-syncs",
    about: "The number of quotas that are counted again at once, and of new ones that are counted for the first time \
            (`--concurrent-resource-quota-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "qu",
        "The number of clients that make, change and delete quotas, and pods and ConfigMaps that are bound by them, named qu1, \
         qu2 and so on.",
    ),
    Load::command(
        "use-quotas",
        "use",
        "Until the storm ends, users make, change or delete a quota, or objects that it binds, several at once too.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use quotas",
            add: "`quota-users: 2` to `topology`",
        },
    ),
    add_user::<UsesQuotas>,
);

/// It has informers of all resources that somebody uses and that lie in namespaces.
fn new(setup: &Setup, cx: &mut ControllerContext, syncs: u32) -> Arc<dyn Controller> {
    let used = setup.kinds.used();
    let resources = used.filter(|own| own.namespaced && !own.is_custom());
    Arc::new(QuotaController::new(cx, resources, syncs))
}

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    users: Some(CLIENTS),
    resources: |_| vec![&RESOURCE_QUOTAS, &PODS, &CONFIG_MAPS],
    defects: &[RecountDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            NAME,
            "the controller that counts what is used of quotas, and who uses them",
        ),
        (CONTROLLER, gates::QUOTA_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        new,
    )
};
