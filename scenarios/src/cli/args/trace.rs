//! The arguments of commands that are given a trace.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::duration;

fn events(text: &str) -> Result<u64, String> {
    let why = "it is a number of events; `shell` and `serve --at` go to a time such as 10.5s, too";
    text.parse().map_err(|_| why.to_owned())
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ReplayArgs {
    /// A trace
    pub trace: PathBuf,
    /// Stop after so many events, and show what is pending
    #[arg(long, value_name = "EVENT", value_parser = events)]
    pub until: Option<u64>,
    /// Print every event
    #[arg(long, short)]
    pub verbose: bool,
    /// Tell the whole story, and not only the last lines of what led to the violation
    #[arg(long)]
    pub story: bool,
    /// Tell the whole story of this process, or of this object and what led there: a key, a name or an address, as in
    /// the story
    #[arg(long, value_name = "OBJECT")]
    pub about: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ExplainArgs {
    /// The trace of a violation
    pub trace: PathBuf,
    /// Tell so many steps
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub steps: usize,
    /// Ask of at most so many faults whether the violation needs them, a simulation each
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub attempts: u64,
    /// From points along the trace simulate so many other futures, in which no further fault begins: how many still
    /// violate, and where was it lost?
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub futures: Option<u64>,
    /// Of --futures: simulate at most so often
    #[arg(long, value_name = "N", default_value_t = 2_000, requires = "futures")]
    pub simulations: u64,
    /// Write the events that lead to the violation as a graph, for Graphviz
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Write these events as JSON, one a line
    #[arg(long, value_name = "FILE")]
    pub json_lines: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").required(true).multiple(true).args(["html", "perfetto", "shiviz"]))]
pub(in crate::cli) struct ReportArgs {
    /// A trace; with --html also what `run --format json` has printed
    pub trace: PathBuf,
    /// As a page for a browser that needs no network: diagram, story, objects, faults; of a sweep what was covered and
    /// what is to blame
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Of --html of a sweep: an earlier report, for trends (may be given again, the oldest first)
    #[arg(long, value_name = "FILE", requires = "html")]
    pub earlier: Vec<PathBuf>,
    /// Of --html: tell so many steps in the story
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub steps: usize,
    /// Of --html: ask of at most so many faults whether the violation needs them, a simulation each
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub attempts: u64,
    /// Of --html: show the share of other futures that violate, so many from each point
    #[arg(long, value_name = "N", requires = "html", value_parser = clap::value_parser!(u64).range(1..))]
    pub futures: Option<u64>,
    /// Of --futures: simulate at most so often
    #[arg(long, value_name = "N", default_value_t = 2_000, requires = "futures")]
    pub simulations: u64,
    /// As Chrome's trace events in JSON, for Perfetto
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// As a log with vector clocks, for ShiViz; its first line is the parser expression
    #[arg(long, value_name = "FILE")]
    pub shiviz: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ShrinkArgs {
    /// The trace of a violation
    pub trace: PathBuf,
    /// Where the small trace goes [default: beside the trace, as NAME-shrunk.trace]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Simulate at most so often
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub attempts: u64,
    /// Try for so much real time, for example 2m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub time_box: Option<Duration>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SceneArgs {
    /// The trace of a violation; of several a table is printed, with medians
    #[arg(required = true)]
    pub traces: Vec<PathBuf>,
    /// Where the scene goes: a file whose name ends in .yaml, or a folder [default: beside the trace, as NAME-scene.yaml]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Simulate at most so often for a scene
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub attempts: u64,
    /// Try for so much real time for a scene, for example 2m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub time_box: Option<Duration>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DiffArgs {
    /// A trace
    pub left: PathBuf,
    /// Another one
    pub right: PathBuf,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct KeepArgs {
    /// A trace
    pub trace: PathBuf,
    /// The folder of the traces that tests replay
    #[arg(default_value = "snapshots/traces")]
    pub dir: PathBuf,
}
