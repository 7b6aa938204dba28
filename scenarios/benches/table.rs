//! One table of all that has a speed, to be kept and compared: `cargo bench --bench table [-- [--keep FILE] [--against FILE]
//! [--seconds N] [NAME..]]`.
//!
//! Each bundled storm runs on one core, each bundled scope is searched on all, both `--fixed` and for so many seconds (2) at
//! least; a scope ends when it is done. Beside each figure stands that of a bare event loop, run just before and after it:
//! `--against` divides both, so that a machine that is slower today is no difference. `NAME` is a part of names.
//!
//! - `figures`: the table, as text and as JSON, and two of them compared.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch outside the simulated world"
)]

#[path = "yard/bare.rs"]
mod bare;
#[path = "table/figures.rs"]
mod figures;
#[path = "search/paxos.rs"]
mod paxos;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use stateright::Checker as _;
use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_engine::trace::Record;
use wavetank_models::{Explorer, Recovery, Reduction};

use crate::figures::{Row, Table, Unit};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str =
    "usage: cargo bench --bench table [-- [--keep FILE] [--against FILE] [--seconds N] [NAME..]]";

/// What is asked for.
#[derive(Default)]
struct Asked {
    keep: Option<String>,
    against: Option<String>,
    seconds: u64,
    names: Vec<String>,
}

impl Asked {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut arguments = arguments;
        let mut asked = Asked {
            seconds: 2,
            ..Asked::default()
        };
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or(format!("{argument} wants a value\n{USAGE}"))
            };
            match argument.as_str() {
                // Cargo says it.
                "--bench" => {}
                "--keep" => asked.keep = Some(value()?),
                "--against" => asked.against = Some(value()?),
                "--seconds" => {
                    let text = value()?;
                    let number = text.parse().ok().filter(|seconds| *seconds > 0);
                    asked.seconds = number.ok_or(format!(
                        "--seconds wants a whole number from 1 on, not {text}"
                    ))?;
                }
                flag if flag.starts_with('-') => {
                    return Err(format!("there is no flag {flag}\n{USAGE}"));
                }
                name => asked.names.push(name.to_owned()),
            }
        }
        Ok(asked)
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str()))
    }
}

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benches too, and has nothing to learn from this one.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("error: {wrong}");
            ExitCode::from(2)
        }
    }
}

fn measure() -> Result<(), String> {
    let asked = Asked::read(std::env::args().skip(1))?;
    let before = asked.against.as_deref().map(Table::of_file).transpose()?;
    let mut table = Table::default();
    println!("{}", Row::HEAD);
    let mut add = |name: &str, unit: Unit, measure: &dyn Fn() -> f64| {
        if !asked.wants(name) {
            return;
        }
        let row = Row::beside(name, unit, bare_rate, measure);
        println!("{row}");
        table.rows.push(row);
    };
    let least = Duration::from_secs(asked.seconds);
    let kube = Kube::default();
    for scenario in kube.scenarios() {
        let name = format!("storm {}", scenario.name);
        add(&name, Unit::Events, &|| storm(&kube, &scenario.name, least));
    }
    for scope in kube.scopes() {
        let name = format!("scope {}", scope.name);
        add(&name, Unit::States, &|| search(&kube, &scope.name, least));
    }
    add("yardstick stateright's Paxos", Unit::States, &|| {
        let began = Instant::now();
        let checked = paxos::check(threads());
        checked.unique_state_count() as f64 / began.elapsed().as_secs_f64()
    });
    if table.rows.is_empty() {
        return Err(format!(
            "nothing has a name like {}",
            asked.names.join(" or ")
        ));
    }
    if let Some(file) = &asked.keep {
        table.keep(file)?;
    }
    if let Some(before) = before {
        println!("{}", table.compared(&before));
    }
    Ok(())
}

fn threads() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Events of a bare loop in a second.
fn bare_rate() -> f64 {
    const EVENTS: u64 = 400_000;
    EVENTS as f64 / bare::run(EVENTS).as_secs_f64()
}

fn fixed() -> Composition {
    Composition {
        fixed: true,
        ..Composition::default()
    }
}

/// Events of a storm in a second: whole seeds from 0 on, until the time is over.
fn storm(kube: &Kube, scenario: &str, least: Duration) -> f64 {
    let case = kube.open(scenario, &fixed()).expect("it is bundled");
    let (mut events, mut record) = (0, Record::default());
    let began = Instant::now();
    for seed in 0.. {
        let outcome = run_seed(case.as_ref(), seed, None, record);
        events += outcome.tallies.events;
        record = outcome.record;
        if began.elapsed() > least {
            break;
        }
    }
    events as f64 / began.elapsed().as_secs_f64()
}

/// States of a scope in a second, until it is done or the time is over.
fn search(kube: &Kube, scope: &str, least: Duration) -> f64 {
    let case = kube.open(scope, &fixed()).expect("it is bundled");
    let search = Search::of(case.as_ref()).expect("it is a scope");
    let recovery = search.calm.map(Recovery::within);
    let is_over = AtomicBool::new(false);
    let began = Instant::now();
    let explored = Explorer {
        model: &search.model,
        recovery: recovery.as_ref(),
        reduction: Reduction::NONE,
        threads: threads(),
        watch: &|_| {
            is_over.fetch_or(began.elapsed() > least, Relaxed);
            !is_over.load(Relaxed)
        },
    }
    .run_from(search.starts());
    explored.progress.unique as f64 / began.elapsed().as_secs_f64()
}
