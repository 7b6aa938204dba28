//! How large a search will be: random probes of its tree (Knuth, *Estimating the efficiency of backtrack programs*,
//! 1975). Each walks from a start to an end; a state counts for as many as there are by the chance with which the probe
//! came to it. What the search knows already of all that gives how much there is in all.
//!
//! A probe takes the default where it can, and the rest now and then, so that they are spread over the whole path: if
//! all were as likely, the first steps would use up what the bounds allow.

use wavetank_engine::Memo;
use wavetank_engine::drive::random::Stream;

use crate::explore::Explorer;
use crate::seen::Seen;
use crate::world_model::{Move, Node};

/// So many walks.
const PROBES: u64 = 16;
/// Of so many steps at most.
const LONGEST: u64 = 4_096;

/// What random probes say of a search that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Of a million states that the probes stand for so many are known.
    pub known: u32,
    /// So many states there are in all, by that.
    pub states: u64,
    /// Of all alternatives to the default so many are faults,
    pub faults: u64,
    /// events that come before others that are due earlier,
    pub deviations: u64,
    /// and other answers to choices.
    pub choices: u64,
}

impl Estimate {
    fn count(&mut self, alternatives: &[Move]) {
        for taken in alternatives {
            match taken {
                Move::Fault(_) => self.faults += 1,
                Move::Choice(0, _) => self.choices += 1,
                Move::Pending(_) | Move::Choice(..) | Move::Planned => self.deviations += 1,
                Move::Recover => {}
            }
        }
    }
}

impl Explorer<'_> {
    /// Probes a search that knows `seen`; which probes they are follows from how many states it knows.
    pub(crate) fn probe(&self, starts: &[Node], seen: &Seen, memo: &mut Memo) -> Estimate {
        let mut estimate = Estimate::default();
        let (mut known, mut all) = (0.0, 0.0);
        let unique = seen.len() as u64;
        let mut stream = Stream::new(unique, "probes");
        let steps = starts
            .first()
            .map_or(1, |start| self.default_steps(start, memo));
        for _ in 0..PROBES {
            let Some(start) = stream.pick(starts) else {
                break;
            };
            let mut node = start.clone();
            let mut weight = starts.len() as f64;
            for step in 0..LONGEST {
                let mut moves = Vec::new();
                self.model.moves(&node, &mut moves);
                let Some((_, alternatives)) = moves.split_first() else {
                    break;
                };
                estimate.count(alternatives);
                let (taken, chance) = self.draw(&moves, &node, steps, step, &mut stream);
                let Some((next, _)) = self.model.turn(memo, node, taken) else {
                    break;
                };
                node = next;
                weight /= chance;
                let key = (self.reduction.key)(self.model, &node);
                if self.reduction.keeps(key) {
                    all += weight;
                    known += if seen.contains(key) { weight } else { 0.0 };
                }
            }
        }
        let share: f64 = if all > 0.0 { known / all } else { 1.0 };
        estimate.known = (share * 1e6) as u32;
        // Of what is hardly known only the tree says anything, in which a state stands once for each way to it.
        estimate.states = match share >= 0.001 {
            true => (unique as f64 / share) as u64,
            false => (all / PROBES as f64) as u64,
        };
        estimate
    }

    /// How long the default path is.
    fn default_steps(&self, start: &Node, memo: &mut Memo) -> u64 {
        let mut node = start.clone();
        for step in 0..LONGEST {
            let mut moves = Vec::new();
            self.model.moves(&node, &mut moves);
            let next = moves.first();
            match next.and_then(|first| self.model.turn(memo, node, *first)) {
                Some((next, _)) => node = next,
                None => return step.max(1),
            }
        }
        LONGEST
    }

    /// A move, and how likely it was.
    fn draw(
        &self,
        moves: &[Move],
        node: &Node,
        steps: u64,
        step: u64,
        stream: &mut Stream,
    ) -> (Move, f64) {
        let others = moves.len() - 1;
        if others == 0 {
            return (moves[0], 1.0);
        }
        let left = f64::from(node.deviations + node.faults.count_ones()).max(1.0);
        let ahead = steps.saturating_sub(step).max(1) as f64;
        let elsewhere = (left / (left + ahead)).min(others as f64 / moves.len() as f64);
        let draw = stream.below(1 << 32) as f64 / (1u64 << 32) as f64;
        if draw >= elsewhere {
            return (moves[0], 1.0 - elsewhere);
        }
        let other = 1 + stream.below(others as u64) as usize;
        (moves[other], elsewhere / others as f64)
    }
}
