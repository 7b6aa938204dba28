//! What keeps leaders apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_client::leader_election::{ElectionNote, Lock};
use wavetank_engine::{Check, Instant, ProcId, Time, World};

use super::{LEADS, OfLock, Written, by_fastest_clock, leads, other_leader};
use wavetank_components::promises::violated;

/// The record of a lock counts each time that it goes from one holder to another (`leaseTransitions`).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TransitionsCount;

impl OfLock for TransitionsCount {
    const NAME: &'static str = "transitions-are-counted";

    fn written(&mut self, _: &World, lock: Lock, record: Written<'_>) -> Check {
        let (before, now) = (record.before(), record.now());
        if before.holder.is_empty() || now.holder.is_empty() || before.holder == now.holder {
            return Check::Idle;
        }
        if now.transitions > before.transitions {
            return Check::Held;
        }
        let (from, to, count) = (before.holder, now.holder, now.transitions);
        let message =
            format!("it goes from {from} to {to}, and counts {count} transitions as before");
        violated("lock", lock.name.as_str(), message)
    }
}

/// Nobody takes a lock within a lease of when its record changed, by any clock, nor says that nobody holds a lock that
/// another does.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LockIsLeft {
    /// When the record changed last.
    changed: Option<Time>,
    /// Who writes that nobody holds the lock.
    releases: BTreeSet<Arc<str>>,
}

impl OfLock for LockIsLeft {
    const NAME: &'static str = "lock-is-left-to-its-holder";

    fn told(&mut self, _: &World, _: Lock, _: ProcId, note: &ElectionNote) -> Check {
        if let ElectionNote::Releases { identity } = note {
            self.releases.insert(identity.clone());
        }
        Check::Idle
    }

    fn written(&mut self, world: &World, lock: Lock, record: Written<'_>) -> Check {
        let (before, now) = (record.before(), record.now());
        if before.is_written_alike(&now) {
            return Check::Idle;
        }
        let changed = self.changed.replace(world.now());
        if before.holder.is_empty() || before.holder == now.holder {
            return Check::Idle;
        }
        let message = if now.holder.is_empty() {
            if self.releases.contains(&before.holder) {
                return Check::Held;
            }
            format!(
                "{} holds it, and another writes that nobody does",
                before.holder
            )
        } else {
            let lease = by_fastest_clock(before.duration);
            let passed = changed.map_or(lease, |changed| world.now().since(changed));
            if passed >= lease {
                return Check::Held;
            }
            format!(
                "{} takes it {:.3} s after {} has changed it, whose lease is {} s",
                now.holder,
                passed.as_secs_f64(),
                before.holder,
                before.duration
            )
        };
        violated("lock", lock.name.as_str(), message)
    }
}

/// A leader that can run stops leading in time, by its own clock. It is looked at half a second after that and again
/// each second: whoever was neither paused nor held at two looks had its turn in between. So had whoever tries twice to renew
/// its lock when it should have stopped, a while apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaderStops {
    /// Leaders that could run at their last look.
    ran: BTreeSet<ProcId>,
    renewals: Renewals,
    /// When a leader that should have stopped was first seen to try for its lock.
    late: BTreeMap<ProcId, Instant>,
}

/// Renewals of candidates, by when they were asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Renewals {
    /// When a process began its last attempt, and in which life.
    tries: BTreeMap<ProcId, (u32, Time)>,
    /// When it began the last that succeeded.
    held: BTreeMap<ProcId, (u32, Time)>,
}

impl Renewals {
    fn told(&mut self, world: &World, process: ProcId, note: &ElectionNote) {
        match note {
            ElectionNote::Tries => {
                let now = (world.incarnation(process), world.now());
                self.tries.insert(process, now);
            }
            ElectionNote::Holds => {
                if let Some(began) = self.tries.get(&process) {
                    self.held.insert(process, *began);
                }
            }
            _ => {}
        }
    }

    /// How long ago it asked for the last renewal that succeeded, in this life.
    fn since(&self, world: &World, process: ProcId) -> Option<Duration> {
        let held = self.held.get(&process);
        let held = held.filter(|(life, _)| *life == world.incarnation(process));
        held.map(|(_, began)| world.now().since(*began))
    }
}

impl LeaderStops {
    /// A candidate tries for its lock: does it lead, and should not any more?
    fn tries(&mut self, world: &World, lock: Lock, process: ProcId) -> Check {
        let since = self.renewals.since(world, process);
        let is_late = since.is_some_and(|since| since > LEADS + LOOKS);
        if !(is_late && leads(world, process, lock)) {
            return Check::Idle;
        }
        let first = *self.late.entry(process).or_insert(Instant(world.now()));
        if world.now().since(first.0) < LOOKS {
            return Check::Idle;
        }
        leads_on(world, process)
    }
}

/// So far apart are looks at a leader that should have stopped.
const LOOKS: Duration = Duration::from_secs(1);

fn leads_on(world: &World, process: ProcId) -> Check {
    let name = world.name(process);
    let message = format!("{name} leads, and asked too long ago for the last renewal that it got");
    violated("leader", name, message)
}

impl OfLock for LeaderStops {
    const NAME: &'static str = "leader-stops-in-time";

    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
        self.renewals.told(world, process, note);
        match note {
            ElectionNote::Ends => {
                self.ran.remove(&process);
                self.late.remove(&process);
                Check::Held
            }
            ElectionNote::Leads { .. } => {
                self.ran.remove(&process);
                self.late.remove(&process);
                Check::Idle
            }
            ElectionNote::Holds => {
                self.late.remove(&process);
                Check::Idle
            }
            ElectionNote::Tries => self.tries(world, lock, process),
            ElectionNote::LeadsTooLong { again } => {
                let runs = !world.is_paused(process) && !world.is_held(process);
                let ran = self.ran.remove(&process) && *again;
                if runs {
                    self.ran.insert(process);
                }
                if !(ran && runs && leads(world, process, lock)) {
                    return Check::Idle;
                }
                leads_on(world, process)
            }
            _ => Check::Idle,
        }
    }
}

/// Nobody begins to lead shortly after another leader asked for a renewal that succeeded.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OneLeader(Renewals);

impl OfLock for OneLeader {
    const NAME: &'static str = "one-leader-at-a-time";

    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
        self.0.told(world, process, note);
        if !matches!(note, ElectionNote::Leads { .. }) {
            return Check::Idle;
        }
        let recent = |other: ProcId| {
            let since = self.0.since(world, other);
            since.is_some_and(|since| since < LEADS)
        };
        let Some(other) = other_leader(world, process, lock, recent) else {
            return Check::Held;
        };
        let (name, other) = (world.name(process), world.name(other));
        let message = format!("{name} begins to lead, and {other} leads and keeps the lock");
        violated("leader", name, message)
    }
}
