//! Places that a sweep should reach, so that the guarantees mean something.

use crate::kube_apiserver::bootstrap::{BootstrapNote, MASTER_LEASES};
use wavetank_api::Object;
use wavetank_engine::{Note, Reached};
use wavetank_etcd::{Cause, Committed};

use crate::view::ClusterView;

fn bootstrap_note(note: &Note) -> Option<&BootstrapNote> {
    note.body.get()
}

/// The last apiserver removed its address while no other ran.
pub fn last_apiserver_stopped() -> Reached {
    Reached {
        name: "last-apiserver-stopped",
        here: |world, note| {
            let view = ClusterView(world);
            let others = |(p, _): (wavetank_engine::ProcId, _)| p != note.process && view.is_up(p);
            matches!(
                bootstrap_note(note),
                Some(BootstrapNote::RemovalFinished { .. })
            ) && !view.apiservers().any(others)
        },
    }
}

/// A removal met a conflict.
pub fn removal_conflicted() -> Reached {
    Reached {
        name: "removal-conflicted",
        here: |_, note| matches!(bootstrap_note(note), Some(BootstrapNote::RemovalConflicted)),
    }
}

/// A master lease expired.
pub fn lease_expired() -> Reached {
    Reached {
        name: "lease-expired",
        here: |_, note| {
            note.body.get::<Committed<Object>>().is_some_and(|commit| {
                matches!(commit.cause, Cause::Expiry(_))
                    && commit.changes[0].key.starts_with(MASTER_LEASES)
            })
        },
    }
}

/// A round ended with an error.
pub fn round_failed() -> Reached {
    Reached {
        name: "round-failed",
        here: |_, note| matches!(bootstrap_note(note), Some(BootstrapNote::RoundFailed(_))),
    }
}
