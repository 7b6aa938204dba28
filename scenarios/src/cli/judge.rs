//! The verdict on a sweep.

use std::path::Path;

use wavetank_engine::{Action, Class};

use crate::case::Case;
use crate::head::build;
use crate::sweep::{Asked, Ended, PlannedTotal, Swept};

use super::args::Format;
use super::exit::{Exit, Problem};
use super::report::{self, Fault, Planned, Property, Report, Totals, Verdict, Violation};
use super::{human, junit, print, print_json};

/// The report on a sweep in which these violations were found, and in which so much is missing, and how the command
/// ends.
pub(super) fn judge(
    case: &dyn Case,
    asked: &Asked,
    swept: &Swept,
    violations: Vec<Violation>,
    missing: Vec<String>,
) -> (Report, Exit) {
    let unexpected = violations.iter().any(|v| !v.expected);
    let unwritten = violations.iter().any(|v| v.trace.is_none());
    let (verdict, exit) = if unwritten {
        // What was found is told; but a failure that is not on disk is a failure of this command.
        (Verdict::Violated, Exit::CouldNotRun)
    } else if unexpected {
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
        seeds: match asked.wants_all_seeds {
            true => asked.seeds.to_string(),
            false => format!("{}..", asked.seeds.first),
        },
        totals,
        faults: faults(swept),
        planned: swept.totals.planned.iter().map(planned).collect(),
        properties: properties(swept),
        violations,
    };
    (report, exit)
}

/// Writes the report as JUnit, if that is asked for, and prints it.
pub(super) fn tell(report: &Report, junit: Option<&Path>, format: Format) -> Result<(), Problem> {
    if let Some(path) = junit {
        junit::write(path, &junit::swept(report))?;
    }
    match format {
        Format::Human => print(&human::report(report)),
        Format::Json => print_json(report),
    }
}

/// What a clean sweep would have, and this one has not.
pub(super) fn shortcomings(
    case: &dyn Case,
    asked: &Asked,
    swept: &Swept,
    violations: &[Violation],
) -> Vec<String> {
    let mut missing = Vec::new();
    let found = swept.ended == Ended::Violation;
    if let Some(expected) = case.expects()
        && !violations.iter().any(|v| v.expected)
    {
        missing.push(format!(
            "the expected violation of `{expected}` was not found"
        ));
    }
    // A sweep that stops at a violation has not had the time for the rest.
    if !found {
        let untested = swept.untested();
        missing.extend(untested.iter().map(|name| untested_guarantee(case, name)));
        missing.extend(swept.in_vain().into_iter().map(in_vain));
    }
    if found && swept.totals.seeds < asked.seeds.count {
        let ran = swept.totals.seeds;
        let seeds = match asked.wants_all_seeds {
            true => {
                let all = human::count(asked.seeds.count, "seed");
                format!("{} of {all}", human::thousands(ran))
            }
            false => human::count(ran, "seed"),
        };
        missing.push(format!(
            "stopped at the first violation, after {seeds}; --keep-going goes on"
        ));
    }
    for name in &asked.require {
        let property = swept.totals.properties.get(name.as_str());
        if property.is_none_or(|property| property.tested.total == 0) {
            missing.push(format!("`{name}`, which is required, was never reached"));
        }
    }
    if swept.ended == Ended::TimeBox && asked.wants_all_seeds {
        let (ran, all) = (swept.totals.seeds, asked.seeds.count);
        missing.push(format!("the time was over after {ran} of {all} seeds"));
    } else if swept.ended == Ended::TimeBox && swept.totals.seeds == 0 {
        missing.push("the time was over before one seed was run".to_owned());
    }
    missing
}

fn untested_guarantee(case: &dyn Case, name: &str) -> String {
    let what = format!("the guarantee `{name}` was never put to the test");
    match case.would_test(name) {
        Some(help) => format!("{what}: {help}"),
        None => what,
    }
}

/// A fault that somebody has placed by hand, and that strikes nothing, tests nothing; nor does a command that nobody hears.
fn in_vain(planned: &PlannedTotal) -> String {
    let at = planned.at;
    let what = match &planned.action {
        Action::Fault(fault) => {
            format!("the fault that is planned at {at} s, `{fault}`, struck nothing")
        }
        told @ Action::Command { .. } => {
            format!("nobody heard what is planned at {at} s, `{told}`")
        }
    };
    match planned.why.as_str() {
        "" => what,
        why => format!("{what}: {why}"),
    }
}

fn planned(own: &PlannedTotal) -> Planned {
    Planned {
        at_seconds: own.at.nanos() as f64 / 1e9,
        what: own.action.to_string(),
        struck: own.struck,
        missed: own.missed,
        why: own.why.clone(),
    }
}

fn faults(swept: &Swept) -> Vec<Fault> {
    let injected = swept.totals.injected.iter();
    injected
        .map(|(kind, count)| Fault {
            kind: kind.name(),
            injected: (*count).into(),
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
            name: name.to_string(),
            class: report::class(property.class),
            tested: property.tested.into(),
            violated: property.violated.into(),
        })
        .collect()
}
