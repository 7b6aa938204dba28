//! Who deletes a pod has seen it: what is asked of controllers and of users whose deletion must not hit another pod of its name.

use std::collections::BTreeSet;

use wavetank_api::Object;
use wavetank_api::kinds::PODS;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, NotState, Note, Property, World};

use crate::controller_utils::pod_key;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;

/// Which deletions it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deletions {
    /// The property.
    pub property: &'static str,
    /// The UID of the pod whose deletion somebody asks for who has seen it, if a note tells of that.
    pub asks: fn(&Note) -> Option<&Item>,
    /// Is it about this pod, as it was before it began to go?
    pub concerns: fn(&World, &Object) -> bool,
}

/// The pods whose deletion somebody asked for who had seen them, by their UIDs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PodsWereSeen {
    of: NotState<Deletions>,
    asked: BTreeSet<Item>,
}

impl PodsWereSeen {
    pub fn by(deletions: Deletions) -> PodsWereSeen {
        PodsWereSeen {
            of: NotState(deletions),
            asked: BTreeSet::new(),
        }
    }
}

impl Property for PodsWereSeen {
    fn name(&self) -> &'static str {
        self.of.property
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if (self.of.asks)(note).is_some() {
            return None;
        }
        let mut checked = Check::Idle;
        for change in changes(note, &PODS) {
            let now = change.now.as_ref().map(|kv| &kv.value);
            let goes = now.is_none_or(Object::is_being_deleted);
            let before = change.before.as_ref().map(|kv| &kv.value);
            let begins = before.filter(|own| goes && !own.is_being_deleted());
            let Some(pod) = begins.filter(|own| (self.of.concerns)(world, own)) else {
                continue;
            };
            let (key, uid): (Item, _) = (pod_key(pod), pod.uid());
            if !self.asked.contains(uid) {
                let message =
                    format!("the pod {key} goes, and nobody asked for that who saw {uid}");
                return Some(violated("pod", &key, message));
            }
            checked = Check::Held;
        }
        Some(checked)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.asked.extend((self.of.asks)(note).cloned());
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
