//! What is promised to users of sets: `own_view` says what the controller may act on and wait for, `reason` what it makes pods
//! for, `end` what is true once all has been well for a while.

mod end;
mod own_view;
mod reason;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::Reached;

use super::NEEDED;
use super::notes::{MadeDaemon, SyncsNodes};

/// Expectations expire after 5 min; what failed in a storm is tried again a little later than the storm was long, and so is a
/// pod that failed; then pods are bound, become ready and available, node by node.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60 + 180);

/// Somebody has to use sets, and to run their pods.
const USED: [Entry; 5] = [
    Entry::new("topology", "daemon-set-users", "2"),
    Entry::new("workload", "use-daemon-sets", "{every: 3s}"),
    Entry::new("topology", "nodes", "3"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 500ms}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = vec![
        PropertyInfo::new(
            "daemon-sets-know-their-pods",
            "the controller makes and deletes pods of a DaemonSet only if it sees those that it made itself",
            NEEDED,
            |_| Box::new(own_view::DaemonSetsKnowTheirPods::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "gone-daemons-are-not-awaited",
            "the controller does not wait to see the deletion of a pod that was gone when it asked for that",
            NEEDED,
            |_| Box::new(own_view::GoneDaemonsAreNotAwaited::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "daemons-are-made-for-a-reason",
            "the controller makes as many pods of a DaemonSet on a node as there were reasons, and two more at most: a change of \
             the node or the set, and a pod that ended or that somebody else took away",
            NEEDED,
            |_| Box::new(reason::DaemonsAreMadeForAReason::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "daemon-sets-are-met",
            "some time after calm each DaemonSet has a pod that is ready on each node that it is for and none elsewhere, its \
             status says so, and it keeps as many revisions as it asks for; not one whose pods can never be ready",
            NEEDED,
            |settled| Box::new(end::daemon_sets_are_met(settled)),
        ),
        PropertyInfo::new(
            "nodes-have-their-daemons",
            "some time after calm each node that a DaemonSet is for has a pod of it, ready or not",
            NEEDED,
            |settled| Box::new(end::nodes_have_their_daemons(settled)),
        ),
        PropertyInfo::new(
            "daemon-sets-are-quiet",
            "some time after calm the controller changes nothing any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(end::daemon_sets_are_quiet(settled)),
        ),
    ];
    all.extend(reached());
    all
}

fn reached() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(super::USERS) > 0;
    let made = PropertyInfo::new(
        "daemon-was-made",
        "the controller made a pod of a DaemonSet",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "daemon-was-made",
                here: |_, note| note.body.get::<MadeDaemon>().is_some(),
            })
        },
    );
    let deleted = PropertyInfo::new(
        "daemon-was-deleted",
        "the controller asked for the deletion of a pod of a DaemonSet",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "daemon-was-deleted",
                here: |_, note| {
                    let syncs = note.body.get::<SyncsNodes>();
                    syncs.is_some_and(|syncs| !syncs.deletes.is_empty())
                },
            })
        },
    );
    [made, deleted].map(|own| own.fits(users)).into()
}
