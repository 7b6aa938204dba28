//! A partition holds pods back: those below it are as the set was before.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONTROLLER_REVISIONS, PODS, STATEFUL_SETS};
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Change;

use super::super::util::{get_ordinal, get_start_ordinal, of_spec, partition};
use super::end::image;
use crate::controller_utils::get_controller_of;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What pods of a set are held back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Held {
    /// Those below the lowest partition that it ever had.
    below: i64,
    /// The image of the revision that its status first called the current one.
    image: Option<Arc<str>>,
}

/// What sets hold back, by their UIDs. A set that had no partition once, or no replicas, holds nothing back any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct PartitionsHoldPodsBack {
    held: BTreeMap<Arc<str>, Held>,
}

/// Those of its pods that a set holds back have ordinals below this.
fn below(set: &Json) -> i64 {
    match of_spec(set, "replicas") {
        // A rollout of no pods is complete.
        0 => 0,
        _ => partition(set),
    }
}

impl PartitionsHoldPodsBack {
    fn set_changed(&mut self, world: &World, change: &Change<Object>) {
        let Some(now) = &change.now else {
            if let Some(before) = &change.before {
                self.held.remove(before.value.uid());
            }
            return;
        };
        let set = &now.value;
        let below = below(set.json());
        if change.is_create() && below > 0 {
            let nothing = Held { below, image: None };
            self.held.insert(set.uid().into(), nothing);
        }
        let Some(held) = self.held.get_mut(set.uid()) else {
            return;
        };
        held.below = held.below.min(below);
        if held.image.is_none() {
            let named = json::text(set.json(), &["status", "currentRevision"]);
            let key = CONTROLLER_REVISIONS.key(set.namespace(), named);
            let revision = ClusterView(world).get(&key);
            let path = ["data", "spec", "template", "spec", "containers"];
            held.image = revision.map(|kv| image(kv.value.json(), &path).into());
        }
    }

    /// What is wrong with a pod that was made.
    fn judge(&self, world: &World, pod: &Object) -> Option<Check> {
        let owner = get_controller_of(pod.json())?;
        let held = self.held.get(json::text(owner, &["uid"]))?;
        let set = STATEFUL_SETS.key(pod.namespace(), json::text(owner, &["name"]));
        let set = ClusterView(world).get(&set)?;
        let place = get_ordinal(pod.json())? - get_start_ordinal(set.value.json());
        let wanted = held.image.as_ref()?;
        let own = image(pod.json(), &["spec", "containers"]);
        if place >= held.below {
            return None;
        }
        if own == &**wanted {
            return Some(Check::Held);
        }
        let (name, below) = (pod.name(), held.below);
        let message = format!(
            "the pod {name} is one of {own}, and a partition of {below} has always held it back at {wanted}"
        );
        Some(violated("pod", name, message))
    }
}

impl Property for PartitionsHoldPodsBack {
    fn name(&self) -> &'static str {
        "partitions-hold-pods-back"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if changes(note, &STATEFUL_SETS).next().is_some() {
            return None;
        }
        let made = changes(note, &PODS).filter(|change| change.is_create());
        let judged = made.filter_map(|change| self.judge(world, &change.now.as_ref()?.value));
        // A transaction makes one pod.
        Some(judged.last().unwrap_or(Check::Idle))
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for change in changes(note, &STATEFUL_SETS) {
            self.set_changed(world, change);
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
