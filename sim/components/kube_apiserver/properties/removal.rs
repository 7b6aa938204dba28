//! What a stopping apiserver promises.

use std::sync::Arc;

use crate::kube_apiserver::bootstrap::{BootstrapNote, RemovalOutcome, is_master_lease};
use wavetank_api::Object;
use wavetank_apiserver::ServerNote;
use wavetank_engine::{Always, Check, Class, Note, Payload, ProcId, Property, World};
use wavetank_etcd::{Cause, Change, Committed, Request};

use crate::promises::violated;
use crate::view::{ClusterView, ENDPOINTS};

/// A removal that ended within the server's bound, with nobody but the server to blame.
fn clean_removal(note: &BootstrapNote) -> Option<(&Arc<str>, RemovalOutcome)> {
    match note {
        BootstrapNote::RemovalFinished {
            address,
            outcome,
            late: false,
        } if !matches!(outcome, RemovalOutcome::Unavailable(_)) => Some((address, *outcome)),
        _ => None,
    }
}

/// After a clean removal the address is not listed at that moment.
///
/// Two things no algorithm of the stopping server alone can prevent, and they are excused. Another
/// replica listed the master leases before the removal and wrote the Endpoints after the removal had
/// found nothing to change in them: it heals in its next round. And a write of the lease that had
/// been under way since before the removal arrived during it. And an address that several advertise is not one's own.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StoppedAddressIsRemoved {
    /// Removals under way, and whether their lease was written since they began.
    removing: Vec<(Arc<str>, bool)>,
}

impl Property for StoppedAddressIsRemoved {
    fn name(&self) -> &'static str {
        "stopped-address-is-removed"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            for change in commit.changes.iter().filter(|c| c.now.is_some()) {
                for (address, written) in &mut self.removing {
                    *written |= is_master_lease(&change.key, address);
                }
            }
            return Check::Idle;
        }
        let Some(note) = note.body.get::<BootstrapNote>() else {
            return Check::Idle;
        };
        if let BootstrapNote::RemovalStarted { address } = note {
            self.removing.retain(|(a, _)| a != address);
            self.removing.push((address.clone(), false));
            return Check::Idle;
        }
        let BootstrapNote::RemovalFinished { address, .. } = note else {
            return Check::Idle;
        };
        let written = self.removing.iter().any(|(a, w)| a == address && *w);
        self.removing.retain(|(a, _)| a != address);
        let Some((address, outcome)) = clean_removal(note) else {
            return Check::Idle;
        };
        if ClusterView(world).by_address(address).count() > 1 {
            return Check::Idle;
        }
        let (listed, revision) = ClusterView(world).addresses(ENDPOINTS);
        if !listed.contains(address) {
            return Check::Held;
        }
        if written || matches!(outcome, RemovalOutcome::Removed(seen) if revision > seen) {
            return Check::Idle;
        }
        let why = match outcome {
            RemovalOutcome::Failed(error) | RemovalOutcome::Unavailable(error) => error.to_string(),
            RemovalOutcome::Removed(seen) => {
                format!("it met no error, and saw the Endpoints as of revision {seen}")
            }
        };
        violated(
            "Endpoints address",
            address,
            format!("{address} is still listed after its apiserver has removed itself: {why}"),
        )
    }
}

/// Once a stopping apiserver has deleted its lease, with no other transaction under way, the same
/// life writes it no more.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoLeaseWriteAfter {
    stopping: Vec<Stopping>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Stopping {
    process: ProcId,
    life: u32,
    address: Arc<str>,
    /// Has it deleted its lease?
    removed: bool,
}

impl Property for NoLeaseWriteAfter {
    fn name(&self) -> &'static str {
        "no-lease-write-after-removal"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            return self.commit(world, commit);
        }
        if let Some(BootstrapNote::RemovalStarted { address }) = note.body.get() {
            self.stopping.retain(|s| s.process != note.process);
            self.stopping.push(Stopping {
                process: note.process,
                life: world.incarnation(note.process),
                address: address.clone(),
                removed: false,
            });
        }
        Check::Idle
    }
}

impl NoLeaseWriteAfter {
    fn commit(&mut self, world: &World, commit: &Committed<Object>) -> Check {
        let Cause::Client(writer) = commit.cause else {
            return Check::Idle;
        };
        let is_it = |s: &&mut Stopping| s.process == writer && s.life == world.incarnation(writer);
        let Some(stopping) = self.stopping.iter_mut().find(is_it) else {
            return Check::Idle;
        };
        let is_its = |change: &&Change<Object>| is_master_lease(&change.key, &stopping.address);
        let Some(change) = commit.changes.iter().find(is_its) else {
            return Check::Idle;
        };
        match (&change.now, stopping.removed) {
            (Some(_), true) => {
                let address = &stopping.address;
                violated(
                    "masterlease",
                    address,
                    format!("the master lease of {address} is written again after its removal"),
                )
            }
            (None, false) if !has_transactions(world, writer) => {
                stopping.removed = true;
                Check::Held
            }
            _ => Check::Idle,
        }
    }
}

/// Are transactions of this process under way?
pub fn has_transactions(world: &World, process: ProcId) -> bool {
    let is_write = |body: &Payload| matches!(body.get(), Some(Request::<Object>::Txn(_)));
    let mut requests = world.requests_in_flight();
    requests.any(|(from, _, body)| from == process && is_write(body))
}

/// The PreShutdown hooks end within their bounds.
pub fn shutdown_ends() -> Always {
    Always {
        name: "shutdown-ends",
        class: Class::Guarantee,
        check: |world, note| match note.body.get::<ServerNote>() {
            Some(ServerNote::ShutdownOverdue) => {
                let name = world.name(note.process);
                let message = format!("{name} still waits for its PreShutdown hooks");
                violated("apiserver", name, message)
            }
            Some(ServerNote::Exiting) => Check::Held,
            _ => Check::Idle,
        },
    }
}
