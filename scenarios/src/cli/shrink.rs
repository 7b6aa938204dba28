//! `wavetank shrink`.

use std::path::{Path, PathBuf};

use crate::catalogue::Catalogue;
use crate::replay;
use crate::shrink::{Effort, Shrunk};
use crate::trace_file;

use super::args::ShrinkArgs;
use super::exit::{Exit, Problem};
use super::{find, human, print};

pub(super) fn shrink(catalogue: &dyn Catalogue, args: &ShrinkArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let shown = args.trace.display();
    if trace.end().violation.is_none() {
        return Err(Problem::new(format!(
            "{shown}: it holds no violation, so there is nothing to keep"
        )));
    }
    let out = args.out.clone().unwrap_or_else(|| beside(&args.trace));
    let dir = match out.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    trace_file::check_writable(dir).map_err(Problem::new)?;
    let effort = Effort {
        attempts: args.attempts,
        time_box: args.time_box,
    };
    let shrunk = crate::shrink::shrink(case.as_ref(), &trace, effort).ok_or_else(|| {
        Problem::misfit(format!(
            "{shown}: what was chosen in it, simulated again in this build, does not show its \
             violation"
        ))
    })?;
    trace_file::write_at(&out, &shrunk.trace.to_bytes())
        .map_err(|error| Problem::new(format!("cannot write `{}`: {error}", out.display())))?;
    let story = replay::story(case.as_ref(), &shrunk.trace)
        .map_err(|error| Problem::misfit(error.to_string()))?;
    print(&report(&shrunk, &story, &out))?;
    Ok(Exit::Clean)
}

/// `x.trace.gz` becomes `x-shrunk.trace`: a small trace is not compressed.
pub(super) fn beside(trace: &Path) -> PathBuf {
    trace.with_file_name(format!("{}-shrunk.trace", trace_file::stem(trace)))
}

fn report(shrunk: &Shrunk, story: &[String], out: &Path) -> String {
    let found = shrunk.trace.end().violation.as_ref();
    let found = found.expect("shrinking keeps the violation");
    format!(
        "{}\n\nviolation of {}\n  blame       {}\n  trace       {}\n{}",
        sizes(shrunk),
        replay::in_words(found),
        shrunk.attribution,
        out.display(),
        human::story(story),
    )
}

fn sizes(shrunk: &Shrunk) -> String {
    let Shrunk {
        before,
        after,
        attempts,
        ..
    } = shrunk;
    let simulations = format!("{} simulations", human::thousands(*attempts));
    let mut table = human::table(&[&simulations, "before", "after"]);
    let figures = [
        ("events", before.events, after.events),
        ("faults and operations", before.actions, after.actions),
        ("odd latencies", before.delays, after.delays),
        ("odd choices", before.choices, after.choices),
        ("processes", before.processes, after.processes),
    ];
    for (name, before, after) in figures {
        let [before, after] = [before, after].map(human::thousands);
        table.add_row([name.to_owned(), before, after]);
    }
    let [before, after] = [before, after].map(|size| format!("{:.3}", size.time.secs_f64()));
    table.add_row(["virtual seconds".to_owned(), before, after]);
    human::aligned(table)
}
