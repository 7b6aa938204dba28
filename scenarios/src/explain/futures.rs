//! Was it inevitable? From worlds along a trace other futures are simulated: what users do, and the ends of faults, come
//! as they did; no further fault begins; how long frames take, and what algorithms choose, is drawn anew. The share of
//! futures that still violate says how much was lost by then, and where it jumps is where it was lost.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Choices, Ending, Limits, Run, Turn};
use wavetank_engine::trace::{FoundViolation, Line, Record, TraceWhat};
use wavetank_engine::{Action, Entry, Sent, Time, World};

use crate::case::Case;
use crate::quiet::quietly;
use crate::replay::{Unfollowed, follow, needs_copies};
use crate::trace_file::Trace;

/// At the beginning so many points are looked at, at most.
const GRID: u64 = 17;

/// How many futures are simulated.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// From each point.
    pub futures: u64,
    /// In all, at most: no point is begun that would need more.
    pub simulations: u64,
}

/// What may still come of the world at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// After so many events of the trace.
    pub events: usize,
    /// When that is.
    pub at: Time,
    /// So many futures violate
    pub violated: u64,
    /// of so many.
    pub futures: u64,
}

impl Chance {
    /// The share, in whole per cent.
    pub fn percent(&self) -> u64 {
        (self.violated * 100 + self.futures / 2) / self.futures.max(1)
    }
}

/// How likely the violation was along the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chances {
    /// The points, in order; the last one is the violation itself.
    pub points: Vec<Chance>,
    /// The two points between which the share grows the most.
    pub lost: (Chance, Chance),
    /// How many futures were simulated.
    pub simulations: u64,
}

impl Chances {
    /// The number of the event at which it was lost, from 1, if it is known that exactly.
    pub fn lost_at(&self) -> Option<usize> {
        let (before, after) = self.lost;
        let grows = before.percent() < after.percent();
        (grows && before.events + 1 == after.events).then_some(after.events)
    }
}

/// Simulates futures of a trace that ends in this violation.
///
/// # Errors
/// [`Unfollowed`].
pub fn futures(
    case: &dyn Case,
    trace: &Trace,
    violation: &FoundViolation,
    effort: Effort,
) -> Result<Chances, Unfollowed> {
    needs_copies(case)?;
    let events = trace.lines.iter();
    let events: Vec<Time> = events
        .filter_map(|line| match line {
            Line::Event(event) => Some(event.at),
            _ => None,
        })
        .collect();
    let last = Chance {
        events: events.len(),
        at: events.last().copied().unwrap_or(Time::ZERO),
        violated: effort.futures,
        futures: effort.futures,
    };
    let mut search = Search {
        case,
        trace,
        violation,
        effort,
        points: BTreeMap::from([(events.len(), last)]),
        simulations: 0,
    };
    search.look_at(&grid(events.len(), effort))?;
    loop {
        let lost = search.steepest();
        let middle = lost.0.events.midpoint(lost.1.events);
        let is_known = lost.0.percent() >= lost.1.percent() || middle == lost.0.events;
        if is_known || !search.may_go_on() {
            return Ok(Chances {
                points: search.points.into_values().collect(),
                lost,
                simulations: search.simulations,
            });
        }
        search.look_at(&[middle])?;
    }
}

/// Points that are evenly spread over so many events, the first before all of them.
fn grid(events: usize, effort: Effort) -> Vec<usize> {
    // Half of the effort is for looking closer.
    let affordable = effort.simulations / effort.futures.max(1) / 2;
    let points = affordable.clamp(1, GRID - 1).min(events as u64) as usize;
    let mut grid: Vec<usize> = (0..points).map(|point| point * events / points).collect();
    grid.dedup();
    grid
}

struct Search<'a> {
    case: &'a dyn Case,
    trace: &'a Trace,
    violation: &'a FoundViolation,
    effort: Effort,
    points: BTreeMap<usize, Chance>,
    simulations: u64,
}

impl Search<'_> {
    fn may_go_on(&self) -> bool {
        self.simulations + self.effort.futures <= self.effort.simulations
    }

    /// The neighbours between which the share grows the most, the later ones if there are several.
    fn steepest(&self) -> (Chance, Chance) {
        let points: Vec<Chance> = self.points.values().copied().collect();
        let pairs = points.windows(2).map(|pair| (pair[0], pair[1]));
        let grows =
            |(before, after): &(Chance, Chance)| after.violated.saturating_sub(before.violated);
        let only = *points.last().expect("the violation itself");
        pairs.max_by_key(grows).unwrap_or((only, only))
    }

    fn look_at(&mut self, points: &[usize]) -> Result<(), Unfollowed> {
        let mut jobs = Vec::new();
        for (events, world) in self.worlds(points)? {
            if self.points.contains_key(&events) || !self.may_go_on() {
                continue;
            }
            self.simulations += self.effort.futures;
            let chance = Chance {
                events,
                at: world.now(),
                violated: 0,
                futures: self.effort.futures,
            };
            self.points.insert(events, chance);
            jobs.extend((0..self.effort.futures).map(|seed| (events, seed, world.clone())));
        }
        let violate = |(events, seed, world): &(usize, u64, World)| {
            self.violates(*events, *seed, world).then_some(*events)
        };
        let violated: Vec<usize> = jobs.par_iter().filter_map(violate).collect();
        for events in violated {
            let point = self.points.get_mut(&events).expect("looked at");
            point.violated += 1;
        }
        Ok(())
    }

    /// The worlds of the trace after so many events.
    fn worlds(&self, points: &[usize]) -> Result<Vec<(usize, World)>, Unfollowed> {
        let mut worlds = Vec::new();
        if points.contains(&0) {
            let world = self.case.world(&self.trace.head.options);
            worlds.push((0, world.map_err(Unfollowed::NoWorld)?));
        }
        let until = points.iter().max().map(|events| *events as u64);
        let mut events = 0;
        let fit = self.trace.head.fit();
        follow(self.case, self.trace, fit, until, &mut |world, line, _| {
            if matches!(line, Line::Event(_)) {
                events += 1;
                if points.contains(&events) {
                    worlds.push((events, world.clone()));
                }
            }
        })?;
        Ok(worlds)
    }

    /// Does this future violate?
    fn violates(&self, events: usize, seed: u64, world: &World) -> bool {
        let options = &self.trace.head.options;
        let schedule = self.case.fault_schedule(options);
        let choices = Onward {
            drawn: Seeded::new(seed, world, schedule),
            left: left(&self.trace.lines, events),
        };
        let limits = Limits::until(self.case.until(options));
        let run = || Run::new(world.clone(), choices, limits, Record::default()).finish();
        let ending = quietly(run).ending;
        matches!(ending, Ending::Violated(found) if found.is_like(self.violation))
    }
}

/// What of a trace comes from outside after so many events, without faults that begin; the calm is `None`.
fn left(lines: &[Line], events: usize) -> VecDeque<(Time, Option<Action>)> {
    let events = lines
        .iter()
        .filter_map(|line| match line {
            Line::Event(event) => Some(event),
            _ => None,
        })
        .skip(events);
    let left = events.filter_map(|event| match &event.what {
        TraceWhat::Act(Action::Fault(fault)) if fault.kind().is_some() => None,
        TraceWhat::Act(action) => Some((event.at, Some(action.clone()))),
        TraceWhat::Calm => Some((event.at, None)),
        TraceWhat::Pending(_) | TraceWhat::Choice(..) => None,
    });
    left.collect()
}

/// The choices of a future: what is left of the trace, and for the rest what a seed draws.
struct Onward {
    drawn: Seeded,
    left: VecDeque<(Time, Option<Action>)>,
}

impl Choices for Onward {
    fn latency(&mut self, sent: Sent) -> Duration {
        self.drawn.latency(sent)
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        self.drawn.choose(world, entry, domain)
    }

    fn next_turn(&self) -> Option<Time> {
        self.left.front().map(|(at, _)| *at)
    }

    fn turn(&mut self, _world: &World) -> Turn {
        match self.left.pop_front() {
            Some((_, Some(action))) => Turn::Act(action),
            Some((_, None)) => Turn::Calm,
            None => Turn::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_as_fine_as_can_be_afforded() {
        let of = |events, futures, simulations| {
            let effort = Effort {
                futures,
                simulations,
            };
            grid(events, effort)
        };
        assert_eq!(of(3, 10, 1_000), [0, 1, 2]);
        assert_eq!(of(100, 10, 80), [0, 25, 50, 75]);
        assert_eq!(of(100, 10, 1), [0]);
        assert_eq!(of(10_000, 1, 10_000).len(), 16);
        assert!(of(0, 10, 100).is_empty());
    }
}
