//! Admission by quotas: what two servers charge, and what they refuse.

use serde_json::json;
use wavetank_api::kinds::{CONFIG_MAPS, PODS, RESOURCE_QUOTAS};
use wavetank_api::{Json, Method, Query, Reason, Request, Resource, Response};
use wavetank_engine::drive::Stepped;
use wavetank_releases::V1_36;

use crate::common::{Lab, Setting, reason};

// What each request of the script does.
const LIMIT: usize = 0;
const COUNT: usize = 1;
const FIRST: usize = 2;
const SECOND: usize = 3;
const THIRD: usize = 4;
const POD: usize = 5;
const TRIED: usize = 6;
const READ: usize = 7;
const ELSEWHERE: usize = 8;

fn post(of: &Resource, namespace: &str, name: &str) -> Request {
    let object = json!({"metadata": {"name": name}});
    Request::new(Method::Post, of.path(namespace, "")).with(object)
}

fn script() -> Vec<Request> {
    let hard = json!({"count/configmaps": "2", "pods": "0"});
    let quota = RESOURCE_QUOTAS.path("default", "q");
    let mut tried = post(&CONFIG_MAPS, "default", "d");
    tried.query = Query::of(&[("dryRun", "All")]);
    let container: Json = json!({"name": "main", "image": "image"});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
    // Who counts what is used is a controller, and here the script.
    let counted = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "status": {"hard": hard, "used": {"count/configmaps": "0", "pods": "0"}},
    });
    vec![
        Request::new(Method::Post, RESOURCE_QUOTAS.path("default", ""))
            .with(json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})),
        Request::new(Method::Put, format!("{quota}/status")).with(counted),
        post(&CONFIG_MAPS, "default", "a"),
        post(&CONFIG_MAPS, "default", "b"),
        post(&CONFIG_MAPS, "default", "c"),
        Request::new(Method::Post, PODS.path("default", "")).with(pod),
        tried,
        Request::new(Method::Get, quota),
        post(&CONFIG_MAPS, "other", "a"),
    ]
}

/// Two servers that charge to quotas, and a quota that was counted.
fn lab() -> Lab {
    let setting = Setting {
        quota: true,
        watch_cache: true,
        ..Setting::default()
    };
    let mut lab = Lab::two(V1_36, setting, script());
    lab.run(5.0);
    assert_eq!(lab.answer(LIMIT).code, 201);
    assert_eq!(lab.answer(COUNT).code, 200);
    lab.run(1.0);
    lab
}

fn used(lab: &mut Lab) -> String {
    let quota = lab.answer(READ).json();
    quota["status"]["used"]["count/configmaps"]
        .as_str()
        .expect("it is counted")
        .to_owned()
}

fn message(response: &Response) -> String {
    let status = response.json();
    status["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn two_servers_charge_to_one_quota() {
    let mut lab = lab();
    assert_eq!(lab.answer(FIRST).code, 201);
    assert_eq!(lab.written(SECOND).code, 201);
    assert_eq!(used(&mut lab), "2");
    for refused in [lab.answer(THIRD), lab.written(THIRD)] {
        assert_eq!(
            message(&refused),
            "configmaps \"c\" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: \
             count/configmaps=2, limited: count/configmaps=2"
        );
        assert_eq!(reason(refused), Reason::Forbidden);
    }
    assert_eq!(reason(lab.answer(POD)), Reason::Forbidden);
    assert_eq!(
        lab.answer(ELSEWHERE).code,
        201,
        "another namespace has no quota"
    );
}

/// What is not stored is weighed, and not charged; what fails after it was charged stays charged (k/k#70563).
#[test]
fn a_charge_is_not_given_back() {
    let mut lab = lab();
    assert_eq!(lab.answer(TRIED).code, 201);
    assert_eq!(used(&mut lab), "0");
    assert_eq!(lab.answer(FIRST).code, 201);
    assert_eq!(reason(lab.answer(FIRST)), Reason::AlreadyExists);
    assert_eq!(used(&mut lab), "2");
    assert_eq!(reason(lab.answer(SECOND)), Reason::Forbidden);
    assert_eq!(reason(lab.answer(TRIED)), Reason::Forbidden);
}
