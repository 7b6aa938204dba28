//! How many runs a second: `cargo bench -p shop-operator`. Each is 60 virtual seconds of two replicas of the correct
//! operator in the storm of `tests/minute.yaml`, with its properties, on all cores. Nothing here is asserted.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch outside the simulated world"
)]

#[path = "../tests/suite/cluster.rs"]
mod cluster;

use std::time::Instant;

use shop_operator::correct;
use wavetank_host::wavetank::sweep::{Sweep, Unwatched};

/// Each figure is the best of so many rounds: noise only adds.
const ROUNDS: u64 = 5;
const SEEDS: u64 = 200;

fn main() {
    // `cargo test --all-targets` runs benches too, and has nothing to learn from this one.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let case = cluster::command(correct::run).fixed("tests/minute.yaml");
    let out = std::env::temp_dir().join(format!("speed-{}", std::process::id()));
    for round in 0..ROUNDS {
        let seeds = round * SEEDS..(round + 1) * SEEDS;
        let sweep = Sweep::new(case.as_ref(), seeds, &out);
        let start = Instant::now();
        let swept = sweep.run(&Unwatched).expect("it can run");
        let took = start.elapsed().as_secs_f64();
        let runs = swept.totals.seeds as f64;
        println!(
            "{runs} runs of {:.0} s and {:.0} events, on all cores: {:.1} runs a second",
            swept.totals.simulated.as_secs_f64() / runs,
            swept.totals.events as f64 / runs,
            runs / took
        );
        for candidate in &swept.candidates {
            println!("  violated: {}", candidate.first.violation.property);
        }
    }
}
