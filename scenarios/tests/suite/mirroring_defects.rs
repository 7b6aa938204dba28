//! The defects of the controller that mirrors Endpoints that a seed of `mirroring-storm` shows. `matching-slices-are-not-tracked` is
//! found by `mirrors-found`. Of those of its tracker the storm of the other controller of slices shows one, and `slices-stale` the
//! other.

use crate::support::pins::pins;

pins! {
    mirrors_from_stale_slices: "mirrors-from-stale-slices",
    slices_of_another_uid_are_kept: "slices-of-another-uid-are-kept",
    mirrors_stay_beside_a_selector: "mirrors-stay-beside-a-selector",
    not_ready_is_mirrored_as_ready: "not-ready-is-mirrored-as-ready",
    subsets_are_not_repacked: "subsets-are-not-repacked",
    annotations_are_not_mirrored: "annotations-are-not-mirrored",
    last_applied_is_mirrored: "last-applied-is-mirrored",
    skip_mirror_is_ignored: "skip-mirror-is-ignored",
    leader_locks_are_mirrored: "leader-locks-are-mirrored",
    new_slices_are_not_looked_at: "new-slices-are-not-looked-at",
    fix_recycle_what_is_meant: "fix-recycle-what-is-meant",
    fix_look_past_slices_that_go: "fix-look-past-slices-that-go",
}
