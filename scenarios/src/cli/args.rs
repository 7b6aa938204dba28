//! The arguments of the command.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use wavetank_models::Reduction;

use super::conform::ConformArgs;
use super::fuzz::FuzzArgs;
use super::mutants::MutantsArgs;
use super::serve::ServeArgs;
use super::shell::ShellArgs;
use super::soundness::SoundnessArgs;
use crate::attribution::Depth;
use crate::catalogue::Composition;
use crate::file;
use crate::seeds::{Seeds, parse_seed};

const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (build ",
    env!("CARGO_PKG_VERSION"),
    env!("WAVETANK_SOURCES"),
    ")"
);

/// README says the same, in the same words.
const EXIT_CODES: &str = "\
Exit codes:
    0  clean
    1  a guarantee was violated (diff: the traces differ; matrix: or a defect was not
       found; conform, soundness: the two differ; mutants: one goes unnoticed)
    2  could not run: bad input, or files that cannot be read or written
    3  a trace does not fit
    4  nothing was violated, but not everything was put to the test
  130  interrupted, and nothing was violated until then";

/// Simulates the Kubernetes control plane under seeded storms, and replays what it finds.
///
/// Every run is a function of scenario, seed and build. A violation is written to a trace that can
/// be replayed, made smaller and compared.
#[derive(Debug, Parser)]
#[command(name = "wavetank", version = VERSION, after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Simulate a scenario under many seeds, and report what was violated
    Run(RunArgs),
    /// Put what shards of a sweep have found together, as one machine would have found it
    ///
    /// A shard that was run several times counts once, one that is missing is told. The report is that of `run
    /// --keep-going` over the same seeds, but for the time that it took.
    Merge(MergeArgs),
    /// Search every order of events and faults within the bounds of a scope
    ///
    /// The default order is that of virtual time; a deviation lets an event come before others that
    /// are due earlier. The verdict states its bounds. A counterexample is a trace, as `run` writes
    /// them.
    Check(CheckArgs),
    /// Find every defect of a scenario, each on its own, and nothing when all is fixed
    ///
    /// The scenario is run with every known problem fixed (as `run --fixed`), then with one defect
    /// at a time on top of that (as `run --fixed --defect D`), each until a few seeds have shown it.
    ///
    /// Each defect has to be found and to be what its violations are blamed on, and without any
    /// there has to be nothing: then the exit code is 0, else 1. The traces of each are in a folder
    /// of its name.
    Matrix(MatrixArgs),
    /// Go round all scenarios, releases and problems, and spend the time where something new is found
    ///
    /// A leg is a scenario with a release, as shipped, all fixed, or with one defect on top of that, which is over once it is
    /// found. Legs are run in batches, of new seeds and of seeds that turn away from runs that have shown something new. What has been
    /// done stands in --state: a campaign that was killed goes on from there. Its page is `index.html` there.
    ///
    /// The exit code is 1 if there was a violation that no known problem explains.
    Campaign(CampaignArgs),
    /// Step through a trace again, and verify that everything matches
    Replay(ReplayArgs),
    /// Explain the violation of a trace: what led to it, step by step, and what it needs
    ///
    /// A step names the routine in which it happens and the steps that it follows from. Each fault is left out once: does
    /// the violation still come? With what is to blame fixed, the first event that differs is shown.
    Explain(ExplainArgs),
    /// Write a whole trace, or what a sweep found, as a page for a browser or for programs that show traces
    Report(ReportArgs),
    /// Go to any event of a trace, look from any point of view, and leave the trace
    ///
    /// `get`, `describe`, `diff` and `watch` look as kubectl does, from etcd, from a watch cache, from an informer. `until`
    /// goes on to where a condition holds. `fault` and `first` branch off. Lines come from the terminal, from a pipe or
    /// from --script; `help` lists what can be said.
    Shell(ShellArgs),
    /// Serve a moment over HTTP on this machine: a port for each apiserver, for kubectl and programs
    ///
    /// The servers of the simulated world answer, each from what it has. Time stands still, follows the wall clock or
    /// runs, as --speed and the control page say. Nothing is written without --writes.
    Serve(ServeArgs),
    /// Make the trace of a violation smaller, keeping the violation
    Shrink(ShrinkArgs),
    /// Make of the trace of a violation a scenario file that begins shortly before it
    ///
    /// What is stored then, which processes run and what is chosen from there on stands in the file; what the violation
    /// does not need is left out. `run` of the file shows the violation. docs/TRACES.md says what a scene cannot carry.
    Scene(SceneArgs),
    /// Show where two traces part, and what led there
    Diff(DiffArgs),
    /// Verify that a trace replays, and add it to the traces that tests replay
    Keep(KeepArgs),
    /// List what there is
    List(ListArgs),
    /// Tell what is known of a property, a defect, a fix, a kind of fault, a scenario or a scope
    ///
    /// What it says, where upstream tells of it, what it needs, which bundled scenarios and scopes test it, and a
    /// command that shows it.
    Describe(DescribeArgs),
    /// Compare what is simulated with the real thing
    Conform(ConformArgs),
    /// Compare the search with a naive one, over random worlds
    ///
    /// Every world is searched by both, unless it is too large for the naive one: how many were is printed. Verdicts,
    /// numbers of states, every single step, recovery and counterexamples are compared. A disagreement is made as small
    /// as it can be and written to a file.
    Soundness(SoundnessArgs),
    /// Change the algorithms, one place at a time, and look whether anything notices
    ///
    /// Each mutant is tried in the storms, scopes and transcripts that reach its place, the cheapest first, until one is
    /// violated. The exit code is 0 if each is noticed but those that scenarios/mutants-not-noticed.txt lists with the
    /// reason, else 1. It needs a build with the feature `mutants`.
    Mutants(MutantsArgs),
    /// Print the JSON schema of scenario files
    Schema,
    /// Print what a shell needs to complete this command's arguments
    Completions(CompletionsArgs),
    /// Print the manual page, for `man -l -`
    Man,
    /// Feed the readers of files and flags with what nobody should write
    #[command(hide = true)]
    Fuzz(FuzzArgs),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Human,
    /// For programs; carries a version
    Json,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// A scenario file, or the name of a bundled scenario
    pub scenario: String,
    /// The seeds from A up to, but not including, B [default: 0..100; with --for all from 0]
    #[arg(long, value_name = "A..B")]
    seeds: Option<Seeds>,
    /// One seed: a number or a commit hash
    #[arg(long, value_name = "N|HASH", value_parser = parse_seed, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run only the I-th of N shards of the seeds, counted from 1, go on after violations, and leave in --out what `merge`
    /// puts together. `auto/N` takes I from JOB_COMPLETION_INDEX, CI_NODE_INDEX, CIRCLE_NODE_INDEX or
    /// BUILDKITE_PARALLEL_JOB, and `auto` also N from the variable that goes with it
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Threads; 0 is one a core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    #[command(flatten)]
    pub composition: CompositionArgs,
    /// Go on after a violation
    #[arg(long)]
    pub keep_going: bool,
    /// How violations are explained: by mending each known problem alone, or, for long sweeps, by
    /// mending all of them at once, which tells only whether it is known
    #[arg(long, value_enum, default_value_t)]
    pub blame: Depth,
    /// Make the first violation of each kind smaller, by at most so many simulations; 0: leave it as it is [default: 200
    /// on a terminal, else 0]
    #[arg(long, value_name = "N")]
    pub shrink: Option<u64>,
    /// Begin no seed after so much real time, for example 10m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub time_box: Option<Duration>,
    /// Fail unless this property was reached or put to the test (may be given again)
    #[arg(long, value_name = "PROPERTY")]
    pub require: Vec<String>,
    /// Where traces are written
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    pub out: PathBuf,
    /// Write the traces of clean seeds, too
    #[arg(long)]
    pub all_traces: bool,
    /// Write a JUnit file, a test for each guarantee
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Folders in which shards have left what they found (with the folders in them), or the files themselves
    #[arg(value_name = "DIR", required = true)]
    pub from: Vec<PathBuf>,
    /// Where the traces of violations are gathered
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    pub out: PathBuf,
    /// Write a JUnit file, a test for each guarantee
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

impl RunArgs {
    pub fn seeds(&self) -> Seeds {
        match (self.seed, self.seeds, self.time_box) {
            (Some(seed), _, _) => Seeds::one(seed),
            (None, Some(seeds), _) => seeds,
            (None, None, Some(_)) => Seeds::from(0),
            (None, None, None) => (0..100).into(),
        }
    }

    /// Must all of these seeds be run for the result to be complete?
    pub fn wants_all_seeds(&self) -> bool {
        self.time_box.is_none() || self.seeds.is_some() || self.seed.is_some()
    }
}

#[derive(Debug, Args)]
pub(super) struct CompositionArgs {
    /// The release whose algorithms run: of Kubernetes (v1.20) or of etcd (v3.5.21)
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Add a defect (may be given again)
    #[arg(long, value_name = "NAME")]
    defect: Vec<String>,
    /// Remove a defect of the release (may be given again)
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// All defects off and all fixes on; then --defect counts
    #[arg(long)]
    fixed: bool,
}

impl CompositionArgs {
    pub fn composition(&self) -> Composition {
        Composition {
            release: self.release.clone(),
            fixed: self.fixed,
            defects: self.defect.clone(),
            without: self.without.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["scope", "all", "around"]))]
pub(super) struct CheckArgs {
    /// A scope file, or the name of a bundled scope
    pub scope: Option<String>,
    /// Every bundled scope
    #[arg(long)]
    all: bool,
    /// What is near to this trace: from each event of its last part, with deviations from it. A trace of this build is
    /// followed event by event; with other switches its faults, latencies and choices are repeated. Of a scope's bounds
    /// none counts here but what was planned, and no guarantee is promised
    #[arg(long, value_name = "TRACE")]
    pub around: Option<PathBuf>,
    /// Of --around: how much virtual time the last part is, and how far the search goes beyond it
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "100ms", conflicts_with_all = ["scope", "all"])]
    pub window: Duration,
    /// Of --around: how often an event may come before others that are due earlier
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["scope", "all"])]
    pub deviations: u32,
    #[command(flatten)]
    pub composition: CompositionArgs,
    /// Search again for each defect, and without each fix, of which the scope says that it shows it, or cannot:
    /// is it so?
    #[arg(long, requires = "fixed", conflicts_with = "around")]
    pub each: bool,
    /// Tell states apart by everything that is in them [default]
    #[arg(long, conflicts_with = "reduced")]
    full: bool,
    /// Tell states apart by the order of what is pending, and by its times to a tenth of a millisecond only, and keep
    /// those at which there is a choice: far fewer states, on one thread. The verdict is empirical
    #[arg(long)]
    reduced: bool,
    /// Threads; 0 is one a core. The verdict does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Stop after so many states
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_states: Option<u64>,
    /// Stop when the process comes near to so much memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 6144, value_parser = memory)]
    pub memory: u64,
    /// Look around by hand in a browser, in stateright's Explorer, on this machine only
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = "3000", value_parser = port)]
    pub explore: Option<u16>,
    /// Where counterexamples are written
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    pub out: PathBuf,
    /// Write a JUnit file, a test for each scope
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

impl CheckArgs {
    /// What the search leaves out.
    pub fn reduction(&self) -> Reduction {
        match self.is_reduced() {
            true => Reduction::ORDERS,
            false => Reduction::NONE,
        }
    }

    /// Is it the reduced search?
    pub fn is_reduced(&self) -> bool {
        self.reduced && !self.full
    }
}

#[derive(Debug, Args)]
pub(super) struct MatrixArgs {
    /// A scenario file, or the name of a bundled scenario
    pub scenario: String,
    /// The seeds from A up to, but not including, B
    #[arg(long, value_name = "A..B", default_value = "0..2000")]
    pub seeds: Seeds,
    /// Look for this defect only (may be given again) [default: all that have a place]
    #[arg(long, value_name = "NAME")]
    pub defect: Vec<String>,
    /// The release whose algorithms run: of Kubernetes (v1.20) or of etcd (v3.5.21)
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Threads; 0 is one a core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// Run all seeds, also after a few have shown the defect
    #[arg(long)]
    pub keep_going: bool,
    /// Where traces are written, in a folder for each defect
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    pub out: PathBuf,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(super) struct CampaignArgs {
    /// Scenario files, or names of bundled scenarios [default: all that are bundled]
    pub scenario: Vec<String>,
    /// Where the campaign keeps what it has done
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Begin no batch after so much real time, for example 12h
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub time_box: Option<Duration>,
    /// Begin no batch once there are so many, those of earlier times among them
    #[arg(long, value_name = "N")]
    pub batches: Option<u64>,
    /// The first seed: a number or a commit hash, so that each night has seeds of its own
    #[arg(long, value_name = "N|HASH", value_parser = parse_seed, default_value = "0")]
    pub seed: u64,
    /// Threads; 0 is one a core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

impl MatrixArgs {
    /// All that is fixed, but for these defects.
    pub fn composition(&self, defects: &[String]) -> Composition {
        Composition {
            release: self.release.clone(),
            fixed: true,
            defects: defects.to_vec(),
            without: Vec::new(),
        }
    }
}

fn events(text: &str) -> Result<u64, String> {
    let why = "it is a number of events; `shell` and `serve --at` go to a time such as 10.5s, too";
    text.parse().map_err(|_| why.to_owned())
}

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
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
pub(super) struct ExplainArgs {
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
pub(super) struct ReportArgs {
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
pub(super) struct ShrinkArgs {
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
pub(super) struct SceneArgs {
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
pub(super) struct DiffArgs {
    /// A trace
    pub left: PathBuf,
    /// Another one
    pub right: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct KeepArgs {
    /// A trace
    pub trace: PathBuf,
    /// The folder of the traces that tests replay
    #[arg(default_value = "snapshots/traces")]
    pub dir: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// What to list
    pub what: What,
    /// Only what concerns this scenario or scope, bundled or a file: its processes' defects, what it is held to
    #[arg(long = "for", value_name = "SCENARIO")]
    pub scenario: Option<String>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(super) struct DescribeArgs {
    /// The name of a property, a defect, a fix, a kind of fault, or a bundled scenario or scope
    pub name: String,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum What {
    /// Bundled scenarios
    Scenarios,
    /// Bundled scopes of `check`
    Scopes,
    /// Kinds of processes and their parts
    Components,
    /// Properties that are checked
    Properties,
    /// Known bugs and their fixes, as switches
    Defects,
    /// Releases whose algorithms there are
    Releases,
}

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| "a port is a number from 1 to 65535; without one it is 3000".to_owned())
}

/// With less than this the command itself is too large.
const LEAST_MEMORY: u64 = 64;

fn memory(text: &str) -> Result<u64, String> {
    let help =
        format!("give at least {LEAST_MEMORY}; without it the limit is 6144, which is 6 GiB");
    let mebibytes: u64 = text
        .parse()
        .map_err(|_| format!("this is a whole number of MiB: {help}"))?;
    match mebibytes {
        ..LEAST_MEMORY => Err(format!("the command itself needs more: {help}")),
        enough => Ok(enough),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let duration: file::Duration = text
        .parse()
        .map_err(|wrong: file::Wrong| wrong.to_string())?;
    Ok(Duration::from_nanos(duration.nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }
}
