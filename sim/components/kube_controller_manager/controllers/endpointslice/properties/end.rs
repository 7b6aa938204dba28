//! What slices list once all has been well for a while: worked out here anew, pod by pod, as etcd shows them.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::kinds::{ENDPOINT_SLICES, NODES, SERVICES};
use wavetank_api::{Json, Object, json};
use wavetank_engine::{Check, Stable, World};

use super::super::controller::CONTROLLER;
use super::super::slices::is_of_service;
use crate::endpoint_utils::{ports_at, says_ready, selected_pods};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A port by its name and its number.
type Port = (String, i64);

/// A pod as it is listed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Listed {
    ip: String,
    uid: String,
    ports: BTreeSet<Port>,
    ready: bool,
    serving: bool,
    terminating: bool,
}

impl Listed {
    /// For whoever is told of it.
    fn words(&self) -> String {
        let ports: Vec<String> = self
            .ports
            .iter()
            .map(|(_, port)| port.to_string())
            .collect();
        let word = match (self.ready, self.serving, self.terminating) {
            (true, _, false) => "ready",
            (true, _, true) => "ready, goes",
            (false, true, true) => "serves, goes",
            (false, _, true) => "goes",
            (false, _, false) => "not ready",
        };
        format!("{}:{} {word}", self.ip, ports.join("+"))
    }
}

fn in_words(all: &[Listed]) -> String {
    let words: Vec<String> = all.iter().map(Listed::words).collect();
    words.join(", ")
}

/// What the slices of a Service should list; `None` of one that selects no pods, or is another's name.
fn expected(world: &World, service: &Object) -> Option<Vec<Listed>> {
    let publishes = service.json()["spec"]["publishNotReadyAddresses"] == true;
    let mut pods = selected_pods(world, service)?;
    pods.retain(|pod| {
        let node = NODES.key("", json::text(pod.json(), &["spec", "nodeName"]));
        publishes || ClusterView(world).get(&node).is_some()
    });
    let all = pods.into_iter().map(|pod| {
        let serving = says_ready(pod.json());
        let terminating = pod.is_being_deleted();
        let ports = ports_at(service, pod.json());
        Listed {
            ip: json::text(pod.json(), &["status", "podIP"]).to_owned(),
            uid: pod.uid().to_owned(),
            ports: ports
                .map(|(name, number)| (name.to_owned(), number))
                .collect(),
            ready: publishes || (serving && !terminating),
            serving,
            terminating,
        }
    });
    let mut all: Vec<Listed> = all.collect();
    all.sort();
    Some(all)
}

/// What a slice lists.
fn listed(slice: &Json) -> Vec<Listed> {
    let ports = json::list(slice, &["ports"]).iter().map(|port| {
        let name = json::text(port, &["name"]).to_owned();
        (name, port["port"].as_i64().unwrap_or(0))
    });
    let ports: BTreeSet<Port> = ports.collect();
    let all = json::list(slice, &["endpoints"]).iter();
    let all = all.flat_map(|endpoint| {
        let is = |condition: &str| endpoint["conditions"][condition] == true;
        let ports = &ports;
        let addresses = json::list(endpoint, &["addresses"]).iter();
        addresses.map(move |address| Listed {
            ip: address.as_str().unwrap_or_default().to_owned(),
            uid: json::text(endpoint, &["targetRef", "uid"]).to_owned(),
            ports: ports.clone(),
            ready: is("ready"),
            serving: is("serving"),
            terminating: is("terminating"),
        })
    });
    all.collect()
}

/// Not by `ownedBy`, which the controller goes by itself: a mistake there is to be seen.
fn belongs_to(slice: &Json, service: &Object) -> bool {
    let owners = json::list(slice, &["metadata", "ownerReferences"]);
    owners.iter().any(|owner| owner["uid"] == service.uid())
}

fn are_listed(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let slices = ClusterView(world).all(ENDPOINT_SLICES.registry);
    let mut checked = Check::Idle;
    for service in ClusterView(world).all(SERVICES.registry) {
        let Some(expected) = expected(world, service) else {
            continue;
        };
        let name = service.name();
        let is_own = |slice: &&&Object| is_of_service(slice, service.namespace(), name);
        let own: Vec<_> = slices.iter().filter(is_own).collect();
        if own.is_empty() {
            let message = format!("the Service {name} has no EndpointSlice");
            return violated("service", name, message);
        }
        if let Some(slice) = own.iter().find(|slice| !belongs_to(slice.json(), service)) {
            let message = format!(
                "the EndpointSlice {} of the Service {name} belongs to another Service of that name, which is gone",
                slice.name()
            );
            return violated("service", name, message);
        }
        let all = own.iter().flat_map(|slice| listed(slice.json()));
        let mut found: Vec<Listed> = all.collect();
        found.sort();
        if found != expected {
            let message = format!(
                "the EndpointSlices of the Service {name} list [{}]; they should list [{}]",
                in_words(&found),
                in_words(&expected)
            );
            return violated("service", name, message);
        }
        checked = Check::Held;
    }
    checked
}

pub(super) fn slices_list_the_pods(after: Duration) -> Stable {
    Stable::new(
        "slices-list-the-pods",
        after,
        |_, _| Check::Idle,
        are_listed,
    )
}
