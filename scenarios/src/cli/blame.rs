//! Looks into what a sweep has found: reason, trace, story.

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::attribution::{Attribution, attribute};
use crate::case::Case;
use crate::retell;
use crate::sweep::{Candidate, Found};
use crate::trace_file;

use super::report::{self, Violation};

/// Tells apart what has different reasons.
pub(super) fn look_into(
    case: &dyn Case,
    candidate: &Candidate,
    stop: &AtomicBool,
) -> Vec<Violation> {
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
        what,
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
