//! `wavetank conform`: what is simulated against the real thing, answer by answer.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use clap::{Args, Subcommand};
use wavetank_oracle::timing::Timing;
use wavetank_oracle::{Known, Score, corpus, replay};

use super::exit::{Exit, Problem};
use super::{human, interrupt, print};

#[cfg(feature = "real-etcd")]
mod etcd;
#[cfg(not(feature = "real-etcd"))]
#[path = "conform/no_etcd.rs"]
mod etcd;

#[derive(Debug, Args)]
pub(super) struct ConformArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The etcd, against a real server of the same release
    ///
    /// Random sequences of ranges, writes, transactions, compactions, leases and watches are run on
    /// both, and every answer, revision, event and error is compared. A difference is shrunk to its
    /// smallest sequence and written to a file. It needs a build with the feature `real-etcd`.
    Etcd(EtcdArgs),
    /// The apiserver, against recorded transcripts of a real one
    ///
    /// Every file is replayed from an empty store in one pass; each answer, warning, watch event and
    /// write to etcd is compared. The exit code is 0 if nothing differs but what
    /// sim/oracle/known-differences.txt lists with its reason, else 1. The last line is
    /// `steps: N equal of M (P %)`.
    Apiserver(ApiserverArgs),
}

#[derive(Debug, Args)]
struct ApiserverArgs {
    /// The folder with files *.jsonl or *.jsonl.gz [default: those that are part of wavetank]
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Show each difference
    #[arg(long)]
    verbose: bool,
}

#[derive(Debug, Args)]
struct EtcdArgs {
    /// How many operations
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    operations: u64,
    /// The seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The program of the real etcd [default: WAVETANK_ETCD, else `etcd` on the PATH]
    #[arg(long, value_name = "PATH")]
    etcd: Option<PathBuf>,
    /// Where a difference is written
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    out: PathBuf,
}

pub(super) fn conform(args: &ConformArgs) -> Result<Exit, Problem> {
    match &args.what {
        What::Etcd(args) => etcd::etcd(args),
        What::Apiserver(args) => apiserver(args),
    }
}

/// At so many moments a server is killed.
const KILLS: u32 = 100;

fn apiserver(args: &ApiserverArgs) -> Result<Exit, Problem> {
    let recordings = match &args.corpus {
        Some(folder) => corpus::read(folder),
        None => corpus::bundled(),
    };
    let mut score = Score {
        files: Vec::new(),
        verbose: args.verbose,
    };
    let stop = interrupt::listen();
    let recordings = recordings.map_err(Problem::new)?;
    let all = recordings.len();
    for recording in recordings {
        if stop.load(Relaxed) {
            break;
        }
        score.files.push(replay(&recording).map_err(Problem::new)?);
        if Timing::is_told_by(&recording) {
            print(&Timing::of(&recording, KILLS).to_string())?;
        }
    }
    let known = Known::parse(Known::bundled()).map_err(Problem::new)?;
    let unlisted = known.unlisted(&score.files);
    print(&differences(score.differences(), &unlisted))?;
    print(&score.to_string())?;
    let done = score.files.len();
    if done < all && unlisted.is_empty() {
        eprintln!(
            "interrupted after {done} of {}",
            human::count(all as u64, "file")
        );
        return Ok(Exit::Interrupted);
    }
    Ok(match unlisted.is_empty() {
        true => Exit::Clean,
        false => Exit::Violation,
    })
}

/// How many steps differ, and which of them nobody expects to.
fn differences(all: usize, unlisted: &[(String, u64)]) -> String {
    let listed = all - unlisted.len();
    let mut text = format!(
        "differences: {listed} that known-differences.txt lists, {} more\n",
        unlisted.len()
    );
    for (file, step) in unlisted {
        text += &format!("  {file} step {step} (--verbose shows it)\n");
    }
    text
}
