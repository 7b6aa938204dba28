//! A search with nothing clever about it, which the real one is held against: breadth first, every step run
//! on a copy that shares nothing, every state kept, states told apart by digests made from scratch *and* by
//! structure. No memory of steps, no cached digest, no reduction, no memory of recovery; what can happen
//! next is said here again, from what [`Bounds`] promises.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use wavetank_engine::drive::{MOST, overgrown, stuck};
use wavetank_engine::{
    Action, Check, Class, Digest, Entry, Event, Fault, Status, Time, What, World, digest, exactly,
};

use crate::world_model::{Bounds, Due, Move, WorldModel};

use super::toy::Toy;

/// A property that is violated, and its words.
pub(super) type Violated = (String, String);

/// A world, and what is used up of its bounds.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub world: World,
    pub deviations: u32,
    pub injected: Vec<bool>,
    pub planned: usize,
}

/// Where a move leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Led {
    To(usize),
    /// A fault that found no target.
    Nowhere,
    Violated(Violated),
}

/// A move from a state.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub from: usize,
    pub taken: Move,
    pub led: Led,
}

/// All that there is within the bounds.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub states: Vec<State>,
    pub edges: Vec<Edge>,
    /// States that are equal to an earlier one, which was reached another way: some of them.
    pub twins: Vec<(usize, State)>,
    /// Pairs that differ and have one digest.
    pub alike: Vec<[State; 2]>,
    /// What was said to wait for ever, and did not.
    pub false_deadlocks: Vec<String>,
}

/// A world with more that is pending, and more routines, is too large to be copied for each state.
const LARGE: usize = 150;

/// So many twins are kept, and then one in so many.
const TWINS: (usize, usize) = (40, 16);

impl State {
    pub fn first(model: &WorldModel) -> State {
        State {
            world: model.start.clone(),
            deviations: model.bounds.deviations,
            injected: vec![false; model.bounds.faults.len()],
            planned: 0,
        }
    }

    /// Its digest, made from scratch.
    pub fn digest(&self) -> Digest {
        let world = exactly(|| self.world.digest_from_scratch());
        let budgets = (self.deviations, &self.injected, self.planned);
        digest(&(budgets, self.world.now(), world))
    }

    pub fn is_same(&self, other: &State) -> bool {
        (self.deviations, &self.injected, self.planned)
            == (other.deviations, &other.injected, other.planned)
            && self.world.now() == other.world.now()
            && exactly(|| self.world == other.world)
    }

    /// What can happen next.
    pub fn moves(&self, bounds: &Bounds) -> Vec<Move> {
        let entries: Vec<Entry> = self.world.pending().copied().collect();
        let first = entries.first().map(|entry| entry.at);
        let plan = bounds.plan.get(self.planned).map(|(at, _)| *at);
        // What is planned for a time comes before events of that time.
        let plan_is_next = self.plan_is_next(bounds);
        // The first of the default order is free; whatever overtakes it must not make it too late.
        let may = |at: Time, is_default: bool| {
            let late = bounds.late_by.zip(first);
            let is_late = late.is_some_and(|(late, first)| at.since(first) > late);
            at <= bounds.horizon && (is_default || self.deviations > 0 && !is_late)
        };
        // A property's deadline says how long something may take. It comes when it is due: it overtakes
        // nothing, and nothing overtakes it.
        let is_deadline = |entry: &&Entry| matches!(entry.what, What::Property(_));
        let deadline = entries.iter().find(is_deadline).map(|entry| entry.at);
        let mut moves = Vec::new();
        let is_in_time = |at: Time| deadline.is_none_or(|deadline| at <= deadline);
        if plan.is_some_and(|at| may(at, plan_is_next) && is_in_time(at)) {
            moves.push(Move::Planned);
        }
        for (place, entry) in entries.iter().enumerate() {
            let is_default = place == 0 && !plan_is_next;
            if !may(entry.at, is_default) {
                continue;
            }
            match entry.what {
                What::Property(_) if !is_default => break,
                What::Choose { domain, .. } if bounds.widest_choice.is_some_and(|w| w < domain) => {
                    moves.push(Move::Choice(place, domain - 1));
                }
                What::Choose { domain, .. } => {
                    moves.extend((0..domain).map(|value| Move::Choice(place, value)));
                }
                What::Property(_) => {
                    moves.push(Move::Pending(place));
                    break;
                }
                _ => moves.push(Move::Pending(place)),
            }
        }
        let injected = self.injected.iter().filter(|injected| **injected).count();
        if bounds.at_most.is_none_or(|most| injected < most as usize) {
            let left: Vec<usize> = (0..self.injected.len())
                .filter(|at| !self.injected[*at])
                .collect();
            // Of faults that are the same it does not matter which strikes.
            let is_first = |at: &&usize| {
                let first = left
                    .iter()
                    .find(|other| bounds.faults[**other] == bounds.faults[**at]);
                first == Some(at)
            };
            moves.extend(left.iter().filter(is_first).map(|at| Move::Fault(*at)));
        }
        moves
    }

    fn plan_is_next(&self, bounds: &Bounds) -> bool {
        let first = self.world.next_entry().map(|entry| entry.at);
        let plan = bounds.plan.get(self.planned).map(|(at, _)| *at);
        plan.is_some_and(|plan| first.is_none_or(|first| plan <= first))
    }

    /// A move, made on a copy that shares nothing.
    pub fn after(&self, bounds: &Bounds, taken: Move) -> Result<Option<State>, Violated> {
        let mut next = State {
            world: self.world.unshared(),
            ..self.clone()
        };
        let is_default = match taken {
            Move::Planned => self.plan_is_next(bounds),
            Move::Pending(place) | Move::Choice(place, _) => {
                place == 0 && !self.plan_is_next(bounds)
            }
            Move::Fault(_) | Move::Recover => true,
        };
        next.deviations -= u32::from(!is_default);
        let entry = |place: usize| *self.world.pending().nth(place).expect("one of its moves");
        let (at, event) = match taken {
            Move::Pending(place) => (entry(place).at, Event::Pending(entry(place).seq)),
            Move::Choice(place, value) => (entry(place).at, Event::Choice(entry(place).seq, value)),
            Move::Planned => {
                next.planned += 1;
                let (at, due) = &bounds.plan[self.planned];
                match due {
                    Due::Act(action) => (*at, Event::Act(action)),
                    Due::Calm => (*at, Event::Calm),
                }
            }
            Move::Fault(fault) => {
                next.injected[fault] = true;
                (self.world.now(), Event::Act(&bounds.faults[fault]))
            }
            Move::Recover => unreachable!("it is no move of a walk"),
        };
        let injected = run(&mut next.world, at, event)?;
        let is_first = matches!(taken, Move::Pending(0) | Move::Choice(0, _));
        if is_first && next.world.now() == self.world.now() && next.is_endless(bounds) {
            return Err(livelock());
        }
        let is_fault = matches!(taken, Move::Fault(_));
        Ok((injected || !is_fault).then_some(next))
    }
}

fn livelock() -> Violated {
    (
        "no-livelock".to_owned(),
        "it goes on and on at one instant".to_owned(),
    )
}

/// So many events at one instant are no end.
const ENDLESS: u32 = 2000;

impl State {
    /// Does everything go its default way for ever, while no time passes?
    fn is_endless(&self, bounds: &Bounds) -> bool {
        let mut ahead = State {
            world: self.world.unshared(),
            ..self.clone()
        };
        for _ in 0..ENDLESS {
            let Some(entry) = ahead.world.next_entry().copied() else {
                return false;
            };
            let goes_on = entry.at > ahead.world.now() || ahead.plan_is_next(bounds);
            if goes_on || run(&mut ahead.world, entry.at, entry.usual()).is_err() {
                return false;
            }
        }
        true
    }
}

/// Applies an event. Did it find its target?
fn run(world: &mut World, at: Time, event: Event<'_>) -> Result<bool, Violated> {
    let at = at.max(world.now());
    let applied = catch_unwind(AssertUnwindSafe(|| {
        world.apply(at, event, &mut |sent| sent.nominal)
    }));
    let mut report = match applied {
        Ok(fits) => fits.expect("an event of this world"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            return Err(("no-panic".to_owned(), text.unwrap_or_default()));
        }
    };
    let found = stuck(&mut report).or_else(|| overgrown(world, MOST));
    if let Some(found) = found {
        return Err((found.property, found.message));
    }
    for (index, check) in &report.checks {
        let property = world.properties().nth((*index).into()).expect("its index");
        if let (Check::Violated(violation), Class::Guarantee) = (check, property.class()) {
            return Err((property.name().to_owned(), violation.message.clone()));
        }
    }
    Ok(report.injected)
}

impl Walk {
    /// All states, unless there are more than so many, or too large ones.
    pub fn of(model: &WorldModel, most: usize) -> Option<Walk> {
        let mut walk = Walk::default();
        let mut places: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
        let first = State::first(model);
        places.insert(first.digest(), vec![0]);
        walk.states.push(first);
        let mut from = 0;
        let mut met_again = 0;
        while from < walk.states.len() {
            for taken in walk.states[from].moves(&model.bounds) {
                let led = match walk.states[from].after(&model.bounds, taken) {
                    Err(violated) => {
                        walk.doubt(from, taken, model, &violated);
                        Led::Violated(violated)
                    }
                    Ok(None) => Led::Nowhere,
                    Ok(Some(next)) if next.world.size() > LARGE => return None,
                    Ok(Some(next)) => {
                        let known = places.entry(next.digest()).or_default();
                        let same = |at: &&usize| walk.states[**at].is_same(&next);
                        match known.iter().find(same).copied() {
                            Some(at) => {
                                met_again += 1;
                                if walk.twins.len() < TWINS.0 || met_again % TWINS.1 == 0 {
                                    walk.twins.push((at, next));
                                }
                                Led::To(at)
                            }
                            None => {
                                let at = walk.states.len();
                                if let Some(other) = known.first() {
                                    let other = walk.states[*other].clone();
                                    walk.alike.push([other, next.clone()]);
                                }
                                known.push(at);
                                walk.states.push(next);
                                Led::To(at)
                            }
                        }
                    }
                };
                walk.edges.push(Edge { from, taken, led });
            }
            if walk.states.len() > most {
                return None;
            }
            from += 1;
        }
        Some(walk)
    }

    /// What violates a guarantee.
    pub fn violated(&self) -> impl Iterator<Item = &Violated> {
        self.edges.iter().filter_map(|edge| match &edge.led {
            Led::Violated(violated) => Some(violated),
            _ => None,
        })
    }

    /// Routines that are said to wait for each other do so for good: if one of them comes to its end
    /// after all, they did not.
    fn doubt(&mut self, from: usize, taken: Move, model: &WorldModel, violated: &Violated) {
        let (property, words) = violated;
        if property != "no-deadlock" {
            return;
        }
        let state = &self.states[from];
        let mut world = state.world.unshared();
        let event = match taken {
            Move::Pending(place) => world
                .pending()
                .nth(place)
                .map(|entry| (entry.at, entry.usual())),
            Move::Choice(place, value) => {
                let entry = world.pending().nth(place);
                entry.map(|entry| (entry.at, Event::Choice(entry.seq, value)))
            }
            Move::Fault(fault) => Some((world.now(), Event::Act(&model.bounds.faults[fault]))),
            _ => None,
        };
        let Some((at, event)) = event else { return };
        let at = at.max(world.now());
        let goes_on = |world: &mut World, at: Time, event: Event<'_>| {
            let applied = || world.apply(at, event, &mut |sent| sent.nominal).is_ok();
            catch_unwind(AssertUnwindSafe(applied)).unwrap_or(false)
        };
        if !goes_on(&mut world, at, event) {
            return;
        }
        let name = words.split(':').next().unwrap_or_default();
        let Some(process) = world.find(name) else {
            return;
        };
        let life = world.incarnation(process);
        let named = |world: &World| -> Vec<String> {
            let all = world.routines(process).map(|routine| routine.to_string());
            all.filter(|routine| words.contains(routine.as_str()))
                .collect()
        };
        let stuck = named(&world);
        for _ in 0..200 {
            let Some(entry) = world.next_entry().copied() else {
                return;
            };
            let at = entry.at.max(world.now());
            let is_up = |world: &World| {
                world.status(process) == Status::Up && world.incarnation(process) == life
            };
            if !goes_on(&mut world, at, entry.usual()) || !is_up(&world) {
                return;
            }
            if named(&world) != stuck {
                return self.false_deadlocks.push(words.clone());
            }
        }
    }
}

/// Why a state is not seen to recover.
#[derive(Debug)]
pub(super) enum Unhealed {
    Violated(Violated),
    /// The world grows too large to be followed.
    TooLarge,
}

impl From<Violated> for Unhealed {
    fn from(violated: Violated) -> Unhealed {
        Unhealed::Violated(violated)
    }
}

/// Ends what was injected, and lets everything go its default way: to the horizon, and then for so long.
pub(super) fn heal(state: &State, bounds: &Bounds, calm: Duration) -> Result<(), Unhealed> {
    let mut world = state.world.unshared();
    let calm_comes = bounds.horizon.max(world.now());
    let mut is_calm = false;
    let injected = bounds.faults.iter().zip(&state.injected);
    let injected = injected.filter_map(|(fault, injected)| injected.then_some(fault));
    let mut ends: Vec<Fault> = injected.filter_map(end_of).collect();
    ends.retain(|end| !(bounds.stay_down && matches!(end, Fault::Start { .. })));
    ends.push(Fault::HealAll {});
    // Who was asked to stop, and takes its time, is started when it has ended.
    let mut stopping = Vec::new();
    ends.retain(|end| match end {
        Fault::Start { process } if is_stopping(&world, process) => {
            stopping.push(process.clone());
            false
        }
        _ => true,
    });
    let now = world.now();
    for end in ends {
        run(&mut world, now, Event::Act(&Action::Fault(end)))?;
    }
    let mut at_once = 0;
    loop {
        while let Some(at) = stopping.iter().position(|process| !is_up(&world, process)) {
            let start = Fault::Start {
                process: stopping.remove(at),
            };
            let now = world.now();
            run(&mut world, now, Event::Act(&Action::Fault(start)))?;
        }
        let ends = if is_calm {
            calm_comes + calm
        } else {
            calm_comes
        };
        let next = world.next_entry().copied();
        let Some(entry) = next.filter(|entry| entry.at <= ends) else {
            if is_calm {
                return Ok(());
            }
            is_calm = true;
            run(&mut world, calm_comes, Event::Calm)?;
            continue;
        };
        at_once = if entry.at > world.now() {
            0
        } else {
            at_once + 1
        };
        if at_once > ENDLESS {
            return Err(livelock().into());
        }
        run(&mut world, entry.at, entry.usual())?;
        if world.size() > LARGE {
            return Err(Unhealed::TooLarge);
        }
    }
}

fn is_up(world: &World, process: &str) -> bool {
    let process = world.find(process);
    process.is_some_and(|process| world.status(process) == Status::Up)
}

/// Was it asked to stop, and still runs?
fn is_stopping(world: &World, name: &str) -> bool {
    let process = world.find(name);
    let toy = process.and_then(|process| world.process::<Toy>(process));
    toy.is_some_and(Toy::is_stopping) && is_up(world, name)
}

fn end_of(fault: &Action) -> Option<Fault> {
    let Action::Fault(fault) = fault else {
        return None;
    };
    match fault.clone() {
        Fault::Stop { process } | Fault::Crash { process } | Fault::PowerLoss { process } => {
            Some(Fault::Start { process })
        }
        Fault::Pause { process } => Some(Fault::Resume { process, order: 0 }),
        Fault::Deschedule { process, routine } => Some(Fault::Reschedule { process, routine }),
        _ => None,
    }
}
