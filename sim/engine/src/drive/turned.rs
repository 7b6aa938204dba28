//! A seed that turns: until some moment all is drawn from one seed, and from there on from another. What happens until then is
//! what happened under the first, and what comes after is as much within the rules of the storm. So the neighbourhood of a run
//! can be looked at without a false alarm: nothing is moved beyond the storm, and no fault loses its end.

use std::collections::VecDeque;
use std::time::Duration;

use crate::net::Sent;
use crate::queue::Entry;
use crate::time::Time;
use crate::world::{Report, World};

use super::run::{Applying, Choices, Turn};
use super::seeded::{FaultSchedule, Seeded};

/// Choices of a seed that turns.
#[derive(Clone, Debug)]
pub struct Turned {
    seeded: Seeded,
    /// When, and to which seed.
    turns: VecDeque<(Time, u64)>,
}

impl Turned {
    /// A seed, and those to which it turns, in the order of time.
    pub fn new(
        seed: u64,
        turns: impl IntoIterator<Item = (Time, u64)>,
        world: &World,
        fault_schedule: FaultSchedule,
    ) -> Turned {
        Turned {
            seeded: Seeded::new(seed, world, fault_schedule),
            turns: turns.into_iter().collect(),
        }
    }

    fn turn_at(&mut self, world: &World, now: Time) {
        while let Some((_, seed)) = self.turns.pop_front_if(|(at, _)| *at <= now) {
            self.seeded.redraw(world, seed);
        }
    }
}

impl Choices for Turned {
    fn latency(&mut self, sent: Sent) -> Duration {
        self.seeded.latency(sent)
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        // It is asked before the event is applied.
        self.turn_at(world, entry.at);
        self.seeded.choose(world, entry, domain)
    }

    fn next_turn(&self) -> Option<Time> {
        self.seeded.next_turn()
    }

    fn applying(&mut self, world: &World, what: Applying<'_>) {
        let now = match what {
            Applying::Entry(entry) => entry.at,
            Applying::Calm | Applying::Action(_) => world.now(),
        };
        self.turn_at(world, now);
        self.seeded.applying(world, what);
    }

    fn turn(&mut self, world: &World) -> Turn {
        self.turn_at(world, world.now());
        self.seeded.turn(world)
    }

    fn applied(&mut self, world: &World, entry: Option<&Entry>, report: &Report) {
        self.seeded.applied(world, entry, report);
    }
}
