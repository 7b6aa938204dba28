//! A controller acts on a view that has its own writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::json;
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Key;

use super::super::notes::{GaveClaim, MadePod, MakesPod, UpdatesSet};
use crate::controller_utils::is_controlled_by;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process.
type Life = (ProcId, u32);

fn life(world: &World, note: &Note) -> Life {
    (note.process, world.incarnation(note.process))
}

fn parts(key: &Item) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

/// The pods that each life of each controller has made, by set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct StatefulSetsKnowTheirPods {
    made: BTreeMap<(Life, Arc<str>), BTreeMap<Item, Arc<str>>>,
}

/// Is the pod with this UID there, under this key, and one of the set?
fn is_there(world: &World, pod: &Item, uid: &str, set: &str) -> bool {
    let (namespace, name) = parts(pod);
    let stored = ClusterView(world).get(&PODS.key(namespace, name));
    stored.is_some_and(|kv| kv.value.uid() == uid && is_controlled_by(kv.value.json(), set))
}

impl Property for StatefulSetsKnowTheirPods {
    fn name(&self) -> &'static str {
        "stateful-sets-know-their-pods"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<MadePod>().is_some() {
            return None;
        }
        let Some(UpdatesSet { set, uid, pods }) = note.body.get() else {
            return Some(Check::Idle);
        };
        let own = self.made.get(&(life(world, note), uid.clone()));
        let mut made = own.into_iter().flatten();
        let unseen =
            made.find(|(pod, made)| !pods.contains(made) && is_there(world, pod, made, uid));
        Some(match unseen {
            None => Check::Held,
            Some((pod, _)) => {
                let message = format!("StatefulSet {set}: the pod {pod} was made, and is not seen");
                violated("set", set, message)
            }
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(MadePod { set, pod, uid }) = note.body.get() {
            let own = self.made.entry((life(world, note), set.clone()));
            own.or_default().insert(pod.clone(), uid.clone());
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}

/// To which pods each life of each controller gave claims.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ClaimsDoNotGoWithOthers {
    given: BTreeMap<(Life, Item), Arc<str>>,
}

/// Does the claim go with the pod of this UID?
fn goes_with(world: &World, claim: &Item, uid: &str) -> bool {
    let (namespace, name) = parts(claim);
    let key: Key = PERSISTENT_VOLUME_CLAIMS.key(namespace, name);
    let stored = ClusterView(world).get(&key);
    stored.is_some_and(|kv| {
        let owners = json::list(kv.value.json(), &["metadata", "ownerReferences"]);
        owners.iter().any(|own| own["uid"] == *uid)
    })
}

impl Property for ClaimsDoNotGoWithOthers {
    fn name(&self) -> &'static str {
        "claims-do-not-go-with-others"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if note.body.get::<GaveClaim>().is_some() {
            return None;
        }
        let Some(MakesPod { pod, claims, .. }) = note.body.get() else {
            return Some(Check::Idle);
        };
        let life = life(world, note);
        for claim in claims.iter() {
            let given = self.given.get(&(life, claim.clone()));
            if given.is_some_and(|uid| goes_with(world, claim, uid)) {
                let message = format!("the pod {pod} is made over the claim {claim}, which goes");
                return Some(violated("claim", claim, message));
            }
        }
        Some(Check::Held)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(GaveClaim { claim, to }) = note.body.get() {
            let key = (life(world, note), claim.clone());
            match to {
                Some(uid) => drop(self.given.insert(key, uid.clone())),
                None => drop(self.given.remove(&key)),
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
