//! Mistakes in the controller that mirrors Endpoints, and the fixes of findings. Those of its tracker are in `endpoint_utils`.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const MIRRORS_FROM_STALE_SLICES: Defect = Defect::known(
    "mirrors-from-stale-slices",
    "`StaleSlices`, left out (PR #99756, 1.21)",
    "Endpoints are mirrored from a cache of slices that has not seen what was written for them",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const SLICES_OF_ANOTHER_UID_ARE_KEPT: Defect = Defect::known(
    "slices-of-another-uid-are-kept",
    "k/k#125354 (PR #125359, 1.31)",
    "slices that mirror Endpoints which are gone are taken for those of the next ones of their name, and stay theirs",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const MATCHING_SLICES_ARE_NOT_TRACKED: Defect = Defect::known(
    "matching-slices-are-not-tracked",
    "k/k#112143 (PR #125359, 1.31)",
    "a mirrored slice that another life of the controller made is deleted, and is not made again",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const MIRRORS_STAY_BESIDE_A_SELECTOR: Defect = Defect::known(
    "mirrors-stay-beside-a-selector",
    "k/k#105987 (PR #105997, 1.23)",
    "the mirrored slices of a Service that gets a selector stay",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const NOT_READY_IS_MIRRORED_AS_READY: Defect = Defect::known(
    "not-ready-is-mirrored-as-ready",
    "PR #102683 (1.22)",
    "addresses that are not ready are ready in the mirrored slice",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const SUBSETS_ARE_NOT_REPACKED: Defect = Defect::known(
    "subsets-are-not-repacked",
    "PR #114155 (1.27)",
    "subsets are mirrored as they stand: two of the same ports may have more addresses than a slice takes, and what is more is \
     lost without a word",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const ANNOTATIONS_ARE_NOT_MIRRORED: Defect = Defect::known(
    "annotations-are-not-mirrored",
    "k/k#98026 (PR #98116, 1.21)",
    "a mirrored slice has no annotations, and keeps its labels when only those of the Endpoints change",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const LAST_APPLIED_IS_MIRRORED: Defect = Defect::known(
    "last-applied-is-mirrored",
    "k/k#102684 (PR #102731, 1.22)",
    "a mirrored slice says of itself what was last applied to the Endpoints",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const SKIP_MIRROR_IS_IGNORED: Defect = Defect::known(
    "skip-mirror-is-ignored",
    "`skipMirror`, left out",
    "Endpoints are mirrored although their label says that they are not to be",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const LEADER_LOCKS_ARE_MIRRORED: Defect = Defect::known(
    "leader-locks-are-mirrored",
    "`hasLeaderElection`, left out",
    "Endpoints that somebody elects a leader with are mirrored",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const NEW_SLICES_ARE_NOT_LOOKED_AT: Defect = Defect::known(
    "new-slices-are-not-looked-at",
    "`onEndpointSliceAdd`, left out",
    "slices stay that the controller finds when it begins, if what they mirror went while nobody led",
)
.ships(Gate::NEVER)
.fits_only(gates::MIRRORING_CONTROLLER);

const FIX_RECYCLE_WHAT_IS_MEANT: Defect = Defect::fix(
    "fix-recycle-what-is-meant",
    "FINDINGS.md, 51",
    "a slice that takes the place of another is not made as well: new ones have no names to tell them apart by",
)
.fits_only(gates::MIRRORING_CONTROLLER);

const FIX_LOOK_PAST_SLICES_THAT_GO: Defect = Defect::fix(
    "fix-look-past-slices-that-go",
    "FINDINGS.md, 52",
    "a mirrored slice that is to go and has a finalizer is not waited for, and not taken for one that stays",
)
.fits_only(gates::MIRRORING_CONTROLLER);

defects! {
    /// A mistake in the controller that mirrors Endpoints, or the fix of one.
    pub enum MirroringDefect in "EndpointSliceMirroring controllers" {
        MirrorsFromStaleSlices = MIRRORS_FROM_STALE_SLICES,
        SlicesOfAnotherUidAreKept = SLICES_OF_ANOTHER_UID_ARE_KEPT,
        MatchingSlicesAreNotTracked = MATCHING_SLICES_ARE_NOT_TRACKED,
        MirrorsStayBesideASelector = MIRRORS_STAY_BESIDE_A_SELECTOR,
        NotReadyIsMirroredAsReady = NOT_READY_IS_MIRRORED_AS_READY,
        SubsetsAreNotRepacked = SUBSETS_ARE_NOT_REPACKED,
        AnnotationsAreNotMirrored = ANNOTATIONS_ARE_NOT_MIRRORED,
        LastAppliedIsMirrored = LAST_APPLIED_IS_MIRRORED,
        SkipMirrorIsIgnored = SKIP_MIRROR_IS_IGNORED,
        LeaderLocksAreMirrored = LEADER_LOCKS_ARE_MIRRORED,
        NewSlicesAreNotLookedAt = NEW_SLICES_ARE_NOT_LOOKED_AT,
        FixRecycleWhatIsMeant = FIX_RECYCLE_WHAT_IS_MEANT,
        FixLookPastSlicesThatGo = FIX_LOOK_PAST_SLICES_THAT_GO,
    }
}
