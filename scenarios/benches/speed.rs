//! How fast the simulator is: `cargo bench --bench speed [-- events|steps|shown]`. Ratios matter, since machines differ; nothing here is
//! asserted.
//!
//! - The whole driver over the bundled main scenario on one core: storm, connected clients, random
//!   draws, the record of choices and the properties included, beside a bare event loop (a binary
//!   heap of enum events with a random latency each) of the same number of events.
//! - What a model checker does at each step: clone, apply, hash, depth first from worlds of the
//!   same scenario; every step run, and by memory as `wavetank check` does it.
//! - What a watch costs a server that shows objects in another form: the first watch of an event, and each other one.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch outside the simulated world"
)]

#[path = "yard/bare.rs"]
mod bare;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;
use wavetank::api::printers::partial_object_metadata;
use wavetank::api::{Json, Object};
use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue, Composition};
use wavetank::kube::Kube;
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::{Event, Memo, World};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCENARIO: &str = "kubernetes-endpoints";
const SEEDS: u64 = 40;
/// A search takes so many steps from each world: the events that are due next.
const SUCCESSORS: usize = 4;
/// And from each world of the run it expands so many worlds.
const EXPANSIONS: usize = 20;
/// A search goes further: from some of them it expands so many.
const SEARCH: usize = 2_000;
/// But no further than so much virtual time.
const HORIZON: Duration = Duration::from_secs(1);
/// So many objects are shown.
const SHOWN: usize = 1_000;
/// Each figure is the best of so many rounds: noise only adds.
const ROUNDS: usize = 25;

fn best(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS)
        .map(|_| round())
        .min()
        .expect("there are rounds")
}

fn main() {
    // `cargo test --all-targets` runs benches too, and has nothing to learn from this one.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default()
        .open(SCENARIO, &composition)
        .expect("it is bundled");
    let only: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
    if wanted("events") {
        events(case.as_ref());
    }
    if wanted("steps") {
        steps(case.as_ref());
    }
    if wanted("shown") {
        shown();
    }
}

/// An event is shown once in each form: that is paid for the first watch.
fn shown() {
    let tree = |at: usize| {
        let labels: serde_json::Map<_, _> = (0..8)
            .map(|label| (format!("label-{label}"), format!("value-{at}").into()))
            .collect();
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("c{at}"), "namespace": "default", "labels": labels},
            "data": {"text": "x".repeat(500)},
        })
    };
    let show = |object: &Object| {
        let made = |json: &Json| Ok::<_, ()>(Object::new(partial_object_metadata(json, "v1")));
        black_box(object.shown("PartialObjectMetadata", made)).expect("it can be shown");
    };
    let (mut first, mut other) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let objects: Vec<Object> = (0..SHOWN).map(|at| Object::new(tree(at))).collect();
        for took in [&mut first, &mut other] {
            let start = Instant::now();
            objects.iter().for_each(show);
            *took = start.elapsed().min(*took);
        }
    }
    let each = |took: Duration| took.as_nanos() / SHOWN as u128;
    println!("an event as PartialObjectMetadata, the best of {ROUNDS} rounds");
    println!("  ns for the first watch     {:>12}", each(first));
    println!("  ns for each other          {:>12}", each(other));
}

fn events(case: &dyn Case) {
    let (mut events, mut simulated) = (0, Duration::ZERO);
    let took = best(|| {
        (events, simulated) = (0, Duration::ZERO);
        let start = Instant::now();
        let mut record = Record::default();
        for seed in 0..SEEDS {
            let outcome = run_seed(case, seed, None, record);
            events += outcome.tallies.events;
            simulated += Duration::from_nanos(outcome.at.nanos());
            record = outcome.record;
        }
        start.elapsed()
    });
    let bare = best(|| bare::run(events));
    let rate = |took: Duration| events as f64 / took.as_secs_f64();
    println!("{SCENARIO}, {SEEDS} seeds on one core, the best of {ROUNDS} rounds");
    println!("  events                     {events:>12}");
    println!("  events a second            {:>12.0}", rate(took));
    println!("  of a bare loop             {:>12.0}", rate(bare));
    println!(
        "  time against a bare loop   {:>12.1}",
        took.as_secs_f64() / bare.as_secs_f64()
    );
    println!(
        "  simulated to real time     {:>12.0}",
        simulated.as_secs_f64() / took.as_secs_f64()
    );
}

/// The worlds before each of many events of one run, with the event's place in time.
fn worlds(case: &dyn Case) -> Vec<World> {
    let options = case.derive(1);
    let world = case.world(&options).expect("its own options");
    let choices = Seeded::new(1, &world, case.fault_schedule(&options));
    let limits = Limits::until(case.until(&options));
    let mut run = Run::new(world, choices, limits, Record::default());
    let (mut worlds, mut events) = (Vec::new(), 0);
    while run.step().expect("no violation") {
        events += 1;
        let stormy = run.world().now().nanos() > 20_000_000_000;
        if stormy && events % 8 == 0 && run.world().next_entry().is_some() {
            let mut world = run.world().clone();
            world.cache_digests();
            worlds.push(world);
        }
        if worlds.len() == 200 {
            break;
        }
    }
    worlds
}

fn steps(case: &dyn Case) {
    let worlds = worlds(case);
    let clone = best(|| {
        let start = Instant::now();
        for world in &worlds {
            for _ in 0..SUCCESSORS {
                black_box(world.clone());
            }
        }
        start.elapsed()
    });
    println!("one step of a search, over {} worlds", worlds.len());
    println!(
        "  clone                      {:>9.0} ns",
        clone.as_nanos() as f64 / (worlds.len() * SUCCESSORS) as f64
    );
    let run = walk(&worlds, EXPANSIONS, Duration::MAX, Memo::off);
    println!("  clone, run and hash        {:>9.0} ns", run.nanos);
    println!("  steps                      {:>9}", run.steps);
    println!("  of these rebuild a routine {:>9}", run.rebuilt);
    let few: Vec<World> = worlds.into_iter().step_by(20).collect();
    let searched = walk(&few, SEARCH, HORIZON, Memo::new);
    let (known, missed) = searched.known;
    println!(
        "the same by memory, {SEARCH} worlds from each of {}",
        few.len()
    );
    println!("  clone, apply and hash      {:>9.0} ns", searched.nanos);
    println!("  steps                      {:>9}", searched.steps);
    println!(
        "  of these had to be run     {missed:>9} of {}",
        known + missed
    );
}

/// What one walk of a search did.
#[derive(Default)]
struct Walked {
    steps: u64,
    /// Routines that were run again from their beginning.
    rebuilt: u64,
    /// Steps that were known, and that were not.
    known: (u64, u64),
    /// A step took so long.
    nanos: f64,
}

/// Depth first from each world, with a new memory for each: no state is expanded twice.
fn walk(worlds: &[World], expansions: usize, horizon: Duration, memory: fn() -> Memo) -> Walked {
    let mut walked = Walked::default();
    let took = best(|| {
        walked = Walked::default();
        let start = Instant::now();
        for world in worlds {
            let mut memo = memory();
            let until = world.now() + horizon;
            let mut frontier = vec![world.clone()];
            let mut seen = BTreeSet::new();
            for _ in 0..expansions {
                let Some(world) = frontier.pop() else {
                    break;
                };
                let near = world.pending().take_while(|entry| entry.at <= until);
                for entry in near.take(SUCCESSORS) {
                    let mut next = world.clone();
                    let event = Event::Pending(entry.seq);
                    let report = next.apply_known(&mut memo, entry.at, event);
                    World::recycle(report.expect("it is pending"));
                    next.cache_all_digests();
                    walked.steps += 1;
                    walked.rebuilt += next.rebuilt() - world.rebuilt();
                    if seen.insert(next.exact_digest()) {
                        frontier.push(next);
                    }
                }
            }
            let (known, missed) = memo.uses();
            walked.known.0 += known;
            walked.known.1 += missed;
        }
        start.elapsed()
    });
    walked.nanos = took.as_nanos() as f64 / walked.steps as f64;
    walked
}
