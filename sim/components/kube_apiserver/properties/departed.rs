//! Who has taken leave stays away: what an apiserver that is gone for good leaves behind for ever.

use std::sync::Arc;
use std::time::Duration;

use crate::kube_apiserver::bootstrap::{BootstrapNote, RemovalOutcome, is_master_lease};
use wavetank_api::Object;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Committed;

use crate::promises::violated;
use crate::view::{ClusterView, ENDPOINTS};

/// Some time after calm the Endpoints list no address whose apiserver has removed itself and does not run
/// again.
///
/// Said only of a cluster in which whoever is down went that way: one that crashed cannot take back what it
/// wrote a moment before, and if nobody runs any more nobody corrects it. For the same reason an address is
/// left out whose master lease was written once more since its removal began: a write that had been under
/// way for long.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DepartedStaysAway {
    after: Duration,
    /// Removals under way.
    leaving: Vec<Arc<str>>,
    /// Those that were done.
    departed: Vec<Arc<str>>,
}

impl DepartedStaysAway {
    /// Looked at so much virtual time after calm.
    pub fn new(after: Duration) -> DepartedStaysAway {
        DepartedStaysAway {
            after,
            leaving: Vec::new(),
            departed: Vec::new(),
        }
    }

    fn forget(&mut self, address: &str) {
        self.leaving.retain(|own| **own != *address);
        self.departed.retain(|own| **own != *address);
    }
}

impl Property for DepartedStaysAway {
    fn name(&self) -> &'static str {
        "departed-address-stays-away"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            let written = commit.changes.iter().filter(|change| change.now.is_some());
            for change in written {
                let is_other = |own: &Arc<str>| !is_master_lease(&change.key, own);
                self.leaving.retain(is_other);
                self.departed.retain(is_other);
            }
            return Check::Idle;
        }
        match note.body.get() {
            Some(BootstrapNote::RemovalStarted { address }) => {
                self.forget(address);
                self.leaving.push(address.clone());
            }
            Some(BootstrapNote::RemovalFinished {
                address,
                outcome,
                late,
            }) => {
                let was_there = self.leaving.contains(address);
                self.forget(address);
                let in_vain = matches!(outcome, RemovalOutcome::Unavailable(_));
                if was_there && !*late && !in_vain {
                    self.departed.push(address.clone());
                }
            }
            _ => {}
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let view = ClusterView(world);
        let down = view.addresses_of(|process| !view.is_up(process));
        if down.is_empty() || down.iter().any(|address| !self.departed.contains(address)) {
            return Check::Idle;
        }
        let (listed, _) = view.addresses(ENDPOINTS);
        let Some(address) = listed.iter().find(|address| down.contains(address)) else {
            return Check::Held;
        };
        violated(
            "Endpoints address",
            address,
            format!("{address} is listed for ever, and its apiserver has removed itself"),
        )
    }
}
