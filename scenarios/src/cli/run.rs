//! `wavetank run`.

use std::io::{self, IsTerminal as _};

use crate::case::Case;
use crate::catalogue::{Catalogue, Listed};
use crate::head::build;
use crate::sweep::{Asked, Part, Shard, Sweep};
use crate::trace_file::check_writable;

use super::args::{RunArgs, shard};
use super::exit::{Exit, Problem};
use super::progress::Progress;
use super::report::Violation;
use super::{find, found, interrupt, judge, junit};

/// Somebody who looks at a terminal waits for so many simulations of each violation.
const SHRINK: u64 = 200;

pub(super) fn run(catalogue: &dyn Catalogue, args: &RunArgs) -> Result<Exit, Problem> {
    let case = find::scenario(catalogue, &args.scenario, &args.composition.composition())?;
    let case = case.as_ref();
    check_case(case, args)?;
    for hint in case.hints() {
        eprintln!("hint: {hint}");
    }
    check_writable(&args.out).map_err(Problem::new)?;
    if let Some(path) = &args.report {
        junit::check_writable(path)?;
    }
    let shard = shard(args.shard.as_deref())?;
    let stop = interrupt::listen();
    let sweep = Sweep {
        shard: shard.unwrap_or(Shard::WHOLE),
        jobs: args.jobs,
        keep_going: args.keep_going || shard.is_some(),
        blame: args.blame,
        time_box: args.time_box,
        all_traces: args.all_traces,
        stop: Some(stop),
        ..Sweep::new(case, args.seeds(), &args.out)
    };
    let progress = Progress::new(args.wants_all_seeds().then(|| sweep.count()));
    let swept = sweep.run(&progress).map_err(Problem::new)?;
    progress.finish();
    let asked = asked(case, args);
    if let Some(shard) = shard {
        let left = Part::new(asked.clone(), shard, &swept).write(&args.out);
        left.map_err(|error| {
            let out = args.out.display();
            Problem::new(format!(
                "cannot write what the shard has found into `{out}`: {error}"
            ))
        })?;
    }
    let mut violations: Vec<Violation> = swept
        .candidates
        .iter()
        .map(|candidate| found::tell(case, candidate))
        .collect();
    let attempts = args.shrink.unwrap_or(match io::stdout().is_terminal() {
        true => SHRINK,
        false => 0,
    });
    for violation in violations.iter_mut().filter(|_| attempts > 0) {
        found::shrink(case, violation, attempts, stop);
    }
    let missing = match shard {
        // Of a part not much can be said.
        Some(shard) => vec![part_of(shard, args)],
        None => judge::shortcomings(case, &asked, &swept, &violations),
    };
    let (report, exit) = judge::judge(case, &asked, &swept, violations, missing);
    judge::tell(&report, args.report.as_deref(), args.format)?;
    Ok(exit)
}

fn part_of(shard: Shard, args: &RunArgs) -> String {
    let (number, of, out) = (shard.number(), shard.of(), args.out.display());
    format!("this was shard {number} of {of}: `wavetank merge {out}` tells of all of them together")
}

fn asked(case: &dyn Case, args: &RunArgs) -> Asked {
    Asked {
        case: case.name().to_owned(),
        identity: case.identity(),
        build: build().to_owned(),
        seeds: args.seeds(),
        wants_all_seeds: args.wants_all_seeds(),
        blame: args.blame,
        require: args.require.clone(),
    }
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
