//! `wavetank conform`: what is simulated against the real thing, answer by answer.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use clap::{Args, Subcommand};
use wavetank_oracle::corpus::Recording;
use wavetank_oracle::timing::Timing;
use wavetank_oracle::{Known, Score, corpus, replay};

use super::exit::{Exit, Problem};
use super::progress::Ticker;
use super::{human, interrupt, print};

mod controllers;
#[cfg(feature = "real-etcd")]
mod etcd;
#[cfg(feature = "real-apiserver")]
mod live;
// What a build without them says is tested in each build.
#[cfg(any(test, not(feature = "real-etcd")))]
mod no_etcd;
#[cfg(any(test, not(feature = "real-apiserver")))]
mod not_live;

#[cfg(not(feature = "real-etcd"))]
use no_etcd as etcd;
#[cfg(not(feature = "real-apiserver"))]
use not_live as live;

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
    /// The apiserver, against recorded transcripts of a real one, or against one that runs
    ///
    /// Every file is replayed from an empty store in one pass; each answer, warning, watch event and
    /// write to etcd is compared. The exit code is 0 if nothing differs but what
    /// sim/oracle/known-differences.txt lists with its reason, 1 if something does, and 2 if a file
    /// cannot be replayed. The last line is `steps: N equal of M (P %)`.
    ///
    /// With `--live` a real kube-apiserver is started over an etcd of its own on this machine, and
    /// random requests are sent to both. A difference is made as small as it can be and written as a
    /// transcript, which `conform apiserver FILE` replays; those that sim/conform/known-differences.txt
    /// lists are expected. It needs a build with the feature `real-apiserver`; docs/LIVE.md says how to
    /// get the programs.
    Apiserver(ApiserverArgs),
    /// What controllers write, against recordings of a real kube-controller-manager
    ///
    /// The script of each recording is played against a simulated apiserver with a simulated controller manager. The writes
    /// of its controllers are compared, object by object: user, verb, answer and the essential body. What other controllers
    /// wrote is played like the script. The exit code is 0 if nothing differs but what
    /// sim/oracle/known-differences-of-controllers.txt lists with its reason, 1 if something does, and 2 if a recording
    /// cannot be played. The last line is `writes: N equal of M (P %)`.
    Controllers(ControllersArgs),
}

#[derive(Debug, Args)]
struct ControllersArgs {
    /// The topic, or a file [default: all that are part of wavetank]
    #[arg(long, value_name = "TOPIC")]
    topic: Vec<String>,
    /// Show each difference
    #[arg(long)]
    verbose: bool,
}

#[derive(Debug, Args)]
struct ApiserverArgs {
    /// Transcripts, *.jsonl or *.jsonl.gz [default: those that are part of wavetank]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A folder with transcripts
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    corpus: Option<PathBuf>,
    /// Compare with this kube-apiserver that runs; without a path with WAVETANK_KUBE_APISERVER, else
    /// `kube-apiserver` on the PATH
    #[arg(long, value_name = "BIN", num_args = 0..=1, conflicts_with_all = ["files", "corpus", "verbose"])]
    live: Option<Option<PathBuf>>,
    #[command(flatten)]
    plan: LiveArgs,
    /// Show each difference
    #[arg(long)]
    verbose: bool,
}

/// Of a comparison with a server that runs.
#[derive(Debug, Args)]
struct LiveArgs {
    /// The program of its etcd [default: WAVETANK_ETCD, else `etcd` on the PATH]
    #[arg(long, value_name = "BIN", requires = "live")]
    etcd: Option<PathBuf>,
    /// How many operations
    #[arg(long, value_name = "N", default_value_t = 2_000, requires = "live")]
    operations: u64,
    /// The seed
    #[arg(long, value_name = "N", default_value_t = 0, requires = "live")]
    seed: u64,
    /// Where a difference is written
    #[arg(
        long,
        value_name = "DIR",
        default_value = "wavetank-out",
        requires = "live"
    )]
    out: PathBuf,
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
        What::Controllers(args) => controllers::controllers(args),
        What::Apiserver(args) => match &args.live {
            Some(program) => live::apiserver(program.as_deref(), &args.plan),
            None => apiserver(args),
        },
    }
}

/// At so many moments a server is killed.
const KILLS: u32 = 100;

/// A transcript that was named.
fn read(file: &Path) -> Result<Recording, String> {
    if file.is_dir() {
        let folder = file.display();
        return Err(format!(
            "{folder}: this is a folder; write --corpus {folder}"
        ));
    }
    corpus::read_file(file)
}

fn apiserver(args: &ApiserverArgs) -> Result<Exit, Problem> {
    let recordings = match &args.corpus {
        Some(folder) => corpus::read(folder),
        None if args.files.is_empty() => corpus::bundled(),
        None => args.files.iter().map(|file| read(file)).collect(),
    };
    let mut score = Score {
        files: Vec::new(),
        verbose: args.verbose,
    };
    let stop = interrupt::listen();
    let recordings = recordings.map_err(Problem::new)?;
    let all = recordings.len();
    let ticker = Ticker::new();
    for recording in recordings {
        ticker.tick(|| format!("{} of {} files", score.files.len(), all));
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
    print(&differences(
        score.differences(),
        "known-differences.txt",
        &unlisted,
    ))?;
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
fn differences(all: usize, list: &str, unlisted: &[(String, u64)]) -> String {
    let listed = all - unlisted.len();
    let mut text = format!(
        "differences: {listed} that {list} lists, {} more\n",
        unlisted.len()
    );
    for (file, step) in unlisted {
        text += &format!("  {file} step {step} (--verbose shows it)\n");
    }
    text
}
