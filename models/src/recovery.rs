//! Liveness by recovery: in every state faults end, and from there the default order runs on. The calm
//! begins at the horizon, where a run ends its storm, and lasts for a stated time: every guarantee that
//! is due by then holds and stays true. The default order is fair: whatever is due happens, in the order
//! of virtual time.
//!
//! One such run is followed from each state until it comes to where an earlier one has been: from
//! there on both are the same, as the calm begins and ends at one time for all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Action, Event, Fault, Memo, Status, Time, World, digest, mutant};

use crate::coverage::Coverage;
use crate::livelock::Standstill;
use crate::seen::Seen;
use crate::step::{Stepped, step};
use crate::world_model::{Node, WorldModel};

/// So many steps of a run are looked at one by one: most that meet an earlier one at all do so at once, as the next state of
/// the search is on the way.
const CLOSELY: u32 = 4;
/// Later on a state is looked at if its instant is one of these, which are the same for all runs.
const ONE_INSTANT_IN: u64 = 8;

/// How recovery is checked.
#[derive(Debug)]
pub struct Recovery {
    /// So long everything goes its default way.
    calm: Duration,
    /// From here on runs are known to be clean: a world, its time, what is left of the healing.
    clean: Seen,
    /// Steps that runs took.
    steps: AtomicU64,
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
            steps: AtomicU64::new(0),
        }
    }

    /// How many steps all runs took so far.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// So long everything goes its default way.
    pub fn calm(&self) -> Duration {
        self.calm
    }

    /// The guarantee that is violated on the way, if one is. What is reached is added to `coverage`.
    pub fn fails(
        &self,
        model: &WorldModel,
        node: &Node,
        coverage: &mut Coverage,
    ) -> Option<Box<FoundViolation>> {
        let (mut walked, mut looked) = (Vec::new(), 0);
        let broken = heal(model, node, self.calm, |healer, healing, stepped| {
            coverage.held(stepped);
            self.steps.fetch_add(1, Ordering::Relaxed);
            if stepped.violated.is_some() || matches!(healing, Healing::Act(_)) {
                return true;
            }
            let world = &mut healer.world;
            looked += 1;
            if looked > CLOSELY && digest(&world.now()) % ONE_INSTANT_IN != 0 {
                return true;
            }
            world.cache_exact_digests();
            // The time as well: processes may look at their clocks, and at how old something is.
            let now = (!mutant::is("recovery: now")).then(|| world.now());
            let stopping = (!mutant::is("recovery: stopping")).then_some(&healer.stopping);
            let exact = match mutant::is("recovery: instants") {
                true => world.digest(),
                false => world.exact_digest(),
            };
            let here = digest(&(exact, now, healer.is_calm, stopping));
            let known = self.clean.contains(here);
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

/// A world on its way to recovery.
#[derive(Debug)]
pub(crate) struct Healer {
    pub world: World,
    /// Properties were told that the storm is over; they need not remember it.
    is_calm: bool,
    /// Who was asked to stop and takes its time: once it has ended it is started.
    stopping: Vec<String>,
}

impl Healer {
    /// Who has stopped by now is started.
    fn start_stopped(&mut self) -> Option<Healing> {
        let world = &self.world;
        let has_ended = |process: &String| {
            let process = world.find(process);
            process.is_some_and(|process| world.status(process) != Status::Up)
        };
        let waits = !mutant::is("recovery: stopped");
        let at = self.stopping.iter().position(has_ended).filter(|_| waits)?;
        let process = self.stopping.remove(at);
        Some(Healing::Act(Action::Fault(Fault::Start { process })))
    }

    /// Does something happen by then?
    fn goes_on_until(&self, ends: Time) -> bool {
        let next = self.world.next_entry();
        next.is_some_and(|entry| entry.at <= ends)
    }

    /// Runs are seldom the same: what processes remember of when things happened differs. To write a step down takes
    /// longer than one that is known saves.
    fn take(&mut self, healing: &Healing, storm_ends: Time) -> Stepped {
        let world = &mut self.world;
        let memo = &mut Memo::off();
        let now = world.now();
        match healing {
            Healing::Act(action) => step(memo, world, now, Event::Act(action)),
            Healing::Calm => {
                self.is_calm = true;
                step(memo, world, storm_ends, Event::Calm)
            }
            Healing::Next => {
                let entry = *world.next_entry().expect("it was looked for");
                step(memo, world, entry.at.max(now), entry.usual())
            }
        }
    }
}

/// Runs a node's world to recovery. `watch` sees every step, and says whether to go on.
pub(crate) fn heal(
    model: &WorldModel,
    node: &Node,
    calm: Duration,
    mut watch: impl FnMut(&mut Healer, &Healing, &Stepped) -> bool,
) -> Option<Box<FoundViolation>> {
    let calm = if mutant::is("recovery: short") {
        calm / 2
    } else {
        calm
    };
    let storm_ends = model.bounds.horizon.max(node.world.now());
    let injected = model.bounds.faults.iter().enumerate();
    let injected = injected.filter(|(at, _)| node.faults >> at & 1 == 0);
    let goes_on = |end: &Fault| {
        let starts = matches!(end, Fault::Start { .. });
        !(starts && (model.bounds.stay_down || mutant::is("recovery: start")))
    };
    let mut healer = Healer {
        world: node.world.clone(),
        is_calm: mutant::is("recovery: calm"),
        stopping: Vec::new(),
    };
    let mut ends = Vec::new();
    for end in injected
        .filter_map(|(_, fault)| end_of(fault))
        .filter(goes_on)
    {
        match end {
            Fault::Start { process } if is_stopping(&healer.world, &process) => {
                healer.stopping.push(process);
            }
            end => ends.push(end),
        }
    }
    let ends = ends.into_iter().chain([Fault::HealAll {}]);
    let acts = ends.map(|end| Healing::Act(Action::Fault(end)));
    let skipped = usize::from(mutant::is("recovery: ends"));
    let mut acts = acts.skip(skipped);
    if healer.is_calm {
        acts.by_ref().for_each(drop);
    }
    let mut standstill = Standstill::new(&healer.world);
    loop {
        let until = match healer.is_calm {
            true => storm_ends + calm,
            false => storm_ends,
        };
        let healing = match acts.next().or_else(|| healer.start_stopped()) {
            Some(act) => act,
            None if healer.goes_on_until(until) => Healing::Next,
            None if !healer.is_calm => Healing::Calm,
            None => return None,
        };
        let mut stepped = healer.take(&healing, storm_ends);
        if stepped.violated.is_none() {
            stepped.violated = standstill.goes_on(&healer.world);
        }
        let goes_on = watch(&mut healer, &healing, &stepped);
        if stepped.violated.is_some() {
            return stepped.violated;
        }
        if !goes_on {
            return None;
        }
    }
}

fn is_stopping(world: &World, process: &str) -> bool {
    let process = world.find(process);
    process.is_some_and(|process| world.is_stopping(process))
}

/// What ends a fault of one process; the rest is healed as a whole.
fn end_of(fault: &Action) -> Option<Fault> {
    let Action::Fault(fault) = fault else {
        return None;
    };
    Some(match fault.clone() {
        Fault::Stop { process } | Fault::Crash { process } | Fault::PowerLoss { process } => {
            Fault::Start { process }
        }
        Fault::Pause { process } => Fault::Resume { process, order: 0 },
        Fault::Deschedule { process, routine } => Fault::Reschedule { process, routine },
        _ => return None,
    })
}
