//! The table of defects and fixes.

use crate::Release;

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
}

use Release::{V1_16, V1_20};
const ALL: &[Release] = &Release::ALL;
const OLD: &[Release] = &[V1_16, V1_20];

impl Switch {
    /// All of them, in the order of their numbers.
    pub const TABLE: [SwitchInfo; 9] = [
        SwitchInfo {
            switch: Switch::LastApiserverKeepsAddress,
            name: "last-apiserver-keeps-address",
            kind: Kind::Defect,
            source: "k/k#115804, PR #116685 (1.27)",
            about: "a stopping apiserver that finds no other lease refuses to empty the Endpoints",
            fits: ALL,
            reconciler: Some(Reconciler::Lease),
            ships: OLD,
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
