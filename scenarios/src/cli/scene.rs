//! `wavetank scene`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use wavetank_engine::trace::Record;

use crate::case::run_seed;
use crate::catalogue::{Catalogue, Composition};
use crate::replay;
use crate::scene::{Scene, find};
use crate::shrink::Effort;
use crate::stopwatch::Stopwatch;
use crate::trace_file;

use super::args::SceneArgs;
use super::exit::{Exit, Problem};
use super::found::this_command;
use super::progress::Ticker;
use super::{find as found, human, interrupt, print};

pub(super) fn scene(catalogue: &dyn Catalogue, args: &SceneArgs) -> Result<Exit, Problem> {
    let stop = interrupt::listen();
    match args.traces.as_slice() {
        [only] => {
            let made = make(catalogue, args, only, stop)?;
            print(&made.report()?)?;
        }
        several => {
            if args.out.as_deref().is_some_and(is_yaml) {
                let why = "--out: several scenes do not go into one file: name a folder";
                return Err(Problem::new(why.to_owned()));
            }
            let mut all = Vec::new();
            for trace in several {
                if !stop.load(Relaxed) {
                    all.push(make(catalogue, args, trace, stop)?);
                }
            }
            print(&table(&all))?;
        }
    }
    Ok(match stop.load(Relaxed) {
        true => Exit::Interrupted,
        false => Exit::Clean,
    })
}

/// A scene that is a file now.
struct Made {
    scene: Scene,
    out: PathBuf,
    /// Events of its trace.
    before: u64,
    took: Duration,
}

fn make(
    catalogue: &dyn Catalogue,
    args: &SceneArgs,
    path: &Path,
    stop: &'static AtomicBool,
) -> Result<Made, Problem> {
    let (trace, case) = found::traced(catalogue, path)?;
    let shown = path.display();
    if trace.end().violation.is_none() {
        let why = format!("{shown}: it holds no violation, so there is nothing to keep");
        return Err(Problem::new(why));
    }
    let out = place(args.out.as_deref(), path);
    let name = out.file_stem().unwrap_or_default().to_string_lossy();
    if let Some(dir) = out.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        trace_file::check_writable(dir).map_err(Problem::new)?;
    }
    let effort = Effort {
        attempts: args.attempts,
        time_box: args.time_box,
        stop: Some(stop),
        watch: Some(&|attempts, events| TICKER.tick(|| so_far(attempts, events))),
    };
    let clock = Stopwatch::start();
    let scene = find(case.as_ref(), &trace, &name, effort);
    let scene = scene.map_err(|why| Problem::new(format!("{shown}: {why}")))?;
    let scene = scene.ok_or_else(|| {
        Problem::misfit(format!(
            "{shown}: what was chosen in it, simulated again in this build, does not show its violation"
        ))
    })?;
    trace_file::write_at(&out, scene.text.as_bytes())
        .map_err(|error| Problem::new(format!("cannot write `{}`: {error}", out.display())))?;
    repeats(catalogue, &scene, &out).map_err(Problem::misfit)?;
    Ok(Made {
        before: trace.end().events,
        took: clock.elapsed(),
        scene,
        out,
    })
}

/// Does the file show what it was made of?
///
/// # Errors
/// Why not.
fn repeats(catalogue: &dyn Catalogue, scene: &Scene, out: &Path) -> Result<(), String> {
    let shown = out.display().to_string();
    let case = catalogue.open(&shown, &Composition::default())?;
    let outcome = run_seed(case.as_ref(), 0, None, Record::default());
    let violation = scene.trace.end().violation.as_ref();
    match outcome.end().violation.as_ref() == violation {
        true => Ok(()),
        false => Err(format!(
            "{shown}: the scene does not show its violation when it is read again"
        )),
    }
}

static TICKER: LazyLock<Ticker> = LazyLock::new(Ticker::new);

fn so_far(attempts: u64, events: u64) -> String {
    format!(
        "{}, the smallest scene so far has {}",
        human::count(attempts, "simulation"),
        human::count(events, "event")
    )
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|own| own == "yaml" || own == "yml")
}

/// To this file, into this folder, or beside the trace: `x.trace.gz` becomes `x-scene.yaml`. A scenario is called as its
/// file is, in small letters and hyphens.
fn place(out: Option<&Path>, trace: &Path) -> PathBuf {
    let stem = trace_file::stem(trace).to_lowercase();
    let stem: String = stem
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c,
            false => '-',
        })
        .collect();
    match out {
        None => trace.with_file_name(format!("{stem}-scene.yaml")),
        Some(out) if is_yaml(out) => out.to_owned(),
        Some(dir) => dir.join(format!("{stem}.yaml")),
    }
}

impl Made {
    fn report(&self) -> Result<String, Problem> {
        let scene = &self.scene;
        let violation = scene.trace.end().violation.as_ref();
        let violation = violation.expect("a scene shows its violation");
        let story = replay::story(scene.case.as_ref(), &scene.trace)
            .map_err(|error| Problem::misfit(error.to_string()))?;
        let size = scene.size;
        let mut table = human::table(&[&human::count(scene.attempts, "simulation"), ""]);
        let rows = [
            ("events of the trace", self.before),
            ("events of the scene", size.events),
            ("that lead to the violation", size.leading),
            ("planned", size.actions),
            ("odd choices", size.choices),
            ("odd latencies", size.latencies),
            ("objects stored", size.content),
            ("processes", size.processes),
        ];
        for (name, count) in rows {
            table.add_row([name.to_owned(), human::thousands(count)]);
        }
        let what = format!("violation of {}", replay::in_words(violation));
        let run = format!("{} run {}", this_command(), self.out.display());
        let ended = match scene.is_whole {
            true => "",
            false => "stopped by --attempts, --for or an interrupt: it may become smaller still\n",
        };
        Ok([
            human::aligned(table) + "\n\n",
            human::paragraph(&what),
            human::fact("blame", &scene.attribution.to_string()),
            human::fact("scene", &self.out.display().to_string()),
            human::fact("run", &run),
            human::story(&story),
            ended.to_owned(),
        ]
        .concat())
    }
}

/// A line a scene, and medians.
fn table(all: &[Made]) -> String {
    let head = [
        "scene", "trace", "events", "leading", "planned", "choices", "objects", "seconds", "blame",
    ];
    let mut table = human::table(&head);
    let figures = |made: &Made| {
        let size = made.scene.size;
        [
            made.before,
            size.events,
            size.leading,
            size.actions,
            size.choices,
            size.content,
            made.took.as_secs(),
        ]
    };
    for made in all {
        let name = made.out.file_stem().unwrap_or_default();
        let mut row = vec![name.to_string_lossy().into_owned()];
        row.extend(figures(made).map(human::thousands));
        row.push(made.scene.attribution.to_string());
        table.add_row(row);
    }
    let mut row = vec!["median".to_owned()];
    row.extend((0..7).map(|at| {
        let mut column: Vec<u64> = all.iter().map(|made| figures(made)[at]).collect();
        column.sort_unstable();
        human::thousands(column.get(column.len() / 2).copied().unwrap_or_default())
    }));
    row.push(String::new());
    table.add_row(row);
    human::aligned(table) + "\n"
}
