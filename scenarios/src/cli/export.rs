//! `wavetank report`: a whole trace, or what a sweep found, for a browser and for programs that show traces.

use std::path::Path;

use serde_json::Value as Json;

use crate::case::Case;
use crate::catalogue::Catalogue;
use crate::explain::page::{embedded, escaped, filled};
use crate::explain::{self as explained, Effort, Unexplained, Wanted, Whole};
use crate::trace_file::{Trace, read_bytes, why};

use super::args::ReportArgs;
use super::exit::{Exit, Problem};
use super::report::VERSION;
use super::{explain, find, print, replay};

const SWEEP: &str = include_str!("../../page/sweep.html");
const SWEEP_STYLE: &str = include_str!("../../page/page.css");
const SWEEP_TEXTS: &str = include_str!("../../page/texts.js");
const SWEEP_SCRIPT: &str = include_str!("../../page/sweep.js");

pub(super) fn report(catalogue: &dyn Catalogue, args: &ReportArgs) -> Result<Exit, Problem> {
    if let Some(report) = sweep_report(&args.trace)? {
        return swept(args, report);
    }
    if let Some(earlier) = args.earlier.first() {
        return Err(Problem::new(format!(
            "--earlier {} is for reports of sweeps, and {} is a trace",
            earlier.display(),
            args.trace.display()
        )));
    }
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let mut told = String::new();
    if args.perfetto.is_some() || args.shiviz.is_some() {
        let whole = whole(args, case.as_ref(), &trace)?;
        if let Some(path) = &args.perfetto {
            explain::write(path, &whole.perfetto())?;
            told += &format!(
                "{}: for Perfetto, https://ui.perfetto.dev\n",
                path.display()
            );
        }
        if let Some(path) = &args.shiviz {
            explain::write(path, &whole.shiviz())?;
            told += &format!(
                "{}: for ShiViz, https://bestchai.bitbucket.io/shiviz\n",
                path.display()
            );
        }
    }
    if let Some(path) = &args.html {
        explain::write(path, &page(args, case.as_ref(), &trace)?)?;
        told += &format!("{}: for a browser\n", path.display());
    }
    print(&told)?;
    Ok(Exit::Clean)
}

fn whole(args: &ReportArgs, case: &dyn Case, trace: &Trace) -> Result<Whole, Problem> {
    Whole::of(case, trace).map_err(|error| replay::unfollowed(&error, &args.trace))
}

/// The page of a trace: with its explanation, if it ends in a violation.
fn page(args: &ReportArgs, case: &dyn Case, trace: &Trace) -> Result<String, Problem> {
    let unfollowed = |error| replay::unfollowed(&error, &args.trace);
    let wanted = Wanted {
        steps: args.steps,
        faults: args.attempts,
    };
    let explanation = match explained::explain(case, trace, wanted) {
        Ok(explanation) => explanation,
        Err(Unexplained::NoViolation) if args.futures.is_some() => {
            return Err(Problem::new(format!(
                "{}: it holds no violation, so --futures has nothing to look for",
                args.trace.display()
            )));
        }
        Err(Unexplained::NoViolation) => return Ok(whole(args, case, trace)?.page(trace)),
        Err(Unexplained::Unfollowed(error)) => return Err(unfollowed(error)),
    };
    let chances = args.futures.map(|futures| {
        let effort = Effort {
            futures,
            simulations: args.simulations,
        };
        explained::futures(case, trace, &explanation.violation, effort)
    });
    let chances = chances.transpose().map_err(unfollowed)?;
    Ok(explanation.page(trace, chances.as_ref()))
}

/// What `run --format json` has printed, if the file is that.
fn sweep_report(path: &Path) -> Result<Option<Json>, Problem> {
    let unreadable = |why: String| Problem::new(format!("{}: {why}", path.display()));
    let bytes = read_bytes(path).map_err(|error| unreadable(why(&error)))?;
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(None);
    }
    let report: Json = serde_json::from_slice(&bytes)
        .map_err(|error| unreadable(format!("no trace, and no report of a sweep: {error}")))?;
    let has = |key: &&str| report.get(*key).is_some();
    let lacks = ["case", "totals", "faults", "properties", "violations"];
    if let Some(lacking) = lacks.iter().find(|key| !has(key)) {
        return Err(unreadable(format!(
            "JSON, but no report of a sweep: it has no `{lacking}` (`run --format json` prints reports)"
        )));
    }
    match report["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => Ok(Some(report)),
        _ => Err(unreadable(format!(
            "its version is {}, and this build reads {VERSION}",
            report["version"]
        ))),
    }
}

fn swept(args: &ReportArgs, report: Json) -> Result<Exit, Problem> {
    let Some(path) = &args.html else {
        return Err(Problem::new(format!(
            "{} is a report of a sweep: there is --html FILE for it; --perfetto and --shiviz are for traces",
            args.trace.display()
        )));
    };
    let mut reports = Vec::new();
    for earlier in &args.earlier {
        let read = sweep_report(earlier)?.ok_or_else(|| {
            Problem::new(format!(
                "{}: this is no report of a sweep (`run --format json` prints reports)",
                earlier.display()
            ))
        })?;
        reports.push(read);
    }
    let title = report["case"].as_str().unwrap_or("sweep").to_owned();
    reports.push(report);
    let page = filled(
        SWEEP,
        &[
            ("title", &escaped(&title)),
            ("style", SWEEP_STYLE),
            ("reports", &embedded(&reports)),
            ("script", &[SWEEP_TEXTS, SWEEP_SCRIPT].concat()),
        ],
    );
    explain::write(path, &page)?;
    print(&format!("{}: for a browser\n", path.display()))?;
    Ok(Exit::Clean)
}
