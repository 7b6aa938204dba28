//! The arguments of the command, which commands there are, and what several of them are given. The arguments of one
//! command stand with those of its like, or beside what it does.

mod about;
mod check;
mod sweep;
mod trace;

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::conform::ConformArgs;
use super::exit::Problem;
use super::fuzz::FuzzArgs;
use super::mutants::MutantsArgs;
use super::serve::ServeArgs;
use super::shell::ShellArgs;
use super::soundness::SoundnessArgs;
use crate::catalogue::Composition;
use crate::file;
use crate::sweep::{Shard, parse_shard};

pub(super) use about::{CompletionsArgs, DescribeArgs, ListArgs, What};
pub(super) use check::CheckArgs;
pub(super) use sweep::{CampaignArgs, MatrixArgs, MergeArgs, RunArgs};
pub(super) use trace::{
    DiffArgs, ExplainArgs, KeepArgs, ReplayArgs, ReportArgs, SceneArgs, ShrinkArgs,
};

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
    /// reason, else 1.
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

/// Which shard this is, if it is one.
///
/// # Errors
/// What is wrong with it, or with the variables that it is in.
pub(super) fn shard(given: Option<&str>) -> Result<Option<Shard>, Problem> {
    let shard = given.map(|text| parse_shard(text, &|name| std::env::var(name).ok()));
    shard
        .transpose()
        .map_err(|why| Problem::new(format!("--shard: {why}")))
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
