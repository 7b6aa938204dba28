//! `wavetank run`.

use crate::case::Case;
use crate::catalogue::{Catalogue, Listed};
use crate::sweep::Sweep;
use crate::trace_file::check_writable;

use super::args::{Format, RunArgs};
use super::exit::{Exit, Problem};
use super::progress::Progress;
use super::{find, found, human, interrupt, judge, junit, print, print_json};

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
    let stop = interrupt::listen();
    let sweep = Sweep {
        jobs: args.jobs,
        keep_going: args.keep_going,
        blame: args.blame,
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
        .map(|candidate| found::tell(case, candidate))
        .collect();
    let (report, exit) = judge::judge(case, args, &swept, violations);
    if let Some(path) = &args.report {
        junit::write(path, &junit::swept(&report))?;
    }
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
