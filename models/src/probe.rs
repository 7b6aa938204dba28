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
    /// So many steps the probes took.
    pub steps: u64,
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
        estimate.steps = steps;
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
                estimate.steps += 1;
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wavetank_engine::{
        Action, Caller, Cx, Event, Fault, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task,
        Time, World, WorldBuilder,
    };

    use super::*;
    use crate::reduction::Reduction;
    use crate::world_model::{Bounds, WorldModel};

    const CHOICES: u32 = 7;
    const EACH_AMONG: u64 = 3;
    /// 3 + 9 + … + 3⁷: the first state is no choice's.
    const STATES: f64 = 3_279.0;

    /// Makes one choice after another, and forgets none.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Chooser;

    impl Process for Chooser {
        fn boot(&mut self, cx: &mut Cx<'_>) {
            cx.spawn(Task::new(Name::new("choose"), ()));
        }
        fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
        fn crash(&mut self) {}
        fn routine(&self, _: &Task) -> RoutineFuture {
            Box::pin(async {
                let rx = Rx::new();
                for _ in 0..CHOICES {
                    rx.choose(EACH_AMONG).await;
                }
                rx.sleep(Duration::from_secs(3_600)).await;
                Outcome::Done
            })
        }
    }

    fn tree() -> WorldModel {
        let mut start: World = WorldBuilder::new().process("chooser", Chooser).build();
        let up = Action::Fault(Fault::Start {
            process: "chooser".to_owned(),
        });
        let started = start.apply(Time::ZERO, Event::Act(&up), &mut |sent| sent.nominal);
        started.expect("it starts");
        WorldModel {
            bounds: Bounds {
                horizon: Time::from_secs(1),
                ..Bounds::default()
            },
            start,
        }
    }

    fn explorer(model: &WorldModel) -> Explorer<'_> {
        Explorer {
            model,
            recovery: None,
            reduction: Reduction::NONE,
            threads: 1,
            watch: &|_| true,
        }
    }

    /// All states below one.
    fn below(model: &WorldModel, node: &Node, seen: &Seen) {
        let mut moves = Vec::new();
        model.moves(node, &mut moves);
        for taken in moves {
            let next = model.next(&mut Memo::new(), node, taken);
            if let Some((next, _)) = next {
                seen.insert((Reduction::NONE.key)(model, &next));
                below(model, &next, seen);
            }
        }
    }

    /// What probes say on average, of many searches that differ in nothing but which probes they take.
    fn on_average(model: &WorldModel, seen: &Seen, of: impl Fn(&Estimate) -> f64) -> f64 {
        const SEARCHES: u64 = 256;
        let (starts, mut memo) = ([model.first()], Memo::new());
        let mut sum = 0.0;
        for search in 0..SEARCHES {
            sum += of(&explorer(model).probe(&starts, seen, &mut memo));
            // No state of this search.
            seen.insert(wavetank_engine::digest(&("another search", search)));
        }
        sum / SEARCHES as f64
    }

    #[test]
    fn probes_tell_how_large_a_tree_is() {
        let model = tree();
        let all = Seen::default();
        below(&model, &model.first(), &all);
        assert_eq!(all.len() as f64, STATES);
        let states = on_average(&model, &Seen::default(), |estimate| estimate.states as f64);
        assert!(
            (0.8..1.2).contains(&(states / STATES)),
            "{states} of {STATES}"
        );
    }

    #[test]
    fn probes_tell_how_much_of_a_tree_is_known() {
        let model = tree();
        let (first, mut memo) = (model.first(), Memo::new());
        let explorer = explorer(&model);
        let all = Seen::default();
        below(&model, &first, &all);
        let whole = explorer.probe(std::slice::from_ref(&first), &all, &mut memo);
        assert_eq!((whole.known, whole.states as f64), (1_000_000, STATES));
        assert!(
            whole.choices > 0 && whole.faults + whole.deviations == 0,
            "{whole:?}"
        );
        // The three ways that the first choice leads: what is the default is met more often, but nothing twice.
        let shares = (0..EACH_AMONG).map(|answer| {
            let part = Seen::default();
            let next = model.next(&mut memo, &first, Move::Choice(0, answer));
            let (next, _) = next.expect("it is possible");
            part.insert((Reduction::NONE.key)(&model, &next));
            below(&model, &next, &part);
            on_average(&model, &part, |estimate| f64::from(estimate.known) / 1e6)
        });
        let shares: Vec<f64> = shares.collect();
        assert!(
            shares.iter().all(|share| (0.1..0.7).contains(share)),
            "{shares:?}"
        );
        let sum: f64 = shares.iter().sum();
        assert!((0.99..1.01).contains(&sum), "{shares:?}");
    }
}
