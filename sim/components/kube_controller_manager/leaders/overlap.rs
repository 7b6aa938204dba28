//! What nobody promises, and a controller has to bear: that a leader which could not run still leads when another does,
//! and that what it writes is stored.

use std::sync::Arc;

use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::{Object, json};
use wavetank_client::leader_election::{ElectionNote, Lock, OfElection, Record};
use wavetank_engine::{Check, Class, Note, ProcId, Property, World};
use wavetank_etcd::{Committed, Key};

use super::{OfLock, other_leader};
use crate::controllers::tally::TALLY;
use crate::manager::LOCK;
use wavetank_components::promises::violated;

/// Two lead at the same time.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeadersOverlap;

impl OfLock for LeadersOverlap {
    const NAME: &'static str = "leaders-do-not-overlap";
    const CLASS: Class = Class::Observation;

    fn told(&mut self, world: &World, lock: Lock, process: ProcId, note: &ElectionNote) -> Check {
        if !matches!(note, ElectionNote::Leads { .. }) {
            return Check::Idle;
        }
        let Some(other) = other_leader(world, process, lock, |_| true) else {
            return Check::Held;
        };
        let (name, other) = (world.name(process), world.name(other));
        let message = format!("{name} begins to lead, and {other} still leads");
        violated("leader", name, message)
    }
}

/// A controller manager's write is stored when another has their lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OldLeaderWrites {
    /// Where their lock is.
    lock: Option<Key>,
    /// Who holds it.
    holder: Arc<str>,
}

impl Property for OldLeaderWrites {
    fn name(&self) -> &'static str {
        "no-write-of-an-old-leader"
    }

    fn class(&self) -> Class {
        Class::Observation
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(OfElection { lock, .. }) = note.body.get()
            && lock.name == LOCK
            && self.lock.is_none()
        {
            self.lock = Some(lock.key());
        }
        let Some(commit) = note.body.get::<Committed<Object>>() else {
            return Check::Idle;
        };
        let written = |key: &Key| commit.changes.iter().find(|change| change.key == *key);
        if let Some(change) = self.lock.as_ref().and_then(written) {
            let now = change.now.as_ref();
            let record = now.and_then(|now| Record::in_object(now.value.json()));
            self.holder = record.unwrap_or_default().holder;
            return Check::Idle;
        }
        let key = CONFIG_MAPS.key(TALLY.0, TALLY.1);
        let Some(now) = written(&key).and_then(|change| change.now.as_ref()) else {
            return Check::Idle;
        };
        let leader = json::text(now.value.json(), &["data", "leader"]);
        if self.holder.is_empty() || *self.holder == *leader {
            return Check::Held;
        }
        let message = format!("{leader} writes it, and {} holds the lock", self.holder);
        violated("tally", &key, message)
    }
}
