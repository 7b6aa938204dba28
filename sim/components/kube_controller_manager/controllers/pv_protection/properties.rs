//! What is promised of volumes that are deleted: they stay as long as a claim is bound to them, and no longer.

use std::time::Duration;

use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES};
use wavetank_api::{Object, json};
use wavetank_component::{Entry, PropertyInfo};
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, Stable, World};

use super::NEEDED;
use super::controller::{CONTROLLER, FINALIZER, LetsVolumeGo, is_being_used};
use crate::controller_utils::pod_key;
use crate::controller_utils::protectionutil::is_deletion_candidate;
use crate::somebody_runs;

/// What failed in a storm is tried again a little later than the storm was long; who binds volumes has done its part first.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(600);

/// Somebody has to have volumes that go.
const USED: [Entry; 2] = [
    Entry::new("topology", "volume-users", "2"),
    Entry::new("workload", "use-volumes", "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "volumes-in-use-stay",
            "no volume goes while a claim is bound to it",
            NEEDED,
            |_| Box::new(always("volumes-in-use-stay", volumes_in_use_stay)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "unused-volumes-go",
            "some time after calm no volume that is being deleted stays although no claim is bound to it",
            NEEDED,
            |settled| Box::new(Stable::new("unused-volumes-go", settled, |_, _| Check::Idle, unused_volumes_go)),
        )
        .tested_by(&USED),
        reaches(
            "volume-went",
            "a volume was let go that no claim is bound to",
            NEEDED,
            |_, note| note.body.get::<LetsVolumeGo>().is_some(),
        ),
    ]
}

fn text<'a>(of: &'a Object, path: &[&str]) -> &'a str {
    json::text(of.json(), path)
}

fn volumes_in_use_stay(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &PERSISTENT_VOLUMES) {
        let (Some(gone), None) = (&change.before, &change.now) else {
            continue;
        };
        checked = Check::Held;
        let (uid, name) = (
            text(&gone.value, &["spec", "claimRef", "uid"]),
            gone.value.name(),
        );
        let claims = ClusterView(world).all(PERSISTENT_VOLUME_CLAIMS.registry);
        let mut bound = claims.into_iter().filter(|claim| {
            let is_bound = text(claim, &["status", "phase"]) == "Bound";
            is_bound && claim.uid() == uid && text(claim, &["spec", "volumeName"]) == name
        });
        if let Some(claim) = bound.next() {
            let message = format!("{name} goes, and {} is bound to it", pod_key(claim));
            return violated("volume", name, message);
        }
    }
    checked
}

fn unused_volumes_go(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    for volume in ClusterView(world).all(PERSISTENT_VOLUMES.registry) {
        if is_deletion_candidate(volume, FINALIZER) && !is_being_used(volume) {
            let name = volume.name();
            let message = format!("{name} is being deleted, and no claim is bound to it");
            return violated("volume", name, message);
        }
    }
    Check::Held
}
