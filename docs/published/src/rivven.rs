//! `rivven-operator`: its controller of clusters, and people who have clusters.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube_of_rivven::{Client, CustomResourceExt};
use rivven_operator::controller::run_controller;
use rivven_operator::crd::RivvenCluster;
use wavetank_host::wavetank::prelude::{Act, Actors, Context, Json, Resource, json, kinds};
use wavetank_host::wavetank::{self, Command};
use wavetank_host::{Operator, defined};

const CLUSTERS: u64 = 2;

fn definition() -> Json {
    serde_json::to_value(RivvenCluster::crd()).expect("it is JSON")
}

/// Who has clusters: each is made with one claim, as its StatefulSet would make it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Owner {
    clusters: &'static Resource,
}

impl Act for Owner {
    const REPLICAS: &'static str = "owners";
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        (
            "edit",
            "Each owner makes one of the clusters, or scales it.",
        ),
        ("close", "Each owner deletes one of the clusters."),
    ];

    async fn act(&self, cx: &Context, command: &str, _: &Json) {
        let number = cx.rx.choose(CLUSTERS).await;
        let cluster = format!("default/c{number}");
        if command == "close" {
            let _ = cx.delete(self.clusters, &cluster).await;
            return;
        }
        let replicas = cx.rx.choose(3).await + 1;
        let edited = cx.create_or_update(self.clusters, &cluster, |cluster| {
            cluster["spec"] = json!({
                "replicas": replicas,
                "config": {"defaultReplicationFactor": 1},
                "podDisruptionBudget": {"enabled": false},
            });
        });
        if edited.await.is_ok() {
            let claim = json!({
                "metadata": {
                    "namespace": "default",
                    "name": format!("data-rivven-c{number}-0"),
                    "labels": {"app.kubernetes.io/instance": format!("c{number}")},
                },
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            });
            let _ = cx.create(&kinds::PERSISTENT_VOLUME_CLAIMS, claim).await;
        }
    }
}

pub fn command() -> Command {
    let operator = Operator::with_wire(
        "rivven-operators",
        "ro",
        "operators of Rivven clusters",
        |wire, namespace, _| {
            run_controller(Client::new(wire, namespace), Some(namespace.to_owned()))
        },
    );
    let operator = operator
        .serves_defined(&definition())
        .uses::<ConfigMap>()
        .uses::<Service>()
        .uses::<StatefulSet>()
        .uses::<PersistentVolumeClaim>()
        .uses::<PodDisruptionBudget>()
        // Its own back-off goes up to ten minutes, and it looks again after five.
        .settles_within(Duration::from_secs(1_000));
    let owner = Owner {
        clusters: defined(&definition()),
    };
    let owners = Actors::new("ow", "people who have clusters", owner).until_calm();
    wavetank::command().with(operator).with(owners)
}
