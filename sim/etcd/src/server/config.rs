//! What decides how a member behaves: its place in the cluster, the release, defects and sizes.

use wavetank_engine::ProcId;
use wavetank_version::{EtcdVersion, Set};

use crate::EtcdDefect;
use crate::gates;
use crate::quirks::Quirks;
use crate::raft;
use crate::raft::MemberId;
use crate::watch::{Limits, WatchQuirks};

/// A member's configuration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Which of the members it is.
    pub me: MemberId,
    /// All members, in the order of their numbers.
    pub members: Vec<ProcId>,
    /// Its release.
    pub release: EtcdVersion,
    /// Its defects.
    pub defects: Set<EtcdDefect>,
    /// How much it holds.
    pub sizes: Sizes,
}

/// How much a member holds: upstream's numbers, or smaller ones so that a short storm reaches what
/// lies behind them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sizes {
    /// So many entries are applied before the log is cut (`--snapshot-count`).
    pub snapshot_count: u64,
    /// So many entries are kept then for members that lag (`DefaultSnapshotCatchUpEntries`).
    pub catch_up_entries: u64,
    /// With more entries committed and not applied no request is taken
    /// (`maxGapBetweenApplyAndCommitIndex`).
    pub apply_backlog: u64,
    /// So many revocations of leases that were found over together are under way at once
    /// (`maxPendingRevokes`).
    pub pending_revokes: u32,
    /// So many responses wait for a watch stream before its watches fall behind (`chanBufLen`).
    pub watch_channel: u32,
    /// So many responses are under way on a watch stream, or unread at the client: HTTP/2's flow
    /// control in parts.
    pub watch_window: u32,
}

impl Sizes {
    /// Those of a release.
    pub fn of(release: EtcdVersion) -> Sizes {
        let snapshot_count = match release.has(gates::MEMORY_SNAPSHOT_COUNT) {
            true => 100,
            false => 100_000,
        };
        Sizes {
            snapshot_count,
            catch_up_entries: 5000,
            apply_backlog: 5000,
            pending_revokes: 16,
            watch_channel: 128,
            watch_window: 64,
        }
    }
}

impl Config {
    /// The only member of its cluster, of the latest release, with all known bugs fixed.
    pub fn single(me: ProcId) -> Config {
        let release = EtcdVersion::LATEST;
        Config {
            me: MemberId(0),
            members: vec![me],
            release,
            defects: Set::NONE,
            sizes: Sizes::of(release),
        }
    }

    /// Is there no other member?
    pub fn is_single(&self) -> bool {
        self.members.len() == 1
    }

    /// Is this bug there?
    pub fn has(&self, defect: EtcdDefect) -> bool {
        self.defects.has(defect)
    }

    /// The same of one that a cluster of one member cannot show: there that is not its place.
    pub(super) fn has_among_others(&self, defect: EtcdDefect) -> bool {
        match self.is_single() {
            true => self.defects.contains(defect),
            false => self.has(defect),
        }
    }

    pub(super) fn raft(&self) -> raft::Config {
        raft::Config {
            pre_vote: self.release.has(gates::PRE_VOTE),
        }
    }

    /// Are read rounds asked for again while they wait (3.4.20, 3.5.0)?
    pub(super) fn repeats_reads(&self) -> bool {
        self.release.has(gates::REPEATS_READS)
    }

    /// Does a leader that has ticked lately trust in that it leads?
    pub(super) fn trusts_ticks(&self) -> bool {
        !self.is_single() && self.release.has(gates::ACTIVE_SKIPS_CHECK)
    }

    pub(super) fn quirks(&self) -> Quirks {
        Quirks {
            drops_tombstone_at_compaction: self
                .defects
                .contains(EtcdDefect::CompactionDropsTombstone),
            txn_checks_in_op_order: self.release.has(gates::TXN_CHECKS_IN_OP_ORDER),
        }
    }

    pub(super) fn watch_limits(&self) -> Limits {
        Limits {
            channel: self.sizes.watch_channel as usize,
            ..Limits::default()
        }
    }

    pub(super) fn watch_quirks(&self) -> WatchQuirks {
        let late = self.defects.contains(EtcdDefect::FutureWatchGetsOldEvents);
        WatchQuirks {
            progress_overtakes_events: self.defects.contains(EtcdDefect::ProgressOvertakesEvents),
            progress_latch: self.defects.contains(EtcdDefect::ProgressLatch),
            full_channel_hides_compaction: self
                .defects
                .contains(EtcdDefect::CompactionSkipsSlowWatch),
            min_rev_stays: self.defects.contains(EtcdDefect::WatchGoesBack),
            progress_below_start: late,
            sync_lowers_min_rev: late,
            created_header_before: late,
        }
    }
}
