//! `wavetank soundness`: is a clean verdict true?

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::seeds::Seeds;
use crate::soundness::{Sounded, Soundness, TimedOut};
use crate::stopwatch::Stopwatch;
use crate::trace_file::check_writable;

use super::exit::{Exit, Problem};
use super::progress::Ticker;
use super::{args, human, interrupt, print};

/// So many worlds are named where there are more.
const NUMBERS: usize = 20;

#[derive(Debug, Args)]
pub(super) struct SoundnessArgs {
    /// The worlds from A up to, but not including, B: each follows from its number
    #[arg(long, value_name = "A..B", default_value = "0..1000")]
    worlds: Seeds,
    /// Threads; 0 is one a core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Go on after a disagreement
    #[arg(long)]
    keep_going: bool,
    /// Give up on a world that takes more real time than this, and end with 4: nobody knows whether the two agree on it
    #[arg(long, value_name = "DURATION", value_parser = args::duration, default_value = "2m")]
    patience: Duration,
    /// Where disagreements are written
    #[arg(long, value_name = "DIR", default_value = "wavetank-out")]
    out: PathBuf,
}

pub(super) fn soundness(args: &SoundnessArgs) -> Result<Exit, Problem> {
    check_writable(&args.out).map_err(Problem::new)?;
    let soundness = Soundness {
        worlds: args.worlds,
        jobs: args.jobs,
        keep_going: args.keep_going,
        patience: args.patience,
        out: args.out.clone(),
        stop: Some(interrupt::listen()),
    };
    let (clock, ticker) = (Stopwatch::start(), Ticker::new());
    let of = args.worlds.count;
    let watch = |done: u64, disputed: u64| {
        ticker.tick(|| {
            format!(
                "{done} of {of} worlds, {}",
                human::count(disputed, "disagreement")
            )
        });
    };
    let sounded = soundness.run(watch).map_err(Problem::new)?;
    eprintln!("{:.1} s", clock.elapsed().as_secs_f64());
    print(&report(&sounded, args.worlds))?;
    let unwritten = sounded
        .disputed
        .iter()
        .find_map(|disputed| disputed.written.as_ref().err());
    if let Some(why) = unwritten {
        eprintln!("error: a disagreement could not be written: {why}");
    }
    let is_empty = sounded.figures.worlds == 0 && sounded.stopped.is_none();
    Ok(if !sounded.disputed.is_empty() {
        Exit::Violation
    } else if sounded.timed_out.is_some() || is_empty {
        Exit::Incomplete
    } else if sounded.stopped.is_some() {
        Exit::Interrupted
    } else {
        Exit::Clean
    })
}

/// The first of these numbers, and how many more there are.
fn numbers(all: &[u64]) -> String {
    let mut shown: Vec<String> = all.iter().take(NUMBERS).map(u64::to_string).collect();
    if let Some(more) = all.len().checked_sub(NUMBERS).filter(|more| *more > 0) {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

fn report(sounded: &Sounded, worlds: Seeds) -> String {
    let mut lines: Vec<String> = sounded
        .disputed
        .iter()
        .map(|disputed| {
            let place = match &disputed.written {
                Ok(path) => path.display().to_string(),
                Err(why) => why.clone(),
            };
            format!(
                "DISAGREEMENT on world {}: {}\n  {place}",
                disputed.number, disputed.disagreement
            )
        })
        .collect();
    if let Some(TimedOut { number, written }) = &sounded.timed_out {
        let place = match written {
            Ok(path) => path.display().to_string(),
            Err(why) => why.clone(),
        };
        lines.push(format!(
            "world {number} took longer than --patience allows, so it was not compared, nor what comes after it\n  {place}"
        ));
    }
    lines.push(format!("worlds {worlds}"));
    lines.push(sounded.figures.to_string().trim_end().to_owned());
    if !sounded.reduced.is_empty() {
        lines.push(format!("  these: {}", numbers(&sounded.reduced)));
    }
    if !sounded.left_out.is_empty() {
        lines.push(format!(
            "{} not compared, too large within any limits: {}",
            human::count(sounded.left_out.len() as u64, "world"),
            numbers(&sounded.left_out)
        ));
    }
    lines.push(match (sounded.disputed.len(), sounded.stopped) {
        (0, _) if sounded.timed_out.is_some() => "timed out; no disagreement until then".to_owned(),
        (0, None) if sounded.figures.worlds == 0 => "nothing was compared".to_owned(),
        (0, None) => "no disagreement".to_owned(),
        (0, Some(next)) => {
            format!("interrupted before world {next}; no disagreement until then")
        }
        (wrong, _) => human::count(wrong as u64, "disagreement"),
    });
    lines.join("\n") + "\n"
}
