//! The identity of an apiserver goes with it.

use std::collections::BTreeMap;

use wavetank_api::Object;
use wavetank_apiserver::ServerNote;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::{Cause, Committed, Key};

use super::IdentityStopped;
use crate::kube_apiserver::has_transactions;
use crate::promises::violated;

/// Once a stopping apiserver has deleted the Lease of its identity, with no other transaction under way, the same
/// life writes it no more: it would be taken for a living peer for an hour.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoIdentityAfterStop {
    /// The lives that were asked to stop.
    stopping: BTreeMap<ProcId, u32>,
    /// Those that have deleted their Leases.
    stopped: BTreeMap<ProcId, (u32, Key)>,
}

impl Property for NoIdentityAfterStop {
    fn name(&self) -> &'static str {
        "no-identity-after-stop"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(ServerNote::Stopping) = note.body.get() {
            let life = world.incarnation(note.process);
            self.stopping.insert(note.process, life);
        }
        if let Some(IdentityStopped { key, deleted }) = note.body.get() {
            if !deleted || has_transactions(world, note.process) {
                return Check::Idle;
            }
            // The process may be in its next life already.
            let life = self.stopping.get(&note.process).copied();
            let life = life.unwrap_or_default();
            self.stopped.insert(note.process, (life, key.clone()));
            return Check::Held;
        }
        let Some(commit) = note.body.get::<Committed<Object>>() else {
            return Check::Idle;
        };
        let Cause::Client(writer) = commit.cause else {
            return Check::Idle;
        };
        let stopped = self.stopped.get(&writer);
        let Some((_, key)) = stopped.filter(|(life, _)| *life == world.incarnation(writer)) else {
            return Check::Idle;
        };
        let mut written = commit.changes.iter().filter(|change| change.now.is_some());
        match written.any(|change| change.key == *key) {
            false => Check::Idle,
            true => violated(
                "identity",
                world.name(writer),
                format!(
                    "{} writes {key} after it has deleted it",
                    world.name(writer)
                ),
            ),
        }
    }
}
