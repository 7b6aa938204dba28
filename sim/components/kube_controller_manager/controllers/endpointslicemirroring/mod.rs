//! The controller that mirrors Endpoints which people keep themselves, of Services without a selector, in EndpointSlices.
//! `controller` is one sync, `reconciler` what becomes of the slices of some Endpoints, `plan` what is to be written, `mirrored` what
//! a slice is like, `events` what wakes it up, `defects` what may be wrong in it; `users` are who makes Services and Endpoints in a
//! scenario, `properties` what is promised to them, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod events;
mod mirrored;
mod notes;
mod plan;
mod properties;
mod reconciler;
mod users;

use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use wavetank_component::{Load, Mistakes, Need, Number, Replicas, Section, Spec};
use wavetank_version::Listed;

use crate::declared::{Declared, Syncs, Users, add_user};
use crate::endpoint_utils::SliceTrackerDefect;
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::MirroringDefect;
use users::UsesEndpoints;
use wavetank_components::services;

/// The key of the number of those who keep Endpoints.
const USERS: &str = "endpoints-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller that mirrors Endpoints, which does not run",
    add: "`controllers: [endpointslice-mirroring-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "mirroring-concurrent-service-endpoint-syncs",
    about: "The number of Endpoints that are mirrored at once (`--mirroring-concurrent-service-endpoint-syncs`); without it 5.",
    default: 5,
};

/// How many addresses of a subset are mirrored at most.
const MAX_ENDPOINTS: Number = Number {
    section: Section::Options,
    key: "mirroring-max-endpoints-per-subset",
    about: "The greatest number of addresses of a subset that are mirrored (`--mirroring-max-endpoints-per-subset`); without it 1000.",
    range: (1, 1000),
};

fn max_endpoints_per_subset(spec: &Spec) -> usize {
    MAX_ENDPOINTS.of(&spec.given).unwrap_or(1000) as usize
}

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "eu",
        "The number of clients that make Services without a selector, keep Endpoints for them, and change both, named eu1, eu2 and \
         so on.",
    ),
    Load::command(
        "use-endpoints",
        "use",
        "Until the storm ends, users make, change and delete Services without a selector, Endpoints and the slices that mirror these.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to keep Endpoints",
            add: "`endpoints-users: 2` to `topology`",
        },
    ),
    add_user::<UsesEndpoints>,
);

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
    numbers: &[MAX_ENDPOINTS],
    resources: |_| vec![&SERVICES, &ENDPOINTS, &ENDPOINT_SLICES],
    defects: &[MirroringDefect::LIST],
    defects_of_parts: &[SliceTrackerDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "endpointslicemirroring",
            "the controller that mirrors Endpoints which people keep themselves, and who keeps some",
        ),
        (CONTROLLER, gates::MIRRORING_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |setup, cx, workers| controller::new(cx, workers, max_endpoints_per_subset(setup)),
    )
};
