//! A campaign: all scenarios, releases and compositions for as long as one likes, in batches of a few runs. Time goes where
//! something new was found lately. What has been done is a log in a folder: a campaign that was killed goes on from there.
//!
//! - `leg`: what there is to simulate, and what is known of it;
//! - `batch`: the runs of a batch: new seeds, and seeds that turn away from runs that have shown something new;
//! - `log`: the file, a line a batch;
//! - `page`: what was covered, for a browser.
//!
//! Which batch comes next follows from the log alone, and so does what a batch does. So a campaign of so many batches is the
//! same on every machine, on however many threads, and however often it was killed: real time only says when it ends.

mod batch;
mod leg;
mod log;
mod page;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::attribution::Attribution;

use batch::Runner;
use log::Log;

use leg::Known;
pub use leg::{Composed, Leg, legs};
pub use log::{Batch, Begun, Origin, Shown};

/// Of so many batches one goes to the leg that has waited longest: what shows nothing new may still do so.
const TURNS: u64 = 4;

/// A campaign that is under way.
pub struct Campaign<'a> {
    legs: Vec<Leg>,
    known: Vec<Known>,
    log: Log,
    done: u64,
    first_seed: u64,
    dir: &'a Path,
}

/// How far a leg has come, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Standing {
    /// Its name.
    pub leg: String,
    /// What it is to show, if that is a defect.
    pub defect: Option<String>,
    /// Runs of seeds of their own.
    pub seeds: u64,
    /// Runs of seeds that turn.
    pub varied: u64,
    /// Events of all runs.
    pub events: u64,
    /// Places that a run has reached.
    pub places: usize,
    /// Runs that showed something new, which others are made of.
    pub corpus: usize,
    /// In so many of its batches since the last new place nothing was new.
    pub quiet_batches: u64,
    /// Its defect was found.
    pub is_found: bool,
    /// Violations, one for each property and blame.
    pub violations: Vec<Shown>,
}

impl Standing {
    /// Violations that no known problem explains, as none does where all that is known is fixed.
    pub fn findings(&self) -> impl Iterator<Item = &Shown> {
        self.violations
            .iter()
            .filter(|shown| shown.attribution == Attribution::Nothing)
    }
}

impl<'a> Campaign<'a> {
    /// Begins a campaign in this folder, or goes on with the one that is there.
    ///
    /// # Errors
    /// If the folder holds another campaign, or cannot be read or written.
    pub fn open(dir: &'a Path, legs: Vec<Leg>, first_seed: u64) -> Result<Campaign<'a>, String> {
        let (log, batches) = Log::open(dir, &Begun::new(&legs, first_seed))?;
        let mut campaign = Campaign {
            known: legs.iter().map(|_| Known::default()).collect(),
            legs,
            log,
            done: 0,
            first_seed,
            dir,
        };
        for batch in batches {
            campaign.learn(batch)?;
        }
        Ok(campaign)
    }

    /// So many batches have been run, those of earlier times among them.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Runs the next batch; `false` if every leg has come to its end.
    ///
    /// # Errors
    /// If what it found cannot be written down.
    pub fn step(&mut self, jobs: usize, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool, String> {
        let Some(at) = self.next() else {
            return Ok(false);
        };
        let runner = Runner {
            leg: &self.legs[at],
            known: &self.known[at],
            first_seed: self.first_seed,
            traces: &self.dir.join("traces"),
            jobs,
            stop,
        };
        // Half a batch is none: it is run again.
        if let Some(batch) = runner.run()? {
            self.log.append(&batch)?;
            self.learn(batch)?;
        }
        Ok(true)
    }

    fn learn(&mut self, batch: Batch) -> Result<(), String> {
        let at = self.legs.iter().position(|leg| leg.name == batch.leg);
        let at = at.ok_or_else(|| format!("the campaign has no leg `{}`", batch.leg))?;
        self.done += 1;
        let done = self.done;
        self.known[at].learn(batch, &self.legs[at], done);
        Ok(())
    }

    /// The leg whose turn it is: first each once; then the one that found most lately for its events, and now and then
    /// the one that has waited longest.
    fn next(&self) -> Option<usize> {
        let open = || (0..self.legs.len()).filter(|at| !self.known[*at].is_over);
        let waiting = open().min_by_key(|at| self.known[*at].last)?;
        if self.known[waiting].last == 0 || self.done.is_multiple_of(TURNS) {
            return Some(waiting);
        }
        open().max_by(|a, b| {
            let (one, other) = (&self.known[*a], &self.known[*b]);
            let by_novelty = one.compare_novelty(other);
            by_novelty.then(other.last.cmp(&one.last))
        })
    }

    /// How far each leg has come.
    pub fn standings(&self) -> Vec<Standing> {
        let both = self.legs.iter().zip(&self.known);
        both.map(|(leg, known)| known.standing(leg)).collect()
    }

    /// The name of the leg whose turn it is.
    pub fn next_leg(&self) -> Option<&str> {
        self.next().map(|at| &*self.legs[at].name)
    }

    /// Writes the page of what was covered.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_page(&self) -> Result<PathBuf, String> {
        page::write(self.dir, self.done, &self.standings())
    }
}
