//! Mistakes in kubelets and their runtimes: documented bugs, and what goes wrong where a step is left out; and fixes of what is
//! open.

use wavetank_version::{Defect, Gate, defects};

use crate::gates::{
    ACTIVE_CONTAINERS_TELL, CONTAINERS_ARE_PROBED_ANEW, CONTAINERS_START_ANEW, KUBELET,
};

const TERMINAL_PHASES_COME_EARLY: Defect = Defect::known(
    "terminal-phases-come-early",
    "k/k#106884, PR #108366 (1.24)",
    "a kubelet says that a pod has failed or succeeded while containers of it may still run",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const TERMINAL_PODS_ARE_FINISHED: Defect = Defect::known(
    "terminal-pods-are-finished",
    "PR #117019 (1.28, 1.27.2)",
    "a kubelet that begins anew takes a pod whose phase is terminal for one whose end it has told, and never lets it go",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const STATUSES_GO_BY_NAME: Defect = Defect::known(
    "statuses-go-by-name",
    "the comparison of UIDs in `syncPod` of the status manager, left out",
    "a kubelet writes the status of a pod that is gone into one that was made anew under its name",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const DELETES_BEFORE_THE_END: Defect = Defect::known(
    "deletes-before-the-end",
    "`canBeDeleted` without its conditions",
    "a kubelet deletes a pod from the API that is to go, before its containers have stopped",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const CLEANS_UP_BEFORE_PODS_ARE_KNOWN: Defect = Defect::known(
    "cleans-up-before-pods-are-known",
    "`sourcesReady` of the housekeeping, left out",
    "a kubelet that begins anew stops the containers of all pods of which the API has not told it yet",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const CRASH_LOOPS_ARE_NOT_BACKED_OFF: Defect = Defect::known(
    "crash-loops-are-not-backed-off",
    "`doBackOff`, left out",
    "a kubelet starts a container that fails again and again at once each time",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const READY_BEFORE_ITS_PROBE: Defect = Defect::known(
    "ready-before-its-probe",
    "k/k#135795, not only when the kubelet begins anew: `UpdatePodStatus` takes no result for a good one",
    "a container whose probe has told nothing yet is ready",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const RESTARTS_END_STARTUPS: Defect = Defect::open(
    "restarts-end-startups",
    "k/k#142305, PR #142303",
    "a kubelet that begins anew takes a container for started whose startup probe has not succeeded yet",
)
.fits_only(KUBELET);

const NEW_CONTAINERS_INHERIT_STARTED: Defect = Defect::known(
    "new-containers-inherit-started",
    "k/k#141155, PR #141342 (1.38)",
    "a container that is started again counts as started since the one before it was",
)
.fits_only(KUBELET)
.until(CONTAINERS_START_ANEW);

const ADDRESSES_ARE_FORGOTTEN: Defect = Defect::known(
    "addresses-are-forgotten",
    "a classic mistake: what was given out is kept in memory",
    "a runtime that begins anew gives out addresses that sandboxes still have",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const INIT_CONTAINERS_RUN_AGAIN: Defect = Defect::known(
    "init-containers-run-again",
    "k/k#90271, PR #96572 (1.20)",
    "a kubelet runs init containers again that were removed when they had succeeded, while the pod runs",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const OLD_INIT_CONTAINERS_TELL_DONE: Defect = Defect::open(
    "old-init-containers-tell-done",
    "k/k#137710, PR #137730",
    "an init container of a sandbox before this one, which could not be removed, counts as one that has run",
)
.fits_only(KUBELET);

const REPLACED_CONTAINERS_INHERIT_READINESS: Defect = Defect::known(
    "replaced-containers-inherit-readiness",
    "k/k#141473, PR #141487 (1.38)",
    "a kubelet that begins anew takes a container for ready since the one before it was, which the API still names",
)
.fits_only(KUBELET)
.until(CONTAINERS_ARE_PROBED_ANEW);

const OLD_CONTAINERS_TELL_INITIALIZED: Defect = Defect::known(
    "old-containers-tell-initialized",
    "k/k#140309, PR #138514 (1.37)",
    "a container of a sandbox before this one that was made and not started tells a kubelet that all init containers have run",
)
.fits_only(KUBELET)
.until(ACTIVE_CONTAINERS_TELL);

const SIDECARS_STOP_AT_ONCE: Defect = Defect::known(
    "sidecars-stop-at-once",
    "KEP-753, PR #120620 (1.29)",
    "a kubelet stops sidecars together with the regular containers of their pod",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const PROBES_OF_SIDECARS_END: Defect = Defect::known(
    "probes-of-sidecars-end",
    "k/k#132826, PR #133072 (1.35)",
    "a sidecar that is started again is probed no more where its pod's containers are not started again",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const STATUSES_OF_SIDECARS_STAY: Defect = Defect::known(
    "statuses-of-sidecars-stay",
    "k/k#122902, PR #123323 (1.30)",
    "a kubelet does not tell that a sidecar runs again once it has told that it has ended",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const STATIC_PODS_DO_NOT_WAIT: Defect = Defect::known(
    "static-pods-do-not-wait",
    "k/k#97722, PR #104743 (1.23)",
    "a static pod starts while the one of its full name before it still runs",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const ENDED_STATIC_PODS_STAY_IN_LINE: Defect = Defect::known(
    "ended-static-pods-stay-in-line",
    "k/k#107733, PR #107900",
    "a static pod never starts if one that waited before it was removed before it could start",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const STATIC_PODS_ARE_NOT_MADE_ANEW: Defect = Defect::known(
    "static-pods-are-not-made-anew",
    "k/k#104648, PR #104847 (1.22.2)",
    "a manifest that is removed and comes back while its pod is stopped runs no more",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const MIRROR_PODS_STAY_TO_GO: Defect = Defect::known(
    "mirror-pods-stay-to-go",
    "k/k#22625, PR #22626 (1.3)",
    "a mirror pod that somebody deletes is to go for ever: its kubelet does not make it anew",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const STATIC_PODS_DO_NOT_WAIT_FOR_ORPHANS: Defect = Defect::open(
    "static-pods-do-not-wait-for-orphans",
    "k/k#112814; `startedStaticPodsByFullname` is kept in memory",
    "a kubelet that begins anew starts a static pod while one of its full name runs whose manifest has changed meanwhile",
)
.fits_only(KUBELET);

const UNSTARTED_PODS_STAY_PENDING: Defect = Defect::open(
    "unstarted-pods-stay-pending",
    "k/k#118321, PR #141948",
    "a pod that never restarts and has lost its sandbox while it was initialized gets no other one, and stays pending",
)
.fits_only(KUBELET);

const FIX_ENDED_PODS_KEEP_THEIR_PHASE: Defect = Defect::fix(
    "fix-ended-pods-keep-their-phase",
    "`generateAPIPodStatus` asks `ShouldEvict` whatever the status manager has said",
    "a pod that has succeeded before its deadline does not fail because that passes before its worker is done",
)
.fits_only(KUBELET);

const FIX_YOUNG_CONTAINERS_WAIT: Defect = Defect::fix(
    "fix-young-containers-wait",
    "`UpdatePodStatus` looks for a readiness probe among the workers, which there are after the first status",
    "a kubelet that begins anew does not tell a container ready that began less than 10 s before it, ahead of its probe",
)
.fits_only(KUBELET);

const KILLED_PODS_REVERT: Defect = Defect::known(
    "killed-pods-revert",
    "k/k#105358, PR #105462 (1.23)",
    "a kubelet forgets that a pod which it has killed for its node is to fail, as soon as it looks at the containers",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const SHUT_DOWN_PODS_DO_NOT_FAIL: Defect = Defect::known(
    "shut-down-pods-do-not-fail",
    "k/k#104531 (1.22)",
    "the status of a pod that a kubelet kills in a shutdown of its node says why, and not that it has failed",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const ENDED_PODS_STAY_READY: Defect = Defect::known(
    "ended-pods-stay-ready",
    "k/k#108594",
    "a pod that has ended before its kubelet looked at its readiness again is told to be ready",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const DISRUPTIONS_ARE_TOLD_EARLY: Defect = Defect::known(
    "disruptions-are-told-early",
    "`mergePodStatus` without its look at `couldHaveRunningContainers` for the condition",
    "a kubelet tells that a pod is disrupted before its containers have stopped",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const PODS_START_IN_SHUTDOWNS: Defect = Defect::known(
    "pods-start-in-shutdowns",
    "k/k#100184, PR #98005 (1.21)",
    "a kubelet whose machine is about to go off takes new pods",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const SHUTDOWNS_ARE_NOT_TOLD: Defect = Defect::known(
    "shutdowns-are-not-told",
    "k/k#98004, PR #98005 (1.21)",
    "a kubelet whose machine is about to go off tells so only when it is time to write the status of its node",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const SHUTDOWNS_ARE_WATCHED_ONCE: Defect = Defect::known(
    "shutdowns-are-watched-once",
    "PR #100369 (1.22)",
    "a kubelet hears of no shutdown any more once its connection to logind was gone",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const SHUTDOWNS_DO_NOT_WAIT_FOR_STATUSES: Defect = Defect::open(
    "shutdowns-do-not-wait-for-statuses",
    "k/k#124448, k/k#110755",
    "a kubelet lets its machine go off before it has told the API that its pods have ended",
)
.fits_only(KUBELET);

const CLASSES_OF_STATIC_PODS_ARE_IGNORED: Defect = Defect::open(
    "classes-of-static-pods-are-ignored",
    "k/k#133442, PR #133465; k/k#113940",
    "a static pod whose priority class is critical is killed among the first when its node shuts down",
)
.fits_only(KUBELET);

const CRITICAL_PODS_ARE_EVICTED: Defect = Defect::known(
    "critical-pods-are-evicted",
    "k/k#38322, PR #40655 (1.6)",
    "a node that runs out of memory evicts static and critical pods as others",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const CRITICAL_PODS_ARE_REFUSED: Defect = Defect::known(
    "critical-pods-are-refused",
    "k/k#40573, PR #41701 (1.6)",
    "a node that runs out of memory refuses static and critical pods that ask for none",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const PRESSURE_ENDS_AT_ONCE: Defect = Defect::known(
    "pressure-ends-at-once",
    "`nodeConditionsObservedSince`, left out",
    "a node says that there is no pressure any more as soon as it sees none",
)
.ships(Gate::NEVER)
.fits_only(KUBELET);

const RUNNING_PODS_ARE_ADMITTED_AGAIN: Defect = Defect::open(
    "running-pods-are-admitted-again",
    "k/k#83612; `HandlePodAdditions`",
    "a kubelet that begins anew on a node that runs out of memory refuses pods that run there",
)
.fits_only(KUBELET);

const KILLED_PODS_MAY_SUCCEED: Defect = Defect::open(
    "killed-pods-may-succeed",
    "k/k#137992, k/k#141483; `generateAPIPodStatus`",
    "a pod that a kubelet has killed for its node succeeds after all if its containers end well, be it told already to have failed",
)
.fits_only(KUBELET);

const REFUSED_STATIC_PODS_STAY_REFUSED: Defect = Defect::open(
    "refused-static-pods-stay-refused",
    "k/k#116484, k/k#138391",
    "a static pod that its kubelet has refused once is not tried again",
)
.fits_only(KUBELET);

const FIX_STATIC_PODS_COME_BACK: Defect = Defect::fix(
    "fix-static-pods-come-back",
    "FINDINGS.md, 75; `filterOutInactivePods` leaves out what the status manager says to have failed",
    "static pods that were killed for a shutdown start anew when that is cancelled",
)
.fits_only(KUBELET);

const FIX_RESTARTED_PODS_ARE_ADMITTED: Defect = Defect::fix(
    "fix-restarted-pods-are-admitted",
    "FINDINGS.md, 76 and 77; `HandlePodCleanups` and what has become of a mirror pod start what the pod workers do not know",
    "a static pod that starts anew is admitted first, as one that is new, and a kubelet does not forget that it has refused one",
)
.fits_only(KUBELET);

const FIX_LOOK_FOR_SHUTDOWNS: Defect = Defect::fix(
    "fix-look-for-shutdowns",
    "FINDINGS.md, 78; `nodeShuttingDownNow` goes by signals alone (k/k#122674)",
    "a kubelet that connects to logind asks whether a shutdown is under way: it may have missed that one came, or was cancelled",
)
.fits_only(KUBELET);

const FIX_STATUSES_NAME_THEIR_VERSION: Defect = Defect::fix(
    "fix-statuses-name-their-version",
    "FINDINGS.md, 80; `preparePatchBytesForPodStatus` names the UID alone",
    "a kubelet writes a status only into the pod as it has read it: what it sent before it began anew may arrive later",
)
.fits_only(KUBELET);

const FIX_KILLED_PODS_ARE_TOLD: Defect = Defect::fix(
    "fix-killed-pods-are-told",
    "FINDINGS.md, 81; `updateStatusInternal` takes no status after `checkContainerStateTransition` has failed",
    "that a pod was killed is told also if a container of it runs again that had ended for good",
)
.fits_only(KUBELET);

const FIX_HARD_THRESHOLDS_COME_FIRST: Defect = Defect::fix(
    "fix-hard-thresholds-come-first",
    "FINDINGS.md, 83; `thresholdsMetGracePeriod` goes through a map, and `byEvictionPriority` tells no two thresholds of memory apart",
    "where a hard and a soft threshold are met a kubelet goes by the hard one",
)
.fits_only(KUBELET);

defects! {
    /// Of kubelets and their runtimes.
    pub enum KubeletDefect in "kubelets" {
        TerminalPhasesComeEarly = TERMINAL_PHASES_COME_EARLY,
        TerminalPodsAreFinished = TERMINAL_PODS_ARE_FINISHED,
        StatusesGoByName = STATUSES_GO_BY_NAME,
        DeletesBeforeTheEnd = DELETES_BEFORE_THE_END,
        CleansUpBeforePodsAreKnown = CLEANS_UP_BEFORE_PODS_ARE_KNOWN,
        CrashLoopsAreNotBackedOff = CRASH_LOOPS_ARE_NOT_BACKED_OFF,
        ReadyBeforeItsProbe = READY_BEFORE_ITS_PROBE,
        AddressesAreForgotten = ADDRESSES_ARE_FORGOTTEN,
        RestartsEndStartups = RESTARTS_END_STARTUPS,
        NewContainersInheritStarted = NEW_CONTAINERS_INHERIT_STARTED,
        InitContainersRunAgain = INIT_CONTAINERS_RUN_AGAIN,
        OldInitContainersTellDone = OLD_INIT_CONTAINERS_TELL_DONE,
        ReplacedContainersInheritReadiness = REPLACED_CONTAINERS_INHERIT_READINESS,
        OldContainersTellInitialized = OLD_CONTAINERS_TELL_INITIALIZED,
        SidecarsStopAtOnce = SIDECARS_STOP_AT_ONCE,
        ProbesOfSidecarsEnd = PROBES_OF_SIDECARS_END,
        StatusesOfSidecarsStay = STATUSES_OF_SIDECARS_STAY,
        StaticPodsDoNotWait = STATIC_PODS_DO_NOT_WAIT,
        EndedStaticPodsStayInLine = ENDED_STATIC_PODS_STAY_IN_LINE,
        StaticPodsAreNotMadeAnew = STATIC_PODS_ARE_NOT_MADE_ANEW,
        MirrorPodsStayToGo = MIRROR_PODS_STAY_TO_GO,
        StaticPodsDoNotWaitForOrphans = STATIC_PODS_DO_NOT_WAIT_FOR_ORPHANS,
        UnstartedPodsStayPending = UNSTARTED_PODS_STAY_PENDING,
        KilledPodsRevert = KILLED_PODS_REVERT,
        ShutDownPodsDoNotFail = SHUT_DOWN_PODS_DO_NOT_FAIL,
        EndedPodsStayReady = ENDED_PODS_STAY_READY,
        DisruptionsAreToldEarly = DISRUPTIONS_ARE_TOLD_EARLY,
        PodsStartInShutdowns = PODS_START_IN_SHUTDOWNS,
        ShutdownsAreNotTold = SHUTDOWNS_ARE_NOT_TOLD,
        ShutdownsAreWatchedOnce = SHUTDOWNS_ARE_WATCHED_ONCE,
        ShutdownsDoNotWaitForStatuses = SHUTDOWNS_DO_NOT_WAIT_FOR_STATUSES,
        ClassesOfStaticPodsAreIgnored = CLASSES_OF_STATIC_PODS_ARE_IGNORED,
        CriticalPodsAreEvicted = CRITICAL_PODS_ARE_EVICTED,
        CriticalPodsAreRefused = CRITICAL_PODS_ARE_REFUSED,
        PressureEndsAtOnce = PRESSURE_ENDS_AT_ONCE,
        RunningPodsAreAdmittedAgain = RUNNING_PODS_ARE_ADMITTED_AGAIN,
        KilledPodsMaySucceed = KILLED_PODS_MAY_SUCCEED,
        RefusedStaticPodsStayRefused = REFUSED_STATIC_PODS_STAY_REFUSED,
        FixRestartedPodsAreAdmitted = FIX_RESTARTED_PODS_ARE_ADMITTED,
        FixStaticPodsComeBack = FIX_STATIC_PODS_COME_BACK,
        FixLookForShutdowns = FIX_LOOK_FOR_SHUTDOWNS,
        FixKilledPodsAreTold = FIX_KILLED_PODS_ARE_TOLD,
        FixStatusesNameTheirVersion = FIX_STATUSES_NAME_THEIR_VERSION,
        FixHardThresholdsComeFirst = FIX_HARD_THRESHOLDS_COME_FIRST,
        FixEndedPodsKeepTheirPhase = FIX_ENDED_PODS_KEEP_THEIR_PHASE,
        FixYoungContainersWait = FIX_YOUNG_CONTAINERS_WAIT,
    }
}
