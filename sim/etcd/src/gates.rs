//! What changed between releases of etcd, and which lines of releases shipped with which bug.

use wavetank_version::{EtcdGate, Line};

/// Read rounds are asked for again while they wait.
pub const REPEATS_READS: EtcdGate = EtcdGate::since(4, 20);
/// `PreVote` is on by default.
pub const PRE_VOTE: EtcdGate = EtcdGate::since(5, 0);
/// A transaction is checked in the order of its operations (`checkTxn` of `apply`).
pub const TXN_CHECKS_IN_OP_ORDER: EtcdGate = EtcdGate::since(6, 0);
/// A lagging member feels `memorySnapshotCount`, and no longer `--snapshot-count`.
pub const MEMORY_SNAPSHOT_COUNT: EtcdGate = EtcdGate::since(6, 0);

/// A leader that has ticked lately does not ask the others whether it leads before it revokes or
/// renews leases (etcd#18428; 3.4.34, 3.5.16).
pub const ACTIVE_SKIPS_CHECK: EtcdGate =
    EtcdGate::since(6, 0).and_in(&[Line::from(4, 34), Line::from(5, 16)]);

pub(crate) const EVERY_LINE: &[Line] = &[Line::all(4), Line::all(5), Line::all(6)];
pub(crate) const PROGRESS_OVERTAKES_EVENTS: &[Line] = &[Line::until(4, 25), Line::until(5, 8)];
pub(crate) const PROGRESS_LATCH: &[Line] = &[Line::within(4, 25, 31), Line::within(5, 8, 13)];
pub(crate) const COMPACTION_SKIPS_SLOW_WATCH: &[Line] = &[Line::until(4, 31), Line::until(5, 13)];
pub(crate) const COMPACTION_DROPS_TOMBSTONE: &[Line] = &[Line::until(4, 34), Line::until(5, 16)];
pub(crate) const OLD_LEADER_REVOKES: &[Line] = &[Line::until(4, 31), Line::until(5, 13)];
pub(crate) const FUTURE_WATCH_GETS_OLD_EVENTS: &[Line] =
    &[Line::until(4, 38), Line::until(5, 22), Line::until(6, 2)];
pub(crate) const WATCH_GOES_BACK: &[Line] = &[Line::until(4, 25), Line::until(5, 8)];
pub(crate) const STALE_READ_INDEX: &[Line] = &[
    Line::within(4, 20, 42),
    Line::until(5, 28),
    Line::until(6, 9),
];
pub(crate) const CRASH_LOSES_ENTRIES: &[Line] = &[Line::until(5, 3)];
