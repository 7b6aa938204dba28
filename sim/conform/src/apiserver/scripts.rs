//! Sequences that no draw comes upon: each is written down.

use serde_json::{Value as Json, json};

use super::bodies::{CONFIG_MAP, POD, SERVICE};
use super::draw::namespaces;
use super::op::{Op, request};

/// A sequence, and which server it is for.
pub(crate) struct Script {
    pub ops: Vec<Op>,
    /// Is it for the server whose ranges of Services are small?
    pub tiny: bool,
}

/// All of them.
pub(crate) fn all() -> Vec<Script> {
    let usual = [
        pages_over_a_compaction(),
        watches_over_a_compaction(),
        a_namespace_ends(),
        owners(),
    ];
    let tiny = [addresses_run_out(), node_ports_run_out()];
    let script = |tiny| move |ops| Script { ops, tiny };
    let usual = usual.into_iter().map(script(false));
    usual.chain(tiny.into_iter().map(script(true))).collect()
}

fn post(path: &str, body: Json) -> Op {
    let mut post = request("POST", path);
    post["contentType"] = "application/json".into();
    post["body"] = body;
    Op::Request(post)
}

fn patch(path: &str, body: Json) -> Op {
    let mut patch = request("PATCH", path);
    patch["contentType"] = "application/merge-patch+json".into();
    patch["body"] = body;
    Op::Request(patch)
}

fn delete(path: &str, options: Json) -> Op {
    let mut delete = request("DELETE", path);
    if !options.is_null() {
        delete["contentType"] = "application/json".into();
        delete["body"] = options;
    }
    Op::Request(delete)
}

fn get(path: &str, query: Json) -> Op {
    let mut get = request("GET", path);
    get["query"] = query;
    Op::Request(get)
}

fn pages_over_a_compaction() -> Vec<Op> {
    let mut ops = namespaces();
    let maps = CONFIG_MAP.collection("{a}");
    for name in ["p", "q", "r", "s"] {
        ops.push(post(
            &maps,
            CONFIG_MAP.object(name, json!({"data": {"k": "1"}})),
        ));
    }
    ops.push(get(&maps, json!({"limit": "2"})));
    for value in ["2", "3"] {
        ops.push(patch(&format!("{maps}/s"), json!({"data": {"k": value}})));
    }
    let next = || {
        get(
            &maps,
            json!({"limit": "1", "continue": {"$continue": maps}}),
        )
    };
    ops.push(next());
    ops.push(Op::Compact(0));
    // The token is of a revision that is gone; the answer has one that goes on without it.
    ops.push(next());
    ops.push(get(&maps, json!({"limit": "2"})));
    ops.push(next());
    let exact = json!({"resourceVersion": {"$revision": 3}, "resourceVersionMatch": "Exact"});
    ops.push(get(&maps, exact));
    ops
}

fn watches_over_a_compaction() -> Vec<Op> {
    let mut ops = namespaces();
    let maps = CONFIG_MAP.collection("{a}");
    for name in ["p", "q"] {
        ops.push(post(
            &maps,
            CONFIG_MAP.object(name, json!({"data": {"k": "1"}})),
        ));
    }
    for value in 2..8 {
        ops.push(patch(
            &format!("{maps}/p"),
            json!({"data": {"k": value.to_string()}}),
        ));
    }
    ops.push(Op::Compact(0));
    for (watch, back) in [(1, 6), (2, 0)] {
        let mut open = request("GET", &maps);
        open["query"] = json!({"watch": "true", "resourceVersion": {"$revision": back}});
        ops.push(Op::Open(watch, open));
    }
    ops.push(delete(&format!("{maps}/q"), Json::Null));
    let mut limited = request("GET", &maps);
    limited["query"] = json!({
        "watch": "true", "timeoutSeconds": "2", "allowWatchBookmarks": "true", "resourceVersion": {"$revision": 0},
    });
    ops.push(Op::Open(3, limited));
    let mut future = request("GET", &maps);
    future["query"] = json!({"watch": "true", "resourceVersion": {"$future": 1000}});
    ops.push(Op::Open(4, future));
    ops.extend([1, 2, 3, 4].map(Op::Read));
    ops
}

fn a_namespace_ends() -> Vec<Op> {
    let mut ops = namespaces();
    let maps = CONFIG_MAP.collection("{a}");
    ops.push(post(&maps, CONFIG_MAP.object("p", json!({}))));
    ops.push(delete("/api/v1/namespaces/{a}", Json::Null));
    ops.push(delete("/api/v1/namespaces/{a}", Json::Null));
    ops.push(get("/api/v1/namespaces/{a}", json!({})));
    ops.push(post(&maps, CONFIG_MAP.object("q", json!({}))));
    ops.push(patch(&format!("{maps}/p"), json!({"data": {"k": "1"}})));
    let mut finalize = request("PUT", "/api/v1/namespaces/{b}/finalize");
    finalize["contentType"] = "application/json".into();
    finalize["body"] = json!({"$object": "/api/v1/namespaces/{b}", "merge": {"spec": {"finalizers": ["example.com/n"]}}});
    ops.push(Op::Request(finalize));
    ops.push(delete("/api/v1/namespaces/{b}", Json::Null));
    ops.push(patch(
        "/api/v1/namespaces/{b}",
        json!({"metadata": {"labels": {"l": "p"}}}),
    ));
    ops.push(get("/api/v1/namespaces/{b}", json!({})));
    ops
}

fn owners() -> Vec<Op> {
    let mut ops = namespaces();
    let (maps, pods) = (CONFIG_MAP.collection("{a}"), POD.collection("{a}"));
    ops.push(post(&maps, CONFIG_MAP.object("owner", json!({}))));
    let owner = format!("{maps}/owner");
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": {"$uid": owner}, "blockOwnerDeletion": true,
        "controller": true,
    });
    let metadata = json!({"ownerReferences": [reference.clone()]});
    let containers = json!([{"name": "c", "image": "i"}]);
    ops.push(post(
        &pods,
        POD.object(
            "owned",
            json!({"metadata": metadata, "spec": {"containers": containers}}),
        ),
    ));
    let mut other = reference;
    other["uid"] = "00000000-0000-4000-8000-000000000001".into();
    ops.push(patch(
        &format!("{pods}/owned"),
        json!({"metadata": {"ownerReferences": [other, {"kind": "X"}]}}),
    ));
    let foreground =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"});
    ops.push(delete(&owner, foreground));
    ops.push(get(&owner, json!({})));
    let orphan =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"});
    ops.push(delete(&owner, orphan));
    ops.push(patch(&owner, json!({"metadata": {"finalizers": null}})));
    ops.push(get(&owner, json!({})));
    ops
}

fn service(name: &str, spec: Json) -> Op {
    let mut spec = spec;
    if spec.get("ports").is_none() {
        spec["ports"] = json!([{"port": 80}]);
    }
    post(
        &SERVICE.collection("{a}"),
        SERVICE.object(name, json!({"spec": spec})),
    )
}

fn addresses_run_out() -> Vec<Op> {
    let mut ops = namespaces();
    let services = SERVICE.collection("{a}");
    // One is that of the Service `kubernetes`.
    let names = ["p", "q", "r", "s", "t"];
    ops.extend(names.map(|name| service(name, json!({}))));
    ops.push(service("u", json!({})));
    ops.push(service("u", json!({"type": "NodePort"})));
    ops.push(Op::Allocations);
    ops.push(patch(
        &format!("{services}/p"),
        json!({"spec": {"type": "ExternalName", "externalName": "x.example"}}),
    ));
    ops.push(service("u", json!({})));
    ops.push(patch(
        &format!("{services}/p"),
        json!({"spec": {"type": "ClusterIP"}}),
    ));
    ops.push(delete(&format!("{services}/q"), Json::Null));
    ops.push(patch(
        &format!("{services}/p"),
        json!({"spec": {"type": "ClusterIP"}}),
    ));
    ops.push(service("v", json!({"clusterIP": "10.96.0.1"})));
    ops.push(service("v", json!({"clusterIP": "10.96.0.7"})));
    ops.push(service("v", json!({"clusterIP": "10.96.0.8"})));
    ops.push(Op::Allocations);
    ops
}

fn node_ports_run_out() -> Vec<Op> {
    let mut ops = namespaces();
    let services = SERVICE.collection("{a}");
    let ports: Json = (0..8)
        .map(|at| json!({"name": format!("p{at}"), "port": 80 + at}))
        .collect();
    ops.push(service("p", json!({"type": "NodePort", "ports": ports})));
    ops.push(service("q", json!({"type": "NodePort"})));
    ops.push(service(
        "q",
        json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30008}]}),
    ));
    ops.push(patch(
        &format!("{services}/p"),
        json!({"spec": {"ports": [{"name": "p0", "port": 80}]}}),
    ));
    ops.push(service(
        "q",
        json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}),
    ));
    ops.push(patch(
        &format!("{services}/q"),
        json!({"spec": {"externalTrafficPolicy": "Cluster"}}),
    ));
    ops.push(patch(
        &format!("{services}/q"),
        json!({"spec": {"type": "ClusterIP", "externalTrafficPolicy": null}}),
    ));
    ops.push(delete(&format!("{services}/p"), Json::Null));
    ops.push(Op::Allocations);
    ops
}
