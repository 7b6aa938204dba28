//! Looks for seeds that show what those of `scenarios/tests/pins.txt` no longer do, and writes them down:
//!
//!     cargo run -p wavetank --example pins -- [--seeds 0..2000] [--jobs 2] [DEFECT|SCENARIO..]
//!
//! A seed that still shows its defect stays. Each that is found is written at once, so a search that is ended early
//! has not been in vain.

mod pin;
mod search;

use std::fs;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread::available_parallelism;

use clap::Parser;
use wavetank::seeds::Seeds;

use pin::Pin;
use search::{Group, News};

/// Looks for seeds that show the defects of `scenarios/tests/pins.txt`.
#[derive(Parser, Debug)]
struct Args {
    /// Defects, fixes, or scenarios with all of theirs; all, if none is named.
    names: Vec<String>,
    /// Among these another seed is looked for.
    #[arg(long, default_value = "0..2000")]
    seeds: Seeds,
    /// On how many threads; 0 is one a core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let cores = || available_parallelism().map_or(1, usize::from);
    let jobs = match args.jobs {
        0 => cores(),
        jobs => jobs,
    };
    let seeds = args.seeds.first..args.seeds.first.saturating_add(args.seeds.count);
    for name in &args.names {
        let mut all = pin::read().into_iter().flatten();
        if !all.any(|pin| pin.switch == *name || pin.scenario == *name) {
            eprintln!(
                "error: no line of {} has `{name}`: add one first, `SCENARIO RELEASE SWITCH SEED PROPERTY`; any seed \
                 will do, this command finds another",
                pin::path().display()
            );
            return ExitCode::from(2);
        }
    }
    let writing = Mutex::new(());
    let mut missing = Vec::new();
    for pins in groups(&args.names) {
        let first = &pins[0];
        println!("{} {}: {} pins", first.scenario, first.release, pins.len());
        let group = Group::of(pins);
        let stale = group.stale(jobs);
        for pin in &stale {
            println!("  stale    {}", pin.line());
        }
        missing.extend(group.find(stale, seeds.clone(), jobs, &|news| hear(news, &writing)));
    }
    for pin in &missing {
        println!("no seed of {} shows {}", args.seeds, pin.line());
    }
    match missing.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The pins of these switches, by scenario and release.
fn groups(names: &[String]) -> Vec<Vec<Pin>> {
    let mut groups: Vec<Vec<Pin>> = Vec::new();
    for pin in pin::read().into_iter().flatten() {
        let is_named = names.contains(&pin.switch) || names.contains(&pin.scenario);
        if !names.is_empty() && !is_named {
            continue;
        }
        let of = |own: &Pin| (own.scenario.clone(), own.release.clone());
        match groups.iter_mut().find(|own| of(&own[0]) == of(&pin)) {
            Some(group) => group.push(pin),
            None => groups.push(vec![pin]),
        }
    }
    groups
}

/// Tells what is new, and writes down what is found, into the table as it is by then.
fn hear(news: News, writing: &Mutex<()>) {
    match news {
        News::Found(found) => {
            println!("  found    {}", found.line());
            let _alone = writing.lock().expect("nobody panicked");
            let mut table = pin::read();
            for pin in table.iter_mut().flatten() {
                if pin.switch == found.switch {
                    pin.clone_from(&found);
                }
            }
            let lines = table.iter().map(|line| match line {
                Ok(pin) => format!("{}\n", pin.line()),
                Err(comment) => format!("{comment}\n"),
            });
            fs::write(pin::path(), lines.collect::<String>()).expect("the table can be written");
        }
        News::Otherwise(pin) => println!("  but also {}", pin.line()),
        News::NotClean(seed, property) => {
            println!("  seed {seed} violates {property} although all is fixed");
        }
    }
}
