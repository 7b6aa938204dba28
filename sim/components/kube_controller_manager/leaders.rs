//! What processes may rely on that elect a leader: each lock is judged by itself, that of controller managers and that
//! of an operator beside them.
//!
//! What a leader may count on is derived from how the clocks of two processes run. Let a leader ask at `s` for the
//! last renewal that succeeds. Others see a change of the record at `s` or later, or at `s` less a second: the record
//! has whole seconds, so a renewal in the same second as the one before is no change. They take the lock a lease of
//! 15 s (or of what the record says, which is no less) after that, by their own clocks. The leader must not lead on for more than 10 + 2 s after `s`, by its own. If
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

mod each;
mod free;
mod one;
mod overlap;

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_client::gates::HTTP2_IS_CHECKED;
use wavetank_client::leader_election::{
    self, ElectionNote, LEADS_FOR, LEASE_DURATION, Lock, OfElection, RENEW_DEADLINE, RETRY_PERIOD,
};
use wavetank_component::{Entry, PropertyInfo};
use wavetank_engine::{Check, Class, Name, Note, ProcId, Reached, Stable, Status, World};
use wavetank_version::Version;

use super::{ELECTION_NEEDED, NEEDED, elects, releases};
use each::{EachLock, OfLock, Written};
use free::{CleanStopFrees, NoLockWriteAfterRelease};
use one::{LeaderStops, LockIsLeft, OneLeader, TransitionsCount};
use overlap::{LeadersOverlap, OldLeaderWrites};
use wavetank_components::elected::RESTART_AFTER;
use wavetank_components::promises::violated;

/// All of them.
pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "lock-is-left-to-its-holder",
            "nobody takes a lock before its lease has passed, or frees one that it does not hold",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<LockIsLeft>::default()),
        ),
        PropertyInfo::new(
            "transitions-are-counted",
            "the record of a lock counts each time that it goes from one holder to another",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<TransitionsCount>::default()),
        ),
        PropertyInfo::new(
            "leader-stops-in-time",
            "a leader that can run stops leading before others may take its lock",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<LeaderStops>::default()),
        ),
        PropertyInfo::new(
            "one-leader-at-a-time",
            "nobody begins to lead while another leads and keeps the lock",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<OneLeader>::default()),
        ),
        PropertyInfo::new(
            "clean-stop-frees-the-lock",
            "a leader that gives up its lock and gets an answer leaves it free",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<CleanStopFrees>::default()),
        )
        .tested_by(&[Entry::STOP])
        .fits(releases),
        PropertyInfo::new(
            "no-lock-write-after-release",
            "who has given up the lock does not take it again in the same life",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<NoLockWriteAfterRelease>::default()),
        )
        .tested_by(&[Entry::STOP])
        .fits(releases),
        PropertyInfo::new(
            "somebody-leads",
            "some time after calm one of the candidates for a lock leads, and goes on leading",
            ELECTION_NEEDED,
            |settled| Box::new(somebody_leads(settled)),
        ),
        PropertyInfo::new(
            "leaders-do-not-overlap",
            "no two lead at a time, not even if one of them cannot run",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<LeadersOverlap>::default()),
        ),
        PropertyInfo::new(
            "no-write-of-an-old-leader",
            "what a leader writes is not stored once another has the lock",
            NEEDED,
            |_| Box::new(OldLeaderWrites::default()),
        )
        .fits(elects),
        PropertyInfo::new(
            "leader-was-succeeded",
            "the lock went from one leader to another",
            ELECTION_NEEDED,
            |_| Box::new(EachLock::<LeaderWasSucceeded>::default()),
        ),
        PropertyInfo::new(
            "leadership-was-lost",
            "a leader gave up because it could not renew the lock",
            ELECTION_NEEDED,
            |_| Box::new(leadership_was_lost()),
        ),
        PropertyInfo::new(
            "lock-was-released",
            "a leader wrote that nobody holds the lock",
            ELECTION_NEEDED,
            |_| Box::new(lock_was_released()),
        )
        .fits(releases),
    ]
}

/// The shortest lease by the fastest clock.
const LEASE: Duration = by_fastest_clock(LEASE_DURATION.as_secs() as u32);

/// A lease of so many seconds, as it says in the record of its lock, by the fastest clock.
const fn by_fastest_clock(seconds: u32) -> Duration {
    Duration::from_millis(seconds as u64 * 14_000 / 15)
}

/// How long a leader leads on, by the slowest clock.
const LEADS: Duration = Duration::from_millis(LEADS_FOR.as_millis() as u64 * 14 / 13);
/// What two renewals may be apart that look alike, by the slowest clock.
const ALIKE: Duration = Duration::from_millis(1000 * 14 / 13);
const _: () = assert!(LEADS.as_millis() + ALIKE.as_millis() <= LEASE.as_millis());

/// Does it lead, under this lock?
fn leads(world: &World, process: ProcId, lock: Lock) -> bool {
    world.status(process) == Status::Up && leader_election::leads(world, process, lock.name)
}

/// Another process than this one that leads under a lock and of which this is true.
fn other_leader(
    world: &World,
    process: ProcId,
    lock: Lock,
    is_so: impl Fn(ProcId) -> bool,
) -> Option<ProcId> {
    let mut others = world.processes().filter(|other| *other != process);
    others.find(|other| leads(world, *other, lock) && is_so(*other))
}

/// What a candidate told, whatever its lock.
fn told(note: &Note) -> Option<&ElectionNote> {
    note.body.get().map(|OfElection { note, .. }| note)
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

/// Some time after calm one of the candidates that run leads, and goes on leading: of each lock.
pub fn somebody_leads(after: Duration) -> Stable {
    let holds = |world: &World| {
        let running = world.processes();
        let running = running.filter(|process| world.status(*process) == Status::Up);
        let mut leaders: BTreeMap<Name, bool> = BTreeMap::new();
        for own in running.flat_map(|process| leader_election::candidates(world, process)) {
            *leaders.entry(own.lock.name).or_default() |= own.leads;
        }
        if leaders.is_empty() {
            return Check::Idle; // nobody is left to lead
        }
        match leaders.into_iter().find(|(_, leads)| !leads) {
            Some((lock, _)) => nobody_leads(lock, "nobody leads"),
            None => Check::Held,
        }
    };
    let check = |_: &World, note: &Note| match note.body.get() {
        Some(OfElection { lock, note }) if *note == ElectionNote::Ends => {
            nobody_leads(lock.name, "the leader no longer leads")
        }
        _ => Check::Idle,
    };
    Stable::new("somebody-leads", after, check, holds)
}

fn nobody_leads(lock: Name, what: &str) -> Check {
    let message = format!("{what}, although all has been well for long");
    violated("lock", lock.as_str(), message)
}

/// The lock went from one leader to another.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct LeaderWasSucceeded;

impl OfLock for LeaderWasSucceeded {
    const NAME: &'static str = "leader-was-succeeded";
    const CLASS: Class = Class::Sometimes;

    fn written(&mut self, _: &World, _: Lock, record: Written<'_>) -> Check {
        let (before, now) = (record.before(), record.now());
        let has_holder = !before.holder.is_empty() && !now.holder.is_empty();
        match has_holder && before.holder != now.holder {
            true => Check::Held,
            false => Check::Idle,
        }
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
