//! The controller of HorizontalPodAutoscalers, which gives what an autoscaler is for as many replicas as metrics ask for.
//! `reconcile` is one look at an autoscaler, `compute` what its metrics ask for, `replica_calculator` the arithmetic of that,
//! `metrics` how metrics are had, `normalize` what becomes of a recommendation by those before it and by rules, `selectors`
//! who selects the same pods, `status` what is written of it, `controller` what it is made of and what wakes it up. `users` are
//! who uses autoscalers in a scenario; `properties` what is promised to them, `defects` what may be wrong, `describe` how that is
//! told.

mod compute;
mod controller;
mod defects;
mod describe;
mod metrics;
mod normalize;
mod notes;
mod properties;
mod reconcile;
mod replica_calculator;
mod selectors;
mod status;
mod users;

use wavetank_api::kinds::{AUTOSCALERS, CONFIG_MAPS, DEPLOYMENTS, PODS, REPLICA_SETS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::HorizontalPodAutoscalerDefect;
use users::UsesAutoscalers;

/// The key of the number of those who use autoscalers.
const USERS: &str = "autoscaler-users";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller of HorizontalPodAutoscalers, which does not run",
    add: "`controllers: [horizontal-pod-autoscaler-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-horizontal-pod-autoscaler-syncs",
    about: "The number of HorizontalPodAutoscalers that their controller looks at at once \
            (`--concurrent-horizontal-pod-autoscaler-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "au",
        "The number of clients that make, change, delete and make anew HorizontalPodAutoscalers, change the load of what these \
         are for, and set its replicas by hand, named au1, au2 and so on.",
    ),
    Load::command(
        "use-autoscalers",
        "use",
        "Until the storm ends, users make, change and delete autoscalers, change load, and set replicas by hand.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use autoscalers",
            add: "`autoscaler-users: 2` to `topology`",
        },
    ),
    add_user::<UsesAutoscalers>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    users: Some(CLIENTS),
    resources: |_| {
        vec![
            &AUTOSCALERS,
            &PODS,
            &DEPLOYMENTS,
            &REPLICA_SETS,
            &CONFIG_MAPS,
        ]
    },
    defects: &[HorizontalPodAutoscalerDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "horizontalpodautoscaler",
            "the controller that gives workloads as many replicas as their load asks for, and who uses autoscalers",
        ),
        (CONTROLLER, gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
