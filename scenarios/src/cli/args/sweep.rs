//! The arguments of commands that run seeds: `run`, `merge`, `matrix`, `campaign`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{CompositionArgs, Format, duration};
use crate::attribution::Depth;
use crate::catalogue::Composition;
use crate::seeds::{Seeds, parse_seed};

#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs {
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
pub(in crate::cli) struct MergeArgs {
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

#[derive(Debug, Args)]
pub(in crate::cli) struct MatrixArgs {
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

#[derive(Debug, Args)]
pub(in crate::cli) struct CampaignArgs {
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
