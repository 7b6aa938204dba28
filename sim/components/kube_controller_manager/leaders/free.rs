//! What becomes of the lock of a leader that is asked to stop.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavetank_api::Reason;
use wavetank_client::leader_election::{ElectionNote, Lock, Record, Unlocked};
use wavetank_engine::{Check, ProcId, World};

use super::{OfLock, Written};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A leader that gives up its lock and gets an answer leaves a lock that nobody holds, so that the next one need not
/// wait for the lease to pass: it is there within one turn of `acquire` (2 to 4.4 s, and a request).
///
/// What etcd or the network are to blame for excuses it, and that the lock is no longer its own. That it is refused
/// because the record is invalid (k/k#91966), or because its own last renewal came between (k/k#95939), does not.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CleanStopFrees;

impl OfLock for CleanStopFrees {
    const NAME: &'static str = "clean-stop-frees-the-lock";

    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
        let (identity, error) = match note {
            ElectionNote::Released => return Check::Held,
            ElectionNote::NotReleased { identity, why } => (identity, why),
            _ => return Check::Idle,
        };
        let refused = error.is(Reason::Invalid) || error.is(Reason::Conflict);
        let forgot = *error == Unlocked::Unread;
        let name = world.name(process);
        if !(refused || forgot) || holder(world, lock).as_ref() != Some(identity) {
            return Check::Idle;
        }
        let message = format!("{name} stops, and keeps the lock: {error}");
        violated("lock", lock.name.as_str(), message)
    }
}

/// Who holds the lock.
fn holder(world: &World, lock: Lock) -> Option<Arc<str>> {
    let stored = ClusterView(world).get(&lock.key())?;
    Record::in_object(stored.value.json()).map(|record| record.holder)
}

/// Who has given up the lock does not take it again in the same life (k/k#87899).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoLockWriteAfterRelease {
    /// Who has.
    released: BTreeSet<Arc<str>>,
}

impl OfLock for NoLockWriteAfterRelease {
    const NAME: &'static str = "no-lock-write-after-release";

    fn written(&mut self, _: &World, lock: Lock, record: Written<'_>) -> Check {
        let now = record.now();
        if now.holder.is_empty() {
            self.released.insert(record.before().holder);
            return Check::Held;
        }
        if !self.released.contains(&now.holder) {
            return Check::Idle;
        }
        let message = format!("{} has given it up, and takes it again", now.holder);
        violated("lock", lock.name.as_str(), message)
    }
}
