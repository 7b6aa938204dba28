//! The neighbourhood of a plan: what it says is done, and what it leaves open is drawn. Where a plan has lost a choice
//! with an operation that was taken out of it, another answer may lead where it led.

use std::time::Duration;

use crate::fault::Action;
use crate::net::Sent;
use crate::queue::Entry;
use crate::time::{Time, nanos};
use crate::world::{Report, World};

use super::plan::{FromPlan, Plan};
use super::random::Stream;
use super::run::{Applying, Choices, Turn};

/// How far actions are moved, in nanoseconds: from neighbour to neighbour another order of magnitude.
const MOVED: [u64; 5] = [0, 1_000_000, 20_000_000, 300_000_000, 3_000_000_000];
/// A frame that is late takes at most so many times as long as usual.
const LATE: [u64; 3] = [4, 40, 400];

/// Choices of a plan, and near it where it says nothing.
#[derive(Clone, Debug)]
pub struct Near {
    plan: FromPlan,
    draw: Stream,
    /// How many frames of a million are late, and by how much at most.
    late: (u32, u64),
    /// How many choices of a million have any answer.
    open: u32,
}

impl Near {
    /// The `n`-th neighbour of a plan, with no action before this time.
    pub fn new(plan: &Plan, n: u64, from: Time) -> Near {
        let mut draw = Stream::new(n, "near");
        let moved = MOVED[(n % MOVED.len() as u64) as usize];
        let late = LATE[(n / MOVED.len() as u64 % LATE.len() as u64) as usize];
        let mut plan = plan.clone();
        for planned in plan.actions.iter_mut().filter(|_| moved > 0) {
            if !matches!(&planned.action, Action::Fault(fault) if fault.kind().is_none()) {
                let at = planned.at.nanos() + draw.within(0, 2 * moved);
                planned.at = Time::from_nanos(at.saturating_sub(moved)).max(from);
                planned.after = None;
            }
        }
        Near {
            late: ([0, 50_000, 200_000][draw.below(3) as usize], late),
            open: [1_000_000, 300_000][draw.below(2) as usize],
            plan: FromPlan::new(&plan),
            draw,
        }
    }
}

impl Choices for Near {
    fn latency(&mut self, sent: Sent) -> Duration {
        let is_planned = self.plan.has_latency();
        let taken = self.plan.latency(sent);
        match !is_planned && self.draw.chance(self.late.0) {
            true => Duration::from_nanos(nanos(taken) * self.draw.within(1, self.late.1)),
            false => taken,
        }
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        let is_open = !self.plan.has_choice(world, entry) && self.draw.chance(self.open);
        match is_open {
            true => self.draw.below(domain.max(1)),
            false => self.plan.choose(world, entry, domain),
        }
    }

    fn next_turn(&self) -> Option<Time> {
        self.plan.next_turn()
    }

    fn applying(&mut self, world: &World, what: Applying<'_>) {
        self.plan.applying(world, what);
    }

    fn turn(&mut self, world: &World) -> Turn {
        self.plan.turn(world)
    }

    fn applied(&mut self, world: &World, entry: Option<&Entry>, report: &Report) {
        self.plan.applied(world, entry, report);
    }
}
