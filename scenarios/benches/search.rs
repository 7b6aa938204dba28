//! How fast `wavetank check` is, and what its reduction saves: `cargo bench --bench search
//! [-- speed|reduction|symmetry|rate [SCOPE]..]`. Ratios matter, since machines differ; no time is asserted.
//!
//! - Generated and unique states a second on the scope lease-endpoints of v1.36, beside stateright's
//!   depth-first search of a Paxos of actors (see `paxos`), each on all cores.
//! - Of every bundled scope, or of those that are named: the states of the full and of the reduced
//!   search, whether they come to the same verdict and have seen the properties remember the same.
//! - If asked for, how many times fewer states a reduction by symmetry could leave at most (see `symmetry`), and how fast
//!   a search is as it goes on, with and without recovery (see `rate`).

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch outside the simulated world"
)]

#[path = "search/paxos.rs"]
mod paxos;
#[path = "search/rate.rs"]
mod rate;
#[path = "search/symmetry.rs"]
mod symmetry;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::Instant;

use stateright::Checker as _;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_models::{Ended, Explored, Explorer, Recovery, Reduction};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // `cargo test --all-targets` runs benches too, and has nothing to learn from this one.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let only = |part: &str| {
        let mut named = std::env::args().filter(|arg| PARTS.contains(&&**arg));
        named.next().is_none_or(|arg| arg == part)
    };
    if only("speed") {
        speed();
    }
    if only("reduction") {
        reduction();
    }
    if std::env::args().any(|arg| arg == "symmetry") {
        symmetry();
    }
    if std::env::args().any(|arg| arg == "rate") {
        match named().as_slice() {
            [] => rate::rate(None),
            scopes => scopes.iter().for_each(|scope| rate::rate(Some(scope))),
        }
    }
}

const PARTS: [&str; 4] = ["speed", "reduction", "symmetry", "rate"];

/// The scopes that are named.
fn named() -> Vec<String> {
    let parts = std::env::args().skip_while(|arg| !PARTS.contains(&&**arg));
    parts.skip(1).filter(|arg| !arg.starts_with('-')).collect()
}

/// The scopes that are named, or all.
fn scopes() -> Vec<String> {
    let named = named();
    match named.is_empty() {
        true => Kube::default()
            .scopes()
            .into_iter()
            .map(|s| s.name.to_string())
            .collect(),
        false => named,
    }
}

/// What a search saw.
struct Searched {
    explored: Explored,
    seconds: f64,
    /// The most memory that the process had, in bytes.
    peak: u64,
}

fn opened(scope: &str, fixed: bool) -> Search {
    let composition = Composition {
        fixed,
        ..Composition::default()
    };
    let case = Kube::default()
        .open(scope, &composition)
        .expect("it is bundled");
    Search::of(case.as_ref()).expect("it is a scope")
}

fn search(scope: &str, fixed: bool, reduction: Reduction, threads: usize) -> Searched {
    let search = opened(scope, fixed);
    let recovery = search.calm.map(Recovery::within);
    let peak = AtomicU64::new(0);
    let look = || {
        let stats = memory_stats::memory_stats();
        let bytes = stats.map_or(0, |stats| stats.physical_mem as u64);
        peak.fetch_max(bytes, Relaxed);
    };
    let calls = AtomicU64::new(0);
    let began = Instant::now();
    let explored = Explorer {
        model: &search.model,
        recovery: recovery.as_ref(),
        reduction,
        threads,
        watch: &|_| {
            if calls.fetch_add(1, Relaxed).is_multiple_of(64) {
                look();
            }
            true
        },
    }
    .run_from(search.starts());
    let seconds = began.elapsed().as_secs_f64();
    Searched {
        explored,
        seconds,
        peak: peak.into_inner(),
    }
}

fn speed() {
    let threads = available_parallelism().map_or(1, usize::from);
    let searched = search("lease-endpoints", true, Reduction::NONE, threads);
    let progress = searched.explored.progress;
    let own = rates(progress.generated, progress.unique, searched.seconds);
    let bytes = searched.peak as f64 / progress.unique as f64;
    println!(
        "lease-endpoints of v1.36, {threads} threads   {own}   ({} states; {bytes:.0} bytes of the \
         whole process for each at its peak)",
        progress.unique
    );
    let began = Instant::now();
    let paxos = paxos::check(threads);
    let seconds = began.elapsed().as_secs_f64();
    let (generated, unique) = (
        paxos.state_count() as u64,
        paxos.unique_state_count() as u64,
    );
    let theirs = rates(generated, unique, seconds);
    println!("stateright's Paxos, {threads} threads         {theirs}   ({unique} states)");
}

fn rates(generated: u64, unique: u64, seconds: f64) -> String {
    format!(
        "{:>10.0} generated, {:>10.0} unique a second",
        generated as f64 / seconds,
        unique as f64 / seconds
    )
}

fn reduction() {
    println!(
        "{:<24} {:>10} {:>10} {:>7} {:>8} {:>8}   same verdict, same states of the properties",
        "scope", "full", "reduced", "factor", "full s", "reduced s"
    );
    for scope in scopes() {
        let full = search(&scope, true, Reduction::NONE, 1);
        let reduced = search(&scope, true, Reduction::ORDERS, 1);
        let (full_seconds, seconds) = (full.seconds, reduced.seconds);
        let (full, reduced) = (full.explored, reduced.explored);
        let violated = |explored: &Explored| match &explored.ended {
            Ended::Violated(found) => Some(found.violation.property.clone()),
            Ended::Complete => None,
            Ended::Stopped => unreachable!("nobody stops it"),
        };
        let remembered = [&full, &reduced].map(|one| one.coverage.remembered());
        let complete = violated(&full).is_none();
        println!(
            "{:<24} {:>10} {:>10} {:>6.1}x {:>8.1} {:>8.1}   {}, {}",
            scope,
            full.progress.unique,
            reduced.progress.unique,
            full.progress.unique as f64 / reduced.progress.unique as f64,
            full_seconds,
            seconds,
            if violated(&full) == violated(&reduced) {
                "yes"
            } else {
                "NO"
            },
            match (complete, remembered[0] == remembered[1]) {
                (false, _) => "ended at a violation".to_owned(),
                (true, true) => format!("yes ({})", remembered[0].len()),
                (true, false) =>
                    format!("NO ({} and {})", remembered[0].len(), remembered[1].len()),
            }
        );
    }
}

fn symmetry() {
    println!("{:<24} {:>10} {:>10}   at most", "scope", "states", "blurs");
    for scope in scopes() {
        match symmetry::blurs(&opened(&scope, true)) {
            Some((states, blurs)) => {
                let most = states as f64 / blurs as f64;
                println!("{scope:<24} {states:>10} {blurs:>10}   {most:.2}x");
            }
            None => println!("{scope:<24} too large"),
        }
    }
}
