//! What keeps leaders apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_client::leader_election::{ElectionNote, Lock};
use wavetank_engine::{Check, ProcId, Time, World};

use super::{LEADS, OfLock, Written, by_fastest_clock, leads, other_leader};
use wavetank_components::promises::violated;

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
/// each second: whoever was neither paused nor held at two looks had its turn in between.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaderStops {
    /// Leaders that could run at their last look.
    ran: BTreeSet<ProcId>,
}

impl OfLock for LeaderStops {
    const NAME: &'static str = "leader-stops-in-time";

    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
        match note {
            ElectionNote::Ends => {
                self.ran.remove(&process);
                Check::Held
            }
            ElectionNote::Leads { .. } => {
                self.ran.remove(&process);
                Check::Idle
            }
            ElectionNote::LeadsTooLong { again } => {
                let runs = !world.is_paused(process) && !world.is_held(process);
                let ran = self.ran.remove(&process) && *again;
                if runs {
                    self.ran.insert(process);
                }
                if !(ran && runs && leads(world, process, lock)) {
                    return Check::Idle;
                }
                let name = world.name(process);
                let message = format!(
                    "{name} leads, and asked too long ago for the last renewal that it got"
                );
                violated("leader", name, message)
            }
            _ => Check::Idle,
        }
    }
}

/// Nobody begins to lead shortly after another leader asked for a renewal that succeeded.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OneLeader {
    /// When a process began its last attempt, and in which life.
    tries: BTreeMap<ProcId, (u32, Time)>,
    /// When it began the last that succeeded.
    held: BTreeMap<ProcId, (u32, Time)>,
}

impl OfLock for OneLeader {
    const NAME: &'static str = "one-leader-at-a-time";

    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
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
            ElectionNote::Leads { .. } => {
                let recent = |other: ProcId| {
                    let held = self.held.get(&other);
                    held.is_some_and(|(life, began)| {
                        *life == world.incarnation(other) && world.now().since(*began) < LEADS
                    })
                };
                let Some(other) = other_leader(world, process, lock, recent) else {
                    return Check::Held;
                };
                let (name, other) = (world.name(process), world.name(other));
                let message =
                    format!("{name} begins to lead, and {other} leads and keeps the lock");
                return violated("leader", name, message);
            }
            _ => {}
        }
        Check::Idle
    }
}
