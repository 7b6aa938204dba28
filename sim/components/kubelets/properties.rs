//! What is promised of kubelets, in containers and not only in objects: `safe` at any time, `end` once all has been well for a
//! while.

mod end;
mod safe;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo};
use wavetank_components::promises::reaches;

use crate::component::NEEDED;
use crate::notes::{BacksOff, DeletesPod, KillsContainer, Rebooted, StopsOrphan};

/// A runtime that does not answer is given up after 2 min, and the longest back-off lasts 5 min.
pub(crate) const SETTLES_WITHIN: Duration = Duration::from_secs(600);

/// Somebody has to make pods, and kubelets to begin anew.
const USED: [Entry; 3] = [
    Entry::new("topology", "pod-users", "1"),
    Entry::new("workload", "use-pods", "{every: 2s}"),
    Entry::CRASH,
];

pub(crate) fn all() -> Vec<PropertyInfo> {
    let mut all = safe::all();
    all.extend(end::all());
    all.extend([
        reaches(
            "pod-was-stopped",
            "a kubelet stopped a pod and deleted it from the API",
            NEEDED,
            |_, note| note.body.get::<DeletesPod>().is_some(),
        )
        .tested_by(&USED),
        reaches(
            "orphan-was-stopped",
            "a kubelet stopped a pod that it did not know",
            NEEDED,
            |_, note| note.body.get::<StopsOrphan>().is_some(),
        )
        .tested_by(&USED),
        reaches(
            "container-was-backed-off",
            "a kubelet waited before it started a container again",
            NEEDED,
            |_, note| note.body.get::<BacksOff>().is_some(),
        )
        .tested_by(&USED),
        reaches(
            "container-failed-its-probe",
            "a kubelet stopped a container for a probe",
            NEEDED,
            |_, note| note.body.get::<KillsContainer>().is_some(),
        )
        .tested_by(&USED),
        reaches(
            "node-was-rebooted",
            "a node with a kubelet started anew",
            NEEDED,
            |_, note| note.body.get::<Rebooted>().is_some(),
        )
        .tested_by(&USED),
    ]);
    all
}
