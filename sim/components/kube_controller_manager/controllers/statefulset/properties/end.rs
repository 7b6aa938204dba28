//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use wavetank_engine::{Check, Note, Stable, World};

use super::super::claims::is_claim_owner_up_to_date;
use super::super::controller::CONTROLLER;
use super::super::notes::SyncsStatefulSet;
use super::super::util::{
    allows_burst, claim_names, get_ordinal, get_pod_name, get_start_ordinal, has_ended,
    has_ordinal, is_running_and_ready, is_terminating, name, namespace, of_spec, of_status,
    partition, uid,
};
use crate::controller_utils::is_controlled_by;
use crate::each::Each;
use crate::quiet::{Subject, SyncsEnd};
use wavetank_components::pod_runners::NEVER_READY;
use wavetank_components::view::ClusterView;

/// The objects of a resource that this set controls.
pub(super) fn owned<'a>(world: &'a World, registry: &str, set: &Json) -> Vec<&'a Object> {
    let mut all = ClusterView(world).all(registry);
    all.retain(|object| is_controlled_by(object.json(), uid(set)));
    all
}

/// The image of the first container.
pub(super) fn image<'a>(of: &'a Json, path: &[&str]) -> &'a str {
    let containers = json::list(of, path).first();
    containers.map_or("", |own| json::text(own, &["image"]))
}

fn template_image(set: &Json) -> &str {
    image(set, &["spec", "template", "spec", "containers"])
}

fn pod_image(pod: &Json) -> &str {
    image(pod, &["spec", "containers"])
}

fn rolls(set: &Json) -> bool {
    json::text(set, &["spec", "updateStrategy", "type"]) == "RollingUpdate"
}

/// Is this pod to be of the newest revision?
fn is_updated(set: &Json, ordinal: i64) -> bool {
    rolls(set) && ordinal >= get_start_ordinal(set) + partition(set)
}

/// Is this pod not asked for?
fn is_condemned(set: &Json, pod: &Json) -> bool {
    !get_ordinal(pod).is_some_and(|own| has_ordinal(set, own))
}

/// Can its pods never be ready, or one that stays as it is? In order, one that is not asked for goes once those before it are
/// ready (`processCondemned`; k/k#36333 says that this is meant so). One that has ended is made anew if it is asked for, and
/// stays as it is if it is not.
fn is_hopeless(set: &Json, pods: &[&Json]) -> bool {
    let ordinal = |pod: &Json| get_ordinal(pod).unwrap_or(-1);
    let is_broken = |pod: &Json| pod_image(pod) == NEVER_READY;
    let never_ready = |pod: &&&Json| is_broken(pod) || is_condemned(set, pod) && has_ended(pod);
    let stays = |pod: &Json| is_broken(pod) && !is_updated(set, ordinal(pod));
    let waits = |pod: &Json| {
        let mut others = pods.iter().filter(never_ready);
        !allows_burst(set)
            && is_condemned(set, pod)
            && others.any(|other| ordinal(other) < ordinal(pod))
    };
    template_image(set) == NEVER_READY
        || pods
            .iter()
            .filter(never_ready)
            .any(|pod| stays(pod) || waits(pod))
}

/// What is wrong with the pods of a set.
fn wrong_pod(set: &Json, pods: &[&Json]) -> Option<String> {
    let start = get_start_ordinal(set);
    for ordinal in start..start + of_spec(set, "replicas") {
        let name = get_pod_name(set, ordinal);
        let pod = pods
            .iter()
            .find(|pod| json::text(pod, &["metadata", "name"]) == name);
        let Some(pod) = pod else {
            return Some(format!("lacks the pod {name}"));
        };
        if is_terminating(pod) || !is_running_and_ready(pod) {
            return Some(format!("has the pod {name}, which is not ready"));
        }
        let (own, wanted) = (pod_image(pod), template_image(set));
        if is_updated(set, ordinal) && own != wanted {
            return Some(format!("has the pod {name} of {own} and not {wanted}"));
        }
    }
    let more = pods.iter().find(|pod| is_condemned(set, pod));
    more.map(|pod| format!("has the pod {} that it does not ask for", name(pod)))
}

/// The names of the claims of its pods, with the claims that there are.
fn claims_of<'a>(
    world: &'a World,
    set: &'a Json,
    pods: &'a [&Json],
) -> impl Iterator<Item = (&'a Json, String, Option<&'a Object>)> {
    let stored = ClusterView(world).all(PERSISTENT_VOLUME_CLAIMS.registry);
    let numbered = pods
        .iter()
        .filter_map(|pod| Some((*pod, get_ordinal(pod)?)));
    numbered.flat_map(move |(pod, ordinal)| {
        let names = claim_names(set, ordinal).into_iter();
        let all = names.map(|(claim, _)| {
            let is_it = |own: &&&Object| own.name() == claim && own.namespace() == namespace(set);
            let found = stored.iter().find(is_it).copied();
            (pod, claim, found)
        });
        all.collect::<Vec<_>>()
    })
}

/// A claim of its pods that it does not have, or that is not to go when its policy says.
fn wrong_claim(world: &World, set: &Json, pods: &[&Json]) -> Option<String> {
    let mut all = claims_of(world, set, pods);
    let lacking = all.find(|(_, _, found)| found.is_none());
    let lacking = lacking.map(|(_, claim, _)| format!("lacks the claim {claim}"));
    lacking.or_else(|| wrong_owner(world, set, pods))
}

fn wrong_owner(world: &World, set: &Json, pods: &[&Json]) -> Option<String> {
    let mut all = claims_of(world, set, pods);
    let wrong = all.find(|(pod, _, found)| {
        found.is_some_and(|claim| !is_claim_owner_up_to_date(claim.json(), set, pod))
    });
    wrong.map(|(_, claim, _)| format!("has the claim {claim} of others than its policy says"))
}

/// What is wrong with its status.
fn wrong_status(set: &Json) -> Option<String> {
    let wanted = of_spec(set, "replicas");
    for field in ["replicas", "readyReplicas", "availableReplicas"] {
        let own = of_status(set, field);
        if own != wanted {
            return Some(format!("says {field} {own} and has {wanted}"));
        }
    }
    None
}

/// Is this set as it is to be, or what is wrong with it; nothing of one that goes, or whose pods can never be ready.
fn judge(world: &World, set: &Json) -> Option<Result<(), String>> {
    let pods = owned(world, PODS.registry, set);
    let pods: Vec<&Json> = pods.iter().map(|pod| pod.json()).collect();
    if is_terminating(set) || is_hopeless(set, &pods) {
        return None;
    }
    let wrong = wrong_pod(set, &pods)
        .or_else(|| wrong_claim(world, set, &pods))
        .or_else(|| wrong_status(set));
    Some(wrong.map_or(Ok(()), Err))
}

/// What is asked of each set.
pub(super) const EACH: Each = Each {
    controller: CONTROLLER,
    resource: &STATEFUL_SETS,
    kind: "set",
};

pub(super) fn stateful_sets_are_met(after: Duration) -> Stable {
    Stable::new(
        "stateful-sets-are-met",
        after,
        |_, _| Check::Idle,
        |world| EACH.is_met(world, |set| judge(world, set.json())),
    )
}

fn claims_follow(world: &World, set: &Json) -> Option<Result<(), String>> {
    if is_terminating(set) {
        return None;
    }
    let pods = owned(world, PODS.registry, set);
    let pods: Vec<&Json> = pods.iter().map(|pod| pod.json()).collect();
    Some(wrong_owner(world, set, &pods).map_or(Ok(()), Err))
}

/// Whether its pods are ready or not.
pub(super) fn claims_follow_their_policy(after: Duration) -> Stable {
    Stable::new(
        "claims-follow-their-policy",
        after,
        |_, _| Check::Idle,
        |world| EACH.is_met(world, |set| claims_follow(world, set.json())),
    )
}

/// Has it its first pod? That one waits for no other, but for somebody else's of that name.
fn has_first_pod(world: &World, set: &Json) -> Option<Result<(), String>> {
    if is_terminating(set) || of_spec(set, "replicas") == 0 {
        return None;
    }
    let first = get_pod_name(set, get_start_ordinal(set));
    match ClusterView(world).get(&PODS.key(namespace(set), &first)) {
        Some(pod) if is_controlled_by(pod.value.json(), uid(set)) => Some(Ok(())),
        Some(_) => None,
        None => Some(Err(format!("lacks the pod {first}"))),
    }
}

pub(super) fn stateful_sets_have_pods(after: Duration) -> Stable {
    Stable::new(
        "stateful-sets-have-pods",
        after,
        |_, _| Check::Idle,
        |world| EACH.is_met(world, |set| has_first_pod(world, set.json())),
    )
}

/// One that is not as it is to be may be tried again and again.
fn is_synced(world: &World, note: &Note) -> Option<Subject> {
    let SyncsStatefulSet { set } = note.body.get()?;
    let (namespace, name) = set.split_once('/').unwrap_or_default();
    let stored = ClusterView(world).get(&STATEFUL_SETS.key(namespace, name))?;
    let is_met = judge(world, stored.value.json()) == Some(Ok(()));
    is_met.then(|| set.clone())
}

pub(super) fn stateful_sets_are_quiet(after: Duration) -> SyncsEnd {
    SyncsEnd::new("stateful-sets-are-quiet", "set", after, is_synced)
}
