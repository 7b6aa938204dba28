//! `wavetank scene`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

use crate::catalogue::Catalogue;
use crate::replay;
use crate::scene::{Scene, find};
use crate::shrink::Effort;
use crate::trace_file;

use super::args::SceneArgs;
use super::exit::{Exit, Problem};
use super::found::this_command;
use super::progress::Ticker;
use super::{find as found, human, interrupt, print};

pub(super) fn scene(catalogue: &dyn Catalogue, args: &SceneArgs) -> Result<Exit, Problem> {
    let (trace, case) = found::traced(catalogue, &args.trace)?;
    let shown = args.trace.display();
    if trace.end().violation.is_none() {
        let why = format!("{shown}: it holds no violation, so there is nothing to keep");
        return Err(Problem::new(why));
    }
    let out = args.out.clone().unwrap_or_else(|| beside(&args.trace));
    let name = name(&out)?;
    if let Some(dir) = out.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        trace_file::check_writable(dir).map_err(Problem::new)?;
    }
    let stop = interrupt::listen();
    let effort = Effort {
        attempts: args.attempts,
        time_box: args.time_box,
        stop: Some(stop),
        watch: Some(&|attempts, events| TICKER.tick(|| so_far(attempts, events))),
    };
    let scene = find(case.as_ref(), &trace, &name, effort).map_err(Problem::new)?;
    let scene = scene.ok_or_else(|| {
        Problem::misfit(format!(
            "{shown}: what was chosen in it, simulated again in this build, does not show its violation"
        ))
    })?;
    trace_file::write_at(&out, scene.text.as_bytes())
        .map_err(|error| Problem::new(format!("cannot write `{}`: {error}", out.display())))?;
    let story = replay::story(scene.case.as_ref(), &scene.trace)
        .map_err(|error| Problem::misfit(error.to_string()))?;
    print(&report(&scene, trace.end().events, &story, &out))?;
    Ok(match stop.load(Relaxed) {
        true => Exit::Interrupted,
        false => Exit::Clean,
    })
}

static TICKER: LazyLock<Ticker> = LazyLock::new(Ticker::new);

fn so_far(attempts: u64, events: u64) -> String {
    format!(
        "{}, the smallest scene so far has {}",
        human::count(attempts, "simulation"),
        human::count(events, "event")
    )
}

/// `x.trace.gz` becomes `x-scene.yaml`.
fn beside(trace: &Path) -> PathBuf {
    trace.with_file_name(format!("{}-scene.yaml", trace_file::stem(trace)))
}

/// A scenario is called as its file is.
fn name(out: &Path) -> Result<String, Problem> {
    let stem = out.file_stem().map(|stem| stem.to_string_lossy());
    let is_yaml = out.extension().is_some_and(|own| own == "yaml" || own == "yml");
    match stem {
        Some(stem) if is_yaml => Ok(stem.into_owned()),
        _ => Err(Problem::new(format!(
            "--out {}: the name of a scenario file ends in .yaml",
            out.display()
        ))),
    }
}

fn report(scene: &Scene, before: u64, story: &[String], out: &Path) -> String {
    let violation = scene.trace.end().violation.as_ref();
    let violation = violation.expect("a scene shows its violation");
    let size = scene.size;
    let mut table = human::table(&[&human::count(scene.attempts, "simulation"), ""]);
    let rows = [
        ("events of the trace", before),
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
    let run = format!("{} run {}", this_command(), out.display());
    [
        human::aligned(table) + "\n\n",
        human::paragraph(&what),
        human::fact("blame", &scene.attribution.to_string()),
        human::fact("scene", &out.display().to_string()),
        human::fact("run", &run),
        human::story(story),
    ]
    .concat()
}
