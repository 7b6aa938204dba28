//! What controller managers may rely on that elect a leader.
//!
//! What a leader may count on is derived from how the clocks of two processes run. Let a leader ask at `s` for the
//! last renewal that succeeds. Others see a change of the record at `s` or later, or at `s` less a second: the record
//! has whole seconds, so a renewal in the same second as the one before is no change. They take the lock a lease of
//! 15 s after that, by their own clocks. The leader must not lead on for more than 10 + 2 s after `s`, by its own. If
//! no clock is off by more than a fourteenth of what it should show, 15 s of the one are at least 14 s, and 12 + 1 s
//! of the other at most that: the one stops before the other begins. So there are three guarantees:
//!
//! - nobody takes a held lock within 14 s of when its record changed, nor frees one that it does not hold
//!   (`LockIsLeft`);
//! - a leader that can run does not lead for longer than 12 s by its own clock after it asked for a renewal that
//!   succeeded (`LeaderStops`). One that is paused, or whose routine is held, cannot stop;
//! - nobody begins to lead within 12 s (by the slowest clock) of when another leader asked for a renewal that succeeded
//!   (`OneLeader`). The others imply that, and no pause excuses it.
//!
//! That no two lead at a time, pauses or not, nobody promises: that is an observation, as is that a leader writes
//! nothing once another has taken the lock (there is no fencing, k/k#67651).

mod free;
mod one;
mod overlap;

use std::time::Duration;

use wavetank_api::Object;
use wavetank_client::gates::HTTP2_IS_CHECKED;
use wavetank_client::leader_election::{
    ELECTOR, ElectionNote, LEADS_FOR, LEASE_DURATION, LockKind, RENEW_DEADLINE, RETRY_PERIOD,
    Record,
};
use wavetank_controllers::{ControllerManager, RESTART_AFTER};
use wavetank_engine::{Check, Note, ProcId, Property, Reached, Stable, Status, Violation, World};
use wavetank_etcd::Committed;
use wavetank_version::Version;

use free::{CleanStopFrees, NoLockWriteAfterRelease};
use one::{LeaderStops, LockIsLeft, OneLeader};
use overlap::{LeadersOverlap, OldLeaderWrites};

/// A property of the election of a leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is explained in the table below")]
pub enum Name {
    LockIsLeftToItsHolder,
    LeaderStopsInTime,
    OneLeaderAtATime,
    CleanStopFreesTheLock,
    NoLockWriteAfterRelease,
    SomebodyLeads,
    LeadersDoNotOverlap,
    NoWriteOfAnOldLeader,
    LeaderWasSucceeded,
    LeadershipWasLost,
    LockWasReleased,
}

/// What there is to know of a property.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The property.
    pub property: Name,
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it says, in one line.
    pub about: &'static str,
}

impl Name {
    /// All of them.
    pub const TABLE: [Info; 11] = [
        Info {
            property: Name::LockIsLeftToItsHolder,
            name: "lock-is-left-to-its-holder",
            about: "nobody takes a lock before its lease has passed, or frees one that it does not hold",
        },
        Info {
            property: Name::LeaderStopsInTime,
            name: "leader-stops-in-time",
            about: "a leader that can run stops leading before others may take its lock",
        },
        Info {
            property: Name::OneLeaderAtATime,
            name: "one-leader-at-a-time",
            about: "nobody begins to lead while another leads and keeps the lock",
        },
        Info {
            property: Name::CleanStopFreesTheLock,
            name: "clean-stop-frees-the-lock",
            about: "a leader that gives up its lock and gets an answer leaves it free",
        },
        Info {
            property: Name::NoLockWriteAfterRelease,
            name: "no-lock-write-after-release",
            about: "who has given up the lock does not take it again in the same life",
        },
        Info {
            property: Name::SomebodyLeads,
            name: "somebody-leads",
            about: "some time after calm one of the controller managers leads, and goes on leading",
        },
        Info {
            property: Name::LeadersDoNotOverlap,
            name: "leaders-do-not-overlap",
            about: "no two lead at a time, not even if one of them cannot run",
        },
        Info {
            property: Name::NoWriteOfAnOldLeader,
            name: "no-write-of-an-old-leader",
            about: "what a leader writes is not stored once another has the lock",
        },
        Info {
            property: Name::LeaderWasSucceeded,
            name: "leader-was-succeeded",
            about: "the lock went from one leader to another",
        },
        Info {
            property: Name::LeadershipWasLost,
            name: "leadership-was-lost",
            about: "a leader gave up because it could not renew the lock",
        },
        Info {
            property: Name::LockWasReleased,
            name: "lock-was-released",
            about: "a leader wrote that nobody holds the lock",
        },
    ];

    /// Is there a place for it, where leaders give up their lock when they stop, or do not?
    pub fn fits(self, releases: bool) -> bool {
        let of_release = [
            Name::CleanStopFreesTheLock,
            Name::NoLockWriteAfterRelease,
            Name::LockWasReleased,
        ];
        releases || !of_release.contains(&self)
    }

    /// The property itself; somebody leads so long after calm.
    pub fn property(self, after: Duration) -> Box<dyn Property> {
        match self {
            Name::LockIsLeftToItsHolder => Box::new(LockIsLeft::default()),
            Name::LeaderStopsInTime => Box::new(LeaderStops::default()),
            Name::OneLeaderAtATime => Box::new(OneLeader::default()),
            Name::CleanStopFreesTheLock => Box::new(CleanStopFrees),
            Name::NoLockWriteAfterRelease => Box::new(NoLockWriteAfterRelease::default()),
            Name::SomebodyLeads => Box::new(somebody_leads(after)),
            Name::LeadersDoNotOverlap => Box::new(LeadersOverlap),
            Name::NoWriteOfAnOldLeader => Box::new(OldLeaderWrites::default()),
            Name::LeaderWasSucceeded => Box::new(leader_was_succeeded()),
            Name::LeadershipWasLost => Box::new(leadership_was_lost()),
            Name::LockWasReleased => Box::new(lock_was_released()),
        }
    }
}

/// A lease by the fastest clock.
const LEASE: Duration = Duration::from_secs(LEASE_DURATION.as_secs() * 14 / 15);
/// How long a leader leads on, by the slowest clock.
const LEADS: Duration = Duration::from_millis(LEADS_FOR.as_millis() as u64 * 14 / 13);
/// What two renewals may be apart that look alike, by the slowest clock.
const ALIKE: Duration = Duration::from_millis(1000 * 14 / 13);
const _: () = assert!(LEADS.as_millis() + ALIKE.as_millis() <= LEASE.as_millis());

/// The controller managers.
fn managers(world: &World) -> impl Iterator<Item = (ProcId, &ControllerManager)> {
    let all = world.processes();
    all.filter_map(|process| Some((process, world.process(process)?)))
}

/// Does it lead?
fn leads(world: &World, process: ProcId) -> bool {
    world.status(process) == Status::Up && world.cell(process, &ELECTOR).leads
}

/// The record that a commit leaves in a lock, with what it was before.
fn written(world: &World, note: &Note) -> Option<(Record, Record)> {
    let commit = note.body.get::<Committed<Object>>()?;
    let lock = lock(world)?.key();
    let change = commit.changes.iter().find(|change| change.key == lock)?;
    let record = |object: &Object| Record::in_object(object.json()).unwrap_or_default();
    let before = change.before.as_ref().map(|kv| record(&kv.value));
    let now = change.now.as_ref().map(|kv| record(&kv.value));
    Some((before.unwrap_or_default(), now.unwrap_or_default()))
}

/// The lock of the managers: all have the same.
fn lock(world: &World) -> Option<LockKind> {
    managers(world)
        .next()
        .map(|(_, manager)| manager.election().lock)
}

/// What a manager told.
fn told(note: &Note) -> Option<&ElectionNote> {
    note.body.get()
}

/// How long after calm somebody leads, at the latest, where apiservers have settled after `settled`: a connection that
/// died in the storm is noticed after 45 s (in v1.16 after 300 s, as TCP does), and dialled for 30 s; who exits begins
/// again 10 s later; a request takes up to 10 s; the lease of a leader that is gone passes, and candidates look for that
/// every 4.4 s, before and after a request each.
pub fn leading(release: Version, settled: Duration) -> Duration {
    let noticed = Duration::from_secs(match release.has(HTTP2_IS_CHECKED) {
        true => 45 + 30,
        false => 300 + 30,
    });
    let looks = (RETRY_PERIOD * 22 / 10 + RENEW_DEADLINE) * 3;
    settled + noticed + RESTART_AFTER + LEASE_DURATION + looks
}

/// Some time after calm one of the managers that run leads, and goes on leading.
pub fn somebody_leads(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !managers(world).any(|(process, _)| world.status(process) == Status::Up) {
            return Check::Idle; // nobody is left to lead
        }
        match managers(world).any(|(process, _)| leads(world, process)) {
            true => Check::Held,
            false => nobody_leads("nobody leads"),
        }
    };
    let check = |_: &World, note: &Note| match told(note) {
        Some(ElectionNote::Ends) => nobody_leads("the leader no longer leads"),
        _ => Check::Idle,
    };
    Stable::new("somebody-leads", after, check, holds)
}

fn violated(kind: &'static str, object: &str, message: String) -> Check {
    Check::Violated(Violation {
        kind,
        object: object.to_owned(),
        message,
    })
}

fn nobody_leads(what: &str) -> Check {
    let message = format!("{what}, although all has been well for long");
    violated("lock", "kube-controller-manager", message)
}

/// The lock went from one leader to another.
pub fn leader_was_succeeded() -> Reached {
    Reached {
        name: "leader-was-succeeded",
        here: |world, note| {
            let (before, now) = written(world, note).unwrap_or_default();
            !before.holder.is_empty() && !now.holder.is_empty() && before.holder != now.holder
        },
    }
}

/// A leader gave up because it could not renew the lock.
pub fn leadership_was_lost() -> Reached {
    Reached {
        name: "leadership-was-lost",
        here: |_, note| matches!(told(note), Some(ElectionNote::Lost)),
    }
}

/// A leader wrote that nobody holds the lock.
pub fn lock_was_released() -> Reached {
    Reached {
        name: "lock-was-released",
        here: |_, note| matches!(told(note), Some(ElectionNote::Released)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_engine::Class;

    #[test]
    fn the_table_says_what_the_properties_say() {
        for info in &Name::TABLE {
            let property = info.property.property(Duration::ZERO);
            assert_eq!(property.name(), info.name);
        }
    }

    #[test]
    fn what_nobody_promises_is_no_guarantee() {
        let class = |name: Name| name.property(Duration::ZERO).class();
        assert_eq!(class(Name::LeadersDoNotOverlap), Class::Observation);
        assert_eq!(class(Name::NoWriteOfAnOldLeader), Class::Observation);
        assert_eq!(class(Name::OneLeaderAtATime), Class::Guarantee);
    }
}
