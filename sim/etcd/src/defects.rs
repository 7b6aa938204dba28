//! The known bugs of etcd. Each is declared beside the algorithm that it changes.

use wavetank_version::defects;

use crate::mvcc::compact;
use crate::server::{lessor, peers, reads};
use crate::watch::{receive, sync};

defects! {
    /// A known bug of etcd.
    pub enum EtcdDefect in "etcd" {
        ProgressOvertakesEvents = receive::PROGRESS_OVERTAKES_EVENTS,
        ProgressLatch = receive::PROGRESS_LATCH,
        CompactionSkipsSlowWatch = sync::COMPACTION_SKIPS_SLOW_WATCH,
        CompactionDropsTombstone = compact::COMPACTION_DROPS_TOMBSTONE,
        OldLeaderRevokes = lessor::OLD_LEADER_REVOKES,
        FutureWatchGetsOldEvents = sync::FUTURE_WATCH_GETS_OLD_EVENTS,
        PromotionRestartsLeases = lessor::PROMOTION_RESTARTS_LEASES,
        WatchGoesBack = sync::WATCH_GOES_BACK,
        StaleReadIndex = reads::STALE_READ_INDEX,
        CrashLosesEntries = peers::CRASH_LOSES_ENTRIES,
        MembersSkipRanges = peers::MEMBERS_SKIP_RANGES,
        FixRevokeWhatIsOver = lessor::FIX_REVOKE_WHAT_IS_OVER,
        FixTicksAreNoProof = lessor::FIX_TICKS_ARE_NO_PROOF,
        FixDeposedRevokesNoMore = lessor::FIX_DEPOSED_REVOKES_NO_MORE,
    }
}

#[cfg(test)]
mod tests {
    use wavetank_version::{EtcdVersion, Set};

    use super::EtcdDefect::{self, *};

    #[test]
    fn a_version_ships_the_defects_of_its_patch() {
        let of = |minor, patch| Set::<EtcdDefect>::shipped_with(EtcdVersion::new(minor, patch));
        assert!(of(4, 23).has(ProgressOvertakesEvents) && !of(4, 23).has(ProgressLatch));
        assert!(of(4, 25).has(ProgressLatch) && !of(4, 31).has(ProgressLatch));
        assert!(of(5, 1).has(CrashLosesEntries) && !of(4, 23).has(CrashLosesEntries));
        let latest: Vec<&str> = of(6, 13).iter().map(|defect| defect.name).collect();
        assert_eq!(latest, ["promotion-restarts-leases", "members-skip-ranges"]);
    }
}
