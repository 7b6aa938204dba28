//! `wavetank shell`: a trace at the fingertips. Goes to any event, looks from any point of view, and leaves the trace to
//! see what happens otherwise.
//!
//! `commands` is what can be said, `moves`, `looks` and `world` what comes of it, `kubectl` how objects are printed, `editor` the
//! line that is typed into. A script is the same lines from a file or a pipe, each shown before what comes of it.

mod commands;
mod editor;
mod kubectl;
mod looks;
mod moves;
mod world;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;

use crate::catalogue::Catalogue;
use crate::travel::Travel;
use crate::travel::points::Point;

use super::exit::{Exit, Problem};
use super::{find, print, replay};
pub(super) use moves::shown;

#[derive(Debug, Args)]
pub(super) struct ShellArgs {
    /// A trace
    pub trace: PathBuf,
    /// Take the lines of this file instead of asking for them; what fails ends it
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
}

/// Somebody who looks around.
struct Session<'a> {
    travel: Travel<'a>,
    /// What `get` and others look from if nothing is said.
    from: Point,
    namespace: String,
    is_over: bool,
}

pub(super) fn shell(catalogue: &dyn Catalogue, args: &ShellArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let travel = Travel::begin(case.as_ref(), &trace)
        .map_err(|error| replay::unfollowed(&error, &args.trace))?;
    let mut session = Session {
        travel,
        from: Point::parse(crate::travel::points::STORE),
        namespace: "default".to_owned(),
        is_over: false,
    };
    match &args.script {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                let why = crate::trace_file::why(&error);
                Problem::new(format!("{}: {why}", path.display()))
            })?;
            let lines = text.lines().map(|line| Ok(line.to_owned()));
            session.script(&path.display().to_string(), lines)
        }
        None if io::stdin().is_terminal() => {
            print(&session.opening())?;
            editor::edit(&mut session)
        }
        None => session.script("line", io::stdin().lock().lines()),
    }
}

impl Session<'_> {
    fn opening(&self) -> String {
        let head = &self.travel.trace().head;
        let end = self.travel.trace().end();
        let ends = match &end.violation {
            Some(violation) => format!("violation of {}", crate::replay::in_words(violation)),
            None => "no violation".to_owned(),
        };
        format!(
            "{}, seed {}: {} events; {ends}\nAt its beginning. `help` says what can be done, `goto end` goes to its end.\n",
            head.case, head.seed, end.events
        )
    }

    /// Where one is, before what is typed.
    fn prompt(&self) -> String {
        let now = self.travel.world().now();
        let at = self.travel.at();
        match self.travel.left_at() {
            Some(left) => format!("{at}, left at {left}, {now} s> "),
            None => format!("{at} of {}, {now} s> ", self.travel.len()),
        }
    }

    /// Lines from a file or a pipe. The first one that fails ends it.
    fn script(
        &mut self,
        of: &str,
        lines: impl Iterator<Item = io::Result<String>>,
    ) -> Result<Exit, Problem> {
        for (number, line) in (1..).zip(lines) {
            let line = line.map_err(|error| Problem::new(format!("{of} {number}: {error}")))?;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            print(&format!("{}{line}\n", self.prompt()))?;
            let done = self.run(line);
            let text =
                done.map_err(|why| Problem::new(format!("{of} {number}: `{line}`: {why}")))?;
            print(&text)?;
            if self.is_over {
                break;
            }
        }
        Ok(Exit::Clean)
    }
}
