//! What those who live in namespaces may rely on once all has been well for a while: the root certificate is there, and nobody
//! writes it any more.

use std::time::Duration;

use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES};
use wavetank_api::{Object, Resource};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::changes::is_of;
use wavetank_components::promises::{reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Stable, World};
use wavetank_etcd::Change;

use super::controller::{CONTROLLER, ROOT_CA_CERT_CONFIG_MAP_NAME, is_published};
use super::notes::Publishes;
use super::{NEEDED, USE, USERS};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;

/// What failed in a storm is tried again a little later than the storm was long; a namespace goes in between.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to live in namespaces.
pub(in crate::controllers) const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", USE, "{every: 2s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "namespaces-have-the-root-certificate",
            "some time after calm each namespace that is not being deleted has the root certificate, as it is and described",
            NEEDED,
            |settled| Box::new(namespaces_have_the_root_certificate(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "publisher-is-quiet",
            "some time after calm the publisher writes no root certificate any more, but a few times after a change that comes \
             late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        ),
        reaches(
            "root-certificate-was-mended",
            "the publisher found a root certificate that was not as it should be",
            NEEDED,
            |_, note| note.body.get().is_some_and(|own: &Publishes| own.mends),
        )
        .fits(users),
    ]
}

/// The namespaces that are not being deleted.
pub(in crate::controllers) fn living(world: &World) -> Vec<&Object> {
    let mut all = ClusterView(world).all(NAMESPACES.registry);
    all.retain(|namespace| !namespace.is_being_deleted());
    all
}

/// What is stored of this name in a namespace.
pub(in crate::controllers) fn stored_in<'a>(
    world: &'a World,
    of: &Resource,
    namespace: &Object,
    name: &str,
) -> Option<&'a Object> {
    let found = ClusterView(world).get(&of.key(namespace.name(), name));
    found.map(|kv| &kv.value)
}

fn namespaces_have_the_root_certificate(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let mut checked = Check::Idle;
        for namespace in living(world) {
            let name = namespace.name();
            let found = stored_in(world, &CONFIG_MAPS, namespace, ROOT_CA_CERT_CONFIG_MAP_NAME);
            let wrong = match found {
                None => "has no root certificate",
                Some(found) if !is_published(found.json()) => {
                    "has a root certificate that is not as it should be"
                }
                Some(_) => {
                    checked = Check::Held;
                    continue;
                }
            };
            return violated("namespace", name, format!("the namespace {name} {wrong}"));
        }
        checked
    };
    let name = "namespaces-have-the-root-certificate";
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

/// The namespace that a change concerns: its own, or the one in which an object is of this kind and name.
pub(in crate::controllers) fn namespaces_concerned(
    change: &Change<Object>,
    of: &Resource,
    name: &str,
) -> Vec<Subject> {
    let both = [&change.before, &change.now].into_iter().flatten();
    let objects = both.map(|kv| &kv.value);
    if is_of(change, &NAMESPACES) {
        return objects.map(|own| own.name().into()).collect();
    }
    if !is_of(change, of) {
        return Vec::new();
    }
    let those = objects.filter(|own| own.name() == name);
    those.map(|own| own.namespace().into()).collect()
}

const REST: Rest = Rest {
    property: "publisher-is-quiet",
    controller: CONTROLLER,
    kind: "namespace",
    acts: |namespace| format!("the root certificate of {namespace} is written"),
    act: |note| {
        let Publishes { namespace, .. } = note.body.get()?;
        Some(Act {
            on: namespace.clone(),
            name: namespace.clone(),
        })
    },
    concerns: |change| namespaces_concerned(change, &CONFIG_MAPS, ROOT_CA_CERT_CONFIG_MAP_NAME),
    follows: |_, namespace, changed| changed.contains(namespace),
};
