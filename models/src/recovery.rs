//! Liveness by recovery: from every state, once faults have ended, the default order runs on for a
//! stated time, and every guarantee that is due by then holds and stays true. The default order is
//! fair: whatever is due happens, in the order of virtual time.
//!
//! One such run is followed from each state until it comes to where an earlier one has been: from
//! there on both are the same.

use std::time::Duration;

use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Action, Event, Fault, Memo, Time, World, digest};

use crate::coverage::Coverage;
use crate::seen::Seen;
use crate::step::{Stepped, step};
use crate::world_model::{Node, WorldModel};

/// How recovery is checked.
#[derive(Debug)]
pub struct Recovery {
    /// So long everything goes its default way.
    calm: Duration,
    /// From here on runs are known to be clean: a world, and how much of the calm is left.
    clean: Seen,
}

/// What happens on the way to recovery.
#[derive(Clone, Debug)]
pub enum Healing {
    /// The end of a fault.
    Act(Action),
    /// The end of the storm.
    Calm,
    /// The next event of the default order, in which a choice has its usual answer.
    Next,
}

impl Recovery {
    /// With a calm of so much virtual time.
    pub fn within(calm: Duration) -> Recovery {
        Recovery {
            calm,
            clean: Seen::default(),
        }
    }

    /// So long everything goes its default way.
    pub fn calm(&self) -> Duration {
        self.calm
    }

    /// The guarantee that is violated on the way, if one is. What is reached is added to `coverage`.
    pub fn fails(
        &self,
        model: &WorldModel,
        memo: &mut Memo,
        node: &Node,
        coverage: &mut Coverage,
    ) -> Option<Box<FoundViolation>> {
        let mut walked = Vec::new();
        let mut known = false;
        let until = node.world.now() + self.calm;
        let broken = heal(model, memo, node, self.calm, |world, healing, stepped| {
            coverage.held(stepped);
            if stepped.violated.is_some() || matches!(healing, Healing::Act(_)) {
                return true;
            }
            world.cache_all_digests();
            let here = digest(&(world.exact_digest(), until.since(world.now())));
            known = self.clean.contains(here);
            walked.push(here);
            !known
        });
        if broken.is_none() {
            for here in walked {
                self.clean.insert(here);
            }
        }
        broken
    }
}

/// Runs a node's world to recovery. `watch` sees every step, and says whether to go on.
pub(crate) fn heal(
    model: &WorldModel,
    memo: &mut Memo,
    node: &Node,
    calm: Duration,
    mut watch: impl FnMut(&mut World, &Healing, &Stepped) -> bool,
) -> Option<Box<FoundViolation>> {
    let mut world = node.world.clone();
    let until = world.now() + calm;
    let struck = model.bounds.faults.iter().enumerate();
    let struck = struck.filter(|(at, _)| node.faults >> at & 1 == 0);
    let goes_on = |end: &Action| {
        let starts = matches!(end, Action::Fault(Fault::Start { .. }));
        !(starts && model.bounds.stay_down)
    };
    let ends = struck
        .filter_map(|(_, fault)| end_of(fault))
        .filter(goes_on);
    let healed = Action::Fault(Fault::HealAll {});
    let acts = ends.chain([healed]).map(Healing::Act);
    let mut healings = acts.chain([Healing::Calm]);
    loop {
        let healing = healings.next().unwrap_or(Healing::Next);
        let stepped = take(memo, &mut world, &healing, until)?;
        let goes_on = watch(&mut world, &healing, &stepped);
        if stepped.violated.is_some() {
            return stepped.violated;
        }
        if !goes_on {
            return None;
        }
    }
}

fn take(memo: &mut Memo, world: &mut World, healing: &Healing, until: Time) -> Option<Stepped> {
    let now = world.now();
    Some(match healing {
        Healing::Act(action) => step(memo, world, now, Event::Act(action)),
        Healing::Calm => step(memo, world, now, Event::Calm),
        Healing::Next => {
            let entry = *world.next_entry().filter(|entry| entry.at <= until)?;
            step(memo, world, entry.at.max(now), entry.usual())
        }
    })
}

/// What ends a fault of one process; the rest is healed as a whole.
fn end_of(fault: &Action) -> Option<Action> {
    let Action::Fault(fault) = fault else {
        return None;
    };
    let end = match fault.clone() {
        Fault::Stop { process } | Fault::Crash { process } | Fault::PowerLoss { process } => {
            Fault::Start { process }
        }
        Fault::Pause { process } => Fault::Resume { process, order: 0 },
        Fault::Deschedule { process, routine } => Fault::Reschedule { process, routine },
        _ => return None,
    };
    Some(Action::Fault(end))
}
