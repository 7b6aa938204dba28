//! A pod that has failed is evicted, while another one comes in its place: which of them goes.

use crate::common;

use common::{Lab, Setting};
use serde_json::{Value as Json, json};
use wavetank_api::kinds::{POD_DISRUPTION_BUDGETS, PODS};
use wavetank_api::{Method, Request, Response};
use wavetank_engine::drive::Stepped;
use wavetank_releases::V1_36;

const EVICT: usize = 4;

fn of_pod(method: Method) -> Request {
    Request::new(method, PODS.path("default", "pod"))
}

fn make() -> Request {
    Request::new(Method::Post, PODS.path("default", "")).with(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "example.com/main"}]},
    }))
}

fn patch(path: String, status: Json) -> Request {
    Request {
        content_type: Some("application/merge-patch+json".into()),
        ..Request::new(Method::Patch, format!("{path}/status")).with(json!({"status": status}))
    }
}

fn is(phase: &str, ready: &str) -> Request {
    let ready = json!([{"type": "Ready", "status": ready}]);
    let status = json!({"phase": phase, "conditions": ready});
    patch(PODS.path("default", "pod"), status)
}

/// A budget of one pod that is to be there, and is.
fn budget() -> [Request; 2] {
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    });
    let status = json!({
        "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
    });
    let of = &POD_DISRUPTION_BUDGETS;
    [
        Request::new(Method::Post, of.path("default", "")).with(budget),
        patch(of.path("default", "budget"), status),
    ]
}

/// A server is asked to evict a pod that has failed, and its write is held on the way to etcd until there is another pod of that
/// name, which is ready: what is answered, and what is there then.
fn replaced_meanwhile(evictions_keep_to_their_pod: bool) -> (Response, Response) {
    let setting = Setting {
        evictions_keep_to_their_pod,
        ..Setting::default()
    };
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "pod", "namespace": "default"},
    });
    let at_once = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    let [make_budget, allow_nothing] = budget();
    let evict = format!("{}/eviction", PODS.path("default", "pod"));
    let script = vec![
        make_budget,
        allow_nothing,
        make(),
        is("Failed", "False"),
        Request::new(Method::Post, evict).with(eviction),
        of_pod(Method::Delete).with(at_once),
        is("Running", "True"),
        of_pod(Method::Get),
    ];
    let [made, failed, removed, ready, get] = [2, 3, 5, 6, 7];
    let mut lab = Lab::two(V1_36, setting, script);
    lab.run(1.0);
    for (request, code) in [(0, 201), (1, 200), (made, 201), (failed, 200)] {
        assert_eq!(lab.written(request).code, code);
    }
    assert_eq!(lab.answer(get).code, 200, "its connections are open");
    lab.ask(EVICT);
    // The server has read the pod, and what it writes is not there yet: each way takes half a millisecond.
    lab.run(0.001_75);
    lab.strike(common::stall_to_etcd());
    for (request, code) in [(removed, 200), (made, 201), (ready, 200)] {
        assert_eq!(lab.written(request).code, code);
    }
    lab.strike(common::unstall_to_etcd());
    lab.run(3.0);
    let (_, answer) = lab.answers().pop().expect("the first server answers");
    (common::response(answer), lab.written(get))
}

#[test]
fn a_pod_that_came_in_its_place_goes_past_its_budget() {
    let (answer, found) = replaced_meanwhile(false);
    assert_eq!((answer.code, found.code), (201, 200));
    let pod = found.json();
    assert!(pod["metadata"]["deletionTimestamp"].is_string());
    let conditions = pod["status"]["conditions"].as_array().expect("it has some");
    let mut reasons = conditions.iter().map(|own| &own["reason"]);
    assert!(reasons.any(|reason| reason == "EvictionByEvictionAPI"));
}

#[test]
fn its_budget_is_asked_where_evictions_keep_to_their_pod() {
    let (answer, found) = replaced_meanwhile(true);
    assert_eq!((answer.code, found.code), (429, 200));
    assert!(found.json()["metadata"]["deletionTimestamp"].is_null());
}
