//! The EndpointSlice controller, which lists the pods of each Service in slices. `controller` is one sync, `reconciler` what
//! becomes of the slices of a Service, `port_mapping` how endpoints are put into them, `slices` what one is like, `events` what wakes it up, `defects` what may be wrong in it, `properties`
//! what is promised, `describe` how that is told. Who makes Services and pods in a scenario is beside the Endpoints controller.

mod controller;
mod defects;
mod describe;
mod events;
mod port_mapping;
mod properties;
mod reconciler;
mod slices;

use wavetank_api::kinds::{ENDPOINT_SLICES, NODES, PODS, SERVICES};
use wavetank_component::{Mistakes, Need, Number, Section, Spec};
use wavetank_version::Listed;

use super::endpoints::USERS;
use crate::declared::{Declared, Syncs};
use crate::endpoint_utils::SliceTrackerDefect;
use crate::{gates, runs};
pub(super) use controller::{CONTROLLER, MANAGER};
use defects::EndpointSliceDefect;
use wavetank_components::nodes;

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the EndpointSlice controller, which does not run",
    add: "`controllers: [endpointslice-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-service-endpoint-syncs",
    about: "The number of Services whose EndpointSlices are synced at once (`--concurrent-service-endpoint-syncs`); without it 5.",
    default: 5,
};

/// How many endpoints a slice has at most.
const MAX_ENDPOINTS: Number = Number {
    section: Section::Options,
    key: "max-endpoints-per-slice",
    about: "The greatest number of endpoints in an EndpointSlice (`--max-endpoints-per-slice`); without it 100.",
    range: (1, 1000),
};

fn max_endpoints_per_slice(spec: &Spec) -> usize {
    MAX_ENDPOINTS.of(&spec.given).unwrap_or(100) as usize
}

/// Pods of a node that is not there are not listed.
fn check(spec: &Spec, mistakes: &mut Mistakes) {
    if runs(spec, CONTROLLER) && spec.count(USERS) > 0 && !nodes::register(spec) {
        let message = format!("the pods of `{USERS}` run on the node n1, and nobody registers it");
        let help = format!("add `{}: 1` to `topology`", nodes::NAME);
        mistakes.key(Section::Topology, USERS, message, help);
    }
}

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    check,
    numbers: &[MAX_ENDPOINTS],
    resources: |_| vec![&SERVICES, &PODS, &NODES, &ENDPOINT_SLICES],
    defects: &[EndpointSliceDefect::LIST, SliceTrackerDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "endpointslice",
            "the controller that lists the pods of each Service in EndpointSlices",
        ),
        (CONTROLLER, gates::ENDPOINTS_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |setup, cx, workers| controller::new(cx, workers, max_endpoints_per_slice(setup)),
    )
};
