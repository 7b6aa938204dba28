//! To how many pods the objects are scaled that control the pods of a budget, as etcd has it.

use std::collections::BTreeMap;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::apiextensions::conditions::is_crd_condition_true;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS};
use wavetank_api::{Object, Resource};
use wavetank_engine::World;
use wavetank_etcd::Change;

use super::super::finders::verify_group_kind;
use crate::controller_utils::get_controller_of;
use wavetank_components::view::ClusterView;

/// Is it of a custom object, or of a definition? The keys of what budgets and their controllers are made of name no group.
pub(super) fn is_custom(change: &Change<Object>) -> bool {
    let mut parts = change.key.split('/').skip(2);
    parts.next().is_some_and(|group| group.contains('.'))
}

/// The object that a reference names, if it is that one.
fn referred<'a>(
    world: &'a World,
    of: &Resource,
    namespace: &str,
    reference: &Json,
) -> Option<&'a Object> {
    let name = json::text(reference, &["name"]);
    let stored = ClusterView(world).get(&of.key(namespace, name))?;
    (reference["uid"] == *stored.value.uid()).then_some(&stored.value)
}

/// Whose pod this is, and to how many that is scaled.
fn controller_and_scale(world: &World, pod: &Object, reference: &Json) -> Option<(String, i64)> {
    let apps: &[&str] = &["apps"];
    let kinds = [
        (&REPLICATION_CONTROLLERS, &[""][..]),
        (&REPLICA_SETS, apps),
        (&STATEFUL_SETS, apps),
    ];
    let mut kinds = kinds.into_iter();
    let known = kinds.find(|(of, groups)| verify_group_kind(reference, of, groups));
    let Some((of, _)) = known else {
        return custom_scale(world, pod.namespace(), reference);
    };
    let mut own = referred(world, of, pod.namespace(), reference)?;
    if *of.kind == *REPLICA_SETS.kind
        && let Some(reference) = get_controller_of(own.json())
        && verify_group_kind(reference, &DEPLOYMENTS, apps)
        && let Some(deployment) = referred(world, &DEPLOYMENTS, pod.namespace(), reference)
    {
        own = deployment;
    }
    let scale = json::number(own.json(), &["spec", "replicas"]).unwrap_or(0);
    Some((own.uid().to_owned(), scale))
}

/// The same of a custom object whose definition is served and says where its replicas are.
fn custom_scale(world: &World, namespace: &str, reference: &Json) -> Option<(String, i64)> {
    let text = |field| json::text(reference, &[field]);
    let (group, version) = text("apiVersion").split_once('/')?;
    let mut all = ClusterView(world)
        .all(CUSTOM_RESOURCE_DEFINITIONS.registry)
        .into_iter();
    let defines = |crd: &&Object| {
        let spec = &crd.json()["spec"];
        spec["group"] == group && spec["names"]["kind"] == text("kind")
    };
    let crd = all.find(defines)?.json();
    let mut versions = json::list(crd, &["spec", "versions"]).iter();
    let served = versions.find(|own| own["name"] == version && own["served"] == true)?;
    if !is_crd_condition_true(crd, "Established") {
        return None;
    }
    let path = json::text(served, &["subresources", "scale", "specReplicasPath"]);
    let path: Vec<&str> = path.strip_prefix('.')?.split('.').collect();
    let plural = json::text(crd, &["spec", "names", "plural"]);
    let key = format!("/registry/{group}/{plural}/{namespace}/{}", text("name"));
    let stored = &ClusterView(world).get(&key)?.value;
    let is_it = reference["uid"] == *stored.uid();
    let scale = json::number(stored.json(), &path).filter(|_| is_it)?;
    Some((stored.uid().to_owned(), scale))
}

/// How many pods there should be; nothing if that cannot be known.
pub(super) fn expected_scale(world: &World, pods: &[&Object]) -> Option<i64> {
    let mut scales = BTreeMap::new();
    for pod in pods {
        if let Some(reference) = get_controller_of(pod.json()) {
            let (uid, scale) = controller_and_scale(world, pod, reference)?;
            scales.insert(uid, scale);
        }
    }
    Some(scales.values().sum())
}
