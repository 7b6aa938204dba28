//! `wavetank conform`: what is simulated against the real thing, answer by answer.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use wavetank_conform::{Figures, against_real};

use crate::stopwatch::Stopwatch;
use crate::trace_file::check_writable;

use super::exit::{Exit, Problem};
use super::print;

/// At most one line of progress in so much time.
const LINE_EVERY: Duration = Duration::from_secs(2);

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
    /// smallest sequence and written to a file.
    Etcd(EtcdArgs),
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
    let What::Etcd(args) = &args.what;
    check_writable(&args.out).map_err(Problem::new)?;
    let mut last = Stopwatch::start();
    let quiet = !io::stderr().is_terminal();
    let progress = |figures: &Figures| {
        let done: u64 = figures.kinds.values().sum();
        if !quiet || last.is_over(Some(LINE_EVERY)) {
            last = Stopwatch::start();
            eprintln!("{done} of {} operations", args.operations);
        }
    };
    let report = against_real(args.etcd.as_deref(), args.operations, args.seed, progress)
        .map_err(Problem::new)?;
    let text = report.to_string();
    if report.difference.is_some() {
        let path = args.out.join(format!("conform-etcd-seed{}.txt", args.seed));
        std::fs::write(&path, &text)
            .map_err(|error| Problem::new(format!("{}: {error}", path.display())))?;
        print(&format!("{text}written to {}\n", path.display()))?;
        return Ok(Exit::Violation);
    }
    print(&text)?;
    match report.trouble {
        None => Ok(Exit::Clean),
        Some(why) => Err(Problem::new(why)),
    }
}
