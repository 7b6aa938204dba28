//! The Endpoints are not emptied while somebody serves.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::kube_apiserver::bootstrap::{BootstrapNote, is_master_lease};
use wavetank_api::{Object, views};
use wavetank_engine::{Check, Instant, Note, ProcId, Property, World};
use wavetank_etcd::{Cause, Change, Committed};

use crate::promises::violated;
use crate::view::{ClusterView, ENDPOINTS};

/// A master lease is there for so long after it was renewed: its TTL of 15 s, and an etcd whose clock is fast by a
/// tenth.
const LASTS: Duration = Duration::from_secs(13);

/// When each apiserver renewed its lease last, and in which life.
type Renewals = BTreeMap<ProcId, (u32, Instant)>;

/// A stopping apiserver does not empty the Endpoints while another one serves, whose master lease it could see: one
/// that was renewed before the removal began, and cannot have expired since. One that does not stop never empties them:
/// where it finds no lease, it refuses to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NotEmptied {
    renewed: Renewals,
    /// The same when each began to remove its address.
    removing: BTreeMap<ProcId, Renewals>,
}

impl Property for NotEmptied {
    fn name(&self) -> &'static str {
        "endpoints-are-not-emptied"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        match note.body.get() {
            Some(BootstrapNote::RemovalStarted { .. }) => {
                self.removing.insert(note.process, self.renewed.clone());
            }
            Some(BootstrapNote::RemovalFinished { .. }) => {
                return Self::finished(world, note.process);
            }
            _ => {}
        }
        let Some(commit) = note.body.get::<Committed<Object>>() else {
            return Check::Idle;
        };
        let Cause::Client(writer) = commit.cause else {
            return Check::Idle;
        };
        let mut check = Check::Idle;
        for change in commit.changes.iter() {
            if *change.key == *ENDPOINTS {
                check = self.written(world, writer, change);
            } else if self.is_own_lease(world, writer, change) {
                let now = (world.incarnation(writer), Instant(world.now()));
                self.renewed.insert(writer, now);
            }
        }
        check
    }
}

impl NotEmptied {
    fn is_own_lease(&self, world: &World, writer: ProcId, change: &Change<Object>) -> bool {
        let mut all = ClusterView(world).apiservers();
        let own = all.find(|(process, _)| *process == writer);
        let is_its = own.is_some_and(|(_, server)| {
            let address = &server.config().address;
            is_master_lease(&change.key, address)
        });
        change.now.is_some() && is_its
    }

    /// Somebody who serves, and whom one that removes its address could see.
    fn other(&self, world: &World, stopping: ProcId) -> Option<ProcId> {
        let (view, now) = (ClusterView(world), world.now());
        let renewed = self.removing.get(&stopping)?;
        let seen = |process: &ProcId| {
            let life = world.incarnation(*process);
            let renewed = renewed.get(process).filter(|(of, _)| *of == life);
            renewed.is_some_and(|(_, at)| now.since(at.0) < LASTS)
        };
        let mut others = view.apiservers().map(|(process, _)| process);
        others.find(|p| *p != stopping && view.is_serving(*p) && seen(p))
    }

    /// It may have found nothing to write: somebody else had taken its address out.
    fn finished(world: &World, stopping: ProcId) -> Check {
        let view = ClusterView(world);
        let (listed, _) = view.addresses(ENDPOINTS);
        let mut others = view.apiservers().map(|(process, _)| process);
        match others.any(|p| p != stopping && view.is_serving(p)) && !listed.is_empty() {
            true => Check::Held,
            false => Check::Idle,
        }
    }

    fn written(&self, world: &World, writer: ProcId, change: &Change<Object>) -> Check {
        let other = self.other(world, writer);
        // Of one that has stopped before, a write may be late.
        let stays = ClusterView(world).is_serving(writer) && !self.removing.contains_key(&writer);
        if other.is_none() && !stays {
            return Check::Idle;
        }
        let listed = change.now.iter();
        let mut listed = listed.flat_map(|now| views::addresses(now.value.json()));
        if listed.next().is_some() {
            return Check::Held;
        }
        let writer = world.name(writer);
        let message = match other {
            Some(other) => {
                let other = world.name(other);
                format!("{writer}, which stops, empties the Endpoints while {other} serves")
            }
            None => format!("{writer} empties the Endpoints, and does not stop"),
        };
        violated("Endpoints", "default/kubernetes", message)
    }
}
