//! `wavetank shrink`.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use crate::catalogue::Catalogue;
use crate::replay;
use crate::shrink::{Effort, Shrunk};
use crate::trace_file;

use super::args::ShrinkArgs;
use super::exit::{Exit, Problem};
use super::{find, human, interrupt, print};

pub(super) fn shrink(catalogue: &dyn Catalogue, args: &ShrinkArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let shown = args.trace.display();
    if trace.end().violation.is_none() {
        return Err(Problem::new(format!(
            "{shown}: it holds no violation, so there is nothing to keep"
        )));
    }
    let beside = beside(&args.trace);
    let out = args
        .out
        .as_deref()
        .map_or_else(|| beside.clone(), |out| place(out, &beside));
    let dir = match out.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    trace_file::check_writable(dir).map_err(Problem::new)?;
    let stop = interrupt::listen();
    let effort = Effort {
        attempts: args.attempts,
        time_box: args.time_box,
        stop: Some(stop),
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
    let is_interrupted = stop.load(Relaxed);
    let ended = ended(&shrunk, &out, is_interrupted);
    print(&(report(&shrunk, &story, &out) + &ended))?;
    Ok(match is_interrupted {
        true => Exit::Interrupted,
        false => Exit::Clean,
    })
}

/// Where the small trace goes: to this file, or into this folder.
fn place(out: &Path, beside: &Path) -> PathBuf {
    let is_folder = out.is_dir() || out.to_string_lossy().ends_with(MAIN_SEPARATOR);
    match beside.file_name() {
        Some(name) if is_folder => out.join(name),
        _ => out.to_owned(),
    }
}

/// Why it may become smaller still, if it was not all tried.
fn ended(shrunk: &Shrunk, out: &Path, is_interrupted: bool) -> String {
    if shrunk.is_whole {
        return String::new();
    }
    let so_far = format!(
        "after {}: the smallest trace so far is kept in {}",
        human::count(shrunk.attempts, "simulation"),
        out.display()
    );
    match is_interrupted {
        true => format!("interrupted {so_far}\n"),
        false => {
            format!(
                "stopped by --attempts or --for {so_far}; `shrink` of that one goes on from there\n"
            )
        }
    }
}

/// `x.trace.gz` becomes `x-shrunk.trace`: a small trace is not compressed.
pub(super) fn beside(trace: &Path) -> PathBuf {
    trace.with_file_name(format!("{}-shrunk.trace", trace_file::stem(trace)))
}

fn report(shrunk: &Shrunk, story: &[String], out: &Path) -> String {
    let found = shrunk.trace.end().violation.as_ref();
    let found = found.expect("shrinking keeps the violation");
    let what = format!("violation of {}", replay::in_words(found));
    [
        sizes(shrunk) + "\n\n",
        human::paragraph(&what),
        human::fact("blame", &shrunk.attribution.to_string()),
        human::fact("trace", &out.display().to_string()),
        human::story(story),
    ]
    .concat()
}

fn sizes(shrunk: &Shrunk) -> String {
    let Shrunk {
        before,
        after,
        attempts,
        ..
    } = shrunk;
    let simulations = human::count(*attempts, "simulation");
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
