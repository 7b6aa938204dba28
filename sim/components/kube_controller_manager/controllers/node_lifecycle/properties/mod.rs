//! What users of nodes may rely on: `heard` says which nodes are not taken for lost, and when none is tainted, `end` what is
//! true of nodes and pods once all has been well for a while.

mod end;
mod heard;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo};
use wavetank_components::nodes::have_heartbeats;
use wavetank_components::promises::reaches;
use wavetank_engine::{Note, World};

use super::NEEDED;
use super::notes::{HasLooked, MarksUnknown, Taints, Why};

/// A grace period, a token for each of a few nodes, a few looks, and requests that end with their servers' patience; and nodes
/// write their status at least every seven and a half minutes, after which their taints are looked at again.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(60 + 60 + 200 + 450);

/// Nodes have to tell that they live, and be lost.
const USED: [Entry; 3] = [
    Entry::new("topology", "nodes", "3"),
    Entry::new("options", "node-heartbeats", "true"),
    Entry::new("workload", "lose-nodes", "{every: 60s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "renewing-nodes-are-not-lost",
            "no node is taken for lost whose Lease was renewed within the grace period before the controller asked for that",
            NEEDED,
            |_| Box::new(heard::RenewingNodesAreNotLost::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "no-eviction-in-full-disruption",
            "while a controller sees no node that is ready it taints none for that",
            NEEDED,
            |_| Box::new(heard::NoEvictionInFullDisruption::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "lost-nodes-are-known",
            "some time after calm a node that is lost is not taken for ready, and one that is not lost is not taken for lost",
            NEEDED,
            |settled| Box::new(end::lost_nodes_are_known(settled)),
        )
        .fits(have_heartbeats)
        .tested_by(&USED),
        PropertyInfo::new(
            "taints-match-conditions",
            "some time after calm the taints of each node are those of its conditions, and of its zone",
            NEEDED,
            |settled| Box::new(end::taints_match_conditions(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "pods-of-lost-nodes-are-not-ready",
            "some time after calm no pod is ready on a node that is taken for lost, unless somebody said so after that",
            NEEDED,
            |settled| Box::new(end::PodsOfLostNodesAreNotReady::after(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "node-lifecycle-is-quiet",
            "some time after calm the node lifecycle controller changes nothing any more, but a few times after a change that \
             comes late",
            NEEDED,
            |settled| Box::new(end::node_lifecycle_is_quiet(settled)),
        ),
        reached("node-was-taken-for-lost", "a node was taken for lost", |_, note| {
            note.body.get::<MarksUnknown>().is_some()
        }),
        reached("node-was-tainted", "a node was tainted so that its pods go", |_, note| {
            note.body.get().is_some_and(|own: &Taints| own.why == Why::Queue)
        }),
        reached("node-came-back", "a node was ready again, and lost its taint", |_, note| {
            note.body.get().is_some_and(|own: &Taints| own.why == Why::Reachable)
        }),
        reached("all-nodes-were-disrupted", "no node was ready", |_, note| {
            note.body.get().is_some_and(|own: &HasLooked| own.all_fully_disrupted)
        }),
    ]
}

fn reached(
    name: &'static str,
    about: &'static str,
    here: fn(&World, &Note) -> bool,
) -> PropertyInfo {
    reaches(name, about, NEEDED, here).fits(have_heartbeats)
}
