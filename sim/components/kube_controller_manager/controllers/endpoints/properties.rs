//! What users of Services may rely on, as etcd shows it: what Endpoints should list is worked out here anew, port by port.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::kinds::{ENDPOINTS, SERVICES};
use wavetank_api::{Json, Object, json};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::{Check, Reached, Stable, World};

use super::NEEDED;
use super::controller::CONTROLLER;
use super::notes::Writes;
use super::own_view::OwnEndpointsAreKnown;
use super::quiet::endpoints_are_quiet;
use crate::endpoint_utils::{ports_at, says_ready, selected_pods};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What failed in a storm is tried again a little later than the storm was long (5 ms, doubled up to 82 s).
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to use Services.
const USED: [Entry; 2] = [
    Entry::new("topology", "service-users", "2"),
    Entry::new("workload", "use-services", "{every: 5s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(super::USERS) > 0;
    vec![
        PropertyInfo::new(
            "endpoints-list-the-pods",
            "some time after calm the Endpoints of each Service that selects pods list those that run, and say which are ready",
            NEEDED,
            |settled| Box::new(endpoints_list_the_pods(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "own-endpoints-are-known",
            "the controller leaves Endpoints as they are only if it has seen what it wrote itself, and waits for newer ones \
             only if there are some",
            NEEDED,
            |_| Box::new(OwnEndpointsAreKnown::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "endpoints-go-with-their-service",
            "some time after calm no Endpoints are left of which there is no Service",
            NEEDED,
            |settled| Box::new(endpoints_go_with_their_service(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "endpoints-are-quiet",
            "some time after calm the controller writes no Endpoints any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(endpoints_are_quiet(settled)),
        ),
        PropertyInfo::new(
            "endpoints-were-written",
            "the controller found a Service whose Endpoints were not as they should be",
            NEEDED,
            |_| Box::new(endpoints_were_written()),
        )
        .fits(users),
    ]
}

/// An address behind a port, of a pod, ready or not.
type Listed = BTreeSet<(i64, String, String, bool)>;

/// What the Endpoints of a Service should list; `None` of one that selects no pods, or is another's name.
fn expected(world: &World, service: &Object) -> Option<Listed> {
    let publishes = service.json()["spec"]["publishNotReadyAddresses"] == true;
    let mut listed = Listed::new();
    for pod in selected_pods(world, service)? {
        if pod.is_being_deleted() && !publishes {
            continue;
        }
        let ip = json::text(pod.json(), &["status", "podIP"]);
        let ready = publishes || says_ready(pod.json());
        for (_, number) in ports_at(service, pod.json()) {
            listed.insert((number, ip.to_owned(), pod.uid().to_owned(), ready));
        }
    }
    Some(listed)
}

/// What they list.
fn listed(endpoints: &Json) -> Listed {
    let mut all = Listed::new();
    for subset in json::list(endpoints, &["subsets"]) {
        for port in json::list(subset, &["ports"]) {
            for (field, ready) in [("addresses", true), ("notReadyAddresses", false)] {
                for address in json::list(subset, &[field]) {
                    let text = |path: &[&str]| json::text(address, path).to_owned();
                    let number = port["port"].as_i64().unwrap_or(0);
                    all.insert((number, text(&["ip"]), text(&["targetRef", "uid"]), ready));
                }
            }
        }
    }
    all
}

fn are_listed(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    for service in ClusterView(world).all(SERVICES.registry) {
        let Some(expected) = expected(world, service) else {
            continue;
        };
        let (namespace, name) = (service.namespace(), service.name());
        let key = ENDPOINTS.key(namespace, name);
        let found = ClusterView(world)
            .get(&key)
            .map(|kv| listed(kv.value.json()));
        if found.as_ref() != Some(&expected) {
            let in_words = |all: &Listed| {
                let word = |ready: &bool| if *ready { "ready" } else { "not ready" };
                let one = |(port, ip, _, ready): &(i64, String, String, bool)| {
                    format!("{ip}:{port} ({})", word(ready))
                };
                match all.is_empty() {
                    true => "nothing".to_owned(),
                    false => all.iter().map(one).collect::<Vec<_>>().join(", "),
                }
            };
            let (expected, found) = (in_words(&expected), found.as_ref().map(in_words));
            let message = match found {
                None => {
                    format!("the Service {name} has no Endpoints; they should list {expected}")
                }
                Some(found) => {
                    format!(
                        "the Endpoints of the Service {name} list {found}; they should list {expected}"
                    )
                }
            };
            return violated("service", name, message);
        }
        checked = Check::Held;
    }
    checked
}

fn endpoints_list_the_pods(after: Duration) -> Stable {
    Stable::new(
        "endpoints-list-the-pods",
        after,
        |_, _| Check::Idle,
        are_listed,
    )
}

/// Upstream leaves the Endpoints of a Service that stops to select pods, so only those of no Service are wrong.
fn endpoints_go_with_their_service(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        for endpoints in ClusterView(world).all(ENDPOINTS.registry) {
            let (namespace, name) = (endpoints.namespace(), endpoints.name());
            let has_service = ClusterView(world)
                .get(&SERVICES.key(namespace, name))
                .is_some();
            if !has_service {
                let message = format!("there are Endpoints {name} and no Service of this name");
                return violated("endpoints", name, message);
            }
        }
        Check::Held
    };
    Stable::new(
        "endpoints-go-with-their-service",
        after,
        |_, _| Check::Idle,
        holds,
    )
}

fn endpoints_were_written() -> Reached {
    Reached {
        name: "endpoints-were-written",
        here: |_, note| note.body.get::<Writes>().is_some(),
    }
}
