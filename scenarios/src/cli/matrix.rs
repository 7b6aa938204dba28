//! `wavetank matrix`: a scenario with all that is known fixed, and with one defect at a time.
//!
//! Here the sweeps are made; `report` has what came out and the verdict, `table` shows it.

mod report;
mod table;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::case::{Case, Flip};
use crate::catalogue::{Catalogue, Composition, Listed};
use crate::shrink::Effort;
use crate::sweep::{Candidate, Sweep};
use crate::trace_file::{self, check_writable};

use super::args::{Format, MatrixArgs};
use super::exit::{Exit, Problem};
use super::progress::Progress;
use super::shrink::beside;
use super::{find, found, interrupt, print, print_json};

use report::{Hit, Report, Row, Small};

/// So many seeds that show a defect are enough.
const ENOUGH: usize = 3;
/// A trace is made smaller with simulations of about so many events,
const SHRINK_EVENTS: u64 = 6_000_000;
/// but not with more simulations than this,
const MOST_ATTEMPTS: u64 = 400;
/// and not at all if so few are possible.
const FEWEST_ATTEMPTS: u64 = 20;

pub(super) fn matrix(catalogue: &dyn Catalogue, args: &MatrixArgs) -> Result<Exit, Problem> {
    let open =
        |defects: &[String]| find::scenario(catalogue, &args.scenario, &args.composition(defects));
    let fixed = open(&[])?;
    let mut cases = Vec::new();
    for defect in chosen(fixed.as_ref(), args)? {
        cases.push((open(std::slice::from_ref(&defect.name))?, defect));
    }
    check_writable(&args.out).map_err(Problem::new)?;
    let stop = interrupt::listen();
    eprintln!("fixed");
    let mut rows = vec![row(fixed.as_ref(), None, args, stop)?];
    for (case, defect) in &cases {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        eprintln!("with `{}`", defect.name);
        rows.push(row(case.as_ref(), Some(defect), args, stop)?);
    }
    look_for_scopes(catalogue, &mut rows);
    let is_whole = !stop.load(Ordering::Relaxed);
    let (report, exit) = Report::new(fixed.as_ref(), args, rows, is_whole);
    match args.format {
        Format::Human => print(&table::table(&report))?,
        Format::Json => print_json(&report)?,
    }
    Ok(exit)
}

/// The defects to look for.
fn chosen(fixed: &dyn Case, args: &MatrixArgs) -> Result<Vec<Flip>, Problem> {
    let all = fixed.missing_defects();
    if args.defect.is_empty() {
        return Ok(all);
    }
    let named = |name: &String| {
        let found = all.iter().find(|defect| defect.name == *name);
        found.cloned().ok_or_else(|| {
            let mut hidden = fixed.hidden_defects().into_iter();
            if let Some(hidden) = hidden.find(|hidden| hidden.name == *name) {
                return Problem::new(format!(
                    "`{name}` does not show in `{}`: it shows only with {}",
                    fixed.name(),
                    hidden.shows_with
                ));
            }
            let listed = |defect: &Flip| Listed::new(&defect.name, &defect.about);
            let listed: Vec<Listed> = all.iter().map(listed).collect();
            Problem::new(format!(
                "`{name}` is no defect that has a place in `{}`; {}",
                fixed.name(),
                find::help(name, &listed, "those that have are")
            ))
        })
    };
    args.defect.iter().map(named).collect()
}

/// What the seeds do not show, a scope may.
fn look_for_scopes(catalogue: &dyn Catalogue, rows: &mut [Row]) {
    let mut missed: Vec<&mut Row> = rows.iter_mut().filter(|row| row.is_missed()).collect();
    if missed.is_empty() {
        return;
    }
    for listed in catalogue.scopes() {
        let opened = catalogue.open(&listed.name, &Composition::default());
        let scope = opened.ok().and_then(|case| case.scope());
        let shows = scope.map_or_else(Vec::new, |scope| scope.shows);
        for row in &mut missed {
            if row.defect.as_ref().is_some_and(|own| shows.contains(own)) {
                row.shown_by.push(listed.name.clone());
            }
        }
    }
}

/// Sweeps one case; its traces are on disk before they are looked at.
fn row(
    case: &dyn Case,
    defect: Option<&Flip>,
    args: &MatrixArgs,
    stop: &AtomicBool,
) -> Result<Row, Problem> {
    let out = args.out.join(defect.map_or("fixed", |defect| &defect.name));
    let sweep = Sweep {
        jobs: args.jobs,
        keep_going: args.keep_going,
        enough: ENOUGH,
        stop: Some(stop),
        ..Sweep::new(case, args.seeds, &out)
    };
    let progress = Progress::new(Some(args.seeds.count));
    let swept = sweep.run(&progress).map_err(Problem::new)?;
    progress.finish();
    let mut hits = Vec::new();
    for candidate in &swept.candidates {
        hits.push(Hit {
            violation: found::tell(case, candidate),
            shrunk: smaller(case, candidate)?,
        });
    }
    Ok(Row::new(defect, &swept, hits))
}

/// The shortest trace of a violation made smaller, if that is cheap.
fn smaller(case: &dyn Case, candidate: &Candidate) -> Result<Option<Small>, Problem> {
    let found = &candidate.shortest;
    let attempts = (SHRINK_EVENTS / found.events.max(1)).min(MOST_ATTEMPTS);
    let Some(path) = found
        .trace
        .as_ref()
        .ok()
        .filter(|_| attempts >= FEWEST_ATTEMPTS)
    else {
        return Ok(None);
    };
    let trace = trace_file::read(path).map_err(|error| Problem::new(error.to_string()))?;
    let effort = Effort {
        attempts,
        ..Effort::default()
    };
    let Some(shrunk) = crate::shrink::shrink(case, &trace, effort) else {
        return Ok(None);
    };
    let out = beside(path);
    write(&out, &shrunk.trace.to_bytes())?;
    Ok(Some(Small {
        events: shrunk.after.events,
        trace: out.display().to_string(),
    }))
}

fn write(out: &Path, bytes: &[u8]) -> Result<(), Problem> {
    trace_file::write_at(out, bytes)
        .map_err(|error| Problem::new(format!("cannot write `{}`: {error}", out.display())))
}
