//! The arguments of `check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use wavetank_models::Reduction;

use super::{CompositionArgs, Format, duration};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["scope", "all", "around"]))]
pub(in crate::cli) struct CheckArgs {
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
    /// Search only the I-th of N parts, counted from 1, and leave in --out what `merge` puts together. `auto/N` takes I from
    /// JOB_COMPLETION_INDEX, CI_NODE_INDEX, CIRCLE_NODE_INDEX or BUILDKITE_PARALLEL_JOB, and `auto` also N from the variable
    /// that goes with it
    #[arg(long, value_name = "I/N", conflicts_with_all = ["around", "each", "reduced", "explore"])]
    pub shard: Option<String>,
    /// Threads; 0 is one a core. The verdict does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Stop after so many states
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_states: Option<u64>,
    /// Stop when the process comes near to so much memory, in MiB. Scopes that are searched at the same time share it; one
    /// for which that is not enough is searched once more, alone
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
