//! The library of monitors of etcd: what it promises its clients, checked against what clients and
//! members tell. This is their table; each kind has a file.
//!
//! `truth` is the history that all check against, `watches`, `had` and `calls` what clients have had
//! so far, `replay` what a request makes of the history. How a scenario names its properties does not
//! belong here.

mod calls;
pub mod catches_up;
mod had;
mod keys;
pub mod leases;
pub mod members;
mod replay;
pub mod serializable;
pub mod sometimes;
mod truth;
pub mod watch;
mod watches;

#[cfg(test)]
mod testing;

use std::time::Duration;

use wavetank_engine::{Check, Property, Violation};

use crate::api::Value;

pub use truth::{Content, Learned, Truth};
pub use watches::WatchMonitor;

/// By how much the clocks of members may run fast, in thousandths.
pub const CLOCK_TOLERANCE: u32 = 1;
/// A stream that died in the storm is noticed after 30 + 10 s and opened again after at most 43 s
/// (grpc's back-off after a storm of 120 s), a leader is elected within a few, and a watch that asks
/// on has had its answer 10 s later.
pub const WATCHES_SETTLE: Duration = Duration::from_secs(100);
/// A leader is elected within a few seconds, its lessor looks every 0.5 s, and what it proposed in
/// vain comes up again after 7 s.
pub const LEASES_SETTLE: Duration = Duration::from_secs(30);
/// A checkpoint is made every second and rounds up to whole ones; a lease that is over and still to
/// be revoked is said to have 7 s.
pub const CHECKPOINT_SLACK: Duration = Duration::from_secs(10);
/// Members give a proposal up after 7 s; what is under way to the leader then arrives, or its
/// connection is given up, within 40 s.
pub const PROPOSALS_SETTLE: Duration = Duration::from_secs(60);

/// A monitor of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is explained in the table below")]
pub enum Name {
    WatchOrdered,
    WatchUnique,
    WatchAtomic,
    WatchReliable,
    WatchResumable,
    WatchBookmarkable,
    WatchPrevKv,
    WatchIsCreate,
    WatchFilter,
    ProgressReachesNewerWatch,
    WatchCatchesUp,
    StrictlySerializable,
    RevisionsNeverGoBack,
    MembersAgree,
    KeysCountTheirChanges,
    LeaseLives,
    LeaseEnds,
    PromotionKeepsDeadline,
    LeaseKeysGoWithIt,
    LeaderChanged,
    SnapshotInstalled,
    WatchCompacted,
    WatchResumed,
    LeaseExpired,
    TimedOutWriteCommitted,
    TimedOutWriteLost,
    StaleSerializableRead,
    MinorityServesOldRead,
    LeaderChangedError,
    ProgressRequestedAndAnswered,
}

/// What there is to know of a monitor.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The monitor.
    pub monitor: Name,
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
    /// `sometimes` properties are to be reached, not to be kept.
    pub sometimes: bool,
}

impl Name {
    /// All of them.
    pub const TABLE: [Info; 30] = [
        Info {
            monitor: Name::WatchOrdered,
            name: "watch-ordered",
            about: "within a watch revisions never go down, over all of its streams",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchUnique,
            name: "watch-unique",
            about: "no event comes to a watch twice",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchAtomic,
            name: "watch-atomic",
            about: "all events of one revision come to a watch in one response",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchReliable,
            name: "watch-reliable",
            about: "up to what has come to a watch, or its progress, no event is missing",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchResumable,
            name: "watch-resumable",
            about: "a resumed watch goes on exactly where it was",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchBookmarkable,
            name: "watch-bookmarkable",
            about: "after progress to a revision no event up to it comes",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchPrevKv,
            name: "watch-prev-kv",
            about: "an event tells what its key was one revision before",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchIsCreate,
            name: "watch-is-create",
            about: "an event says that it created its key exactly if it did",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchFilter,
            name: "watch-filter",
            about: "a watch gets its keys and kinds only, and nothing before its start",
            sometimes: false,
        },
        Info {
            monitor: Name::ProgressReachesNewerWatch,
            name: "progress-reaches-newer-watch",
            about: "progress that was asked for before a watch began claims no more than it has",
            sometimes: false,
        },
        Info {
            monitor: Name::WatchCatchesUp,
            name: "watch-catches-up",
            about: "some time after calm a watch whose client keeps asking knows of what was made",
            sometimes: false,
        },
        Info {
            monitor: Name::StrictlySerializable,
            name: "strictly-serializable",
            about: "every call takes effect at a revision between its call and its answer",
            sometimes: false,
        },
        Info {
            monitor: Name::RevisionsNeverGoBack,
            name: "revisions-never-go-back",
            about: "a member that has applied more has no older revision",
            sometimes: false,
        },
        Info {
            monitor: Name::MembersAgree,
            name: "members-agree",
            about: "members that have applied the same entries have the same content",
            sometimes: false,
        },
        Info {
            monitor: Name::KeysCountTheirChanges,
            name: "keys-count-their-changes",
            about: "a key that is changed keeps the revision that created it, and counts its version on by one",
            sometimes: false,
        },
        Info {
            monitor: Name::LeaseLives,
            name: "lease-lives",
            about: "no key goes for an expiry before its client's last keep-alive is over",
            sometimes: false,
        },
        Info {
            monitor: Name::LeaseEnds,
            name: "lease-ends",
            about: "some time after calm no lease exists whose time is over for long",
            sometimes: false,
        },
        Info {
            monitor: Name::PromotionKeepsDeadline,
            name: "promotion-keeps-deadline",
            about: "a new leader gives a lease no more than what was left of it",
            sometimes: false,
        },
        Info {
            monitor: Name::LeaseKeysGoWithIt,
            name: "lease-keys-go-with-it",
            about: "exactly the keys of a lease go with it, in order and in one revision, and none comes to it later",
            sometimes: false,
        },
        Info {
            monitor: Name::LeaderChanged,
            name: "leader-changed",
            about: "another leader was elected",
            sometimes: true,
        },
        Info {
            monitor: Name::SnapshotInstalled,
            name: "snapshot-installed",
            about: "a member that lagged took over the state of another",
            sometimes: true,
        },
        Info {
            monitor: Name::WatchCompacted,
            name: "watch-compacted",
            about: "a watch ended because its history was compacted",
            sometimes: true,
        },
        Info {
            monitor: Name::WatchResumed,
            name: "watch-resumed",
            about: "a watch was resumed on another stream",
            sometimes: true,
        },
        Info {
            monitor: Name::LeaseExpired,
            name: "etcd-lease-expired",
            about: "keys were deleted because the time of their lease was over",
            sometimes: true,
        },
        Info {
            monitor: Name::TimedOutWriteCommitted,
            name: "timed-out-write-committed",
            about: "a write whose outcome was unknown was made",
            sometimes: true,
        },
        Info {
            monitor: Name::TimedOutWriteLost,
            name: "timed-out-write-lost",
            about: "a write whose outcome was unknown was never made",
            sometimes: true,
        },
        Info {
            monitor: Name::StaleSerializableRead,
            name: "stale-serializable-read",
            about: "a serializable read was older than what had been answered before",
            sometimes: true,
        },
        Info {
            monitor: Name::MinorityServesOldRead,
            name: "minority-serves-old-read",
            about: "such a read was answered by a member that knew of no leader",
            sometimes: true,
        },
        Info {
            monitor: Name::LeaderChangedError,
            name: "leader-changed-error",
            about: "a read failed because the leader changed",
            sometimes: true,
        },
        Info {
            monitor: Name::ProgressRequestedAndAnswered,
            name: "progress-requested-and-answered",
            about: "a watch was told of progress that its client had asked for",
            sometimes: true,
        },
    ];

    /// What there is to know of it.
    pub fn info(self) -> &'static Info {
        &Name::TABLE[self as usize]
    }

    /// The monitor with this name.
    pub fn named(name: &str) -> Option<Name> {
        let found = Name::TABLE.iter().find(|info| info.name == name)?;
        Some(found.monitor)
    }

    /// The monitor itself, of an etcd with these values.
    pub fn property<V: Value>(self) -> Box<dyn Property> {
        match self {
            Name::WatchOrdered => Box::new(watch::ordered::<V>()),
            Name::WatchUnique => Box::new(watch::unique::<V>()),
            Name::WatchAtomic => Box::new(watch::atomic::<V>()),
            Name::WatchReliable => Box::new(watch::reliable::<V>()),
            Name::WatchResumable => Box::new(watch::resumable::<V>()),
            Name::WatchBookmarkable => Box::new(watch::bookmarkable::<V>()),
            Name::WatchPrevKv => Box::new(watch::prev_kv::<V>()),
            Name::WatchIsCreate => Box::new(watch::is_create::<V>()),
            Name::WatchFilter => Box::new(watch::filter::<V>()),
            Name::ProgressReachesNewerWatch => Box::new(watch::progress_reaches_newer::<V>()),
            Name::WatchCatchesUp => Box::new(catches_up::WatchCatchesUp::<V>::new(WATCHES_SETTLE)),
            Name::StrictlySerializable => {
                Box::new(serializable::StrictlySerializable::<V>::default())
            }
            Name::RevisionsNeverGoBack => Box::new(members::RevisionsNeverGoBack::default()),
            Name::MembersAgree => Box::new(members::MembersAgree::<V>::default()),
            Name::KeysCountTheirChanges => Box::new(keys::keys_count_their_changes::<V>()),
            Name::LeaseLives => Box::new(leases::LeaseLives::<V>::new(CLOCK_TOLERANCE)),
            Name::LeaseEnds => Box::new(leases::LeaseEnds::<V>::new(LEASES_SETTLE)),
            Name::PromotionKeepsDeadline => {
                Box::new(leases::PromotionKeepsDeadline::new(CHECKPOINT_SLACK))
            }
            Name::LeaseKeysGoWithIt => Box::new(leases::LeaseKeysGoWithIt::<V>::default()),
            Name::LeaderChanged => Box::new(sometimes::LeaderChanged::default()),
            Name::SnapshotInstalled => Box::new(sometimes::snapshot_installed()),
            Name::WatchCompacted => Box::new(sometimes::watch_compacted::<V>()),
            Name::WatchResumed => Box::new(sometimes::watch_resumed()),
            Name::LeaseExpired => Box::new(sometimes::lease_expired::<V>()),
            Name::TimedOutWriteCommitted => Box::new(sometimes::OfCalls::<V>::committed()),
            Name::TimedOutWriteLost => Box::new(sometimes::OfCalls::<V>::lost(PROPOSALS_SETTLE)),
            Name::StaleSerializableRead => Box::new(sometimes::OfCalls::<V>::stale()),
            Name::MinorityServesOldRead => Box::new(sometimes::OfCalls::<V>::stale_at_minority()),
            Name::LeaderChangedError => Box::new(sometimes::leader_changed_error::<V>()),
            Name::ProgressRequestedAndAnswered => {
                Box::new(sometimes::ProgressAnswered::<V>::default())
            }
        }
    }
}

fn violated(kind: &'static str, object: &str, message: String) -> Check {
    Check::Violated(Violation {
        kind,
        object: object.to_owned(),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::testing::Bytes;
    use super::*;

    #[test]
    fn the_table_is_in_order_and_says_what_the_monitors_say() {
        for (at, info) in Name::TABLE.iter().enumerate() {
            assert_eq!(info.monitor as usize, at, "{}", info.name);
            assert_eq!(Name::named(info.name), Some(info.monitor));
            let monitor = info.monitor.property::<Bytes>();
            assert_eq!(monitor.name(), info.name);
            let sometimes = monitor.class() == wavetank_engine::Class::Sometimes;
            assert_eq!(sometimes, info.sometimes, "{}", info.name);
        }
    }
}
