//! What Services are allocated, and what becomes of it when two writes come apart.

use serde_json::json;
use wavetank_api::kinds::{IP_ADDRESSES, SERVICE_CIDRS};
use wavetank_api::{Content, Json, Response};
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::Version;

use crate::lab::{Lab, path, service};
use wavetank_engine::drive::Stepped;

const BITMAPS: [Version; 2] = [V1_16, V1_20];
const IPS: &str = "/registry/ranges/serviceips";
const PORTS: &str = "/registry/ranges/servicenodeports";

fn address(response: &Response) -> String {
    assert_eq!(response.code, 201, "{response:?}");
    response.json()["spec"]["clusterIP"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn message(response: &Response) -> String {
    match &response.content {
        Content::Status(status) => status.message.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_service_has_an_address_of_its_own_until_none_is_left() {
    for release in VERSIONS {
        let mut lab = Lab::new(release);
        let mut seen = vec!["10.0.0.1".to_owned()];
        for name in ["a", "b", "c", "d", "e"] {
            // Two servers, each with a memory of its own.
            let server = if seen.len() % 2 == 0 { "a1" } else { "a2" };
            let made = lab.ask(server, "POST", &path(""), service(name, json!({})));
            seen.push(address(&made));
        }
        let mut all = seen.clone();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6, "{release}: {seen:?}");
        let refused = lab.ask("a1", "POST", &path(""), service("f", json!({})));
        assert_eq!(refused.code, 500);
        // The memory of v1.16's a1 was behind, and had one.
        let why = if release == V1_16 {
            "unable to allocate"
        } else {
            "range is full"
        };
        assert!(message(&refused).ends_with(why), "{refused:?}");
        let named = json!({"clusterIP": seen[1]});
        let refused = lab.ask("a2", "POST", &path(""), service("f", named.clone()));
        assert!(
            message(&refused).contains("is already allocated"),
            "{refused:?}"
        );
        assert_eq!(lab.ask("a2", "DELETE", &path("a"), json!(null)).code, 200);
        let again = lab.ask("a2", "POST", &path(""), service("f", named));
        assert_eq!(address(&again), seen[1], "{release}: it is free again");
    }
}

#[test]
fn two_servers_that_allocate_at_once_do_not_meet() {
    for release in VERSIONS {
        let mut lab = Lab::new(release);
        let one = lab.send(
            "a1",
            "POST",
            &path(""),
            service("a", json!({"type": "NodePort"})),
        );
        let two = lab.send(
            "a2",
            "POST",
            &path(""),
            service("b", json!({"type": "NodePort"})),
        );
        lab.run(2.0);
        let (one, two) = (lab.answer(one), lab.answer(two));
        assert_ne!(address(&one), address(&two), "{release}");
        let port = |response: &Response| response.json()["spec"]["ports"][0]["nodePort"].clone();
        assert_ne!(port(&one), port(&two), "{release}");
        assert_eq!(lab.taken("servicenodeports").len(), 2, "{release}");
    }
}

#[test]
fn a_refused_service_leaves_nothing_allocated() {
    for release in BITMAPS {
        let mut lab = Lab::new(release);
        let ports = json!({"type": "NodePort"});
        address(&lab.ask("a1", "POST", &path(""), service("a", ports.clone())));
        let (ips, ports_before) = (lab.taken("serviceips"), lab.taken("servicenodeports"));
        lab.written.clear();
        let again = lab.ask("a1", "POST", &path(""), service("a", ports));
        assert_eq!(again.code, 409);
        assert_eq!(
            lab.written,
            [IPS, PORTS, PORTS, IPS],
            "{release}: taken, and given back"
        );
        assert_eq!(lab.taken("serviceips"), ips);
        assert_eq!(lab.taken("servicenodeports"), ports_before);
    }
}

#[test]
fn when_an_address_is_given_up_depends_on_the_release() {
    let outside = json!({"spec": {
        "type": "ExternalName", "externalName": "x.example", "clusterIP": null, "clusterIPs": null,
    }});
    let specs = "/registry/services/specs/n/a";
    for (release, order) in [
        (V1_16, vec![IPS, specs]),
        (V1_20, vec![specs, IPS]),
        (V1_36, vec!["/registry/ipaddresses/10.0.0.3", specs]),
    ] {
        let mut lab = Lab::new(release);
        let inside = service("a", json!({"clusterIP": "10.0.0.3"}));
        address(&lab.ask("a1", "POST", &path(""), inside));
        lab.written.clear();
        let changed = lab.ask("a1", "PATCH", &path("a"), outside.clone());
        assert_eq!(changed.code, 200, "{release}: {changed:?}");
        assert_eq!(lab.written, order, "{release}");
    }
}

#[test]
fn a_leaked_address_is_free_again_after_three_rounds() {
    for release in BITMAPS {
        let mut lab = Lab::new(release);
        let lost = service("lost", json!({"clusterIP": "10.0.0.5"}));
        lab.send("a1", "POST", &path(""), lost);
        lab.run_until_written(IPS);
        lab.crash("a1");
        lab.run(1.0);
        assert_eq!(lab.taken("serviceips"), [0, 4], "{release}: nobody has it");
        let wanted = service("b", json!({"clusterIP": "10.0.0.5"}));
        let refused = lab.ask("a2", "POST", &path(""), wanted.clone());
        assert!(
            message(&refused).contains("is already allocated"),
            "{refused:?}"
        );
        lab.run(2.0 * 180.0);
        assert_eq!(lab.taken("serviceips"), [0, 4], "{release}: seen twice");
        lab.run(180.0);
        assert_eq!(lab.taken("serviceips"), [0], "{release}");
        assert_eq!(
            lab.messages,
            [
                "the cluster IP 10.0.0.5 may have leaked: flagging for later clean up",
                "the cluster IP 10.0.0.5 appears to have leaked: cleaning up",
            ]
        );
        address(&lab.ask("a2", "POST", &path(""), wanted));
    }
}

#[test]
fn a_leaked_port_is_free_again_too() {
    for release in VERSIONS {
        let mut lab = Lab::new(release);
        let ports = json!([{"port": 80, "nodePort": 30002}]);
        let lost = service("lost", json!({"type": "NodePort", "ports": ports}));
        lab.send("a1", "POST", &path(""), lost);
        lab.run_until_written(PORTS);
        lab.crash("a1");
        lab.run(1.0 + 2.0 * 180.0);
        assert_eq!(lab.taken("servicenodeports"), [2], "{release}");
        lab.run(180.0);
        assert!(lab.taken("servicenodeports").is_empty(), "{release}");
    }
}

#[test]
fn finalizers_keep_a_service_and_not_always_its_address() {
    for (release, kept) in [(V1_20, false), (V1_36, true)] {
        let mut lab = Lab::new(release);
        let mut held = service("a", json!({"clusterIP": "10.0.0.3", "type": "NodePort"}));
        held["metadata"]["finalizers"] = json!(["example.com/f"]);
        address(&lab.ask("a1", "POST", &path(""), held));
        assert_eq!(lab.ask("a1", "DELETE", &path("a"), json!(null)).code, 200);
        let has = |lab: &Lab| !lab.taken("servicenodeports").is_empty();
        assert_eq!(has(&lab), kept, "{release}: while it waits to go");
        let free = json!({"metadata": {"finalizers": null}});
        let gone = lab.ask("a1", "PATCH", &format!("{}/status", path("a")), free);
        assert_eq!(gone.code, 200, "{release}: {gone:?}");
        assert!(!has(&lab), "{release}: once it is gone");
    }
}

#[test]
fn until_v1_17_a_server_trusts_its_memory() {
    for (release, code) in [(V1_16, 422), (V1_20, 201)] {
        let mut lab = Lab::new(release);
        let wanted = json!({"clusterIP": "10.0.0.3"});
        let made = lab.ask("a1", "POST", &path(""), service("a", wanted.clone()));
        address(&made);
        // Now the other one knows, too.
        let other = json!({"clusterIP": "10.0.0.4"});
        address(&lab.ask("a2", "POST", &path(""), service("b", other)));
        assert_eq!(lab.ask("a1", "DELETE", &path("a"), json!(null)).code, 200);
        assert_eq!(lab.taken("serviceips"), [0, 3], "{release}: it is free");
        let again = lab.ask("a2", "POST", &path(""), service("c", wanted));
        assert_eq!(again.code, code, "{release}: {again:?}");
    }
}

#[test]
fn what_a_client_leaves_behind_is_given_back() {
    for release in VERSIONS {
        let mut lab = Lab::new(release);
        lab.send(
            "a1",
            "POST",
            &path(""),
            service("a", json!({"type": "NodePort"})),
        );
        lab.run_until_written(PORTS);
        lab.crash("client");
        lab.run(1.0);
        lab.start("client");
        let found = lab.ask("a2", "GET", &path("a"), json!(null)).code;
        assert_eq!(
            found, 404,
            "{release}: the write of the Service was called off"
        );
        assert!(lab.taken("servicenodeports").is_empty(), "{release}");
        if release != V1_36 {
            assert_eq!(lab.taken("serviceips"), [0], "{release}");
        }
    }
}

#[test]
fn an_ip_address_without_a_service_goes_after_a_minute() {
    let mut lab = Lab::new(V1_36);
    let lost = service("lost", json!({"clusterIP": "10.0.0.5"}));
    lab.send("a1", "POST", &path(""), lost);
    let key = "/registry/ipaddresses/10.0.0.5";
    lab.run_until_written(key);
    lab.crash("a1");
    lab.run(58.0);
    assert!(lab.is_stored(key), "its Service may yet come");
    lab.run(4.0);
    assert!(!lab.is_stored(key));
    let wanted = service("b", json!({"clusterIP": "10.0.0.5"}));
    address(&lab.ask("a2", "POST", &path(""), wanted));
}

#[test]
fn an_ip_address_that_a_service_needs_comes_back() {
    let mut lab = Lab::new(V1_36);
    let made = service("a", json!({"clusterIP": "10.0.0.5"}));
    address(&lab.ask("a1", "POST", &path(""), made));
    let at = IP_ADDRESSES.path("", "10.0.0.5");
    let key = "/registry/ipaddresses/10.0.0.5";
    assert_eq!(lab.ask("a1", "DELETE", &at, json!(null)).code, 200);
    lab.run(1.0);
    // An IPAddress that goes is no event of a Service: it is seen at the next resync.
    assert!(!lab.is_stored(key));
    lab.run(180.0);
    assert!(lab.is_stored(key));
    let found = lab
        .messages
        .iter()
        .any(|message| message.ends_with("is not allocated; repairing"));
    assert!(found, "{:?}", lab.messages);
}

#[test]
fn a_service_that_comes_into_the_cluster_keeps_its_ip_address() {
    let mut lab = Lab::new(V1_36);
    let outside = json!({"type": "ExternalName", "externalName": "x.example"});
    let made = lab.ask("a1", "POST", &path(""), service("a", outside));
    assert_eq!(made.code, 201);
    let inside = json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.5"}});
    let changed = lab.ask("a1", "PATCH", &path("a"), inside);
    assert_eq!(changed.code, 200, "{changed:?}");
    // The caches of the repair controllers did not show the Service when they showed its IPAddress.
    lab.run(5.0);
    assert!(lab.is_stored("/registry/ipaddresses/10.0.0.5"));
    assert_eq!(lab.messages, Vec::<String>::new());
}

#[test]
fn what_was_taken_for_an_external_name_goes_after_a_minute() {
    let mut lab = Lab::new(V1_36);
    let outside = json!({"type": "ExternalName", "externalName": "x.example"});
    let made = lab.ask("a1", "POST", &path(""), service("a", outside));
    assert_eq!(made.code, 201);
    let inside = json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.5"}});
    lab.send("a1", "PATCH", &path("a"), inside);
    let key = "/registry/ipaddresses/10.0.0.5";
    lab.run_until_written(key);
    lab.crash("a1");
    lab.run(57.0);
    assert!(lab.is_stored(key), "the new type may yet be stored");
    lab.run(5.0);
    assert!(!lab.is_stored(key));
}

#[test]
fn a_service_that_is_there_already_is_no_reason_to_warn() {
    let mut lab = Lab::new(V1_36);
    let made = service("a", json!({"clusterIP": "10.0.0.5"}));
    address(&lab.ask("a1", "POST", &path(""), made));
    lab.run(1.0);
    // Its IPAddress names a Service that has another address, until it is given back.
    let again = service("a", json!({"clusterIP": "10.0.0.6"}));
    assert_eq!(lab.ask("a1", "POST", &path(""), again).code, 409);
    lab.run(10.0);
    assert!(!lab.is_stored("/registry/ipaddresses/10.0.0.6"));
    assert_eq!(lab.messages, Vec::<String>::new());
}

#[test]
fn a_young_address_that_nobody_gives_back_goes_after_five_seconds() {
    let mut lab = Lab::new(V1_36);
    let made = service("a", json!({"clusterIP": "10.0.0.5"}));
    address(&lab.ask("a1", "POST", &path(""), made));
    lab.run(1.0);
    let again = service("a", json!({"clusterIP": "10.0.0.6"}));
    lab.send("a1", "POST", &path(""), again);
    let key = "/registry/ipaddresses/10.0.0.6";
    lab.run_until_written(key);
    lab.crash("a1");
    lab.run(4.0);
    assert!(lab.is_stored(key));
    lab.run(3.0);
    assert!(!lab.is_stored(key));
    let wrong = "the IPAddress: 10.0.0.6 for Service n/a has a wrong reference; cleaning up";
    assert_eq!(lab.messages, [wrong]);
}

#[test]
fn the_repair_of_ports_waits_for_etcd_when_a_server_starts() {
    let mut lab = Lab::new(V1_36);
    lab.crash("a1");
    lab.crash("etcd");
    lab.start("a1");
    // Longer than the 30 s that it polls: the answer to its last question is waited for.
    lab.run(40.0);
    lab.start("etcd");
    lab.run(60.0);
    assert_eq!(lab.messages, Vec::<String>::new());
    let made = lab.ask("a1", "POST", &path(""), service("a", json!({})));
    address(&made);
}

/// A read of etcd takes a millisecond.
#[test]
fn a_deletion_begins_with_what_the_cache_has() {
    let took = |release| {
        let mut lab = Lab::new(release);
        let all = "/api/v1/namespaces/n/endpoints";
        let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}});
        let made = lab.ask("a1", "POST", all, endpoints);
        assert_eq!(made.code, 201, "{made:?}");
        lab.written.clear();
        let begun = lab.bench().now;
        lab.send("a1", "DELETE", &format!("{all}/e"), json!(null));
        lab.run_until_written("/registry/services/endpoints/n/e");
        lab.bench().now.since(begun)
    };
    assert_eq!(
        took(V1_20),
        took(V1_36) + std::time::Duration::from_millis(1)
    );
}

/// Reason, message and count of the Events, in the order of their names.
fn events(lab: &mut Lab) -> Vec<(String, String, i64)> {
    let listed = lab.ask("a2", "GET", "/api/v1/namespaces/n/events", json!(null));
    let Content::List(list) = &listed.content else {
        panic!("{listed:?}");
    };
    let of = |event: &Json| {
        let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let series = event["series"]["count"].as_i64();
        let count = series.or(event["count"].as_i64()).unwrap_or(1);
        (text("reason"), text("message"), count)
    };
    list.items.iter().map(|item| of(&item.json())).collect()
}

#[test]
fn what_a_round_repairs_is_an_event_of_the_service() {
    let mut lab = Lab::new(V1_20);
    let mut held = service("a", json!({"clusterIP": "10.0.0.3", "type": "NodePort"}));
    held["metadata"]["finalizers"] = json!(["example.com/f"]);
    address(&lab.ask("a1", "POST", &path(""), held));
    // What it has is given up, and it stays.
    assert_eq!(lab.ask("a1", "DELETE", &path("a"), json!(null)).code, 200);
    assert_eq!(events(&mut lab), []);
    lab.run(181.0);
    let found = events(&mut lab);
    let of = |reason: &str, message: &str| (reason.to_owned(), message.to_owned(), 1);
    assert_eq!(found.len(), 2, "{found:?}");
    let address = "Cluster IP [IPv4]:10.0.0.3 is not allocated; repairing";
    assert_eq!(found[0], of("ClusterIPNotAllocated", address));
    assert_eq!(found[1].0, "PortNotAllocated");
    // They live for an hour.
    lab.run(3670.0);
    assert_eq!(events(&mut lab), []);
}

#[test]
fn events_of_v1_36_become_a_series() {
    let mut lab = Lab::new(V1_36);
    let made = service("a", json!({"clusterIP": "10.0.0.5"}));
    address(&lab.ask("a1", "POST", &path(""), made));
    let at = IP_ADDRESSES.path("", "10.0.0.5");
    let mut counts = Vec::new();
    for _ in 0..4 {
        assert_eq!(lab.ask("a1", "DELETE", &at, json!(null)).code, 200);
        lab.run(181.0);
        let found = events(&mut lab);
        assert!(
            found.iter().all(|(reason, message, _)| {
                reason == "ClusterIPNotAllocated"
                    && message == "Cluster IP [IPv4]: 10.0.0.5 is not allocated; repairing"
            }),
            "{found:?}"
        );
        counts.push(found.iter().map(|(_, _, count)| *count).collect::<Vec<_>>());
    }
    // Each server has one of its own. From the second on there is a series, whose count is written once
    // nothing has been added for six minutes.
    assert_eq!(counts, [[1, 1], [2, 2], [2, 2], [2, 2]]);
    lab.run(600.0);
    let last: Vec<i64> = events(&mut lab).iter().map(|(_, _, n)| *n).collect();
    assert_eq!(last, [4, 4]);
}

/// `syncAllocators` and `deleteServiceCIDR`: a server allocates from what ServiceCIDRs name and are ready for, and hears of
/// them from its informer.
#[test]
fn allocators_follow_service_cidrs() {
    let mut lab = Lab::new(V1_36);
    let ranges = SERVICE_CIDRS.path("", "");
    let ask = |lab: &mut Lab, name: &str, ip: &str| {
        let named = json!({"clusterIP": ip});
        lab.ask("a1", "POST", &path(""), service(name, named))
    };
    let outside = |refused: &Response| {
        let why = "the provided network does not match the current range";
        assert!(message(refused).contains(why), "{refused:?}");
    };
    outside(&ask(&mut lab, "a", "10.2.0.2"));
    for name in ["more", "again"] {
        let range = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": name},
            "spec": {"cidrs": ["10.2.0.0/29"]},
        });
        // The other server hears of it, too.
        assert_eq!(lab.ask("a2", "POST", &ranges, range).code, 201);
    }
    assert_eq!(address(&ask(&mut lab, "a", "10.2.0.2")), "10.2.0.2");
    let delete = |lab: &mut Lab, name: &str| {
        let deleted = lab.ask("a2", "DELETE", &SERVICE_CIDRS.path("", name), json!(null));
        assert_eq!(deleted.code, 200, "{deleted:?}");
    };
    // An allocator lasts as long as a ServiceCIDR names its range.
    delete(&mut lab, "more");
    assert_eq!(address(&ask(&mut lab, "b", "10.2.0.3")), "10.2.0.3");
    let unready = json!({"status": {"conditions": [{
        "type": "Ready", "status": "False", "reason": "", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    let status = format!("{}/status", SERVICE_CIDRS.path("", "again"));
    let patched = lab.ask("a2", "PATCH", &status, unready);
    assert_eq!(patched.code, 200, "{patched:?}");
    outside(&ask(&mut lab, "c", "10.2.0.4"));
    delete(&mut lab, "again");
    outside(&ask(&mut lab, "c", "10.2.0.4"));
    // What it has given stays.
    assert!(lab.is_stored("/registry/ipaddresses/10.2.0.2"));
}
