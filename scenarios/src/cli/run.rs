//! `wavetank run`.

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use wavetank_engine::Class;

use crate::attribution::{Attribution, attribute};
use crate::case::Case;
use crate::catalogue::{Catalogue, Listed};
use crate::head::build;
use crate::retell;
use crate::sweep::{Candidate, Ended, Found, Sweep, Swept};
use crate::trace_file::{self, check_writable};

use super::args::{Format, RunArgs};
use super::exit::{Exit, Problem};
use super::progress::Progress;
use super::report::{self, Fault, Property, Report, Totals, Verdict, Violation};
use super::{find, human, interrupt, print, print_json};

pub(super) fn run(catalogue: &dyn Catalogue, args: &RunArgs) -> Result<Exit, Problem> {
    let case = find::scenario(catalogue, &args.scenario, &args.composition.composition())?;
    let case = case.as_ref();
    check_case(case, args)?;
    check_writable(&args.out).map_err(Problem::new)?;
    let stop = interrupt::listen();
    let sweep = Sweep {
        jobs: args.jobs,
        keep_going: args.keep_going,
        time_box: args.time_box,
        all_traces: args.all_traces,
        stop: Some(stop),
        ..Sweep::new(case, args.seeds(), &args.out)
    };
    let progress = Progress::new(args.wants_all_seeds().then(|| args.seeds()));
    let swept = sweep.run(&progress).map_err(Problem::new)?;
    progress.finish();
    let violations = swept
        .candidates
        .iter()
        .flat_map(|candidate| look_into(case, candidate, stop))
        .collect();
    let (report, exit) = judge(case, args, &swept, violations);
    match args.format {
        Format::Human => print(&human::report(&report))?,
        Format::Json => print_json(&report)?,
    }
    Ok(exit)
}

/// Can the case be built, and does it have what is required of it?
fn check_case(case: &dyn Case, args: &RunArgs) -> Result<(), Problem> {
    let world = case
        .world(&case.derive(args.seeds().first))
        .map_err(Problem::new)?;
    let known: Vec<Listed> = world
        .properties()
        .map(|property| Listed::new(property.name(), ""))
        .collect();
    let unknown = |name: &&String| !known.iter().any(|k| k.name == **name);
    match args.require.iter().find(unknown) {
        None => Ok(()),
        Some(name) => Err(Problem::new(format!(
            "`{}` has no property `{name}`; {}",
            case.name(),
            find::help(name, &known, "it has")
        ))),
    }
}

/// Tells apart what has different reasons.
fn look_into(case: &dyn Case, candidate: &Candidate, stop: &AtomicBool) -> Vec<Violation> {
    let mut groups: Vec<(Attribution, Vec<&Found>)> = Vec::new();
    for found in &candidate.shortest {
        let attribution = match stop.load(Ordering::Relaxed) {
            true => Attribution::Unclear("interrupted".to_owned()),
            false => attribution(case, found),
        };
        match groups.iter_mut().find(|(other, _)| *other == attribution) {
            Some((_, group)) => group.push(found),
            None => groups.push((attribution, vec![found])),
        }
    }
    let is_one = groups.len() == 1;
    let looked_into = candidate.shortest.len() as u64;
    let violation = |(attribution, group): (Attribution, Vec<&Found>)| {
        let first = group.iter().map(|found| found.seed).min();
        Violation {
            seeds: match is_one {
                true => candidate.seeds,
                false => group.len() as u64,
            },
            others: match is_one {
                true => 0,
                false => candidate.seeds - looked_into,
            },
            first_seed: match is_one {
                true => candidate.first.seed,
                false => first.expect("a group has members"),
            },
            ..violation(case, group[0], &attribution)
        }
    };
    groups.into_iter().map(violation).collect()
}

fn attribution(case: &dyn Case, found: &Found) -> Attribution {
    let trace = found.trace.clone();
    match trace.and_then(|path| trace_file::read(&path).map_err(|error| error.to_string())) {
        Ok(trace) => attribute(case, &trace),
        Err(why) => Attribution::Unclear(why),
    }
}

fn violation(case: &dyn Case, found: &Found, attribution: &Attribution) -> Violation {
    let what = found.violation.clone();
    let trace = found.trace.as_ref().ok();
    Violation {
        expected: case.expects() == Some(what.property.as_str()),
        property: what.property,
        kind: what.kind,
        object: what.object,
        message: what.message,
        attribution: attribution.to_string(),
        explained_by: report::explained_by(attribution),
        seeds: 1,
        others: 0,
        first_seed: found.seed,
        shortest_seed: found.seed,
        events: found.events,
        trace: trace.map(|path| path.display().to_string()),
        replay: trace.map(|path| replay_line(path)),
        story: story(case, found).unwrap_or_else(|why| vec![format!("no story: {why}")]),
    }
}

fn story(case: &dyn Case, found: &Found) -> Result<Vec<String>, String> {
    let path = found.trace.as_ref().map_err(String::clone)?;
    let trace = trace_file::read(path).map_err(|error| error.to_string())?;
    retell::story(case, &trace).map_err(|error| error.to_string())
}

/// What to type to replay a trace, by the way in which this command was started.
fn replay_line(trace: &Path) -> String {
    let path = trace.display().to_string();
    let path = match path.contains(|c: char| c.is_whitespace() || "'\"$\\".contains(c)) {
        true => format!("'{}'", path.replace('\'', r"'\''")),
        false => path,
    };
    let me = env::args().next().unwrap_or_else(|| "wavetank".to_owned());
    let me = Path::new(&me);
    let name = me.file_stem().unwrap_or_default().display();
    let is_example = me.parent().is_some_and(|dir| dir.ends_with("examples"));
    match env::var_os("CARGO") {
        Some(_) if is_example => format!("cargo run --release --example {name} -- replay {path}"),
        Some(_) => format!("cargo run --release -- replay {path}"),
        None => format!("{} replay {path}", me.display()),
    }
}

fn judge(
    case: &dyn Case,
    args: &RunArgs,
    swept: &Swept,
    violations: Vec<Violation>,
) -> (Report, Exit) {
    let missing = shortcomings(case, args, swept, &violations);
    let unexpected = violations.iter().any(|v| !v.expected);
    let (verdict, exit) = if unexpected {
        (Verdict::Violated, Exit::Violation)
    } else if !violations.is_empty() {
        (Verdict::FoundAsExpected, Exit::Clean)
    } else if swept.ended == Ended::Stopped {
        (Verdict::Interrupted, Exit::Interrupted)
    } else if !missing.is_empty() {
        (Verdict::Incomplete, Exit::Incomplete)
    } else {
        (Verdict::Clean, Exit::Clean)
    };
    let took = swept.took.as_secs_f64();
    let simulated = swept.totals.simulated.as_secs_f64();
    let rate = |amount: f64| if took > 0.0 { amount / took } else { 0.0 };
    let totals = Totals {
        seeds: swept.totals.seeds,
        events: swept.totals.events,
        simulated_seconds: simulated,
        real_seconds: took,
        simulated_per_real_second: rate(simulated),
        events_per_real_second: rate(swept.totals.events as f64),
    };
    let report = Report {
        version: report::VERSION,
        case: case.name().to_owned(),
        identity: case.identity(),
        build: build(),
        verdict,
        exit_code: exit as u8,
        because: missing,
        seeds: match args.wants_all_seeds() {
            true => args.seeds().to_string(),
            false => format!("{}..", args.seeds().first),
        },
        totals,
        faults: faults(swept),
        properties: properties(swept),
        violations,
    };
    (report, exit)
}

/// What a clean sweep would have, and this one has not.
fn shortcomings(
    case: &dyn Case,
    args: &RunArgs,
    swept: &Swept,
    violations: &[Violation],
) -> Vec<String> {
    let mut missing = Vec::new();
    let found = swept.ended == Ended::Violation;
    if let Some(expected) = case.expects()
        && !violations.iter().any(|v| v.expected)
    {
        missing.push(format!("the expected violation of `{expected}` was not found"));
    }
    // A sweep that stops at a violation has not had the time for the rest.
    if !found {
        let untested = swept.untested();
        missing.extend(
            untested
                .iter()
                .map(|name| format!("the guarantee `{name}` was never put to the test")),
        );
    }
    for name in &args.require {
        let property = swept.totals.properties.get(name.as_str());
        if property.is_none_or(|property| property.tested.total == 0) {
            missing.push(format!("`{name}`, which is required, was never reached"));
        }
    }
    if swept.ended == Ended::TimeBox && args.wants_all_seeds() {
        let (ran, all) = (swept.totals.seeds, args.seeds().count);
        missing.push(format!("the time was over after {ran} of {all} seeds"));
    }
    missing
}

fn faults(swept: &Swept) -> Vec<Fault> {
    let struck = swept.totals.struck.iter();
    struck
        .map(|(kind, count)| Fault {
            kind: kind.name(),
            struck: (*count).into(),
        })
        .collect()
}

/// Guarantees first, then the other classes.
fn properties(swept: &Swept) -> Vec<Property> {
    [Class::Guarantee, Class::Observation, Class::Sometimes]
        .into_iter()
        .flat_map(|class| {
            let all = swept.totals.properties.iter();
            all.filter(move |(_, p)| p.class == class)
        })
        .map(|(name, property)| Property {
            name,
            class: report::class(property.class),
            tested: property.tested.into(),
            violated: property.violated.into(),
        })
        .collect()
}
