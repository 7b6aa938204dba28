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

impl PausedMakeNone {
    /// A Deployment is written.
    fn learns(&mut self, deployment: &Json) {
        let uid = json::text(deployment, &["metadata", "uid"]);
        let known = self.0.entry(uid.into()).or_default();
        if json::at(deployment, &["spec", "paused"]) != Some(&Json::Bool(true)) {
            known.insert(template(deployment));
        }
    }

    /// A ReplicaSet is made.
    fn judges(&self, set: &Json) -> Check {
        let Some(owner) = get_controller_of(set) else {
            return Check::Idle;
        };
        let known = self.0.get(json::text(owner, &["uid"]));
        match known.map(|known| known.contains(&template(set))) {
            None => Check::Idle,
            Some(true) => Check::Held,
            Some(false) => {
                let (set, of) = (name(set), json::text(owner, &["name"]));
                let message = format!("the ReplicaSet {set} is made, and {of} is paused");
                violated("set", set, message)
            }
        }
    }
}

impl Property for PausedMakeNone {
    fn name(&self) -> &'static str {
        "paused-deployments-make-no-sets"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        for change in changes(note, &DEPLOYMENTS) {
            if let Some(now) = &change.now {
                self.learns(now.value.json());
            }
        }
        let mut checked = Check::Idle;
        for change in changes(note, &REPLICA_SETS).filter(|change| change.before.is_none()) {
            let Some(set) = &change.now else {
                continue;
            };
            match self.judges(set.value.json()) {
                Check::Idle => {}
                Check::Held => checked = Check::Held,
                violated => return violated,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template(image: &str) -> Json {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": image}]}})
    }

    fn deployment(image: &str, paused: bool) -> Json {
        let spec = json!({"paused": paused, "template": template(image)});
        json!({"metadata": {"uid": "u1"}, "spec": spec})
    }

    fn set(image: &str) -> Json {
        let owner = json!({"controller": true, "uid": "u1", "name": "web"});
        let mut template = template(image);
        template["metadata"]["labels"]["pod-template-hash"] = "5c9".into();
        json!({"metadata": {"name": "web-5c9", "ownerReferences": [owner]}, "spec": {"template": template}})
    }

    #[test]
    fn only_a_set_of_what_was_not_paused_may_be_made() {
        let mut own = PausedMakeNone::default();
        assert_eq!(own.judges(&set("image:1")), Check::Idle, "nothing is known");
        own.learns(&deployment("image:1", false));
        own.learns(&deployment("image:2", true));
        assert_eq!(own.judges(&set("image:1")), Check::Held);
        assert!(matches!(own.judges(&set("image:2")), Check::Violated(_)));
        own.learns(&deployment("image:2", false));
        assert_eq!(own.judges(&set("image:2")), Check::Held);
    }
}
