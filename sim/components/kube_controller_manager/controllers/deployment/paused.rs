//! Who pauses a Deployment changes its template in as many steps as they like, and nothing comes of it before it is resumed.

use std::collections::{BTreeMap, BTreeSet};
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
use super::util::{name, without_hash};
use crate::controller_utils::get_controller_of;

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "paused-deployments-make-no-sets",
            "no ReplicaSet is made of a template that its Deployment has had only while it was paused",
            NEEDED,
            |_| Box::new(PausedMakeNone::default()),
        )
        .tested_by(&USED),
    ]
}

fn template(object: &Json) -> Arc<str> {
    let template = json::at(object, &["spec", "template"]).unwrap_or(&Json::Null);
    without_hash(template).to_string().into()
}

/// The templates that each Deployment has had while it was not paused, by its UID. A controller whose view is old may go by any
/// of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct PausedMakeNone(BTreeMap<Arc<str>, BTreeSet<Arc<str>>>);

impl Property for PausedMakeNone {
    fn name(&self) -> &'static str {
        "paused-deployments-make-no-sets"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        for change in changes(note, &DEPLOYMENTS) {
            let Some(now) = &change.now else {
                continue;
            };
            let known = self.0.entry(now.value.uid().into()).or_default();
            if json::at(now.value.json(), &["spec", "paused"]) != Some(&Json::Bool(true)) {
                known.insert(template(now.value.json()));
            }
        }
        let mut checked = Check::Idle;
        for change in changes(note, &REPLICA_SETS).filter(|change| change.before.is_none()) {
            let set = change.now.as_ref().map(|now| now.value.json());
            let owner = set.and_then(get_controller_of);
            let (Some(set), Some(owner)) = (set, owner) else {
                continue;
            };
            let Some(known) = self.0.get(json::text(owner, &["uid"])) else {
                continue;
            };
            if !known.contains(&template(set)) {
                let (set, of) = (name(set), json::text(owner, &["name"]));
                let message = format!("the ReplicaSet {set} is made, and {of} is paused");
                return violated("set", set, message);
            }
            checked = Check::Held;
        }
        checked
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let deployments = changes(note, &DEPLOYMENTS).next().is_some();
        let concerned = deployments || changes(note, &REPLICA_SETS).next().is_some();
        (!concerned).then_some(Check::Idle)
    }
}
