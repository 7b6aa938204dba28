//! Makes a counterexample as small as the bounds allow: fewer faults, fewer deviations, an earlier
//! end. Each is tried by a search on one thread, so that the result depends neither on the number of
//! threads nor on who was first.

use std::time::Duration;

use wavetank_engine::{Memo, Time};

use crate::explore::{Ended, Explorer, Found};
use crate::recovery::Recovery;
use crate::reduction::Reduction;
use crate::world_model::{Bounds, Move, Node, WorldModel};

/// A counterexample, and the model whose path it is.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// With bounds as narrow as they can be.
    pub model: WorldModel,
    /// The state that the path begins at.
    pub start: Node,
    /// The path, and what it violates.
    pub found: Found,
}

/// How a counterexample is made smaller.
#[derive(Clone, Copy, Debug)]
pub struct Shortening<'a> {
    /// The search that found it.
    pub model: &'a WorldModel,
    /// How long the calm of a recovery is, if that was checked.
    pub calm: Option<Duration>,
    /// So many steps are made at most in each pass: for fewer faults, for fewer deviations, for an earlier end.
    pub steps: u64,
}

impl Shortening<'_> {
    /// A smaller one that violates the same property, or this very one.
    pub fn of(&self, start: &Node, found: Found) -> Shortened {
        let mut best = Shortened {
            model: self.model.clone(),
            start: start.clone(),
            found,
        };
        let injected = |path: &[Move]| {
            let faults = path.iter().filter(|taken| matches!(taken, Move::Fault(_)));
            faults.count() as u32
        };
        // A start in the middle of a trace has used up some of its budgets.
        let used = start_used(start, &self.model.bounds);
        let most = used + injected(&best.found.path);
        self.first_that_finds(
            &mut best,
            (used..=most).map(|most| Bounds {
                at_most: Some(most),
                ..self.model.bounds.clone()
            }),
        );
        let bounds = best.model.bounds.clone();
        self.first_that_finds(
            &mut best,
            (0..=bounds.deviations).map(|deviations| Bounds {
                deviations,
                ..bounds.clone()
            }),
        );
        self.end_early(&mut best);
        best
    }

    /// The narrowest bounds within which it is found.
    fn first_that_finds(&self, best: &mut Shortened, all: impl Iterator<Item = Bounds>) {
        let mut left = self.steps;
        for bounds in all {
            if self.find(best, bounds, &mut left) {
                return;
            }
        }
    }

    /// The earliest virtual time at which it is found.
    fn end_early(&self, best: &mut Shortened) {
        let (mut too_early, mut enough) = (best.start.world.now(), best.model.bounds.horizon);
        let mut left = self.steps;
        while enough.since(too_early) > Duration::from_micros(100) {
            let middle = too_early + enough.since(too_early) / 2;
            let bounds = Bounds {
                horizon: middle,
                ..best.model.bounds.clone()
            };
            match self.find(best, bounds, &mut left) {
                true => enough = self.last_event(best).min(middle),
                false => too_early = middle,
            }
        }
    }

    /// When the path of the best ends.
    fn last_event(&self, best: &Shortened) -> Time {
        let mut node = best.start.clone();
        let mut memo = Memo::new();
        for taken in &best.found.path {
            match best.model.next(&mut memo, &node, *taken) {
                Some((next, _)) => node = next,
                None => break, // the calm is no part of the search
            }
        }
        node.world.now()
    }

    fn find(&self, best: &mut Shortened, bounds: Bounds, left: &mut u64) -> bool {
        if *left == 0 {
            return false;
        }
        let most = *left;
        let model = WorldModel {
            start: best.model.start.clone(),
            bounds,
        };
        let recovery = self.calm.map(Recovery::within);
        let explorer = Explorer {
            model: &model,
            recovery: recovery.as_ref(),
            reduction: Reduction::NONE,
            threads: 1,
            watch: &|progress| progress.generated < most,
        };
        let start = Node {
            deviations: model.bounds.deviations,
            ..best.start.clone()
        };
        let explored = explorer.run_from(vec![start.clone()]);
        *left = most.saturating_sub(explored.progress.generated);
        let Ended::Violated(found) = explored.ended else {
            return false;
        };
        if !found.violation.is_like(&best.found.violation) {
            return false;
        }
        let start_index = best.found.start;
        *best = Shortened {
            model,
            start,
            found: Found {
                start: start_index,
                ..*found
            },
        };
        true
    }
}

fn start_used(start: &Node, bounds: &Bounds) -> u32 {
    bounds.faults.len() as u32 - start.faults.count_ones()
}
