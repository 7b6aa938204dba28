//! Clients that find apiservers through the Endpoints.

use crate::common;

use common::topology::Topology;

use std::sync::Arc;

use common::{Bench, address, crash, seconds, shipped, start, stop};
use wavetank_actors::{Attempt, KNOWN};
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_36, VERSIONS};
use wavetank_version::Version;

fn with_a_client(release: Version) -> Topology {
    Topology {
        clients: 1,
        ..shipped(release)
    }
}

fn known(bench: &Bench) -> Vec<String> {
    let known = bench.world.cell(bench.id("c1"), &KNOWN);
    known.iter().map(|a| a.to_string()).collect()
}

/// Tries to reach an apiserver, and waits for how it ends.
fn attempt(bench: &mut Bench) -> Attempt {
    let tries = |b: &Bench| {
        let all = b.notes.iter();
        all.filter_map(|(_, note)| note.body.get::<Attempt>())
            .cloned()
            .collect::<Vec<_>>()
    };
    let before = tries(bench).len();
    bench.command("c1", "connect", serde_json::Value::Null);
    bench.run_to("the attempt's end", 11.0, |b| tries(b).len() > before);
    tries(bench).remove(before)
}

#[test]
fn a_client_follows_the_endpoints_and_connects_through_them() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&with_a_client(release));
        assert_eq!(known(&bench), common::addresses(&[1, 2, 3]), "{release}");
        // The bench answers every choice with the first.
        let first: Arc<str> = address(1).into();
        let reached = |address| Attempt {
            address: Some(address),
            reached: true,
        };
        assert_eq!(attempt(&mut bench), reached(first), "{release}");
        bench.strike(stop("a1"));
        bench.run(0.1);
        assert_eq!(known(&bench), common::addresses(&[2, 3]), "{release}");
        let second: Arc<str> = address(2).into();
        assert_eq!(attempt(&mut bench), reached(second), "{release}");
    }
}

#[test]
fn a_client_that_loses_its_server_gets_over_to_another() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&with_a_client(release));
        // It begins with the first server.
        let servers = |b: &Bench| {
            let client = b.id("c1");
            let all = b.world.connections();
            let of_client = all.filter(|(c, _, transport)| *c == client && *transport == "https");
            of_client
                .map(|(_, server, _)| b.world.name(server).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(servers(&bench), ["a1"], "{release}");
        bench.strike(crash("a1"));
        bench.run(2.0);
        assert_eq!(servers(&bench), ["a2"], "{release}");
        bench.run(30.0);
        assert_eq!(known(&bench), common::addresses(&[2, 3]), "{release}");
    }
}

#[test]
fn an_attempt_at_a_crashed_one_fails_at_once_and_at_a_dead_machine_after_a_while() {
    for (power, limits) in [(false, 0.0..0.1), (true, 4.9..5.1)] {
        let mut bench = Bench::settled(&with_a_client(V1_36));
        let process = "a1".to_owned();
        bench.strike(match power {
            false => Fault::Crash { process },
            true => Fault::PowerLoss { process },
        });
        let begun = seconds(bench.now);
        let tried = attempt(&mut bench);
        assert!(!tried.reached);
        let took = seconds(bench.now) - begun;
        assert!(limits.contains(&took), "{took} s");
    }
}

/// Nothing tells the client but HTTP/2's health check: a ping 30 s after it last heard something,
/// and 15 s for the answer.
#[test]
fn a_silent_server_is_left_after_15_to_45_s() {
    for waited in [0.0, 4.0, 11.0, 23.0] {
        let mut bench = Bench::settled(&with_a_client(V1_36));
        bench.run(waited);
        let silent = seconds(bench.now);
        bench.strike(Fault::PowerLoss {
            process: "a1".to_owned(),
        });
        // By the time the others have taken it off the list the client may still be waiting.
        let mut over = bench.run_to("the next server", 60.0, |b| !known(b).contains(&address(1)));
        over -= silent;
        assert!((15.0..47.0).contains(&over), "after {waited} s: {over} s");
    }
}

#[test]
fn a_client_that_knows_nobody_says_so() {
    let mut bench = Bench::new(&with_a_client(V1_36));
    bench.strike(start("etcd"));
    bench.strike(start("c1"));
    bench.run(5.0);
    let nobody = Attempt {
        address: None,
        reached: false,
    };
    assert_eq!(attempt(&mut bench), nobody);
}
