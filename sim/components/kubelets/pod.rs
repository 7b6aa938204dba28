//! What a kubelet reads of a pod. Pure.

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Stamp};

use crate::runtime::cri::{PodRef, Uid};

pub(crate) fn uid(pod: &Object) -> Uid {
    pod.uid().into()
}

pub(crate) fn pod_ref(pod: &Object) -> PodRef {
    PodRef {
        uid: uid(pod),
        namespace: pod.namespace().into(),
        name: pod.name().into(),
    }
}

/// The status of a pod as the API shows it.
pub(crate) fn status(pod: &Object) -> &Json {
    json::at(pod.json(), &["status"]).unwrap_or(&Json::Null)
}

pub(crate) fn phase(status: &Json) -> &str {
    json::text(status, &["phase"])
}

/// `IsPodPhaseTerminal`
pub(crate) fn is_pod_phase_terminal(phase: &str) -> bool {
    matches!(phase, "Failed" | "Succeeded")
}

pub(crate) fn restart_policy(pod: &Object) -> &str {
    match json::text(pod.json(), &["spec", "restartPolicy"]) {
        "" => "Always",
        policy => policy,
    }
}

/// How many seconds its containers have to stop.
pub(crate) fn grace_period(pod: &Object) -> Option<i64> {
    deletion_grace_period(pod).or_else(|| termination_grace_period(pod))
}

/// Upstream's `spec.terminationGracePeriodSeconds`
pub(crate) fn termination_grace_period(pod: &Object) -> Option<i64> {
    json::number(pod.json(), &["spec", "terminationGracePeriodSeconds"])
}

/// Upstream's `metadata.deletionGracePeriodSeconds`
pub(crate) fn deletion_grace_period(pod: &Object) -> Option<i64> {
    json::number(pod.json(), &["metadata", "deletionGracePeriodSeconds"])
}

pub(crate) fn generation(pod: &Object) -> i64 {
    json::number(pod.json(), &["metadata", "generation"]).unwrap_or(0)
}

/// `SystemCriticalPriority`, which is that of pods of the first of these classes.
pub(crate) const SYSTEM_CRITICAL_PRIORITY: i64 = 2_000_000_000;
/// `SystemPriorityClasses`
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", SYSTEM_CRITICAL_PRIORITY),
    (SYSTEM_NODE_CRITICAL, SYSTEM_CRITICAL_PRIORITY + 1000),
];
/// `SystemNodeCritical`
pub(crate) const SYSTEM_NODE_CRITICAL: &str = "system-node-critical";

/// Upstream's `PodPriority`
pub(crate) fn priority(pod: &Object) -> i64 {
    json::number(pod.json(), &["spec", "priority"]).unwrap_or(0)
}

/// The same of a pod that may say its class alone, since no server has admitted it.
pub(crate) fn priority_of_class(pod: &Object) -> i64 {
    let class = json::text(pod.json(), &["spec", "priorityClassName"]);
    let known = SYSTEM_CLASSES.iter().find(|(name, _)| *name == class);
    match json::number(pod.json(), &["spec", "priority"]) {
        Some(own) => own,
        None => known.map_or(0, |(_, priority)| *priority),
    }
}

/// `IsCriticalPod`
pub(crate) fn is_critical_pod(pod: &Object) -> bool {
    is_static_pod(pod) || is_mirror_pod(pod) || priority(pod) >= SYSTEM_CRITICAL_PRIORITY
}

pub(crate) fn node_name(pod: &Object) -> &str {
    json::text(pod.json(), &["spec", "nodeName"])
}

/// A container as the spec has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Spec {
    pub name: Arc<str>,
    pub image: Arc<str>,
    /// `IsRestartableInitContainer`: is it a sidecar?
    pub is_restartable: bool,
    pub readiness: Option<Probe>,
    pub liveness: Option<Probe>,
    pub startup: Option<Probe>,
}

/// A probe as the spec has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Probe {
    pub period_seconds: i64,
    pub initial_delay_seconds: i64,
    pub success_threshold: i64,
    pub failure_threshold: i64,
}

fn probe(container: &Json, field: &str) -> Option<Probe> {
    let own = json::at(container, &[field])?;
    let number = |field| json::number(own, &[field]);
    Some(Probe {
        period_seconds: number("periodSeconds").unwrap_or(10),
        initial_delay_seconds: number("initialDelaySeconds").unwrap_or(0),
        success_threshold: number("successThreshold").unwrap_or(1),
        failure_threshold: number("failureThreshold").unwrap_or(3),
    })
}

fn specs(pod: &Object, list: &str) -> Vec<Spec> {
    let all = json::list(pod.json(), &["spec", list]).iter();
    let all = all.map(|own| Spec {
        name: json::text(own, &["name"]).into(),
        image: json::text(own, &["image"]).into(),
        is_restartable: list == INIT && json::text(own, &["restartPolicy"]) == "Always",
        readiness: probe(own, "readinessProbe"),
        liveness: probe(own, "livenessProbe"),
        startup: probe(own, "startupProbe"),
    });
    all.collect()
}

const INIT: &str = "initContainers";

/// The regular containers of a pod.
pub(crate) fn containers(pod: &Object) -> Vec<Spec> {
    specs(pod, "containers")
}

/// Its init containers, in their order.
pub(crate) fn init_containers(pod: &Object) -> Vec<Spec> {
    specs(pod, INIT)
}

/// Those of its containers that go on: regular ones, and sidecars.
pub(crate) fn lasting_containers(pod: &Object) -> Vec<Spec> {
    let mut all = containers(pod);
    all.extend(
        init_containers(pod)
            .into_iter()
            .filter(|own| own.is_restartable),
    );
    all
}

/// `ContainerShouldRestart`, of a container whose restarts are up to its pod.
pub(crate) fn container_should_restart(pod: &Object, code: i64) -> bool {
    match restart_policy(pod) {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

impl Spec {
    /// Upstream's `ContainerShouldRestart`, of a pod without restart rules.
    pub(crate) fn should_restart(&self, pod: &Object, code: i64) -> bool {
        self.is_restartable || container_should_restart(pod, code)
    }
}

/// `ConfigSourceAnnotationKey`, `ConfigMirrorAnnotationKey` and `ConfigHashAnnotationKey`
pub(crate) const CONFIG_SOURCE: &str = "kubernetes.io/config.source";
pub(crate) const CONFIG_MIRROR: &str = "kubernetes.io/config.mirror";
pub(crate) const CONFIG_HASH: &str = "kubernetes.io/config.hash";
/// `ApiserverSource` and `FileSource`
pub(crate) const API_SOURCE: &str = "api";
pub(crate) const FILE_SOURCE: &str = "file";

pub(crate) fn annotation<'a>(pod: &'a Object, key: &str) -> Option<&'a str> {
    json::at(pod.json(), &["metadata", "annotations", key])?.as_str()
}

/// `IsMirrorPod`
pub(crate) fn is_mirror_pod(pod: &Object) -> bool {
    annotation(pod, CONFIG_MIRROR).is_some()
}

/// `IsStaticPod`: those of the API have no source, or the API's.
pub(crate) fn is_static_pod(pod: &Object) -> bool {
    annotation(pod, CONFIG_SOURCE).is_some_and(|source| source != API_SOURCE)
}

/// Upstream's `GetPodFullName`
pub(crate) fn full_name(pod: &Object) -> Arc<str> {
    format!("{}_{}", pod.name(), pod.namespace()).into()
}

/// The element of a list of the status with this name.
pub(crate) fn named<'a>(list: &'a [Json], name: &str) -> Option<&'a Json> {
    list.iter().find(|own| own["name"] == name)
}

/// The condition of this type.
pub(crate) fn condition<'a>(status: &'a Json, kind: &str) -> Option<&'a Json> {
    let mut all = json::list(status, &["conditions"]).iter();
    all.find(|own| own["type"] == kind)
}

/// An instant of this node's clock, as the API shows it.
pub(crate) fn shown(at: wavetank_engine::Time) -> String {
    Stamp::of(at).seconds()
}
