//! `rivven-operator` 0.0.22 (kube 0.98): clusters of brokers, each a StatefulSet with two Services, a ConfigMap and a
//! PodDisruptionBudget. Its controller of clusters is hosted. That of topics talks to brokers over sockets.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{CustomResource, ResourceExt};
use rivven_operator::controller::run_controller;
use rivven_operator::crd::RivvenCluster as Published;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_host::Operator;
use wavetank_host::properties::{Breach, Cluster, on_change, stable};
use wavetank_host::wavetank::prelude::{Act, Context, Json, PropertyInfo, json, kinds};

/// So few that they are made again.
const CLUSTERS: u64 = 2;
/// Its default replication factor is 2, and it refuses fewer replicas.
const FEWEST: u64 = 2;
const SIZES: u64 = 3;
/// The label that names the cluster, on claims as well: a StatefulSet's claims have the labels of its selector.
const INSTANCE: &str = "app.kubernetes.io/instance";
const NAME: &str = "app.kubernetes.io/name";

/// What of a cluster is looked at.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "rivven.hupe1980.github.io",
    version = "v1alpha1",
    kind = "RivvenCluster",
    plural = "rivvenclusters",
    namespaced
)]
pub struct RivvenClusterSpec {
    replicas: i32,
}

fn definition() -> Json {
    use kube_0_98::CustomResourceExt;
    serde_json::to_value(Published::crd()).expect("it is JSON")
}

/// The cluster of this name, unless it is being deleted.
fn living(cluster: Cluster<'_>, name: &str) -> Option<RivvenCluster> {
    let found = cluster.get::<RivvenCluster>("default", name)?;
    found.metadata.deletion_timestamp.is_none().then_some(found)
}

fn label<'a>(claim: &'a PersistentVolumeClaim, label: &str) -> Option<&'a str> {
    claim.labels().get(label).map(String::as_str)
}

fn is_rivvens(claim: &PersistentVolumeClaim) -> bool {
    label(claim, NAME) == Some("rivven")
}

/// Is it there, and has nobody asked to delete it?
fn is_kept(claim: Option<&PersistentVolumeClaim>) -> bool {
    claim.is_some_and(|claim| claim.metadata.deletion_timestamp.is_none())
}

/// A claim is its cluster's data. One that is younger than a cluster that lives was made for this one.
fn claims_stay() -> PropertyInfo {
    let about = "nobody deletes the claims of a cluster that lives";
    on_change::<PersistentVolumeClaim>("rivven-claims-stay", about, |change, cluster| {
        let Some(claim) = &change.before else {
            return Ok(());
        };
        let name = label(claim, INSTANCE).unwrap_or_default();
        if !is_rivvens(claim) || !is_kept(Some(claim)) || is_kept(change.now.as_ref()) {
            return Ok(());
        }
        let Some(owner) = living(cluster, name) else {
            return Ok(());
        };
        match claim.creation_timestamp() > owner.creation_timestamp() {
            false => Ok(()),
            true => Err(Breach::of(
                format!("default/{name}"),
                format!("its claim {} is deleted, and it lives", claim.name_any()),
            )),
        }
    })
}

/// Claims that are not of Rivven are not its operator's to delete.
fn claims_of_others_stay() -> PropertyInfo {
    let about = "claims of another app are not deleted";
    on_change::<PersistentVolumeClaim>("other-claims-stay", about, |change, _| {
        let Some(claim) = &change.before else {
            return Ok(());
        };
        match is_rivvens(claim) || is_kept(change.now.as_ref()) {
            true => Ok(()),
            false => Err(Breach::of(
                format!("default/{}", claim.name_any()),
                "it is deleted, and no cluster made it",
            )),
        }
    })
}

/// The operator deletes claims with their cluster.
fn claims_go() -> PropertyInfo {
    let about = "no claim is left of a cluster that is gone";
    stable("rivven-claims-go", about, |cluster| {
        for claim in cluster.all::<PersistentVolumeClaim>() {
            let name = label(&claim, INSTANCE).unwrap_or_default();
            let is_gone = cluster.get::<RivvenCluster>("default", name).is_none();
            if is_rivvens(&claim) && is_gone {
                let message = format!("is left, and the cluster {name} is gone");
                return Err(Breach::of(format!("default/{}", claim.name_any()), message));
            }
        }
        Ok(())
    })
}

/// What a cluster lacks.
fn lacking(rivven: &RivvenCluster, cluster: Cluster<'_>) -> Option<String> {
    let name = format!("rivven-{}", rivven.name_any());
    let named = |part: &str| format!("{name}{part}");
    let set = cluster.get::<StatefulSet>("default", &name);
    let replicas = set.and_then(|set| set.spec.replicas);
    if replicas != Some(rivven.spec.replicas) {
        return Some(match replicas {
            None => "StatefulSet".to_owned(),
            Some(replicas) => format!("replicas as asked for: it has {replicas}"),
        });
    }
    let (map, budget) = (named("-config"), named("-pdb"));
    let is_missing = |is_there: bool, what: &str| (!is_there).then(|| what.to_owned());
    None.or_else(|| {
        let headless = cluster.get::<Service>("default", &named("-headless"));
        is_missing(headless.is_some(), "headless Service")
    })
    .or_else(|| {
        let service = cluster.get::<Service>("default", &name);
        is_missing(service.is_some(), "Service")
    })
    .or_else(|| {
        is_missing(
            cluster.get::<ConfigMap>("default", &map).is_some(),
            "ConfigMap",
        )
    })
    .or_else(|| {
        let budget = cluster.get::<PodDisruptionBudget>("default", &budget);
        is_missing(budget.is_some(), "PodDisruptionBudget")
    })
}

fn clusters_are_met() -> PropertyInfo {
    let about = "each cluster has what belongs to it, and its size";
    stable("rivven-clusters-are-met", about, |cluster| {
        let living = cluster.all::<RivvenCluster>().into_iter();
        let mut living = living.filter(|rivven| rivven.metadata.deletion_timestamp.is_none());
        let wrong = living.find_map(|rivven| Some((lacking(&rivven, cluster)?, rivven)));
        match wrong {
            None => Ok(()),
            Some((part, rivven)) => {
                let object = format!("default/{}", rivven.name_any());
                Err(Breach::of(object, format!("has no {part}")))
            }
        }
    })
}

pub fn operator() -> Operator {
    let about = "operators of clusters (rivven-operator 0.0.22)";
    let run = |wire, namespace: &'static str, _| {
        run_controller(
            kube_0_98::Client::new(wire, namespace),
            Some(namespace.to_owned()),
        )
    };
    Operator::with_wire("rivven-operators", "rv", about, run)
        .serves_defined(&definition())
        .uses::<ConfigMap>()
        .uses::<PersistentVolumeClaim>()
        .uses::<PodDisruptionBudget>()
        .uses::<Service>()
        .uses::<StatefulSet>()
        .settles_within(Duration::from_secs(60))
        .promises(claims_stay())
        .promises(claims_of_others_stay())
        .promises(claims_go())
        .promises(clusters_are_met())
}

/// Who has clusters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tenant;

impl Act for Tenant {
    const REPLICAS: &'static str = "tenants";
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        (
            "deploy",
            "Each tenant makes one of the clusters, or scales it. What the operator and Kubernetes refuse by default is said.",
        ),
        (
            "deploy-with-metrics",
            "The same, but for the disruption budget.",
        ),
        (
            "deploy-by-default",
            "The same, with no more than the number of replicas said.",
        ),
        ("remove", "Each tenant deletes one of the clusters."),
        (
            "install",
            "Each tenant installs another app, whose Helm release is named as one of the clusters, with a claim.",
        ),
    ];

    async fn act(&self, cx: &Context, command: &str, _: &Json) {
        let clusters = wavetank_host::kind::<RivvenCluster>();
        let name = format!("events{}", cx.rx.choose(CLUSTERS).await);
        let key = format!("default/{name}");
        // Whether it succeeds or not, the next one goes on from what is there.
        match command {
            "remove" => {
                let _ = cx.delete(clusters, &key).await;
            }
            "install" => {
                let claims = &kinds::PERSISTENT_VOLUME_CLAIMS;
                let _ = cx.create(claims, claim_of_release(&name)).await;
            }
            _ => {
                let mut spec = json!({"replicas": cx.rx.choose(SIZES).await + FEWEST});
                if command != "deploy-by-default" {
                    spec["metrics"] = json!({"serviceMonitor": {"enabled": false}});
                }
                if command == "deploy" {
                    spec["podDisruptionBudget"] = json!({"maxUnavailable": "50%"});
                }
                let deployed =
                    cx.create_or_update(clusters, &key, |cluster| cluster["spec"] = spec);
                let _ = deployed.await;
            }
        }
    }
}

/// A claim as the charts of Helm label theirs.
fn claim_of_release(release: &str) -> Json {
    json!({
        "metadata": {
            "namespace": "default",
            "name": format!("data-{release}-postgresql-0"),
            "labels": {NAME: "postgresql", INSTANCE: release, "app.kubernetes.io/managed-by": "Helm"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "8Gi"}},
        },
    })
}
