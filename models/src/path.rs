//! Paths of a search, written down as the events of a trace: what replays, and is told.

use std::time::Duration;

use wavetank_engine::trace::{FoundViolation, TraceEvent, TraceWhat};
use wavetank_engine::{Entry, Memo, What, World};

use crate::recovery::{Healing, Recovery, heal};
use crate::world_model::{Due, Move, Node, WorldModel};

/// What happened on a path.
#[derive(Clone, Debug, Default)]
pub struct Retraced {
    /// The events, in order.
    pub events: Vec<TraceEvent>,
    /// The guarantee that the last of them violated.
    pub violated: Option<Box<FoundViolation>>,
}

/// Follows a path from a state.
///
/// # Panics
/// If the path is not one from there.
pub fn retrace(
    model: &WorldModel,
    recovery: Option<&Recovery>,
    start: &Node,
    path: &[Move],
) -> Retraced {
    let mut retraced = Retraced::default();
    let mut node = start.clone();
    // What is written down has been run.
    let mut memo = Memo::off();
    for taken in path {
        if *taken == Move::Recover {
            let calm = recovery
                .expect("such a path is of a search for recovery")
                .calm();
            retraced.heal(model, &node, calm);
            return retraced;
        }
        let entry = |place| node.world.pending().nth(place).copied();
        let what = match *taken {
            Move::Pending(place) => pending(&node.world, entry(place)),
            Move::Choice(place, value) => match pending(&node.world, entry(place)) {
                TraceWhat::Pending(name) => TraceWhat::Choice(name, value),
                other => other,
            },
            Move::Planned => match &model.bounds.plan[node.planned].1 {
                Due::Act(action) => TraceWhat::Act(action.clone()),
                Due::Calm => TraceWhat::Calm,
            },
            Move::Fault(fault) => TraceWhat::Act(model.bounds.faults[fault].clone()),
            Move::Recover => unreachable!("it was looked for above"),
        };
        let (next, stepped) = model
            .next(&mut memo, &node, *taken)
            .expect("a path of this model");
        retraced.events.push(TraceEvent {
            at: next.world.now(),
            what,
            delays: stepped.delays,
        });
        node = next;
    }
    let violated = model.stands_still(&mut memo, &node);
    retraced.violated = violated.or(node.violated);
    retraced
}

impl Retraced {
    fn heal(&mut self, model: &WorldModel, node: &Node, calm: Duration) {
        // The name of an event is known before it happens only.
        let mut next = name_of_next(&node.world);
        let events = &mut self.events;
        self.violated = heal(model, node, calm, |healer, healing, stepped| {
            let world = &healer.world;
            let what = match healing {
                Healing::Act(action) => TraceWhat::Act(action.clone()),
                Healing::Calm => TraceWhat::Calm,
                Healing::Next => next.clone(),
            };
            // What panicked has left its world half-way: nothing in there can be named.
            if !stepped.panicked {
                next = name_of_next(world);
            }
            events.push(TraceEvent {
                at: world.now(),
                what,
                delays: stepped.delays.clone(),
            });
            true
        });
    }
}

fn pending(world: &World, entry: Option<Entry>) -> TraceWhat {
    let entry = entry.expect("a path of this model");
    TraceWhat::Pending(world.render(&world.entry_name(&entry)))
}

/// A choice of the default order has its usual answer.
fn name_of_next(world: &World) -> TraceWhat {
    let Some(entry) = world.next_entry() else {
        return TraceWhat::Calm;
    };
    let name = world.render(&world.entry_name(entry));
    match entry.what {
        What::Choose { usual, .. } => TraceWhat::Choice(name, usual),
        _ => TraceWhat::Pending(name),
    }
}
