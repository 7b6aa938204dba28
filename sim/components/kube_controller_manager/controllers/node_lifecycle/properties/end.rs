//! What is true once all has been well for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{NODES, PODS};
use wavetank_client::workqueue::Item;
use wavetank_components::nodes::node_is_lost;
use wavetank_engine::{Check, Note, Property, Stable, World};
use wavetank_etcd::{Change, KeyValue};

use super::super::controller::CONTROLLER;
use super::super::health::ready_of;
use super::super::notes::{MarksPod, MarksUnknown, Taints};
use super::super::pods::node_name;
use super::super::tainting::{no_execute_taints, no_schedule_taints};
use super::super::zones::{ZoneState, compute_zone_state, get_zone_key};
use crate::controller_utils::{pod_key, taint_exists, taint_set_diff, taints};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// The status of the condition `Ready`; nothing if there is none.
fn ready(node: &Object) -> Option<Item> {
    ready_of(node.json()).map(|own| own.status)
}

/// Are nodes taken for what they are?
fn are_taken_for_what_they_are(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    for node in ClusterView(world).all(NODES.registry) {
        let name = node.name();
        let is_taken = ready(node);
        let message = match (node_is_lost(world, name), is_taken.as_deref()) {
            (Some(true), Some("True")) => "is lost and is taken for ready",
            (Some(false), Some("Unknown")) => "lives and is taken for lost",
            _ => continue,
        };
        return violated("node", name, format!("the node {name} {message}"));
    }
    Check::Held
}

pub(super) fn lost_nodes_are_known(after: Duration) -> Stable {
    Stable::new(
        "lost-nodes-are-known",
        after,
        |_, _| Check::Idle,
        are_taken_for_what_they_are,
    )
}

/// The states of zones as their nodes are stored.
fn states(nodes: &[&Object]) -> BTreeMap<Item, ZoneState> {
    let mut zones: BTreeMap<Item, Vec<bool>> = BTreeMap::new();
    for node in nodes {
        let is_ready = ready(node).as_deref() == Some("True");
        zones
            .entry(get_zone_key(node.json()))
            .or_default()
            .push(is_ready);
    }
    let state = |(zone, ready): (Item, Vec<bool>)| (zone, compute_zone_state(&ready));
    zones.into_iter().map(state).collect()
}

/// What is wrong with the taints of a node in a zone that gives tokens or does not.
fn wrong(node: &Json, gives_tokens: bool) -> Option<String> {
    let (wanted, had) = no_schedule_taints(node);
    let (lacks, has) = taint_set_diff(&wanted, &had);
    let key = |taint: &Json| json::text(taint, &["key"]).to_owned();
    if let Some(taint) = lacks.first() {
        return Some(format!("lacks the taint {} of its conditions", key(taint)));
    }
    if let Some(taint) = has.first() {
        return Some(format!(
            "has the taint {}, which no condition wants",
            key(taint)
        ));
    }
    let status = ready_of(node).map(|own| own.status);
    match status.as_deref().and_then(no_execute_taints) {
        Some((own, _)) if gives_tokens && !taint_exists(taints(node), own) => Some(format!(
            "is not ready, and has no taint {} that makes pods go",
            key(own)
        )),
        Some((_, opposite)) if taint_exists(taints(node), opposite) => {
            Some(format!("has the taint {} of another status", key(opposite)))
        }
        Some(_) => None,
        None => {
            let both = no_execute_taints("False")?;
            let own = [both.0, both.1];
            let left = own.iter().find(|own| taint_exists(taints(node), own))?;
            let why = "that makes pods go, although it is ready";
            Some(format!("has a taint {} {why}", key(left)))
        }
    }
}

/// Are taints those of conditions?
fn match_conditions(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let nodes = ClusterView(world).all(NODES.registry);
    let states = states(&nodes);
    let is_full = |state: &ZoneState| *state == ZoneState::FullDisruption;
    let all_are_full = states.values().all(is_full);
    for node in nodes {
        let state = states.get(&get_zone_key(node.json()));
        let is_partial = state == Some(&ZoneState::PartialDisruption);
        if let Some(what) = wrong(node.json(), !(all_are_full || is_partial)) {
            let name = node.name();
            return violated("node", name, format!("the node {name} {what}"));
        }
    }
    Check::Held
}

pub(super) fn taints_match_conditions(after: Duration) -> Stable {
    Stable::new(
        "taints-match-conditions",
        after,
        |_, _| Check::Idle,
        match_conditions,
    )
}

/// Pods of which somebody said that they are ready when their node was not: no controller knows better.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PodsOfLostNodesAreNotReady {
    after: Duration,
    late: BTreeSet<Item>,
}

impl PodsOfLostNodesAreNotReady {
    /// The calm has to last so long before they are not.
    pub fn after(after: Duration) -> PodsOfLostNodesAreNotReady {
        PodsOfLostNodesAreNotReady {
            after,
            late: BTreeSet::new(),
        }
    }
}

fn is_ready(pod: &Object) -> bool {
    let conditions = json::list(pod.json(), &["status", "conditions"]);
    let mut ready = conditions.iter().filter(|own| own["type"] == "Ready");
    ready.any(|own| own["status"] == "True")
}

fn is_taken_for_lost(world: &World, pod: &Object) -> bool {
    let node = ClusterView(world).get(&NODES.key("", node_name(pod)));
    node.is_some_and(|kv| ready(&kv.value).as_deref() == Some("Unknown"))
}

impl Property for PodsOfLostNodesAreNotReady {
    fn name(&self) -> &'static str {
        "pods-of-lost-nodes-are-not-ready"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note, &PODS).next().is_none().then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for change in changes(note, &PODS) {
            let was =
                |kv: &Option<KeyValue<Object>>| kv.as_ref().is_some_and(|kv| is_ready(&kv.value));
            let Some(kv) = &change.now else { continue };
            if was(&change.now) && !was(&change.before) && is_taken_for_lost(world, &kv.value) {
                self.late.insert(kv.value.uid().into());
            }
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let pods = ClusterView(world).all(PODS.registry);
        let wrong = pods.into_iter().find(|pod| {
            is_ready(pod) && is_taken_for_lost(world, pod) && !self.late.contains(pod.uid())
        });
        match wrong {
            None => Check::Held,
            Some(pod) => {
                let (key, node) = (pod_key(pod), node_name(pod));
                let message = format!("the pod {key} is ready on {node}, which is taken for lost");
                violated("pod", &key, message)
            }
        }
    }
}

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let both = [&change.before, &change.now].into_iter().flatten();
    let is_of = |registry: &str| {
        let rest = change.key.strip_prefix(registry);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    match is_of(NODES.registry) || is_of(PODS.registry) {
        true => both.map(|kv| pod_key(&kv.value)).collect(),
        false => Vec::new(),
    }
}

const REST: Rest = Rest {
    property: "node-lifecycle-is-quiet",
    controller: CONTROLLER,
    kind: "object",
    acts: |name| format!("{name} is changed"),
    act: |note| {
        let body = &note.body;
        let own = body.get().map(|MarksUnknown { node, .. }| node);
        let own = own.or_else(|| body.get().map(|Taints { node, .. }| node));
        let own = own.or_else(|| body.get().map(|MarksPod { pod, .. }| pod))?;
        Some(Act {
            on: own.clone(),
            name: own.clone(),
        })
    },
    concerns,
    // A node that is lost is marked when time has passed, and with it its pods and its zone.
    follows: |_, _, changed: &BTreeSet<Subject>| !changed.is_empty(),
};

pub(super) fn node_lifecycle_is_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
