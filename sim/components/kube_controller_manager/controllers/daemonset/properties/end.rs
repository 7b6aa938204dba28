//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS};
use wavetank_engine::{Check, Stable, World};
use wavetank_etcd::Change;

use super::super::controller::CONTROLLER;
use super::super::nodes::node_should_run_daemon_pod;
use super::super::notes::{SyncsNodes, WritesStatus};
use super::super::util::{get_target_node_name, hash_of, is_rolling_update, of_spec, of_status};
use crate::controller_utils::{is_controlled_by, is_pod_ready};
use crate::each::Each;
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use wavetank_components::pod_runners::NEVER_READY;
use wavetank_components::view::ClusterView;

/// The objects of a resource that this set controls.
fn owned<'a>(world: &'a World, registry: &str, set: &Object) -> Vec<&'a Object> {
    let mut all = ClusterView(world).all(registry);
    all.retain(|object| is_controlled_by(object.json(), set.uid()));
    all
}

fn image<'a>(of: &'a Json, path: &[&str]) -> &'a str {
    let containers = json::list(of, path).first();
    containers.map_or("", |own| json::text(own, &["image"]))
}

fn template_image(set: &Object) -> &str {
    image(set.json(), &["spec", "template", "spec", "containers"])
}

fn pod_image(pod: &Object) -> &str {
    image(pod.json(), &["spec", "containers"])
}

/// Can its pods never be ready, or one that stays as it is?
fn is_hopeless(set: &Object, pods: &[&Object]) -> bool {
    let rolls = is_rolling_update(set.json());
    let mut broken = pods.iter().filter(|pod| pod_image(pod) == NEVER_READY);
    template_image(set) == NEVER_READY || (!rolls && broken.next().is_some())
}

/// What is wrong with the pods of a set, and on how many nodes there are to be some.
fn wrong_pods(world: &World, set: &Object, pods: &[&Object]) -> Result<i64, String> {
    let mut desired = 0;
    for node in ClusterView(world).all(NODES.registry) {
        let on_node = |pod: &&&Object| get_target_node_name(pod.json()) == Some(node.name());
        let own: Vec<_> = pods.iter().filter(on_node).collect();
        let verdict = node_should_run_daemon_pod(node.json(), set.json());
        desired += i64::from(verdict.should_run);
        match own[..] {
            [] if verdict.should_run => return Err(format!("lacks a pod on {}", node.name())),
            [] => {}
            [pod] if verdict.should_continue_running => {
                // Where it would not be made it may stay as it is.
                let (own, wanted) = (pod_image(pod), template_image(set));
                let rolls = is_rolling_update(set.json()) && verdict.should_run;
                if rolls && own != wanted {
                    return Err(format!(
                        "has a pod of {own} and not {wanted} on {}",
                        node.name()
                    ));
                }
                let is_ready = is_pod_ready(pod.json()).is_some() && !pod.is_being_deleted();
                if !is_ready && verdict.should_run {
                    return Err(format!("has a pod on {} that is not ready", node.name()));
                }
            }
            _ => return Err(format!("has {} pods on {}", own.len(), node.name())),
        }
    }
    Ok(desired)
}

/// What is wrong with its status and its revisions.
fn wrong_status(world: &World, set: &Object, pods: &[&Object], desired: i64) -> Option<String> {
    let fields = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "numberAvailable",
    ];
    for field in fields {
        let own = of_status(set.json(), field);
        if own != desired {
            return Some(format!(
                "says {field} {own}, and {desired} nodes are to have a pod"
            ));
        }
    }
    let mut old = owned(world, CONTROLLER_REVISIONS.registry, set);
    old.retain(|own| {
        pods.iter()
            .all(|pod| hash_of(pod.json()) != hash_of(own.json()))
    });
    // The newest is one of these where no node has a pod, or none of its own. One that the cache did not show when the set
    // was last synced stays until it is synced again.
    let (count, limit) = (
        old.len() as i64,
        of_spec(set.json(), "revisionHistoryLimit") + 2,
    );
    (count > limit).then(|| format!("has {count} revisions that nobody needs"))
}

/// What is wrong with this set; nothing is said of one that goes, or whose pods can never be ready.
fn judge(world: &World, set: &Object) -> Option<Result<(), String>> {
    let pods = owned(world, PODS.registry, set);
    if set.is_being_deleted() || is_hopeless(set, &pods) {
        return None;
    }
    Some(wrong_pods(world, set, &pods).and_then(|desired| {
        let wrong = wrong_status(world, set, &pods, desired);
        wrong.map_or(Ok(()), Err)
    }))
}

const EACH: Each = Each {
    controller: CONTROLLER,
    resource: &DAEMON_SETS,
    kind: "set",
};

pub(super) fn daemon_sets_are_met(after: Duration) -> Stable {
    Stable::new(
        "daemon-sets-are-met",
        after,
        |_, _| Check::Idle,
        |world| EACH.is_met(world, |set| judge(world, set)),
    )
}

/// Does each node that a set is for have a pod of it, whether that is ready or not?
fn has_pods(world: &World, set: &Object) -> Option<Result<(), String>> {
    let mut nodes = ClusterView(world).all(NODES.registry);
    nodes.retain(|node| node_should_run_daemon_pod(node.json(), set.json()).should_run);
    if set.is_being_deleted() || nodes.is_empty() {
        return None;
    }
    let pods = owned(world, PODS.registry, set);
    let of_pods = pods.iter().map(|pod| get_target_node_name(pod.json()));
    let lacking = nodes.iter().map(|node| node.name());
    let mut lacking = lacking.filter(|node| !of_pods.clone().any(|own| own == Some(*node)));
    Some(match lacking.next() {
        Some(node) => Err(format!("is for the node {node} and has no pod there")),
        None => Ok(()),
    })
}

pub(super) fn nodes_have_their_daemons(after: Duration) -> Stable {
    Stable::new(
        "nodes-have-their-daemons",
        after,
        |_, _| Check::Idle,
        |world| EACH.is_met(world, |set| has_pods(world, set)),
    )
}

/// No set: a change of a pod, a node or a revision may concern any.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let named = |registry: &str| change.key.strip_prefix(registry)?.strip_prefix('/');
    let others = [PODS.registry, NODES.registry, CONTROLLER_REVISIONS.registry];
    let is_any = others.into_iter().any(|own| named(own).is_some());
    let any = is_any.then_some(ANY);
    any.or_else(|| named(DAEMON_SETS.registry))
        .map(Subject::from)
        .into_iter()
        .collect()
}

const REST: Rest = Rest {
    property: "daemon-sets-are-quiet",
    controller: CONTROLLER,
    kind: "set",
    acts: |set| format!("pods or the status of the DaemonSet {set} are changed"),
    act: |note| {
        let syncs = note.body.get().map(|SyncsNodes { set, .. }| set);
        let writes = || note.body.get().map(|WritesStatus { set }| set);
        let set = syncs.or_else(writes)?;
        Some(Act {
            on: set.clone(),
            name: set.clone(),
        })
    },
    concerns,
    follows: |_, set, changed| changed.contains(ANY) || changed.contains(set),
};

pub(super) fn daemon_sets_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
