//! The controller of ServiceAccounts: each namespace has one called `default`. `controller` is the algorithm, `properties` what
//! is promised of it, `defects` what may be wrong, `describe` how that is told. Who makes namespaces for it is beside the
//! publisher of the root certificate.

mod controller;
mod defects;
mod describe;
mod notes;
mod properties;

use wavetank_api::kinds::{NAMESPACES, SERVICE_ACCOUNTS};
use wavetank_component::Need;
use wavetank_version::Listed;

use crate::declared::Declared;
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::ServiceAccountDefect;

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller of ServiceAccounts, which does not run",
    add: "`controllers: [serviceaccount-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    resources: |_| vec![&NAMESPACES, &SERVICE_ACCOUNTS],
    defects: &[ServiceAccountDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "serviceaccount",
            "the controller that makes the default ServiceAccount of each namespace",
        ),
        (CONTROLLER, gates::SERVICE_ACCOUNT_CONTROLLER),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
