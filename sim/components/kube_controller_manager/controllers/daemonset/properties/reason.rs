//! There is a reason for each pod that the controller makes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_api::json;
use wavetank_api::kinds::{DAEMON_SETS, NODES, PODS};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Change;

use super::super::notes::{MadeDaemon, SyncsNodes};
use super::super::util::{get_target_node_name, phase};
use crate::controller_utils::{get_controller_of, pod_key};
use wavetank_components::changes::{all_changes, is_of};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// The UID of a set, and the name of a node.
type Place = (Arc<str>, Arc<str>);

/// What a set gets a pod on a node for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Reason {
    /// The node was made or deleted, or has other labels or taints.
    Node(Arc<str>),
    /// The set was made, or is another.
    Set(Arc<str>),
    /// A pod of the set on the node has ended, or somebody else took it away.
    Lost(Place),
}

/// A controller may see each change late, and so make a pod for the one before it: as many pods as there were changes. Two
/// more are for what it has counted when it saw only half of a change.
const IN_DOUBT: u32 = 2;

/// How many pods each life of each controller has made for a place, and how many reasons there were.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct DaemonsAreMadeForAReason {
    reasons: BTreeMap<Reason, u32>,
    made: BTreeMap<(ProcId, u32, Place), u32>,
    /// The pods whose deletion a controller asks for.
    asked: BTreeSet<Item>,
}

/// Where a pod that stays is one of a set.
fn place(pod: &Object) -> Option<Place> {
    let owner = get_controller_of(pod.json()).filter(|own| own["kind"] == *DAEMON_SETS.kind)?;
    let ends = pod.is_being_deleted() || matches!(phase(pod.json()), "Failed" | "Succeeded");
    let node = get_target_node_name(pod.json()).filter(|_| !ends)?;
    Some((json::text(owner, &["uid"]).into(), node.into()))
}

/// Does a change make or delete something, or change what is wanted of it?
fn is_other(before: Option<&Object>, now: Option<&Object>) -> bool {
    let (Some(before), Some(now)) = (before, now) else {
        return true;
    };
    let differs = |path: &[&str]| json::at(before.json(), path) != json::at(now.json(), path);
    differs(&["spec"]) || differs(&["metadata", "labels"])
}

impl DaemonsAreMadeForAReason {
    /// What a change is a reason for.
    fn reason(&self, change: &Change<Object>) -> Option<Reason> {
        let before = change.before.as_ref().map(|kv| &kv.value);
        let now = change.now.as_ref().map(|kv| &kv.value);
        let either = now.or(before)?;
        if is_of(change, &PODS) {
            let was = before.and_then(place)?;
            let stays = now.and_then(place).is_some_and(|is| is == was);
            let is_lost = !stays && !self.asked.contains(&pod_key(either));
            return is_lost.then_some(Reason::Lost(was));
        }
        let reason = match () {
            () if is_of(change, &NODES) => Reason::Node(either.name().into()),
            () if is_of(change, &DAEMON_SETS) => Reason::Set(either.uid().into()),
            () => return None,
        };
        is_other(before, now).then_some(reason)
    }

    /// How many reasons there were for pods of a set on a node.
    fn reasons(&self, place: &Place) -> u32 {
        let (set, node) = place.clone();
        let all = [
            Reason::Set(set),
            Reason::Node(node),
            Reason::Lost(place.clone()),
        ];
        all.iter().filter_map(|own| self.reasons.get(own)).sum()
    }
}

impl Property for DaemonsAreMadeForAReason {
    fn name(&self) -> &'static str {
        "daemons-are-made-for-a-reason"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let body = &note.body;
        let is_ours = body.get::<SyncsNodes>().is_some() || body.get::<MadeDaemon>().is_some();
        let mut changes = all_changes(note).iter();
        let is_reason = changes.any(|change| self.reason(change).is_some());
        (!is_ours && !is_reason).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for change in all_changes(note) {
            if let Some(reason) = self.reason(change) {
                *self.reasons.entry(reason).or_default() += 1;
            }
        }
        if let Some(syncs) = note.body.get::<SyncsNodes>() {
            self.asked.extend(syncs.deletes.iter().cloned());
        }
        let Some(MadeDaemon { pod, .. }) = note.body.get() else {
            return Check::Idle;
        };
        let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
        let stored = ClusterView(world).get(&PODS.key(namespace, name));
        let Some(place) = stored.and_then(|kv| place(&kv.value)) else {
            return Check::Idle;
        };
        let life = (note.process, world.incarnation(note.process), place.clone());
        let made = self.made.entry(life).or_default();
        *made += 1;
        let (made, reasons) = (*made, self.reasons(&place));
        if made <= reasons + IN_DOUBT {
            return Check::Held;
        }
        let node = &place.1;
        let message = format!(
            "the pod {pod} is the {made}th that is made on {node}, and there were {reasons} reasons to make one"
        );
        violated("pod", pod, message)
    }
}
