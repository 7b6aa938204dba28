//! A search on several machines. Each begins in the same way, breadth first, until it knows many states that nobody has
//! searched below; of these each machine takes its own, in turns, and searches all that it reaches from there with a
//! memory of its own. So what two of them reach is searched twice, and nothing is left out if all have searched.
//!
//! Livelocks are found as ever ([`Shared::may_circle`](super::Shared)): the states of the beginning stay open, on each machine. A
//! circle that leads through one of them is seen when the step to it is made; any other is searched as a whole by each machine
//! that comes to it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

use wavetank_engine::{Memo, mutant};

use super::{Came, Frame, Job, Shared};
use crate::coverage::Coverage;
use crate::world_model::Move;

/// So many states for each machine: below one there may be a thousand times as many as below another.
const STATES_EACH: usize = 2_048;
/// Where there are few moves at a time, the beginning is no longer than this, in steps.
const LONGEST: usize = 20_000;

/// Which of several machines this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// The beginning ends when there are so many states for each.
    pub states_each: usize,
}

impl Part {
    /// The only one.
    pub const WHOLE: Part = Part::new(0, 1);

    /// One of several, counted from 0.
    pub const fn new(number: usize, of: usize) -> Part {
        Part {
            number,
            of,
            states_each: STATES_EACH,
        }
    }
}

impl Shared<'_> {
    /// Makes the beginning, and leaves to this machine what is its own.
    pub(super) fn take_part(&self, part: Part) {
        let mut coverage = Coverage::default();
        let mut memo = Memo::new();
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        // They are taken from the end, so the first start comes last.
        let mut waiting: VecDeque<Job> = std::mem::take(&mut jobs.waiting).into();
        waiting.make_contiguous().reverse();
        drop(jobs);
        let mut steps = 0;
        while waiting.len() < part.of * part.states_each
            && steps < LONGEST
            && !self.over.load(Relaxed)
        {
            let Some(job) = waiting.pop_front() else {
                break;
            };
            steps += self.spread(job, &mut memo, &mut coverage, &mut waiting);
        }
        let own = waiting.into_iter().enumerate();
        let is_lost = |at| mutant::is("parts: lost") && at == 0;
        let own = own.filter(|(at, _)| at % part.of == part.number && !is_lost(*at));
        let mut jobs = self.jobs.lock().expect("no searcher panicked");
        jobs.waiting = own.map(|(_, job)| job).collect();
        jobs.waiting.reverse();
        (self.explorer.watch)(&self.progress());
        // What all have done counts once.
        if part.number == 0 {
            jobs.coverage.add(&coverage);
            self.generated.fetch_add(steps as u64, Relaxed);
        }
    }

    /// All that one step leads to; returns how many steps these are.
    fn spread(
        &self,
        mut job: Job,
        memo: &mut Memo,
        coverage: &mut Coverage,
        waiting: &mut VecDeque<Job>,
    ) -> usize {
        let mut steps = 0;
        while job.frame.next < job.frame.moves.len() {
            let Some((taken, came)) = self.make(&mut job.frame, memo, coverage) else {
                continue;
            };
            steps += 1;
            let mut path = job.prefix.clone();
            path.push(taken);
            match came {
                Came::Known => {}
                Came::New(frame) => {
                    self.depth.fetch_max(path.len() as u64, Relaxed);
                    waiting.push_back(Job {
                        start: job.start,
                        prefix: path,
                        // It stays open for good.
                        frame: Frame {
                            open: None,
                            ..frame
                        },
                    });
                }
                Came::Violation {
                    recovers,
                    violation,
                } => {
                    path.extend(recovers.then_some(Move::Recover));
                    self.found(job.start, path, *violation);
                    break;
                }
            }
        }
        steps
    }
}
