//! The recordings of several servers and their Endpoints: what was done to the servers between the
//! lines, which the notes tell, and what the lines about leases and addresses say.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::views;
use wavetank_components::kube_apiserver::bootstrap::MASTER_LEASES;

use crate::lab::{Lab, address_of};

const ENDPOINTS: &str = "/registry/services/endpoints/default/kubernetes";
const SLICE: &str = "/registry/endpointslices/default/kubernetes";
/// Longer than a lease and a round together.
const LONG: Duration = Duration::from_secs(40);
/// One round of every server, and some.
const ROUND: Duration = Duration::from_secs(11);

const LEASE_BY_HAND: &str = "a lease key without an etcd lease was written";

/// The addresses in the Endpoints.
fn listed(lab: &Lab) -> Vec<String> {
    let stored = lab.stored(ENDPOINTS).map(|(endpoints, ..)| endpoints);
    let listed = views::addresses(&stored.unwrap_or_default());
    listed.iter().map(ToString::to_string).collect()
}

/// The addresses in the EndpointSlice.
fn sliced(lab: &Lab) -> Vec<Json> {
    let slice = lab.stored(SLICE).map(|(slice, ..)| slice);
    let endpoints = slice.map(|slice| slice["endpoints"].clone());
    let endpoints = endpoints.and_then(|all| all.as_array().cloned());
    let each = endpoints.into_iter().flatten();
    each.map(|endpoint| endpoint["addresses"][0].clone())
        .collect()
}

/// Is it in either of them?
pub fn lists(lab: &Lab, address: &str) -> bool {
    listed(lab).iter().any(|listed| listed == address)
        || sliced(lab).iter().any(|sliced| sliced == address)
}

/// The first address that a note names.
fn address(note: &str) -> Option<&str> {
    let mut words = note.split(|c: char| !c.is_ascii_digit() && c != '.');
    words.find(|word| word.matches('.').count() == 3)
}

/// Is what a note tells possible among so many servers?
pub fn can_be_followed(note: &str, servers: usize) -> Result<(), String> {
    let named = address(note);
    if note.starts_with(LEASE_BY_HAND) && named.is_none() {
        return Err(format!("the note {note:?} names no address"));
    }
    let all: Vec<String> = (0..Lab::MOST).map(address_of).collect();
    match all.iter().position(|address| Some(&**address) == named) {
        Some(at) if at >= servers => Err(format!(
            "the note {note:?} names server {}, and the recording is of {servers} (`servers` in its first line)",
            at + 1
        )),
        _ => Ok(()),
    }
}

/// Does to the servers what a note says was done to them.
pub fn follow(lab: &mut Lab, note: &str) {
    let server = address(note).and_then(Lab::server_at);
    let is_listed = |lab: &Lab| address(note).is_some_and(|a| listed(lab).iter().any(|l| l == a));
    match (note, server) {
        (note, Some(server)) if note.starts_with("after SIGKILL of") => {
            lab.crash(&server);
            lab.run_until(LONG, |lab| !is_listed(lab));
        }
        (note, Some(server)) if note.ends_with("is back") => {
            lab.start(&server);
            lab.run_until(LONG, is_listed);
        }
        (note, Some(server)) if note.ends_with("has exited after SIGTERM") => lab.stop(&server),
        (note, _) if note.ends_with("by hand, then reconciled") => lab.run(ROUND),
        (note, _) if note.starts_with(LEASE_BY_HAND) => {
            let address = address(note).expect("it names one");
            let lease = json!({
                "kind": "Endpoints",
                "apiVersion": "v1",
                "metadata": {},
                "subsets": [{"addresses": [{"ip": address}]}],
            });
            lab.put(&format!("{MASTER_LEASES}{address}"), &lease);
            lab.run(ROUND);
        }
        (note, Some(server)) if note.ends_with("is left") => {
            for address in listed(lab) {
                match Lab::server_at(&address) {
                    Some(other) if other == server => {}
                    Some(other) if lab.is_up(&other) => lab.stop(&other),
                    _ => lab.delete(&format!("{MASTER_LEASES}{address}")),
                }
                lab.run(ROUND);
            }
        }
        ("one left", _) => {
            for address in listed(lab) {
                let server = Lab::server_at(&address).filter(|server| server != Lab::FIRST);
                server.inspect(|server| lab.stop(server));
            }
        }
        ("after SIGTERM of the last API server", _) => lab.stop(Lab::FIRST),
        (note, _) if note.starts_with("SIGTERM of the last one") => {
            lab.stop(Lab::FIRST);
            lab.run(Duration::from_secs(20));
        }
        ("20 s later", _) => lab.run(Duration::from_secs(20)),
        _ => return,
    }
    lab.run(Duration::from_secs(2));
}

/// What a line `masterleases` or a fact about addresses says here.
pub fn say(lab: &Lab, line: &Json) -> Option<Json> {
    let leases = lab.leased(MASTER_LEASES);
    if line.get("masterleases").is_some() {
        let lease = |(key, mut value, ttl): (String, Json, Option<u64>)| {
            value["metadata"]["generation"] = "n".into();
            json!({"key": key, "value": value, "grantedTTL": ttl.map(|ttl| ttl.to_string())})
        };
        return Some(leases.into_iter().map(lease).collect());
    }
    // Of a fact about addresses these are compared; times have a test of their own.
    let mut fact = line.get("fact")?.clone();
    fact.get("endpoints")?;
    let leased =
        |(key, ..): (String, Json, Option<u64>)| Json::from(key.replace(MASTER_LEASES, ""));
    let says = [
        (
            "endpoints",
            listed(lab).into_iter().map(Json::from).collect(),
        ),
        ("endpointslice", sliced(lab).into()),
        ("masterleases", leases.into_iter().map(leased).collect()),
    ];
    for (what, said) in says {
        if fact.get(what).is_some() {
            fact[what] = said;
        }
    }
    Some(fact)
}
