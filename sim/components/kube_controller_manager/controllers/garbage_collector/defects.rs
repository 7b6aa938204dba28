//! What may be wrong in the collector.

use wavetank_version::{Defect, Gate, defects};

const ABSENT_OWNERS_BY_UID: Defect = Defect::known(
    "absent-owners-by-uid",
    "k/k#65200, PR #92743 (1.20)",
    "an owner that is absent in one namespace passes for absent in all others",
)
.ships(Gate::NEVER);

const VIRTUAL_EVENT_REMOVES_OBSERVED: Defect = Defect::known(
    "virtual-event-removes-observed",
    "k/k#65200, PR #92743 (1.20)",
    "that there is no such object under other coordinates takes one that an informer has shown out of the graph",
)
.ships(Gate::NEVER);

const INVALID_REFERENCES_UNCHECKED: Defect = Defect::known(
    "invalid-references-are-not-checked",
    "k/k#65200, PR #92743 (1.20)",
    "who refers to an owner in another namespace, or by another name, is not looked at",
)
.ships(Gate::NEVER);

const OWNERS_FROM_GRAPH: Defect = Defect::known(
    "owners-from-graph",
    "as k/k#88097; the live lookup of `isDangling`, left out",
    "an owner that is not in the graph passes for absent, although no informer may have shown it yet",
)
.ships(Gate::NEVER);

const VIRTUAL_OWNERS_UNASKED: Defect = Defect::known(
    "virtual-owners-are-not-asked-for",
    "as k/k#109748; a line of `addDependentToOwners`, left out",
    "an owner that went while no collector ran is not looked for, and its dependents stay",
)
.ships(Gate::NEVER);

const REFERENCES_FROM_GRAPH: Defect = Defect::known(
    "references-from-graph",
    "the live object of `attemptToDeleteItem`, left out",
    "an object is deleted for the owners that the graph shows, although it may have others by now",
)
.ships(Gate::NEVER);

const COLLECTS_BY_NAME: Defect = Defect::known(
    "collects-by-name",
    "the preconditions of `deleteObject`, left out",
    "an object is deleted by its name alone: it may be another one by now, or have another owner",
)
.ships(Gate::NEVER);

const WAITING_REFERENCES_STAY: Defect = Defect::known(
    "waiting-references-stay",
    "a case of `attemptToDeleteItem`, left out",
    "who has another owner keeps the reference to one that waits for it to go, which waits for ever",
)
.ships(Gate::NEVER);

const UNBLOCKED_OWNERS_STAY: Defect = Defect::known(
    "unblocked-owners-stay",
    "`addUnblockedOwnersToDeleteQueue`, left out",
    "an owner that waits does not notice that it has been let go",
)
.ships(Gate::NEVER);

const FOREGROUND_IS_NOT_AWAITED: Defect = Defect::known(
    "foreground-is-not-awaited",
    "a case of `processDeletingDependentsItem`, left out",
    "an owner that waits in the foreground goes although dependents block it",
)
.ships(Gate::NEVER);

const ORPHANS_ANYWAY: Defect = Defect::known(
    "orphans-anyway",
    "an error of `orphanDependents`, ignored",
    "an owner that orphans goes although a dependent still refers to it, and is deleted with it",
)
.ships(Gate::NEVER);

const OWNED_ITEMS_ARE_REQUEUED: Defect = Defect::known(
    "owned-items-are-requeued",
    "as k/k#141382",
    "an object that has an owner is looked at again and again, although nothing has changed",
)
.ships(Gate::NEVER);

const FIX_DELETE_AS_COMPARED: Defect = Defect::fix(
    "fix-delete-as-compared",
    "FINDINGS.md, 29",
    "an object that has changed, and not in its owners, is deleted only as it was when these were compared",
);

const FIX_SUCCESSOR_IS_ANOTHER: Defect = Defect::fix(
    "fix-successor-is-another",
    "FINDINGS.md, 30",
    "an object that a list shows in the place of another of the same name takes that out of the graph",
);

const FIX_FINALIZERS_GO_BY_UID: Defect = Defect::fix(
    "fix-finalizers-go-by-uid",
    "FINDINGS.md, 91",
    "the collector takes the finalizer of an owner from no other object that has its name by now",
);

const FIX_CHANGED_REFERENCES_ARE_CHECKED: Defect = Defect::fix(
    "fix-changed-references-are-checked",
    "FINDINGS.md, 100",
    "an object is looked at when a reference of it names another owner by the same UID",
);

defects! {
    /// A mistake in the garbage collector, or the fix of one.
    pub enum CollectorDefect in "garbage collectors" {
        AbsentOwnersByUid = ABSENT_OWNERS_BY_UID,
        VirtualEventRemovesObserved = VIRTUAL_EVENT_REMOVES_OBSERVED,
        InvalidReferencesUnchecked = INVALID_REFERENCES_UNCHECKED,
        OwnersFromGraph = OWNERS_FROM_GRAPH,
        VirtualOwnersUnasked = VIRTUAL_OWNERS_UNASKED,
        ReferencesFromGraph = REFERENCES_FROM_GRAPH,
        CollectsByName = COLLECTS_BY_NAME,
        WaitingReferencesStay = WAITING_REFERENCES_STAY,
        UnblockedOwnersStay = UNBLOCKED_OWNERS_STAY,
        ForegroundIsNotAwaited = FOREGROUND_IS_NOT_AWAITED,
        OrphansAnyway = ORPHANS_ANYWAY,
        OwnedItemsAreRequeued = OWNED_ITEMS_ARE_REQUEUED,
        FixDeleteAsCompared = FIX_DELETE_AS_COMPARED,
        FixSuccessorIsAnother = FIX_SUCCESSOR_IS_ANOTHER,
        FixFinalizersGoByUid = FIX_FINALIZERS_GO_BY_UID,
        FixChangedReferencesAreChecked = FIX_CHANGED_REFERENCES_ARE_CHECKED,
    }
}
