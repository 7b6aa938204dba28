//! The publisher of the root certificate: each namespace has a ConfigMap with the certificate by which pods know the servers.
//! `controller` is the algorithm, `users` are who makes namespaces in a scenario and changes what controllers put there,
//! `properties` what is promised to them, `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod notes;
pub(super) mod properties;
mod users;

use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::PublisherDefect;
use users::LivesInNamespaces;

pub(super) use controller::ROOT_CA;

/// The key of the number of those who live in namespaces.
pub(super) const USERS: &str = "tenants";
/// What they are told.
pub(super) const USE: &str = "use-tenancies";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the publisher of the root certificate, which does not run",
    add: "`controllers: [root-ca-certificate-publisher-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "te",
        "The number of clients that make, mark and delete namespaces, and that make, change and delete the root certificates and \
         default ServiceAccounts in them, named te1, te2 and so on.",
    ),
    Load::command(
        USE,
        "use",
        "Until the storm ends, tenants make, mark or delete a namespace, or make, change or delete what controllers put there.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to make namespaces",
            add: "`tenants: 2` to `topology`",
        },
    ),
    add_user::<LivesInNamespaces>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    users: Some(CLIENTS),
    resources: |_| vec![&NAMESPACES, &CONFIG_MAPS, &SERVICE_ACCOUNTS],
    defects: &[PublisherDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "root-ca-publisher",
            "the controller that publishes the root certificate in each namespace, and who makes namespaces for it",
        ),
        (CONTROLLER, gates::ROOT_CA_PUBLISHER),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
