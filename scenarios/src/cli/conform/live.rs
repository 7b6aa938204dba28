//! `wavetank conform apiserver --live`: a real kube-apiserver that runs beside the simulated one.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use wavetank_conform::apiserver::{Figures, Known, Plan, Report, against_real};
use wavetank_oracle::corpus;

use super::LiveArgs;
use crate::cli::exit::{Exit, Problem};
use crate::cli::{interrupt, print};
use crate::stopwatch::Stopwatch;
use crate::trace_file::check_writable;

/// At most one line of progress in so much time.
const LINE_EVERY: Duration = Duration::from_secs(5);

pub(super) fn apiserver(program: Option<&Path>, args: &LiveArgs) -> Result<Exit, Problem> {
    check_writable(&args.out).map_err(Problem::new)?;
    let plan = Plan {
        operations: args.operations,
        seed: args.seed,
        known: Known::bundled().map_err(Problem::new)?,
    };
    let stop = interrupt::listen();
    let quiet = !io::stderr().is_terminal();
    let mut last = Stopwatch::start();
    let progress = |figures: &Figures| {
        if !quiet || last.is_over(Some(LINE_EVERY)) {
            last = Stopwatch::start();
            let doing = match figures.doing {
                "" => String::new(),
                doing => format!(", {doing}"),
            };
            eprintln!(
                "{} of {} operations{doing}",
                figures.operations, args.operations
            );
        }
        !stop.load(Relaxed)
    };
    let report =
        against_real(program, args.etcd.as_deref(), &plan, progress).map_err(Problem::new)?;
    print(&report.to_string())?;
    write(&report, args)?;
    if !report.differences.is_empty() {
        return Ok(Exit::Violation);
    }
    if report.interrupted {
        return Ok(Exit::Interrupted);
    }
    match report.trouble {
        None => Ok(Exit::Clean),
        Some(why) => Err(Problem::new(why)),
    }
}

/// A transcript of each difference.
fn write(report: &Report, args: &LiveArgs) -> Result<(), Problem> {
    for (at, found) in report.differences.iter().enumerate() {
        let name = format!("conform-apiserver-seed{}-{}.jsonl", args.seed, at + 1);
        let path = args.out.join(name);
        corpus::write(&found.recording, &path).map_err(Problem::new)?;
        print(&format!(
            "difference {} is written to {}\n",
            at + 1,
            path.display()
        ))?;
    }
    Ok(())
}
