//! What users of pods may rely on: `due` says which pods are not evicted, or not yet, `end` which are gone once all has been
//! well for a while, and that the others are left alone then; `since` remembers since when nodes have their taints.

mod due;
mod end;
mod since;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::promises::reaches;
use wavetank_engine::{Note, World};

use super::controller::CONTROLLER;
use super::notes::{Cancels, Evicts, Schedules};
use super::{NEEDED, USERS};
use crate::Options;
use crate::pods_were_seen::PodsWereSeen;

/// The longest that a pod tolerates a taint: what admission gives to all. What fails is tried again, at last after half a
/// minute, and a request may last as long as its server lets it.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(300).saturating_add(LATE_BY);
/// So much later than it is due a pod goes at most.
const LATE_BY: Duration = Duration::from_secs(200);

/// Somebody has to use taints.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-taints", "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "pods-stay-as-long-as-they-tolerate",
            "no pod is evicted that tolerates all taints of its node, or does so still, as both were stored when it was asked \
             for",
            NEEDED,
            |_| Box::new(due::PodsStayAsLongAsTheyTolerate::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "evicted-pods-were-seen",
            "no pod begins to go of which nobody who asked for that has seen that one, and not another of its name",
            NEEDED,
            |_| Box::new(PodsWereSeen::by(due::EVICTED_PODS_WERE_SEEN)),
        )
        .fits(is_alone)
        .tested_by(&USED),
        PropertyInfo::new(
            "tainted-nodes-are-left",
            "some time after calm no pod stays on a node with a taint that it does not tolerate, or does not any more",
            NEEDED,
            |settled| Box::new(end::TaintedNodesAreLeft::after(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "pods-leave-in-time",
            "some 4 min after calm no pod stays on a node for more than 200 s longer than it tolerates the taint there that it tolerates \
             for the shortest time; not asked about what is tolerated for longer than 200 s",
            NEEDED,
            |_| Box::new(end::TaintedNodesAreLeft::in_time()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "taint-eviction-is-quiet",
            "some time after calm no pod is evicted any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(end::taint_eviction_is_quiet(settled)),
        ),
        reached("pod-was-evicted", "a pod was evicted", |_, note| {
            note.body.get::<Evicts>().is_some()
        }),
        reached("eviction-was-scheduled", "a pod was to be evicted later", |_, note| {
            note.body.get::<Schedules>().is_some()
        }),
        reached("eviction-was-cancelled", "a pod that was to be evicted later was not", |_, note| {
            note.body.get::<Cancels>().is_some()
        }),
    ]
}

fn reached(
    name: &'static str,
    about: &'static str,
    here: fn(&World, &Note) -> bool,
) -> PropertyInfo {
    reaches(name, about, NEEDED, here).fits(|spec| spec.count(USERS) > 0)
}

/// Others that delete pods do not say so. The node lifecycle controller deletes none.
fn is_alone(spec: &Spec) -> bool {
    let running = spec.part::<Options>().descriptors();
    let is_harmless = |name: &str| name == CONTROLLER || name == "node-lifecycle-controller";
    spec.count(USERS) > 0 && running.iter().all(|own| is_harmless(own.controller_name()))
}
