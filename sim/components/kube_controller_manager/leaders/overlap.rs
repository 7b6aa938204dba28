//! What nobody promises, and a controller has to bear: that a leader which could not run still leads when another does,
//! and that what it writes is stored.

use std::sync::Arc;

use crate::kube_controller_manager::controllers::tally::TALLY;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::{Object, json};
use wavetank_client::leader_election::ElectionNote;
use wavetank_engine::{Check, Class, Note, Property, World};
use wavetank_etcd::Committed;

use super::{leads, managers, told, written};
use crate::promises::violated;

/// Two lead at the same time.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeadersOverlap;

impl Property for LeadersOverlap {
    fn name(&self) -> &'static str {
        "leaders-do-not-overlap"
    }

    fn class(&self) -> Class {
        Class::Observation
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if !matches!(told(note), Some(ElectionNote::Leads { .. })) {
            return Check::Idle;
        }
        let process = note.process;
        let mut others = managers(world).map(|(other, _)| other);
        let Some(other) = others.find(|other| *other != process && leads(world, *other)) else {
            return Check::Held;
        };
        let (name, other) = (world.name(process), world.name(other));
        let message = format!("{name} begins to lead, and {other} still leads");
        violated("leader", name, message)
    }
}

/// A leader's write is stored when another has the lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OldLeaderWrites {
    /// Who holds the lock.
    holder: Arc<str>,
}

impl Property for OldLeaderWrites {
    fn name(&self) -> &'static str {
        "no-write-of-an-old-leader"
    }

    fn class(&self) -> Class {
        Class::Observation
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some((_, now)) = written(world, note) {
            self.holder = now.holder;
            return Check::Idle;
        }
        let Some(commit) = note.body.get::<Committed<Object>>() else {
            return Check::Idle;
        };
        let key = CONFIG_MAPS.key(TALLY.0, TALLY.1);
        let mut changes = commit.changes.iter();
        let change = changes.find(|change| change.key == key);
        let Some(now) = change.and_then(|change| change.now.as_ref()) else {
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
