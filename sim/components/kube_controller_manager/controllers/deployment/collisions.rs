//! A Deployment counts how often the name for a new ReplicaSet was another's already.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavetank_api::Json;
use wavetank_api::json;
use wavetank_api::kinds::{DEPLOYMENTS, REPLICA_SETS};
use wavetank_component::PropertyInfo;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_engine::{Check, Note, Property, World};

use super::NEEDED;
use super::properties::USED;
use super::util::{name, of_status};
use crate::controller_utils::get_controller_of;

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "collisions-are-with-others",
            "no Deployment counts a collision of names that has made all ReplicaSets itself which its own may be taken for",
            NEEDED,
            |_| Box::new(CollisionsAreWithOthers::default()),
        )
        .tested_by(&USED),
    ]
}

/// The ReplicaSets that there ever were: name, and the UID of the controller. That two templates of one Deployment have one hash
/// is left out: it does not happen.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct CollisionsAreWithOthers(BTreeSet<(Arc<str>, Arc<str>)>);

impl CollisionsAreWithOthers {
    /// A ReplicaSet is written.
    fn learns(&mut self, set: &Json) {
        let owner = get_controller_of(set).map_or("", |owner| json::text(owner, &["uid"]));
        let known = (name(set).into(), owner.into());
        self.0.insert(known);
    }

    /// A Deployment is written.
    fn judges(&self, before: &Json, now: &Json) -> Check {
        let count = of_status(now, "collisionCount");
        if count <= of_status(before, "collisionCount") {
            return Check::Held;
        }
        let (name, uid) = (name(now), json::text(now, &["metadata", "uid"]));
        let prefix = format!("{name}-");
        let mut others = self.0.iter();
        if others.any(|(set, owner)| set.starts_with(&prefix) && **owner != *uid) {
            return Check::Held;
        }
        let message =
            format!("{name} counts {count} collisions, and all sets of its name are its own");
        violated("deployment", name, message)
    }
}

impl Property for CollisionsAreWithOthers {
    fn name(&self) -> &'static str {
        "collisions-are-with-others"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        for change in changes(note, &REPLICA_SETS) {
            if let Some(now) = &change.now {
                self.learns(now.value.json());
            }
        }
        let mut checked = Check::Idle;
        for change in changes(note, &DEPLOYMENTS) {
            let (Some(before), Some(now)) = (&change.before, &change.now) else {
                continue;
            };
            match self.judges(before.value.json(), now.value.json()) {
                Check::Held => checked = Check::Held,
                found => return found,
            }
        }
        checked
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let deployments = changes(note, &DEPLOYMENTS).next().is_some();
        let concerned = deployments || changes(note, &REPLICA_SETS).next().is_some();
        (!concerned).then_some(Check::Idle)
    }
}
