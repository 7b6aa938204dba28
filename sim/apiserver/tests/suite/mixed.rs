//! Servers of two releases over one etcd: the older one reads what the newer one has stored.

use crate::common;

use common::{Lab, Setting};
use serde_json::{Value as Json, json};
use wavetank_api::kinds::{AUTOSCALERS, POD_DISRUPTION_BUDGETS};
use wavetank_api::{Method, Request, Response};
use wavetank_engine::drive::Stepped;
use wavetank_etcd::Etcd;
use wavetank_releases::{V1_20, V1_36};

/// What is stored under a key.
fn stored(lab: &Lab, key: &str) -> Json {
    let etcd = lab.bench.id("etcd");
    let etcd = lab.bench.world.process::<Etcd<wavetank_api::Object>>(etcd);
    let kv = etcd.expect("an etcd").store().get(key);
    kv.expect("it is stored").value.json().clone()
}

fn budget() -> Request {
    let path = POD_DISRUPTION_BUDGETS.path("default", "");
    Request::new(Method::Post, path).with(json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }))
}

fn get(name: &str) -> Request {
    Request::new(Method::Get, POD_DISRUPTION_BUDGETS.path("default", name))
}

/// The newer server makes an object; the older one is asked for it, for all, and to delete it.
fn made_and_read(stores_newest: bool) -> (Json, [Response; 3], Response) {
    let setting = Setting {
        beside: Some(V1_20),
        stores_newest,
        ..Setting::default()
    };
    let delete = Request::new(Method::Delete, POD_DISRUPTION_BUDGETS.path("default", "b"));
    let script = vec![budget(), get("b"), get(""), delete];
    let mut lab = Lab::two(V1_36, setting, script);
    lab.run(1.0);
    assert_eq!(lab.answer(0).code, 201);
    let stored = stored(&lab, &POD_DISRUPTION_BUDGETS.key("default", "b"));
    let own = lab.answer(1);
    (stored, [1, 2, 3].map(|at| lab.written(at)), own)
}

#[test]
fn an_older_server_reads_what_a_newer_one_stores() {
    let (stored, by_older, own) = made_and_read(false);
    assert_eq!(stored["apiVersion"], "policy/v1beta1");
    assert_eq!(own.json()["apiVersion"], "policy/v1");
    assert_eq!(by_older.each_ref().map(|answer| answer.code), [200; 3]);
    assert_eq!(by_older[0].json()["spec"]["minAvailable"], 1);
}

#[test]
fn what_an_older_server_cannot_read_it_neither_shows_nor_lists_nor_deletes() {
    let (stored, by_older, own) = made_and_read(true);
    assert_eq!(stored["apiVersion"], "policy/v1");
    assert_eq!(own.code, 200);
    for answer in by_older {
        assert_eq!(answer.code, 500);
        let why = "no kind \"PodDisruptionBudget\" is registered for version \"policy/v1\" in scheme \
                   \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"";
        assert_eq!(answer.json()["message"], why);
    }
}

#[test]
fn an_autoscaler_is_stored_as_the_older_server_has_it() {
    let setting = Setting {
        beside: Some(V1_20),
        ..Setting::default()
    };
    let path = AUTOSCALERS.path("default", "");
    let post = Request::new(Method::Post, path).with(json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "minReplicas": 1, "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {
                "type": "Utilization", "averageUtilization": 60}}}],
        },
    }));
    let get = Request::new(Method::Get, AUTOSCALERS.path("default", "h"));
    let mut lab = Lab::two(V1_36, setting, vec![post, get]);
    lab.run(1.0);
    let made = lab.answer(0);
    assert_eq!(made.code, 201);
    let stored = stored(&lab, &AUTOSCALERS.key("default", "h"));
    assert_eq!(stored["apiVersion"], "autoscaling/v1");
    assert_eq!(stored["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(lab.answer(1).json(), made.json());
}
