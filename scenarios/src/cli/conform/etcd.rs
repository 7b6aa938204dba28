//! `wavetank conform etcd`: a real etcd over gRPC. Its client takes as long to build as a quarter of everything else,
//! so this module is there where the feature `real-etcd` asks for it.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use wavetank_conform::etcd::{Figures, against_real};

use super::EtcdArgs;
use crate::cli::exit::{Exit, Problem};
use crate::cli::{interrupt, print};
use crate::stopwatch::Stopwatch;
use crate::trace_file::check_writable;

/// At most one line of progress in so much time.
const LINE_EVERY: Duration = Duration::from_secs(2);

pub(super) fn etcd(args: &EtcdArgs) -> Result<Exit, Problem> {
    check_writable(&args.out).map_err(Problem::new)?;
    let mut last = Stopwatch::start();
    let quiet = !io::stderr().is_terminal();
    let stop = interrupt::listen();
    let progress = |figures: &Figures| {
        let done: u64 = figures.kinds.values().sum();
        if !quiet || last.is_over(Some(LINE_EVERY)) {
            last = Stopwatch::start();
            eprintln!("{done} of {} operations", args.operations);
        }
        !stop.load(Relaxed)
    };
    let report = against_real(args.etcd.as_deref(), args.operations, args.seed, progress)
        .map_err(Problem::new)?;
    let text = report.to_string();
    if report.difference.is_some() {
        let path = args.out.join(format!("conform-etcd-seed{}.txt", args.seed));
        std::fs::write(&path, &text)
            .map_err(|error| Problem::new(format!("{}: {error}", path.display())))?;
        let so_far = match report.interrupted {
            true => "interrupted, so it may become smaller still; ",
            false => "",
        };
        print(&format!("{text}{so_far}written to {}\n", path.display()))?;
        return Ok(Exit::Violation);
    }
    print(&text)?;
    if report.interrupted {
        return Ok(Exit::Interrupted);
    }
    match report.trouble {
        None => Ok(Exit::Clean),
        Some(why) => Err(Problem::new(why)),
    }
}
