//! Apiservers that are replaced one after another.

use crate::common;

use common::topology::{Apiserver, Rollout, Topology};
use wavetank_components::{ClusterView, ENDPOINTS, SLICE};

use common::{Bench, addresses, crash, plane, with};
use wavetank_apiserver::ServerDefect;
use wavetank_apiserver::ServerNote;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{Release, V1_20, V1_36};
use wavetank_version::Version;

/// Three apiservers that begin with this release, and are of the other one once they were replaced; no address is
/// kept by mistake.
fn upgrade(from: Version, to: Version) -> Topology {
    let of = |release| with(release, ServerDefect::ListenerClosesBeforeRemoval, false);
    let before = Apiserver {
        release: from,
        defects: of(from),
    };
    let mut topology = plane(to, of(to), 3);
    topology.watching.front.rollout = Some(Rollout {
        before: vec![before; 3],
    });
    topology
}

fn releases(bench: &Bench) -> Vec<Version> {
    let view = ClusterView(&bench.world);
    view.apiservers().map(|(_, s)| s.config().release).collect()
}

/// The releases of those that took another one's place so far.
fn replaced(bench: &Bench) -> Vec<Version> {
    let notes = bench.notes.iter();
    notes
        .filter_map(|(_, note)| match note.body.get() {
            Some(ServerNote::Replaced(release)) => Some(*release),
            _ => None,
        })
        .collect()
}

fn listed(bench: &Bench, key: &str) -> Vec<String> {
    let (addresses, _) = ClusterView(&bench.world).addresses(key);
    addresses.iter().map(|a| a.to_string()).collect()
}

#[test]
fn one_after_another_is_replaced_and_then_the_first_again() {
    for to in [V1_20, V1_36] {
        let from = Release::before(to).version;
        let mut bench = Bench::settled(&upgrade(from, to));
        assert_eq!(releases(&bench), [from; 3]);
        for step in 1..=4 {
            bench.command("r1", "roll", serde_json::Value::Null);
            // Asked again before it is done, it does nothing.
            bench.command("r1", "roll", serde_json::Value::Null);
            bench.run_to("the next one's place is taken", 90.0, |b| {
                replaced(b).len() == step
            });
            let done = step.min(3);
            let mut expected = vec![to; done];
            expected.resize(3, from);
            assert_eq!(releases(&bench), expected);
            bench.run(12.0);
            assert_eq!(listed(&bench, ENDPOINTS), addresses(&[1, 2, 3]));
        }
        assert_eq!(replaced(&bench), [to; 4]);
        assert_eq!(listed(&bench, SLICE), addresses(&[1, 2, 3]));
    }
}

#[test]
fn what_crashes_while_it_makes_way_comes_back_as_the_new_one() {
    let mut bench = Bench::settled(&upgrade(V1_20, V1_36));
    bench.command("r1", "roll", serde_json::Value::Null);
    bench.run(1.0);
    bench.strike(crash("a1"));
    assert_eq!(replaced(&bench), []);
    bench.strike(common::start("a1"));
    assert_eq!(replaced(&bench), [V1_36]);
}

#[test]
fn who_does_not_come_back_is_not_waited_for_for_ever() {
    let mut topology = upgrade(V1_20, V1_20);
    topology.watching.front.rollout = Some(Rollout::default());
    let mut bench = Bench::settled(&topology);
    bench.command("r1", "roll", serde_json::Value::Null);
    bench.run(1.0);
    bench.strike(crash("a1"));
    bench.run(20.0);
    bench.command("r1", "roll", serde_json::Value::Null);
    bench.run(10.0);
    assert_eq!(replaced(&bench), [], "it waits for the first");
    bench.run(60.0);
    bench.command("r1", "roll", serde_json::Value::Null);
    bench.run_to("the second one's place is taken", 90.0, |b| {
        replaced(b) == [V1_20]
    });
}
