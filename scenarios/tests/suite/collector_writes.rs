//! What the garbage collector writes, in which order: as a real kube-controller-manager 1.36.2 with one worker was recorded
//! to do with a ConfigMap that owns one that owns a third.

use serde_json::json;
use wavetank::kube::Kube;
use wavetank_api::Object;
use wavetank_engine::drive::{Bench, Stepped};
use wavetank_etcd::{Change, Committed};
use wavetank_version::Composition;

const SCENARIO: &str = "
name: chain
about: A ConfigMap owns one that owns a third.
release: v1.36
topology: {etcd: 1, apiservers: 1, controller-managers: 1, owner-users: 1, watch-cache: true}
options: {endpoint-reconciler-type: none, controllers: [garbage-collector-controller], concurrent-gc-syncs: 1}
storm: 60s
calm: 900s
properties: [owned-objects-stay, foreground-waits, orphans-are-released]
";
const KEY: &str = "/registry/configmaps/default/";

/// Everything is up.
fn settled() -> Bench {
    let scenario = Kube::default().read("chain.yaml", SCENARIO);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let case = Kube::default().job(
        scenario,
        None,
        Composition {
            fixed: true,
            ..Composition::default()
        },
    );
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let world = wavetank::case::Case::world(&case, &wavetank::case::Case::derive(&case, 0));
    let mut bench = Bench::new(world.unwrap_or_else(|why| panic!("{why}")));
    for process in ["etcd", "a1", "m1", "g1"] {
        bench.start(process);
        bench.run(5.0);
    }
    bench
}

/// What a change did, as a client of the API calls it.
fn told(change: &Change<Object>) -> Option<String> {
    let name = change.key.strip_prefix(KEY)?;
    let Some(now) = &change.now else {
        return Some(format!("{name} is gone"));
    };
    let finalizers = &now.value.json()["metadata"]["finalizers"];
    let owners = &now.value.json()["metadata"]["ownerReferences"];
    Some(match (now.value.is_being_deleted(), &finalizers[0]) {
        (true, finalizer) => format!("{name} waits: {}", finalizer.as_str().unwrap_or("nothing")),
        (false, _) if change.before.is_some() && owners[0].is_null() => {
            format!("{name} has no owner")
        }
        (false, _) => format!("{name} is there"),
    })
}

/// What is written when the first of the chain is deleted so.
fn writes(blocks: bool, policy: &str) -> Vec<String> {
    let mut bench = settled();
    for (object, owners) in [(0, json!([])), (2, json!([0])), (4, json!([2]))] {
        let order = json!({
            "what": "create", "object": object, "namespace": "default", "owners": owners,
            "shape": "right", "blocks": blocks,
        });
        bench.command("g1", "use", order);
        bench.run(1.0);
    }
    let before = bench.notes.len();
    let order = json!({"what": "delete", "object": 0, "namespace": "default", "policy": policy});
    bench.command("g1", "use", order);
    bench.run(5.0);
    assert_eq!(bench.violations(), []);
    let notes = bench.notes[before..].iter();
    let commits = notes.filter_map(|(_, note)| note.body.get::<Committed<Object>>());
    let changes = commits.flat_map(|commit| commit.changes.iter());
    changes.filter_map(told).collect()
}

#[test]
fn in_the_background_owners_go_first() {
    let expected = ["o0 is gone", "o2 is gone", "o4 is gone"];
    assert_eq!(writes(true, "background"), expected);
}

#[test]
fn in_the_foreground_owners_go_last() {
    let expected = [
        "o0 waits: foregroundDeletion",
        "o2 waits: foregroundDeletion",
        "o4 is gone",
        "o2 is gone",
        "o0 is gone",
    ];
    assert_eq!(writes(true, "foreground"), expected);
}

#[test]
fn who_does_not_block_is_not_waited_for() {
    let expected = [
        "o0 waits: foregroundDeletion",
        "o2 waits: foregroundDeletion",
        "o0 is gone",
        "o4 is gone",
        "o2 is gone",
    ];
    assert_eq!(writes(false, "foreground"), expected);
}

#[test]
fn orphans_lose_their_owner_before_it_goes() {
    let expected = ["o0 waits: orphan", "o2 has no owner", "o0 is gone"];
    assert_eq!(writes(true, "orphan"), expected);
}
