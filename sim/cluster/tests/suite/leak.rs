//! The life of a leak, told as a story: an apiserver crashes between the write that allocates an address
//! and that of the Service, and another one's repair loop frees the address nine minutes later.

use std::fmt::Write as _;

use crate::common;

use common::topology::Topology;
use wavetank_cluster::Components;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;
use wavetank_components::services::ServiceRanges;

use common::{Bench, crash, shipped, start};
use wavetank_components::services::RepairNote;
use wavetank_engine::Note;
use wavetank_engine::drive::Stepped;
use wavetank_etcd::Committed;
use wavetank_releases::V1_20;

const IPS: &str = "/registry/ranges/serviceips";

fn topology() -> Topology {
    Topology {
        reconciler: Reconciler::None,
        services: Some(ServiceRanges {
            node_ports: (30000, 4),
            ..ServiceRanges::of(&["10.96.0.0/29"])
        }),
        service_writers: 1,
        ..shipped(V1_20)
    }
}

/// Was the bitmap of addresses written?
fn allocates(note: &Note) -> bool {
    let commit = note.body.get::<Committed<wavetank_api::Object>>();
    commit.is_some_and(|commit| commit.changes.iter().any(|change| &*change.key == IPS))
}

/// What a reader of the story wants to know: what is stored, what the client hears, what loops find.
fn tells(bench: &Bench, from: usize, crashed: f64) -> String {
    let mut text = String::new();
    let mut line = |at: f64, name: &str, what: &str| {
        writeln!(text, "{at:>10.4} s  {name:<5} {what}").expect("it is text");
    };
    let components = Components::default();
    let mut crash = Some(crashed);
    let mut cleaned = false;
    for (at, note) in &bench.notes[from..] {
        let at = at.secs_f64();
        if let Some(crashed) = crash.take_if(|crashed| *crashed < at) {
            line(crashed, "fault", "a1 crashes");
        }
        let name = bench.world.name(note.process);
        // The rounds write the bitmap although nothing has changed.
        let round = allocates(note) && at > crashed && !cleaned;
        if let Some(told) = components.describe(&bench.world, note).filter(|_| !round) {
            cleaned = told.text.ends_with("cleaning up");
            line(at, name, &told.text);
        }
    }
    text
}

#[test]
fn a_leak_is_repaired_nine_minutes_after_the_crash() {
    let mut bench = Bench::new(&topology());
    for process in ["etcd", "a1", "a2", "s1"] {
        bench.strike(start(process));
        bench.run(1.0);
    }
    bench.run_to_second(10.0);
    let begin = bench.notes.len();
    bench.command("s1", "probe", serde_json::Value::Null);
    while !bench.notes[begin..].iter().any(|(_, note)| allocates(note)) {
        assert!(bench.step(), "an address is allocated");
    }
    let crashed = bench.now.secs_f64();
    bench.strike(crash("a1"));
    bench.run_to_second(600.0);
    let freed = bench.notes.iter().find(|(_, note)| {
        let repair = note.body.get::<RepairNote>();
        repair.is_some_and(|repair| repair.message.contains("cleaning up"))
    });
    let minutes = (freed.expect("it is").0.secs_f64() - crashed) / 60.0;
    assert!((8.0..9.5).contains(&minutes), "{minutes}");
    let story = tells(&bench, begin, crashed);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/stories"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("leaked-address", story));
}
