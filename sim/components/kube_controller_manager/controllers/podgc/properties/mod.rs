//! What users of nodes and pods may rely on: `staying` says which pods the collector leaves alone, `end` which are gone once
//! all has been well for a while, and that it leaves the others alone then.

mod end;
mod staying;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::promises::reaches;
use wavetank_engine::{Note, World};

use super::controller::{CONTROLLER, GC_CHECK_PERIOD, QUARANTINE_TIME};
use super::notes::{Collects, Why};
use super::{NEEDED, USERS};
use crate::Options;
use crate::pods_were_seen::PodsWereSeen;

/// A node is looked for when its quarantine is over. A look may last as long as its requests do, and what fails in one is done
/// in the next.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(
    QUARANTINE_TIME.as_secs() + 3 * GC_CHECK_PERIOD.as_secs() + LONGEST_LOOK.as_secs(),
);
/// A few requests that end with their servers' patience.
const LONGEST_LOOK: Duration = Duration::from_secs(200);

/// Somebody has to use nodes.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-nodes", "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "pods-in-service-stay",
            "no pod is collected for its node while that is there, and in service, from when the collector has asked for it \
             until it acts; none for having ended that has not",
            NEEDED,
            |_| Box::new(staying::PodsInServiceStay::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "collected-pods-were-seen",
            "no pod begins to go of which nobody who asked for that has seen that one, and not another of its name",
            NEEDED,
            |_| Box::new(PodsWereSeen::by(staying::COLLECTED_PODS_WERE_SEEN)),
        )
        .fits(is_alone)
        .tested_by(&USED),
        PropertyInfo::new(
            "lost-pods-go",
            "some time after calm no pod stays whose node is gone, that goes and has no node or one out of service, or that \
             has ended beyond the threshold, unless finalizers hold it",
            NEEDED,
            |settled| Box::new(end::LostPodsGo::after(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "pod-collector-is-quiet",
            "some time after calm the pod garbage collector deletes nothing any more, but a few times after a change that \
             comes late",
            NEEDED,
            |settled| Box::new(end::pod_collector_is_quiet(settled)),
        ),
        reached("ended-pod-was-collected", "a pod went because too many had ended", Why::Terminated),
        reached("orphaned-pod-was-collected", "a pod went because its node had", Why::Orphaned),
        reached(
            "pod-out-of-service-was-collected",
            "a pod that was being deleted went from a node out of service",
            Why::OutOfService,
        ),
    ]
}

/// Others that delete pods do not say so.
fn is_alone(spec: &Spec) -> bool {
    let running = spec.part::<Options>().descriptors();
    spec.count(USERS) > 0
        && running
            .iter()
            .all(|own| own.controller_name() == CONTROLLER)
}

/// A pod went for this reason.
fn reached(name: &'static str, about: &'static str, why: Why) -> PropertyInfo {
    let here: fn(&World, &Note) -> bool = match why {
        Why::Terminated => |_, note| went(note, Why::Terminated),
        Why::OutOfService => |_, note| went(note, Why::OutOfService),
        Why::Orphaned => |_, note| went(note, Why::Orphaned),
        Why::Unscheduled => |_, note| went(note, Why::Unscheduled),
    };
    reaches(name, about, NEEDED, here).fits(|spec| spec.count(USERS) > 0)
}

fn went(note: &Note, why: Why) -> bool {
    note.body.get().is_some_and(|own: &Collects| own.why == why)
}
