//! The Endpoints controller, which lists the pods of each Service. `controller` is one sync, `events` what wakes it up, `defects` what may be wrong in it; `users` are who makes Services and pods in a
//! scenario, `properties`, `own_view` and `quiet` what is promised to them, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod events;
mod notes;
mod own_view;
mod properties;
mod quiet;
mod users;

use wavetank_api::Resource;
use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, PODS, SERVICES};
use wavetank_component::{Load, Mistakes, Need, Replicas, Section, Spec};
use wavetank_version::Listed;

use super::endpointslice;
use crate::declared::{Declared, Syncs, Users};
use crate::{gates, runs};
pub(super) use controller::IS_HEADLESS;
use controller::{ACCOUNT, CONTROLLER};
use defects::EndpointsDefect;
use users::UsesServices;
use wavetank_components::services;
use wavetank_components::users::User;

/// The key of the number of those who use Services.
pub(super) const USERS: &str = "service-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the Endpoints controller, which does not run",
    add: "`controllers: [endpoints-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-endpoint-syncs",
    about: "The number of Services whose Endpoints are synced at once (`--concurrent-endpoint-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "q",
        "The number of clients that make, change and delete Services, make pods for them, let these become ready and \
         unready, and end them, named q1, q2 and so on.",
    ),
    Load::command(
        "use-services",
        "use",
        "Until the storm ends, users make, change and delete Services and the pods behind them.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use Services",
            add: "`service-users: 2` to `topology`",
        },
    ),
    |setup, wiring, name, rest| {
        let slices = slices_are_kept(setup);
        wiring.process(name, User::new(rest, UsesServices { slices }));
    },
);

/// Is there something that users may do to slices?
fn slices_are_kept(spec: &Spec) -> bool {
    runs(spec, endpointslice::CONTROLLER)
}

fn resources(spec: &Spec) -> Vec<&'static Resource> {
    let mut all = vec![&SERVICES, &PODS, &ENDPOINTS];
    all.extend(slices_are_kept(spec).then_some(&ENDPOINT_SLICES));
    all
}

/// Services need addresses.
fn check(spec: &Spec, mistakes: &mut Mistakes) {
    if spec.count(USERS) > 0 && services::ranges(spec).is_none() {
        let message =
            format!("`{USERS}` make Services, and apiservers without addresses to give have none");
        let help = "add `service-cluster-ip-range: 10.96.0.0/24` to `options`";
        mistakes.key(Section::Topology, USERS, message, help);
    }
}

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    users: Some(CLIENTS),
    check,
    resources,
    defects: &[EndpointsDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "endpoints",
            "the controller that lists the pods of each Service in its Endpoints, and who makes Services and pods for it",
        ),
        (CONTROLLER, gates::ENDPOINTS_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
