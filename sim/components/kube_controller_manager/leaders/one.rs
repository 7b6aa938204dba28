//! What keeps leaders apart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_client::leader_election::ElectionNote;
use wavetank_engine::{Check, Note, ProcId, Property, Time, World};

use super::{LEADS, LEASE, leads, managers, told, written};
use crate::promises::violated;

/// Nobody takes a lock within a lease of when its record changed, by any clock, nor says that nobody holds a lock that
/// another does.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LockIsLeft {
    /// When the record changed last.
    changed: Option<Time>,
    /// Who writes that nobody holds the lock.
    releases: BTreeSet<Arc<str>>,
}

impl Property for LockIsLeft {
    fn name(&self) -> &'static str {
        "lock-is-left-to-its-holder"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(ElectionNote::Releases { identity }) = told(note) {
            self.releases.insert(identity.clone());
        }
        let Some((before, now)) = written(world, note) else {
            return Check::Idle;
        };
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
            let passed = changed.map_or(LEASE, |changed| world.now().since(changed));
            if passed >= LEASE {
                return Check::Held;
            }
            format!(
                "{} takes it {:.3} s after {} has changed it",
                now.holder,
                passed.as_secs_f64(),
                before.holder
            )
        };
        violated("lock", "kube-controller-manager", message)
    }
}

/// A leader that can run stops leading in time, by its own clock. It is looked at half a second after that and again
/// each second: whoever was neither paused nor held at two looks had its turn in between.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaderStops {
    /// Leaders that could run at their last look.
    ran: BTreeSet<ProcId>,
}

impl Property for LeaderStops {
    fn name(&self) -> &'static str {
        "leader-stops-in-time"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let process = note.process;
        match told(note) {
            Some(ElectionNote::Ends) => {
                self.ran.remove(&process);
                Check::Held
            }
            Some(ElectionNote::Leads { .. }) => {
                self.ran.remove(&process);
                Check::Idle
            }
            Some(ElectionNote::LeadsTooLong { again }) => {
                let runs = !world.is_paused(process) && !world.is_held(process);
                let ran = self.ran.remove(&process) && *again;
                if runs {
                    self.ran.insert(process);
                }
                if !(ran && runs && leads(world, process)) {
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

impl Property for OneLeader {
    fn name(&self) -> &'static str {
        "one-leader-at-a-time"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let process = note.process;
        match told(note) {
            Some(ElectionNote::Tries) => {
                let now = (world.incarnation(process), world.now());
                self.tries.insert(process, now);
            }
            Some(ElectionNote::Holds) => {
                if let Some(began) = self.tries.get(&process) {
                    self.held.insert(process, *began);
                }
            }
            Some(ElectionNote::Leads { .. }) => {
                let others = managers(world).map(|(other, _)| other);
                let recent = |other: &ProcId| {
                    let held = self.held.get(other);
                    held.is_some_and(|(life, began)| {
                        *life == world.incarnation(*other) && world.now().since(*began) < LEADS
                    })
                };
                let mut leaders = others.filter(|other| *other != process && leads(world, *other));
                let Some(other) = leaders.find(recent) else {
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
