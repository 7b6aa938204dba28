//! `wavetank shrink`.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

use wavetank_engine::trace::End;

use crate::catalogue::Catalogue;
use crate::replay;
use crate::shrink::{Effort, Shrunk};
use crate::trace_file;

use super::args::ShrinkArgs;
use super::exit::{Exit, Problem};
use super::progress::Ticker;
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
        watch: Some(&|attempts, events| TICKER.tick(|| so_far(attempts, events))),
    };
    let shrunk = crate::shrink::shrink(case.as_ref(), &trace, effort).ok_or_else(|| {
        Problem::misfit(format!(
            "{shown}: what was chosen in it, simulated again in this build, does not show its \
             violation"
        ))
    })?;
    let kept = kept(&shrunk, args, &out);
    if let Kept::Written = kept {
        trace_file::write_at(&out, &shrunk.trace.to_bytes())
            .map_err(|error| Problem::new(format!("cannot write `{}`: {error}", out.display())))?;
    }
    let story = replay::story(case.as_ref(), &shrunk.trace)
        .map_err(|error| Problem::misfit(error.to_string()))?;
    let is_interrupted = stop.load(Relaxed);
    let ended = ended(&shrunk, &kept, &out, is_interrupted);
    print(&(report(&shrunk, &story, kept.path(args, &out)) + &ended))?;
    Ok(match is_interrupted {
        true => Exit::Interrupted,
        false => Exit::Clean,
    })
}

static TICKER: LazyLock<Ticker> = LazyLock::new(Ticker::new);

fn so_far(attempts: u64, events: u64) -> String {
    format!(
        "{}, the smallest trace so far has {}",
        human::count(attempts, "simulation"),
        human::count(events, "event")
    )
}

/// Where the small trace goes: to this file, or into this folder.
fn place(out: &Path, beside: &Path) -> PathBuf {
    let is_folder = out.is_dir() || out.to_string_lossy().ends_with(MAIN_SEPARATOR);
    match beside.file_name() {
        Some(name) if is_folder => out.join(name),
        _ => out.to_owned(),
    }
}

/// What becomes of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// It is a file now.
    Written,
    /// Nothing of the trace could go, and nobody named a file for it: the trace itself is the smallest.
    NothingWent,
    /// The file has a smaller one of an earlier time, with so many events, which stays.
    Earlier(u64),
}

impl Kept {
    /// Where the smallest trace is.
    fn path<'a>(&self, args: &'a ShrinkArgs, out: &'a Path) -> &'a Path {
        match self {
            Kept::NothingWent => &args.trace,
            Kept::Written | Kept::Earlier(_) => out,
        }
    }
}

/// A result never takes the place of a smaller one of the same case.
fn kept(shrunk: &Shrunk, args: &ShrinkArgs, out: &Path) -> Kept {
    let earlier = trace_file::read(out).ok();
    let earlier = earlier.filter(|earlier| {
        let (own, end) = (&shrunk.trace, earlier.end());
        let of = |end: &End| end.violation.as_ref().map(|found| found.property.clone());
        earlier.head.case == own.head.case && of(end) == of(own.end())
    });
    let events = earlier.map(|earlier| earlier.end().events);
    if let Some(events) = events.filter(|events| *events < shrunk.after.events) {
        return Kept::Earlier(events);
    }
    match shrunk.after == shrunk.before && args.out.is_none() {
        true => Kept::NothingWent,
        false => Kept::Written,
    }
}

/// Why it may become smaller still, if it was not all tried.
fn ended(shrunk: &Shrunk, kept: &Kept, out: &Path, is_interrupted: bool) -> String {
    let simulations = human::count(shrunk.attempts, "simulation");
    let is_kept = match kept {
        Kept::Written => format!("the smallest trace so far is kept in {}", out.display()),
        Kept::NothingWent => "nothing of it could go so far, and nothing was written".to_owned(),
        Kept::Earlier(events) => format!(
            "{} has a smaller one from earlier, with {}, and was left as it is",
            out.display(),
            human::count(*events, "event")
        ),
    };
    if shrunk.is_whole {
        return match kept {
            Kept::Written => String::new(),
            Kept::NothingWent => "nothing of it could go, so nothing was written\n".to_owned(),
            Kept::Earlier(_) => format!("{is_kept}\n"),
        };
    }
    let so_far = format!("after {simulations}: {is_kept}");
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
        match shrunk.attribution == shrunk.attribution_before {
            true => String::new(),
            false => human::fact("before", &shrunk.attribution_before.to_string()),
        },
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
