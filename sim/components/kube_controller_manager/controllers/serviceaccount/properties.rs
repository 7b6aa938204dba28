//! What those who run pods may rely on once all has been well for a while: each namespace has its default ServiceAccount, and nobody
//! makes it any more.

use std::time::Duration;

use wavetank_api::kinds::SERVICE_ACCOUNTS;
use wavetank_component::{PropertyInfo, Spec};
use wavetank_components::promises::{reaches, violated};
use wavetank_engine::{Check, Stable, World};

use super::super::root_ca_publisher::USERS;
use super::super::root_ca_publisher::properties::{USED, living, namespaces_concerned, stored_in};
use super::NEEDED;
use super::controller::{CONTROLLER, DEFAULT};
use super::notes::MakesAccount;
use crate::quiet::{Act, IsQuiet, Rest};
use crate::somebody_runs;

/// What failed in a storm is tried again a little later than the storm was long; a namespace goes in between.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "namespaces-have-a-default-account",
            "some time after calm each namespace that is not being deleted has a ServiceAccount called default",
            NEEDED,
            |settled| Box::new(namespaces_have_a_default_account(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "accounts-are-quiet",
            "some time after calm the controller makes no ServiceAccount any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        ),
        reaches(
            "default-account-was-made",
            "the controller was about to make a ServiceAccount",
            NEEDED,
            |_, note| note.body.get::<MakesAccount>().is_some(),
        )
        .fits(users),
    ]
}

fn namespaces_have_a_default_account(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let mut checked = Check::Idle;
        for namespace in living(world) {
            let name = namespace.name();
            if stored_in(world, &SERVICE_ACCOUNTS, namespace, DEFAULT).is_none() {
                let message = format!("the namespace {name} has no default ServiceAccount");
                return violated("namespace", name, message);
            }
            checked = Check::Held;
        }
        checked
    };
    let name = "namespaces-have-a-default-account";
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

const REST: Rest = Rest {
    property: "accounts-are-quiet",
    controller: CONTROLLER,
    kind: "namespace",
    acts: |namespace| format!("the default ServiceAccount of {namespace} is made"),
    act: |note| {
        let MakesAccount { namespace } = note.body.get()?;
        Some(Act {
            on: namespace.clone(),
            name: namespace.clone(),
        })
    },
    concerns: |change| namespaces_concerned(change, &SERVICE_ACCOUNTS, DEFAULT),
    follows: |_, namespace, changed| changed.contains(namespace),
};
