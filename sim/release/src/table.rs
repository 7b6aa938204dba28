//! The table of defects and fixes.

use crate::Release;
use crate::etcd::Line;

/// The reconcilers of the kubernetes Endpoints (`--endpoint-reconciler-type`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reconciler {
    /// `lease`
    Lease,
    /// `master-count`
    MasterCount,
    /// `none`
    None,
}

impl Reconciler {
    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Reconciler::Lease => "lease",
            Reconciler::MasterCount => "master-count",
            Reconciler::None => "none",
        }
    }
}

/// A switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "each is explained in the table below")]
#[repr(u8)]
pub enum Switch {
    LastApiserverKeepsAddress,
    ListenerClosesBeforeRemoval,
    MasterLeaseDoubleSlash,
    RemoveEndpointsUnbounded,
    MasterLeaseTooLong,
    MasterCountKeepsCrashed,
    FixRetryRemoveEndpoints,
    FixRemoveAbsentLease,
    FixStopUnderLock,
    ProgressOvertakesEvents,
    ProgressLatch,
    CompactionSkipsSlowWatch,
    CompactionDropsTombstone,
    OldLeaderRevokes,
    FutureWatchGetsOldEvents,
    PromotionRestartsLeases,
    WatchGoesBack,
    StaleReadIndex,
    CrashLosesEntries,
    MembersSkipRanges,
    EmptyWindowMissesEvent,
    DeletedAtOldRevision,
    WatchDuringReinitialisation,
    QuietCacheFallsBehind,
    WatchWithoutLeader,
    WatchListWithoutProgress,
    StoppedCacheKeepsWatches,
    StoppedCacheIsWaitedFor,
    StaleRefusalIsFinal,
    ReplaceForgetsQueued,
    SyncedBeforeHandlers,
    TooLargeIsNoFallback,
    ExpiredGoesUnnoticed,
    RelistAtZero,
    RelistIsASync,
    WatchListWithoutEnd,
}

/// The part of the world that has the place of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// An apiserver with its controllers.
    Server,
    /// The watch caches of an apiserver.
    WatchCache,
    /// The informers of clients.
    Informer,
    /// The etcd.
    Etcd,
}

/// A known bug, or the mending of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A known bug.
    Defect,
    /// A known bug that upstream has not mended: off is our proposal.
    OpenDefect,
    /// The mending of a finding: on is our proposal.
    Fix,
}

/// What there is to know of a switch.
#[derive(Clone, Copy, Debug)]
pub struct SwitchInfo {
    /// The switch.
    pub switch: Switch,
    /// Its name in flags.
    pub name: &'static str,
    /// Bug or mending.
    pub kind: Kind,
    /// Where it is described.
    pub source: &'static str,
    /// What it does when it is on, in one line.
    pub about: &'static str,
    /// The releases whose algorithms have this place.
    pub fits: &'static [Release],
    /// The reconciler whose algorithm has this place.
    pub reconciler: Option<Reconciler>,
    /// The releases that shipped with it.
    pub ships: &'static [Release],
    /// For a switch of etcd: the releases of etcd that shipped with it. Empty for all others.
    pub etcd: &'static [Line],
    /// Which part of the world has its place.
    pub place: Place,
}

use Release::{V1_16, V1_20, V1_36};
const ALL: &[Release] = &Release::ALL;
const NOWHERE: &[Line] = &[];
const OLD: &[Release] = &[V1_16, V1_20];
const NEW: &[Release] = &[V1_20, V1_36];

impl Switch {
    /// All of them, in the order of their numbers.
    pub const TABLE: [SwitchInfo; 36] = [
        SwitchInfo {
            switch: Switch::LastApiserverKeepsAddress,
            name: "last-apiserver-keeps-address",
            kind: Kind::Defect,
            source: "k/k#115804, PR #116685 (1.27)",
            about: "a stopping apiserver that finds no other lease refuses to empty the Endpoints",
            fits: ALL,
            reconciler: Some(Reconciler::Lease),
            ships: OLD,
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::ListenerClosesBeforeRemoval,
            name: "listener-closes-before-removal",
            kind: Kind::Defect,
            source: "PR #108033 (1.24)",
            about: "the listener closes while RemoveEndpoints still needs the loopback client",
            fits: ALL,
            reconciler: None,
            ships: OLD,
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::MasterLeaseDoubleSlash,
            name: "master-lease-double-slash",
            kind: Kind::Defect,
            source: "k/k#114049, PR #114122 (1.26 pre-releases)",
            about: "RemoveLease looks under `/masterleases//IP`, finds nothing and returns early",
            fits: ALL,
            reconciler: Some(Reconciler::Lease),
            ships: &[],
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::RemoveEndpointsUnbounded,
            name: "remove-endpoints-unbounded",
            kind: Kind::Defect,
            source: "k/k#57617, PR #63383 (1.11)",
            about: "a stopping apiserver waits for RemoveEndpoints without a bound",
            fits: ALL,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::MasterLeaseTooLong,
            name: "master-lease-too-long",
            kind: Kind::Defect,
            source: "k/k#53803 (1.9 development)",
            about: "master leases are granted with the TTL in the wrong unit: minutes for seconds",
            fits: ALL,
            reconciler: Some(Reconciler::Lease),
            ships: &[],
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::MasterCountKeepsCrashed,
            name: "master-count-keeps-crashed",
            kind: Kind::OpenDefect,
            source: "k/k#22609 (never mended; PR #51698 offers the lease reconciler instead)",
            about: "the master-count reconciler itself: nobody removes a crashed apiserver. Off: \
                    the lease reconciler is used in its place",
            fits: ALL,
            reconciler: Some(Reconciler::MasterCount),
            ships: ALL,
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::FixRetryRemoveEndpoints,
            name: "fix-retry-remove-endpoints",
            kind: Kind::Fix,
            source: "FINDINGS.md, 1",
            about: "RemoveEndpoints reconciles again after a conflict, up to its bound",
            fits: ALL,
            reconciler: Some(Reconciler::Lease),
            ships: &[],
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::FixRemoveAbsentLease,
            name: "fix-remove-absent-lease",
            kind: Kind::Fix,
            source: "FINDINGS.md, 2",
            about: "a master lease that has expired counts as removed, and RemoveEndpoints goes on",
            fits: ALL,
            reconciler: Some(Reconciler::Lease),
            ships: &[],
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::FixStopUnderLock,
            name: "fix-stop-under-lock",
            kind: Kind::Fix,
            source: "FINDINGS.md, 3",
            about: "a round that had to wait for the lock looks at the stop flag once more",
            fits: &[Release::V1_36],
            reconciler: Some(Reconciler::Lease),
            ships: &[],
            etcd: NOWHERE,
            place: Place::Server,
        },
        SwitchInfo {
            switch: Switch::ProgressOvertakesEvents,
            name: "progress-overtakes-events",
            kind: Kind::Defect,
            source: "etcd#15220 (3.4.25, 3.5.8)",
            about: "a progress notification that was asked for is sent at once, before events that it covers",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(4, 25), Line::until(5, 8)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::ProgressLatch,
            name: "progress-latch",
            kind: Kind::Defect,
            source: "etcd#17507 (3.4.31, 3.5.13)",
            about: "one request for progress that finds a watch behind blocks all later ones until an event",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::within(4, 25, 31), Line::within(5, 8, 13)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::CompactionSkipsSlowWatch,
            name: "compaction-skips-slow-watch",
            kind: Kind::Defect,
            source: "etcd#17529 (3.4.31, 3.5.13)",
            about: "a watch that a compaction overtakes while its channel is full goes on behind the gap",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(4, 31), Line::until(5, 13)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::CompactionDropsTombstone,
            name: "compaction-drops-tombstone",
            kind: Kind::Defect,
            source: "etcd#18089 (3.4.34, 3.5.16)",
            about: "compacting at the revision of a delete forgets the delete itself",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(4, 34), Line::until(5, 16)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::OldLeaderRevokes,
            name: "old-leader-revokes",
            kind: Kind::Defect,
            source: "etcd#15247 (3.4.31, 3.5.13)",
            about: "a leader that was paused revokes and renews leases before it knows of its successor",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(4, 31), Line::until(5, 13)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::FutureWatchGetsOldEvents,
            name: "future-watch-gets-old-events",
            kind: Kind::Defect,
            source: "etcd#20221 (3.4.38, 3.5.22, 3.6.2)",
            about: "a watch from a future revision gets earlier events and notifications on a member that lags",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(4, 38), Line::until(5, 22), Line::until(6, 2)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::PromotionRestartsLeases,
            name: "promotion-restarts-leases",
            kind: Kind::OpenDefect,
            source: "etcd#9395 (never mended; checkpoints help only above 300 s)",
            about: "each new leader gives every lease its whole TTL again. Off: all leases are checkpointed, every second",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::all(4), Line::all(5), Line::all(6)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::WatchGoesBack,
            name: "watch-goes-back",
            kind: Kind::Defect,
            source: "etcd#15271 (3.4.25, 3.5.8)",
            about: "a watch on a member that gets a snapshot begins again where it once became synced",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(4, 25), Line::until(5, 8)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::StaleReadIndex,
            name: "stale-read-index",
            kind: Kind::Defect,
            source: "etcd#20418 (3.4.42, 3.5.28, 3.6.9)",
            about: "a repeated read index under its old number confirms a leader that has been replaced",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[
                Line::within(4, 20, 42),
                Line::until(5, 28),
                Line::until(6, 9),
            ],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::CrashLosesEntries,
            name: "crash-loses-entries",
            kind: Kind::Defect,
            source: "etcd#13766 (3.5.3)",
            about: "a crash between noting an entry as applied and applying it loses it on that member",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::until(5, 3)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::MembersSkipRanges,
            name: "members-skip-ranges",
            kind: Kind::Defect,
            source: "etcd#18667 (3.7)",
            about: "a range of a transaction is checked only by the member that was asked: one at a \
                    compacted revision makes it the only one that refuses",
            fits: &[],
            reconciler: None,
            ships: &[],
            etcd: &[Line::all(4), Line::all(5), Line::all(6)],
            place: Place::Etcd,
        },
        SwitchInfo {
            switch: Switch::EmptyWindowMissesEvent,
            name: "empty-window-misses-event",
            kind: Kind::Defect,
            source: "k/k#49956, PR #49992 (1.8)",
            about: "a watch cache without events takes a watch from one revision before its own: that event is lost",
            fits: ALL,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::DeletedAtOldRevision,
            name: "deleted-at-old-revision",
            kind: Kind::Defect,
            source: "k/k#58545, PR #58547 (1.10)",
            about: "a deletion comes with the revision of the object's last update: caches and watches go back",
            fits: ALL,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::WatchDuringReinitialisation,
            name: "watch-during-reinitialisation",
            kind: Kind::Defect,
            source: "k/k#116122, PR #116172 (1.27)",
            about: "a watch that is registered while its cache fills anew never gets what happened meanwhile",
            fits: ALL,
            reconciler: None,
            ships: OLD,
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::QuietCacheFallsBehind,
            name: "quiet-cache-falls-behind",
            kind: Kind::Defect,
            source: "k/k#107133, PR #117989 (1.28)",
            about: "nobody asks etcd for progress: a revision that a quiet cache has not seen is too large for ever",
            fits: ALL,
            reconciler: None,
            ships: OLD,
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::WatchWithoutLeader,
            name: "watch-without-leader",
            kind: Kind::Defect,
            source: "k/k#89488, PR #89881 (1.19)",
            about: "watches of etcd do not require a leader: on a member without one a cache stands still",
            fits: ALL,
            reconciler: None,
            ships: &[V1_16],
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::WatchListWithoutProgress,
            name: "watch-list-without-progress",
            kind: Kind::Defect,
            source: "k/k#122277, PR #122830 (1.30)",
            about: "a watch with initial events waits for its revision, but does not ask etcd for progress",
            fits: &[Release::V1_36],
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::StoppedCacheKeepsWatches,
            name: "stopped-cache-keeps-watches",
            kind: Kind::Defect,
            source: "k/k#78029, PR #78029 (1.15)",
            about: "a watch cache that is torn down leaves its watches open, and silent",
            fits: ALL,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::StoppedCacheIsWaitedFor,
            name: "stopped-cache-is-waited-for",
            kind: Kind::Defect,
            source: "k/k PR #108414 (1.24)",
            about: "a request that finds a watch cache torn down waits for ever until it is filled",
            fits: OLD,
            reconciler: None,
            ships: OLD,
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::StaleRefusalIsFinal,
            name: "stale-refusal-is-final",
            kind: Kind::Defect,
            source: "k/k#82130, PR #82303 (1.16)",
            about: "what a cached object makes an apiserver refuse is refused, without a look at etcd",
            fits: ALL,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::WatchCache,
        },
        SwitchInfo {
            switch: Switch::ReplaceForgetsQueued,
            name: "replace-forgets-queued",
            kind: Kind::Defect,
            source: "k/k#115658, PR #115620 (1.27)",
            about: "a list does not delete an object that is only in the queue: it stays for ever",
            fits: OLD,
            reconciler: None,
            ships: OLD,
            etcd: NOWHERE,
            place: Place::Informer,
        },
        SwitchInfo {
            switch: Switch::SyncedBeforeHandlers,
            name: "synced-before-handlers",
            kind: Kind::Defect,
            source: "k/k#113763, PR #113985 (1.27)",
            about: "work begins when the store is filled, and handlers have not seen all of it",
            fits: ALL,
            reconciler: None,
            ships: OLD,
            etcd: NOWHERE,
            place: Place::Informer,
        },
        SwitchInfo {
            switch: Switch::TooLargeIsNoFallback,
            name: "too-large-is-no-fallback",
            kind: Kind::Defect,
            source: "k/k#91073, PR #92537 (1.18.6, 1.19)",
            about: "a list that is refused as too large is asked for again and again",
            fits: NEW,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::Informer,
        },
        SwitchInfo {
            switch: Switch::ExpiredGoesUnnoticed,
            name: "expired-goes-unnoticed",
            kind: Kind::Defect,
            source: "k/k#56121 (1.8)",
            about: "a watch that ends as expired is begun again where it was, and no list is asked for",
            fits: ALL,
            reconciler: None,
            ships: &[],
            etcd: NOWHERE,
            place: Place::Informer,
        },
        SwitchInfo {
            switch: Switch::RelistAtZero,
            name: "relist-at-zero",
            kind: Kind::Defect,
            source: "k/k#59848, PR #83520 (1.18)",
            about: "every list is asked for at revision 0: a server that lags takes the store back",
            fits: &[V1_16],
            reconciler: None,
            ships: &[V1_16],
            etcd: NOWHERE,
            place: Place::Informer,
        },
        SwitchInfo {
            switch: Switch::RelistIsASync,
            name: "relist-is-a-sync",
            kind: Kind::Defect,
            source: "PR #86015 (1.18)",
            about: "what a list brings is told only to the handlers whose resync was last due",
            fits: &[V1_16],
            reconciler: None,
            ships: &[V1_16],
            etcd: NOWHERE,
            place: Place::Informer,
        },
        SwitchInfo {
            switch: Switch::WatchListWithoutEnd,
            name: "watch-list-without-end",
            kind: Kind::OpenDefect,
            source: "k/k#140890 (not mended)",
            about: "a watch-list that the server closes before its end is asked for again, at once and for \
                    ever. Off: the reflector lists instead",
            fits: &[V1_36],
            reconciler: None,
            ships: &[V1_36],
            etcd: NOWHERE,
            place: Place::Informer,
        },
    ];

    /// What there is to know of it.
    pub fn info(self) -> &'static SwitchInfo {
        &Switch::TABLE[self as usize]
    }

    /// The switch with this name.
    pub fn named(name: &str) -> Option<Switch> {
        let found = Switch::TABLE.iter().find(|info| info.name == name)?;
        Some(found.switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_numbers_and_names_are_unique() {
        for (at, info) in Switch::TABLE.iter().enumerate() {
            assert_eq!(info.switch as usize, at, "{}", info.name);
            assert_eq!(Switch::named(info.name), Some(info.switch));
            assert_eq!(info.kind == Kind::Fix, info.name.starts_with("fix-"));
            assert!(info.ships.iter().all(|r| info.fits.contains(r)));
        }
    }

    #[test]
    fn a_release_ships_no_fix() {
        for info in Switch::TABLE.iter().filter(|i| i.kind == Kind::Fix) {
            assert!(info.ships.is_empty(), "{}", info.name);
        }
        assert!(
            Switch::TABLE[0].ships.contains(&V1_20)
                && !Switch::TABLE[0].ships.contains(&Release::V1_36)
        );
    }
}
