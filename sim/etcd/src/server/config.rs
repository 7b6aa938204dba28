//! What decides how a member behaves: its place in the cluster, the release, switches and sizes.

use wavetank_engine::ProcId;
use wavetank_release::{EtcdRelease, Switch, Switches};

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
    pub release: EtcdRelease,
    /// Its defects.
    pub switches: Switches,
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
    /// So many responses wait for a watch stream before its watches fall behind (`chanBufLen`).
    pub watch_channel: u32,
    /// So many responses are under way on a watch stream, or unread at the client: HTTP/2's flow
    /// control in parts.
    pub watch_window: u32,
}

impl Sizes {
    /// Those of a release.
    pub fn of(release: EtcdRelease) -> Sizes {
        let snapshot_count = match release.minor {
            ..6 => 100_000,
            _ => 100, // `memorySnapshotCount`: what a lagging member feels
        };
        Sizes {
            snapshot_count,
            catch_up_entries: 5000,
            apply_backlog: 5000,
            watch_channel: 128,
            watch_window: 64,
        }
    }
}

impl Config {
    /// The only member of its cluster, of the latest release, with all known bugs mended.
    pub fn single(me: ProcId) -> Config {
        let release = EtcdRelease::LATEST;
        Config {
            me: MemberId(0),
            members: vec![me],
            release,
            switches: Switches::NONE,
            sizes: Sizes::of(release),
        }
    }

    /// Is there no other member?
    pub fn is_single(&self) -> bool {
        self.members.len() == 1
    }

    /// Is this bug there?
    pub fn has(&self, switch: Switch) -> bool {
        self.switches.has(switch)
    }

    /// The same of one that a cluster of one member cannot show: there that is not its place.
    pub(super) fn has_among_others(&self, switch: Switch) -> bool {
        match self.is_single() {
            true => self.switches.contains(switch),
            false => self.has(switch),
        }
    }

    pub(super) fn raft(&self) -> raft::Config {
        raft::Config {
            pre_vote: self.release.minor >= 5,
        }
    }

    /// Are read rounds asked for again while they wait (3.4.20, 3.5.0)?
    pub(super) fn repeats_reads(&self) -> bool {
        self.release.is_at_least(4, 20)
    }

    pub(super) fn quirks(&self) -> Quirks {
        Quirks {
            drops_tombstone_at_compaction: self.switches.contains(Switch::CompactionDropsTombstone),
            txn_checks_in_op_order: self.release.minor >= 6,
        }
    }

    pub(super) fn watch_limits(&self) -> Limits {
        Limits {
            channel: self.sizes.watch_channel as usize,
            ..Limits::default()
        }
    }

    pub(super) fn watch_quirks(&self) -> WatchQuirks {
        let late = self.switches.contains(Switch::FutureWatchGetsOldEvents);
        WatchQuirks {
            progress_overtakes_events: self.switches.contains(Switch::ProgressOvertakesEvents),
            progress_latch: self.switches.contains(Switch::ProgressLatch),
            full_channel_hides_compaction: self.switches.contains(Switch::CompactionSkipsSlowWatch),
            min_rev_stays: self.switches.contains(Switch::WatchGoesBack),
            progress_below_start: late,
            sync_lowers_min_rev: late,
            created_header_before: late,
        }
    }
}
