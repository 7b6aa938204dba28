//! What is promised to users of sets: `own_view` says what a controller may act on, `owners` who may own a pod, `end`
//! what is true once all has been well for a while.

mod end;
mod own_view;
mod owners;

use std::time::Duration;

use wavetank_api::Object;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::Reached;

use super::NEEDED;
use super::notes::Made;
use crate::controller_utils::get_controller_of;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::always;

/// Expectations expire after 5 min; what failed in a storm is tried again a little later than the storm was long; then
/// pods are bound, become ready and available.
pub(crate) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60 + 120);

/// Somebody has to use sets, and to run their pods.
const USED: [Entry; 4] = [
    Entry::new("topology", "replica-set-users", "2"),
    Entry::new("workload", "use-replica-sets", "{every: 5s}"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(super::USERS) > 0;
    vec![
        PropertyInfo::new(
            "sets-know-their-pods",
            "no controller makes or deletes pods of a set while it does not see those that it made, or still counts those \
             that it had deleted",
            NEEDED,
            |_| Box::new(own_view::SetsKnowTheirPods::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "pods-are-not-taken-away",
            "no pod goes from one controller to another without having been released",
            NEEDED,
            |_| Box::new(always("pods-are-not-taken-away", owners::are_not_taken_away)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "adopted-by-the-living",
            "no pod is adopted by a set that was gone, or going, when its controller began with that",
            NEEDED,
            |_| Box::new(owners::AdoptedByTheLiving::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "replicas-are-met",
            "some time after calm each set has as many pods as it asks for, and its status says so",
            NEEDED,
            |settled| Box::new(end::replicas_are_met(settled)),
        ),
        PropertyInfo::new(
            "sets-are-quiet",
            "some time after calm no set that has what it asks for is synced again",
            NEEDED,
            |settled| Box::new(end::sets_are_quiet(settled)),
        ),
        PropertyInfo::new("pod-was-made", "a controller made a pod", NEEDED, |_| {
            Box::new(pod_was_made())
        })
        .fits(users),
        PropertyInfo::new(
            "pod-was-adopted",
            "a pod that was nobody's got a controller",
            NEEDED,
            |_| Box::new(pod_was_adopted()),
        )
        .fits(users),
    ]
}

fn pod_was_made() -> Reached {
    Reached {
        name: "pod-was-made",
        here: |_, note| note.body.get::<Made>().is_some(),
    }
}

fn pod_was_adopted() -> Reached {
    Reached {
        name: "pod-was-adopted",
        here: |_, note| {
            let mut all = all_changes(note).iter().filter_map(owners::adopted);
            all.next().is_some()
        },
    }
}

/// The UID of who controls an object.
fn controller_uid(object: &Object) -> Option<&str> {
    get_controller_of(object.json())?["uid"].as_str()
}
