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
use wavetank_component::PropertyInfo;
use wavetank_engine::{Check, Note, ProcId, Reached, Stable, Status, World};
use wavetank_etcd::Committed;
use wavetank_version::Version;

use super::manager::{ControllerManager, RESTART_AFTER};
use super::{NEEDED, releases};
use crate::promises::violated;
use free::{CleanStopFrees, NoLockWriteAfterRelease};
use one::{LeaderStops, LockIsLeft, OneLeader};
use overlap::{LeadersOverlap, OldLeaderWrites};

/// All of them.
pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "lock-is-left-to-its-holder",
            "nobody takes a lock before its lease has passed, or frees one that it does not hold",
            NEEDED,
            |_| Box::new(LockIsLeft::default()),
        ),
        PropertyInfo::new(
            "leader-stops-in-time",
            "a leader that can run stops leading before others may take its lock",
            NEEDED,
            |_| Box::new(LeaderStops::default()),
        ),
        PropertyInfo::new(
            "one-leader-at-a-time",
            "nobody begins to lead while another leads and keeps the lock",
            NEEDED,
            |_| Box::new(OneLeader::default()),
        ),
        PropertyInfo::new(
            "clean-stop-frees-the-lock",
            "a leader that gives up its lock and gets an answer leaves it free",
            NEEDED,
            |_| Box::new(CleanStopFrees),
        )
        .fits(releases),
        PropertyInfo::new(
            "no-lock-write-after-release",
            "who has given up the lock does not take it again in the same life",
            NEEDED,
            |_| Box::new(NoLockWriteAfterRelease::default()),
        )
        .fits(releases),
        PropertyInfo::new(
            "somebody-leads",
            "some time after calm one of the controller managers leads, and goes on leading",
            NEEDED,
            |settled| Box::new(somebody_leads(settled)),
        ),
        PropertyInfo::new(
            "leaders-do-not-overlap",
            "no two lead at a time, not even if one of them cannot run",
            NEEDED,
            |_| Box::new(LeadersOverlap),
        ),
        PropertyInfo::new(
            "no-write-of-an-old-leader",
            "what a leader writes is not stored once another has the lock",
            NEEDED,
            |_| Box::new(OldLeaderWrites::default()),
        ),
        PropertyInfo::new(
            "leader-was-succeeded",
            "the lock went from one leader to another",
            NEEDED,
            |_| Box::new(leader_was_succeeded()),
        ),
        PropertyInfo::new(
            "leadership-was-lost",
            "a leader gave up because it could not renew the lock",
            NEEDED,
            |_| Box::new(leadership_was_lost()),
        ),
        PropertyInfo::new(
            "lock-was-released",
            "a leader wrote that nobody holds the lock",
            NEEDED,
            |_| Box::new(lock_was_released()),
        )
        .fits(releases),
    ]
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
    fn what_nobody_promises_is_no_guarantee() {
        let class = |name: &str| {
            let all = all();
            let found = all.iter().find(|info| info.name == name);
            found.expect(name).property(Duration::ZERO).class()
        };
        assert_eq!(class("leaders-do-not-overlap"), Class::Observation);
        assert_eq!(class("no-write-of-an-old-leader"), Class::Observation);
        assert_eq!(class("one-leader-at-a-time"), Class::Guarantee);
    }
}
