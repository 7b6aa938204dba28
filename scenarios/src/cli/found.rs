//! Tells what a sweep has found.

use std::env;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::case::Case;
use crate::replay;
use crate::shrink::Effort;
use crate::sweep::{Candidate, Found};
use crate::trace_file;

use super::report::{self, Smaller, Violation};
use super::shrink::beside;

/// A violation as it is reported, by the shortest run that shows it.
pub(super) fn tell(case: &dyn Case, candidate: &Candidate) -> Violation {
    let found = &candidate.shortest;
    let what = found.violation.clone();
    let trace = found.trace.as_ref().ok();
    let explained_by = report::explained_by(&found.attribution);
    let flips = case.flips();
    let about = |name: &String| flips.iter().find(|flip| flip.name == *name);
    let explanations = explained_by.iter().filter_map(about);
    Violation {
        expected: case.expects() == Some(what.property.as_str()),
        what,
        attribution: found.attribution.to_string(),
        explanations: explanations.map(|flip| flip.about.clone()).collect(),
        explained_by,
        seeds: candidate.seeds,
        first_seed: candidate.first.seed,
        shortest_seed: found.seed,
        events: found.events,
        trace: trace.map(|path| path.display().to_string()),
        replay: trace.map(|path| replay_line(path)),
        smaller: None,
        story: story(case, found).unwrap_or_else(|why| vec![format!("no story: {why}")]),
    }
}

/// Makes its trace smaller, by at most so many simulations; a smaller one of an earlier time stays. What cannot be done is
/// left as it was: the violation itself is told.
pub(super) fn shrink(
    case: &dyn Case,
    violation: &mut Violation,
    attempts: u64,
    stop: &'static AtomicBool,
) {
    let Some(path) = violation.trace.as_deref().map(Path::new) else {
        return;
    };
    let effort = Effort {
        attempts,
        stop: Some(stop),
        ..Effort::default()
    };
    let Some(trace) = trace_file::read(path).ok() else {
        return;
    };
    let Some(shrunk) = crate::shrink::shrink(case, &trace, effort) else {
        return;
    };
    let out = beside(path);
    let earlier = trace_file::read(&out).ok().filter(|earlier| {
        let is_same = earlier.head.identity == shrunk.trace.head.identity
            && earlier.end().violation == shrunk.trace.end().violation;
        is_same && earlier.end().events <= shrunk.after.events
    });
    let smallest = match earlier {
        Some(earlier) => earlier,
        None if shrunk.after == shrunk.before => return,
        None if trace_file::write_at(&out, &shrunk.trace.to_bytes()).is_err() => return,
        None => shrunk.trace,
    };
    if let Ok(story) = replay::story(case, &smallest) {
        let found = smallest.end();
        violation.story = story;
        violation.smaller = Some(Smaller {
            trace: out.display().to_string(),
            events: found.events,
            message: found.violation.as_ref().map(|own| own.message.clone()),
        });
    }
}

fn story(case: &dyn Case, found: &Found) -> Result<Vec<String>, String> {
    let path = found.trace.as_ref().map_err(String::clone)?;
    let trace = trace_file::read(path).map_err(|error| error.to_string())?;
    replay::story(case, &trace).map_err(|error| error.to_string())
}

/// What to type to replay a trace, by the way in which this command was started.
pub(super) fn replay_line(trace: &Path) -> String {
    let path = trace.display().to_string();
    let path = match path.contains(|c: char| c.is_whitespace() || "'\"$\\".contains(c)) {
        true => format!("'{}'", path.replace('\'', r"'\''")),
        false => path,
    };
    format!("{} replay {path}", this_command())
}

/// How this command was started, without its arguments.
pub(super) fn this_command() -> String {
    let me = env::args().next().unwrap_or_else(|| "wavetank".to_owned());
    let me = Path::new(&me);
    let name = me.file_stem().unwrap_or_default().display();
    let is_example = me.parent().is_some_and(|dir| dir.ends_with("examples"));
    // Cargo names the folder by the profile, and that of examples lies within it.
    let mut folders = me.ancestors().skip(1).take(2);
    let release = match folders.any(|dir| dir.ends_with("release")) {
        true => " --release",
        false => "",
    };
    match env::var_os("CARGO") {
        Some(_) if is_example => format!("cargo run{release} --example {name} --"),
        Some(_) => format!("cargo run{release} --"),
        None => me.display().to_string(),
    }
}
