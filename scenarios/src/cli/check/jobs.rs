//! The searches of a command: several at a time, and told in their order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, mpsc};
use std::thread;

use wavetank_models::Sketch;

use crate::case::Case;
use crate::search::Search;
use crate::sweep::Shard;

use super::super::args::CheckArgs;
use super::super::checked::{Checked, Turned, Verdict};
use super::super::exit::Problem;
use super::{Searches, one, parts, says};

/// What all searches of a command have in common.
pub(super) struct Run<'a> {
    pub args: &'a CheckArgs,
    pub shard: Option<Shard>,
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
    /// One of them could not be made, so that the others need not go on.
    pub has_failed: AtomicBool,
    /// Where several search at a time: the memory is that of the process, so whoever runs out of it has it once to itself.
    pub room: Option<RwLock<()>>,
}

/// A search to be made: of a scope, or of a scope with one switch turned.
pub(super) struct Job<'a> {
    case: &'a dyn Case,
    search: &'a Search,
    turned: Option<Turned>,
}

/// Of each scope the search; `each` adds one with each switch that it shows, or cannot show.
pub(super) fn jobs(searches: &Searches, each: bool) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (case, search) in searches {
        let job = |turned| Job {
            case: case.as_ref(),
            search,
            turned,
        };
        jobs.push(job(None));
        if each {
            let (shows, cannot) = says(case.as_ref());
            let shows = shows.into_iter().map(Turned::Shows);
            let cannot = cannot.into_keys().map(Turned::CannotShow);
            jobs.extend(shows.chain(cannot).map(|turned| job(Some(turned))));
        }
    }
    jobs
}

impl Run<'_> {
    pub fn is_over(&self) -> bool {
        (self.interrupted)() || self.has_failed.load(Relaxed)
    }

    /// Makes all searches, and tells what came of them. A small one begins, and often ends, on one thread, so each gets
    /// one; the last ones share those that have nothing left to begin.
    pub fn in_order(
        &self,
        jobs: &[Job<'_>],
        threads: usize,
        mut tell: impl FnMut(Checked) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let at_once = threads.min(jobs.len());
        let next = AtomicUsize::new(0);
        let (done, finished) = mpsc::channel();
        let work = |done: mpsc::Sender<_>| {
            while !self.is_over() {
                let at = next.fetch_add(1, Relaxed);
                let Some(job) = jobs.get(at) else { break };
                let left = jobs.len() - at;
                let checked = job.run(self, threads / at_once.min(left));
                // Nobody listens any more if one has failed.
                let _ = done.send((at, checked));
            }
        };
        thread::scope(|scope| {
            for _ in 0..at_once {
                let done = done.clone();
                scope.spawn(|| work(done));
            }
            drop(done);
            let told = each_in_order(finished, |checked| tell(checked?));
            self.has_failed.store(told.is_err(), Relaxed);
            told
        })
    }

    /// Searches, and if the memory is not enough for several searches at a time, once more alone.
    fn search(
        &self,
        case: &dyn Case,
        search: &Search,
        turned: Option<&Turned>,
        threads: usize,
    ) -> Result<(Checked, Sketch), Problem> {
        let Some(room) = &self.room else {
            return one(self, case, search, turned, threads);
        };
        let shared = room.read().unwrap_or_else(PoisonError::into_inner);
        let searched = one(self, case, search, turned, threads)?;
        drop(shared);
        let (
            Checked {
                verdict, figures, ..
            },
            _,
        ) = &searched;
        let is_enough = self
            .args
            .max_states
            .is_some_and(|most| figures.states >= most);
        if *verdict != Verdict::Incomplete || is_enough {
            return Ok(searched);
        }
        let _alone = room.write().unwrap_or_else(PoisonError::into_inner);
        one(self, case, search, turned, threads)
    }
}

impl Job<'_> {
    fn run(&self, run: &Run<'_>, threads: usize) -> Result<Checked, Problem> {
        let case = self.case;
        let Some(turned) = &self.turned else {
            for hint in case.hints() {
                eprintln!("hint: {}: {hint}", case.name());
            }
            let (mut checked, sketch) = run.search(case, self.search, None, threads)?;
            if let Some(shard) = run.shard {
                parts::leave(&mut checked, shard, sketch, run.args)?;
            }
            return Ok(checked);
        };
        let switch = turned.switch();
        let flipped = case.flipped(&[switch]).ok_or_else(|| {
            Problem::new(format!("`{}` cannot be had with `{switch}`", case.name()))
        })?;
        let search = Search::of(flipped.as_ref()).map_err(Problem::new)?;
        let searched = run.search(flipped.as_ref(), &search, Some(turned), threads)?;
        Ok(searched.0)
    }
}

/// Hands over what comes in any order by its number, until somebody fails.
fn each_in_order<T>(
    comes: mpsc::Receiver<(usize, T)>,
    mut hand_over: impl FnMut(T) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut early = BTreeMap::new();
    let mut next = 0;
    for (at, one) in comes {
        early.insert(at, one);
        while let Some(one) = early.remove(&next) {
            hand_over(one)?;
            next += 1;
        }
    }
    Ok(())
}
