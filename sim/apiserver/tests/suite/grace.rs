//! A pod is bound while somebody deletes it: how long it has.

use crate::common;

use common::{Lab, Setting};
use serde_json::json;
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Request, Response};
use wavetank_engine::drive::Stepped;
use wavetank_releases::V1_36;

const DELETE: usize = 1;

fn of_pod(method: Method) -> Request {
    Request::new(method, PODS.path("default", "pod"))
}

/// A server is asked to delete a pod that nobody has bound yet, and its write is held on the way to etcd until another server
/// has bound the pod: what is answered, and what is there then.
fn bound_meanwhile(grace_is_decided_anew: bool) -> (Response, Response) {
    let setting = Setting {
        grace_is_decided_anew,
        ..Setting::default()
    };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": {
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "main", "image": "example.com/main"}],
        },
    });
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "pod"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    });
    let bind = format!("{}/binding", PODS.path("default", "pod"));
    let script = vec![
        Request::new(Method::Post, PODS.path("default", "")).with(pod),
        of_pod(Method::Delete),
        Request::new(Method::Post, bind).with(binding),
        of_pod(Method::Get),
    ];
    let mut lab = Lab::two(V1_36, setting, script);
    lab.run(1.0);
    assert_eq!(lab.written(0).code, 201);
    assert_eq!(lab.answer(3).code, 200, "its connections are open");
    lab.ask(DELETE);
    // The server has read the pod twice, and what it writes is not there yet: each way takes half a millisecond.
    lab.run(0.002_75);
    lab.strike(common::stall_to_etcd());
    assert_eq!(lab.written(2).code, 201, "it is bound");
    lab.strike(common::unstall_to_etcd());
    lab.run(1.0);
    let (_, answer) = lab.answers().pop().expect("the first server answers");
    (common::response(answer), lab.written(3))
}

#[test]
fn a_pod_that_was_bound_meanwhile_is_gone_at_once() {
    let (answer, found) = bound_meanwhile(false);
    assert_eq!(answer.code, 200);
    assert_eq!(answer.json()["spec"]["nodeName"], "n1");
    assert_eq!(found.code, 404);
}

#[test]
fn it_has_its_time_where_that_is_decided_anew() {
    let (answer, found) = bound_meanwhile(true);
    assert_eq!((answer.code, found.code), (200, 200));
    assert_eq!(found.json()["metadata"]["deletionGracePeriodSeconds"], 30);
}
