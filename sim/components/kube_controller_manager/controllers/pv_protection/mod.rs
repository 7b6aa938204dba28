//! The controller that protects volumes: one that is being deleted goes once no claim is bound to it. `controller` is the algorithm with
//! its defects, `properties` what is promised, `describe` how that is told. Who uses volumes are the users of the controller that
//! binds them.

mod controller;
mod describe;
mod properties;

use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES};
use wavetank_component::Need;
use wavetank_version::Listed;

use crate::declared::Declared;
use crate::{gates, runs};
use controller::{CONTROLLER, VolumeProtectionDefect};

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller that protects volumes, which does not run",
    add: "`controllers: [persistentvolume-protection-controller]` to `options`, and `controller-managers: 1` to \
          `topology`",
};

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some("pv-protection-controller"),
    resources: |_| vec![&PERSISTENT_VOLUMES, &PERSISTENT_VOLUME_CLAIMS],
    defects: &[VolumeProtectionDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    ..Declared::new(
        (
            "pv-protection",
            "the controller that lets volumes go that are being deleted and that no claim is bound to",
        ),
        (CONTROLLER, gates::VOLUME_PROTECTION_CONTROLLER),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
