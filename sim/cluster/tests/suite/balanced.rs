//! A load balancer with health checks in front of the apiservers.

use crate::common;

use common::topology::{Checks, Topology, shipped_with};
use wavetank_components::{ClusterView, ENDPOINTS};

use std::time::Duration;

use common::{Bench, addresses, crash, plane, start, stop, with};
use wavetank_actors::Attempt;
use wavetank_client::Checked;
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_engine::drive::Stepped;
use wavetank_releases::V1_36;
use wavetank_version::Selection;

const CHECKS: Checks = Checks {
    every: Duration::from_secs(2),
    timeout: Duration::from_secs(1),
    fall: 3,
    rise: 2,
    cuts: false,
};

/// Apiservers that all advertise the address of the load balancer, and a client.
fn behind_one_address(defects: Selection, apiservers: usize, checks: Checks) -> Topology {
    let mut topology = plane(V1_36, defects, apiservers);
    topology.clients = 1;
    topology.watching.front.checks = Some(checks);
    topology.watching.front.advertised = true;
    topology.watching.front.keeps = true;
    topology
}

fn listed(bench: &Bench) -> Vec<String> {
    let (addresses, _) = ClusterView(&bench.world).addresses(ENDPOINTS);
    addresses.iter().map(|a| a.to_string()).collect()
}

/// What the balancer found.
fn checked(bench: &Bench) -> Vec<(String, bool)> {
    let notes = bench.notes.iter();
    let checked = notes.filter_map(|(_, note)| note.body.get::<Checked>());
    let named = checked.map(|c| (bench.world.name(c.server).to_owned(), c.healthy));
    named.collect()
}

fn attempts(bench: &Bench) -> Vec<bool> {
    let notes = bench.notes.iter();
    let attempts = notes.filter_map(|(_, note)| note.body.get::<Attempt>());
    attempts.map(|attempt| attempt.reached).collect()
}

/// The servers that the client has connections of this kind to.
fn connected(bench: &Bench, transport: &str) -> Vec<String> {
    let client = bench.id("c1");
    let all = bench.world.connections();
    let own = all.filter(|(from, _, of)| *from == client && *of == transport);
    own.map(|(_, to, _)| bench.world.name(to).to_owned())
        .collect()
}

#[test]
fn a_server_is_out_after_three_failures_and_in_after_two_successes() {
    let defects = shipped_with(V1_36);
    let mut bench = Bench::settled(&behind_one_address(defects, 2, CHECKS));
    bench.notes.clear();
    bench.strike(crash("a2"));
    bench.run(4.0);
    assert_eq!(checked(&bench), [], "two failures are not enough");
    bench.run(3.0);
    assert_eq!(checked(&bench), [("a2".to_owned(), false)]);
    bench.strike(start("a2"));
    bench.run(6.0);
    assert_eq!(checked(&bench)[1..], [("a2".to_owned(), true)]);
}

#[test]
fn a_new_connection_goes_to_a_healthy_server_only_and_is_kept() {
    let defects = shipped_with(V1_36);
    let mut bench = Bench::settled(&behind_one_address(defects, 3, CHECKS));
    bench.strike(crash("a1"));
    bench.run(8.0);
    assert_eq!(listed(&bench), ["10.0.0.100"]);
    for _ in 0..3 {
        // The bench answers every choice with the first: without checks that would be a1.
        bench.command("c1", "connect", serde_json::Value::Null);
        bench.run(1.0);
    }
    assert_eq!(attempts(&bench), [true; 3]);
    assert_eq!(connected(&bench, "in-cluster"), ["a2"]);
}

#[test]
fn connections_to_a_server_that_is_out_are_cut_if_asked_for() {
    for cuts in [false, true] {
        let defects = shipped_with(V1_36);
        let mut topology = behind_one_address(defects, 2, Checks { cuts, ..CHECKS });
        topology.shutdown_delay = Duration::from_secs(20);
        let mut bench = Bench::settled(&topology);
        bench.command("c1", "connect", serde_json::Value::Null);
        bench.run(1.0);
        assert_eq!(connected(&bench, "in-cluster"), ["a1"]);
        // It serves on, and says that it is not ready.
        bench.strike(stop("a1"));
        bench.run(10.0);
        bench.command("c1", "connect", serde_json::Value::Null);
        bench.run(1.0);
        assert_eq!(attempts(&bench), [true; 2]);
        let goes_over = connected(&bench, "in-cluster").contains(&"a2".to_owned());
        assert_eq!(goes_over, cuts);
    }
}

/// Finding 15: a stopping apiserver removes the lease of all who advertise its address, and empties the Endpoints.
#[test]
fn a_shared_address_stays_while_others_advertise_it() {
    for fixed in [false, true] {
        let defects = with(V1_36, BootstrapDefect::FixLeaveSharedLease, fixed);
        let mut bench = Bench::settled(&behind_one_address(defects, 2, CHECKS));
        bench.run(20.0);
        bench.strike(stop("a1"));
        bench.run(1.0);
        assert_eq!(listed(&bench).is_empty(), !fixed);
        assert_eq!(bench.objections().is_empty(), fixed);
        bench.run(11.0);
        assert_eq!(listed(&bench), ["10.0.0.100"], "the other one sees to it");
    }
}

/// The mending knows other servers by their renewals: who has its address for itself removes it as before.
#[test]
fn an_own_address_is_removed_all_the_same() {
    let defects = with(V1_36, BootstrapDefect::FixLeaveSharedLease, true);
    let mut bench = Bench::settled(&plane(V1_36, defects, 2));
    bench.run(20.0);
    bench.strike(stop("a1"));
    bench.run(1.0);
    assert_eq!(listed(&bench), addresses(&[2]));
}
