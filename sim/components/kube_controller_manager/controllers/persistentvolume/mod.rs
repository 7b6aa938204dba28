//! The controller that binds claims to volumes (`pkg/controller/volume/persistentvolume`), which calls itself a space shuttle.
//! `controller` is what it is made of, `sync_claim` and `sync_volume` are one sync of each, `bind` is what it writes, `index` which
//! volume fits a claim, `operations` is what it does beside its workers. `users` are administrators, a provisioner and who claims
//! storage, `properties` what is promised, `defects` what may be wrong,
//! `describe` how that is told, `views` what its caches show.

mod bind;
mod cache;
mod controller;
mod defects;
mod describe;
mod fields;
mod index;
mod notes;
mod operations;
mod properties;
mod sync_claim;
mod sync_volume;
mod users;
mod views;

use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES};
use wavetank_component::{Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::BinderDefect;
use users::UsesVolumes;

/// The key of the number of those who use volumes.
const USERS: &str = "volume-users";
/// What they are told.
const USE: &str = "use-volumes";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller that binds claims to volumes, which does not run",
    add: "`controllers: [persistentvolume-binder-controller]` to `options`, and `controller-managers: 1` to `topology`",
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "vu",
        "The number of clients that claim storage, make and delete volumes, and provision them, named vu1, vu2 and so on.",
    ),
    Load::command(
        USE,
        "use",
        "Until the storm ends, users of volumes make or delete a claim or a volume, provision or reclaim one, or reserve \
         one for a claim.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to use volumes",
            add: "`volume-users: 1` to `topology`",
        },
    ),
    add_user::<UsesVolumes>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    users: Some(CLIENTS),
    resources: |_| {
        vec![
            &PERSISTENT_VOLUMES,
            &PERSISTENT_VOLUME_CLAIMS,
            &STORAGE_CLASSES,
        ]
    },
    defects: &[BinderDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    views: views::of,
    ..Declared::new(
        (
            "persistentvolume",
            "the controller that binds claims to volumes, and who claims, makes and provisions them",
        ),
        (CONTROLLER, gates::VOLUME_BINDER_CONTROLLER),
        None,
        NEEDED,
        |_, cx, _| controller::new(cx),
    )
};
