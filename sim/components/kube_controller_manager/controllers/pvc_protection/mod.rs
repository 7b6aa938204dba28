//! The controller that protects claims: one that is being deleted goes once no pod uses it. `controller` is the algorithm
//! with its defects, `properties` what is promised, `describe` how that is told. Who uses claims are users of StatefulSets.

mod controller;
mod describe;
mod properties;

use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS};
use wavetank_component::Need;
use wavetank_version::Listed;

use crate::declared::Declared;
use crate::{gates, runs};
use controller::{CONTROLLER, ProtectionDefect};

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller that protects claims, which does not run",
    add: "`controllers: [persistentvolumeclaim-protection-controller]` to `options`, and `controller-managers: 1` to \
          `topology`",
};

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some("pvc-protection-controller"),
    resources: |_| vec![&PERSISTENT_VOLUME_CLAIMS, &PODS],
    defects: &[ProtectionDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "pvc-protection",
            "the controller that lets claims go that are being deleted and that no pod uses",
        ),
        (CONTROLLER, gates::CLAIM_PROTECTION_CONTROLLER),
        None,
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
