//! Tries the mutants, several at a time, and tells of each as it is done.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;

use super::MutantsArgs;
use super::report::{Report, Row};
use crate::catalogue::Catalogue;
use crate::cli::args::Format;
use crate::cli::exit::{Exit, Problem};
use crate::cli::progress::Ticker;
use crate::cli::{human, interrupt, print, print_json};
use crate::mutants::{Effort, Mutant, Target, Trial, targets};
use crate::stopwatch::Stopwatch;

pub(super) fn run(
    catalogue: &dyn Catalogue,
    args: &MutantsArgs,
    chosen: &[&'static Mutant],
) -> Result<Exit, Problem> {
    let clock = Stopwatch::start();
    let stop = interrupt::listen();
    let (done, file) = resumed(args)?;
    let targets = wanted(catalogue, args)?;
    let effort = Effort {
        profiled: args.profile.min(args.seeds),
        seeds: args.seeds,
        patience: args.patience,
    };
    let threads = match args.jobs {
        0 => available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let trials = profiled(&targets, &effort, threads, stop);
    let (trials, unfit): (Vec<_>, Vec<_>) = trials
        .into_iter()
        .partition(|t| t.baseline().violated().is_none());
    for trial in &unfit {
        let violated = trial.baseline().violated().unwrap_or_default();
        eprintln!(
            "left out: {}, which violates {violated} without any mutant",
            trial.name()
        );
    }
    eprintln!(
        "{} without a mutant took {}",
        human::count(trials.len() as u64, "target"),
        human::duration(clock.elapsed().as_secs_f64())
    );
    let file = file.map(Mutex::new);
    let tried = each(chosen.len(), threads, |at| {
        let mutant = chosen[at];
        if let Some(row) = done.get(mutant.name) {
            return Some(row.clone());
        }
        if stop.load(Relaxed) {
            return None;
        }
        let tried = mutant.try_all(&trials, &effort, &|| stop.load(Relaxed));
        if stop.load(Relaxed) && tried.noticed.is_none() {
            return None;
        }
        let row = Row::new(mutant, &tried);
        eprintln!("{}", row.line());
        if let Some(file) = &file {
            let mut file = file.lock().unwrap_or_else(|broken| broken.into_inner());
            let line = serde_json::to_string(&row).unwrap_or_default();
            if let Err(error) = writeln!(file, "{line}") {
                eprintln!(
                    "note: cannot write the result of `{}`: {error}",
                    mutant.name
                );
            }
        }
        Some(row)
    });
    let rows: Vec<Row> = tried.into_iter().flatten().collect();
    let is_whole = rows.len() == chosen.len();
    let (report, exit) = Report::new(rows, is_whole, clock.elapsed());
    match args.format {
        Format::Human => print(&report.table())?,
        Format::Json => print_json(&report)?,
    }
    Ok(exit)
}

/// The results that are there already, and the file for those that come.
fn resumed(args: &MutantsArgs) -> Result<(BTreeMap<String, Row>, Option<File>), Problem> {
    let Some(path) = &args.resume else {
        return Ok((BTreeMap::new(), None));
    };
    let wrong = |what: &str, error: &dyn std::fmt::Display| {
        Problem::new(format!("{what} `{}`: {error}", path.display()))
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(wrong("cannot read", &error)),
    };
    let mut done = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let row: Row = serde_json::from_str(line)
            .map_err(|error| wrong("cannot go on with", &format!("line {number}: {error}")))?;
        done.insert(row.name.clone(), row);
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|error| wrong("cannot write", &error))?;
    Ok((done, Some(file)))
}

/// The targets that are asked for.
fn wanted(catalogue: &dyn Catalogue, args: &MutantsArgs) -> Result<Vec<Target>, Problem> {
    let all = targets(catalogue).map_err(Problem::new)?;
    let is_meant = |target: &Target| {
        let mut within = args.within.iter();
        args.within.is_empty() || within.any(|part| target.name.contains(&**part))
    };
    let names: Vec<String> = all.iter().map(|target| target.name.clone()).collect();
    let wanted: Vec<Target> = all.into_iter().filter(is_meant).collect();
    match wanted.is_empty() {
        true => Err(Problem::new(format!(
            "nothing has {} in its name; there are {}",
            args.within.join(" or "),
            names.join(", ")
        ))),
        false => Ok(wanted),
    }
}

/// Each target without a mutant.
fn profiled<'a>(
    targets: &'a [Target],
    effort: &Effort,
    threads: usize,
    stop: &AtomicBool,
) -> Vec<Trial<'a>> {
    let (ticker, done) = (Ticker::new(), AtomicUsize::new(0));
    let run = |at: usize| {
        let trial = Trial::of(&targets[at], effort, &|| stop.load(Relaxed));
        let done = done.fetch_add(1, Relaxed) + 1;
        ticker.tick(|| format!("{done} of {} targets without a mutant", targets.len()));
        trial
    };
    each(targets.len(), threads, run)
}

/// Does so many things, several at a time; what comes of them is in their order.
fn each<R: Send>(count: usize, threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count).max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Relaxed);
                    if at >= count {
                        return;
                    }
                    let result = work(at);
                    results
                        .lock()
                        .expect("no worker panicked")
                        .insert(at, result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no worker panicked");
    results.into_values().collect()
}
