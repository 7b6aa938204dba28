//! What is promised of kubelets, in containers and not only in objects: `safe` at any time, `end` once all has been well for a
//! while.

mod end;
mod evicted;
mod init;
mod killed;
mod probed;
mod safe;
mod shutdown;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo};
use wavetank_components::promises::reaches;
use wavetank_engine::Note;

use crate::component::{NEEDED, STATIC_PODS};
use crate::notes::{
    BacksOff, DeletesMirror, DeletesPod, KillsContainer, Rebooted, StopsOrphan, WaitsInLine,
};

/// A runtime that does not answer is given up after 2 min, and the longest back-off lasts 5 min.
pub(crate) const SETTLES_WITHIN: Duration = Duration::from_secs(600);

/// Somebody has to make pods, and kubelets to begin anew.
const USED: [Entry; 3] = [
    Entry::new("topology", "pod-users", "1"),
    Entry::new("workload", "use-pods", "{every: 2s}"),
    Entry::CRASH,
];

/// The same of static pods: somebody has to change manifests.
const STATIC: [Entry; 2] = [
    Entry::new("options", "static-pods", "true"),
    Entry::new("workload", "use-manifests", "{every: 6s}"),
];

/// The same of shutdowns.
const SHUT_DOWN: [Entry; 2] = [
    Entry::new("options", "shutdown-grace-period", "20s"),
    Entry::new("workload", "shut-down-nodes", "{every: 60s}"),
];

/// The same of evictions.
const EVICT: [Entry; 2] = [
    Entry::new("options", "eviction-hard-memory", "100"),
    Entry::new("workload", "grow-containers", "{every: 10s}"),
];

/// Does a note tell one of these?
fn tells(note: &Note, which: &[fn(&Note) -> bool]) -> bool {
    which.iter().any(|is| is(note))
}

/// Is it a note of this kind?
fn is<T: 'static>(note: &Note) -> bool {
    note.body.get::<T>().is_some()
}

pub(crate) fn all() -> Vec<PropertyInfo> {
    let mut all = safe::all();
    all.extend(evicted::all());
    all.extend(init::all());
    all.extend(probed::all());
    all.extend(killed::all());
    all.extend(shutdown::all());
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
            "static-pod-had-to-wait",
            "a static pod waited until the one of its full name before it had ended",
            STATIC_PODS,
            |_, note| note.body.get::<WaitsInLine>().is_some(),
        )
        .tested_by(&STATIC),
        reaches(
            "mirror-pod-was-deleted",
            "a kubelet deleted a mirror pod that was not that of its static pod, or had none",
            STATIC_PODS,
            |_, note| note.body.get::<DeletesMirror>().is_some(),
        )
        .tested_by(&STATIC),
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
