//! A stateright model whose states are worlds and whose actions are pending events.
//!
//! The default order is that of virtual time under nominal latencies. Letting something else
//! happen first is a *deviation* and costs one from a budget: the events that were due earlier
//! come late, nothing comes early, so no timer fires before its time.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::time::Duration;

use stateright::{Model, Property};
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Action, Digest, Event, Memo, Time, What, World, digest, exactly, mutant};

use crate::livelock::{MOST_AT_ONE_INSTANT, endless, endless_from, stands};
use crate::step::{Stepped, step};

/// A world with what is left of the budgets.
#[derive(Clone, Debug)]
pub struct Node {
    /// The world.
    pub world: World,
    /// Deviations left.
    pub deviations: u32,
    /// Which of the faults have not injected, one bit each.
    pub faults: u64,
    /// How much of the plan is done.
    pub planned: usize,
    /// The guarantee that was violated on the way here. A panic of what is simulated violates
    /// `no-panic`.
    pub violated: Option<Box<FoundViolation>>,
    /// How virtual time stands still on the way here: no part of the state.
    pub standing: Standing,
}

/// How virtual time stands still.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// So many moves were made at this instant,
    moves: u32,
    /// the last of them in the default order, as all are that lead in a circle: any other uses up
    /// something of the bounds.
    by_default: bool,
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.key() == other.key()
            && self.violated == other.violated
            && exactly(|| self.world == other.world)
    }
}
impl Eq for Node {}

impl Node {
    /// A world where nothing of the bounds is used up.
    pub fn fresh(mut world: World, bounds: &Bounds) -> Node {
        assert!(bounds.faults.len() <= 64, "one bit a fault");
        world.cache_all_digests();
        Node {
            world,
            deviations: bounds.deviations,
            faults: (1_u64.checked_shl(bounds.faults.len() as u32)).map_or(u64::MAX, |bit| bit - 1),
            planned: 0,
            violated: None,
            standing: Standing::default(),
        }
    }

    /// What two states have in common that a search takes for one.
    pub fn fingerprint(&self) -> Digest {
        digest(self)
    }

    /// Is it on a way of the default order along which no time has passed?
    pub(crate) fn may_stand_still(&self) -> bool {
        self.standing.by_default
    }

    /// What the bounds of the search depend on, and a world's own equality leaves out.
    fn key(&self) -> (u32, u64, usize, Time) {
        (
            self.deviations * u32::from(!mutant::is("node: deviations")),
            self.faults * u64::from(!mutant::is("node: faults")),
            self.planned * usize::from(!mutant::is("node: planned")),
            match mutant::is("node: now") {
                true => Time::ZERO,
                false => self.world.now(),
            },
        )
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        let violated = self.violated.as_deref();
        let violated = violated.map(|found| (&found.property, &found.object, &found.message));
        violated.hash(state);
        state.write_u64(self.world.exact_digest());
    }
}

/// One step of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// The pending event at this place of the default order.
    Pending(usize),
    /// A choice, answered.
    Choice(usize, u64),
    /// The next of the plan.
    Planned,
    /// The fault with this index.
    Fault(usize),
    /// Faults end, and everything goes its default way: [`crate::Recovery`]. Always the last.
    Recover,
}

/// What is planned.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    /// An action.
    Act(Action),
    /// The end of the storm.
    Calm,
}

impl Due {
    fn event(&self) -> Event<'_> {
        match self {
            Due::Act(action) => Event::Act(action),
            Due::Calm => Event::Calm,
        }
    }
}

/// How far a search goes.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// What is done at given times, in their order: it happens on every path.
    pub plan: Vec<(Time, Due)>,
    /// Faults that may strike, once each, after any event; where one finds no target, it waits.
    pub faults: Vec<Action>,
    /// At most so many of them strike on one path.
    pub at_most: Option<u32>,
    /// Deviations from the default order.
    pub deviations: u32,
    /// An event overtakes only those that are due at most so much earlier.
    pub late_by: Option<Duration>,
    /// A choice among more is always the last: what is drawn from millions cannot be searched.
    pub widest_choice: Option<u64>,
    /// Whoever was stopped, crashed or lost power stays down while it is looked whether a state recovers.
    pub stay_down: bool,
    /// Virtual time after which nothing is explored.
    pub horizon: Time,
}

impl Bounds {
    /// The answers that a choice among so many gets.
    fn answers(&self, domain: u64) -> Range<u64> {
        let narrow = self.widest_choice.is_none_or(|widest| domain <= widest);
        match narrow {
            true => 0..domain,
            false if mutant::is("bounds: choice") => domain..domain,
            false => domain - 1..domain,
        }
    }
}

/// A search from one world.
#[derive(Clone, Debug)]
pub struct WorldModel {
    /// Where it begins.
    pub start: World,
    /// How far it goes.
    pub bounds: Bounds,
}

impl WorldModel {
    /// The first state.
    pub fn first(&self) -> Node {
        Node::fresh(self.start.clone(), &self.bounds)
    }

    /// What can happen next, the default first.
    pub fn moves(&self, node: &Node, moves: &mut Vec<Move>) {
        if node.violated.is_some() {
            return; // one counterexample a path
        }
        let bounds = &self.bounds;
        let deviates = node.deviations > 0;
        let planned = self.planned(node);
        let planned = planned.filter(|at| *at <= bounds.horizon || mutant::is("bounds: plan"));
        let planned_is_next = self.planned_is_next(node);
        if planned.is_some() && planned_is_next {
            moves.push(Move::Planned);
        }
        let first = node
            .world
            .next_entry()
            .map_or(Time::NEVER, |entry| entry.at);
        let last = bounds.late_by.map_or(Time::NEVER, |late| first + late);
        let last = match mutant::is("bounds: late") {
            true => bounds.horizon,
            false => last.min(bounds.horizon),
        };
        for (place, entry) in node.world.pending().enumerate() {
            let is_default = place == 0 && !planned_is_next;
            let too_late = match mutant::is("bounds: horizon") {
                true => entry.at >= last,
                false => entry.at > last,
            };
            if too_late || !(is_default || deviates) {
                break;
            }
            match entry.what {
                // It comes when it is due: nothing overtakes it, and what is late is not the later for it.
                What::Property(_) if !mutant::is("bounds: deadline") => {
                    if is_default {
                        moves.push(Move::Pending(place));
                    }
                    break;
                }
                What::Choose { domain, .. } => {
                    let answers = bounds.answers(domain);
                    moves.extend(answers.map(|value| Move::Choice(place, value)));
                }
                _ => moves.push(Move::Pending(place)),
            }
        }
        let overtakes_a_deadline = |at: Time| {
            let mut earlier = node.world.pending().take_while(|entry| entry.at < at);
            earlier.any(|entry| matches!(entry.what, What::Property(_)))
        };
        let may_overtake = |at: Time| at <= last && !overtakes_a_deadline(at);
        if deviates && !planned_is_next && planned.is_some_and(may_overtake) {
            moves.push(Move::Planned);
        }
        let mut injected = bounds.faults.len() as u32 - node.faults.count_ones();
        injected += u32::from(mutant::is("bounds: at most"));
        if bounds.at_most.is_none_or(|most| injected < most) {
            let is_left = |fault: &usize| node.faults >> fault & 1 == 1;
            // Faults that are the same are interchangeable: the first of them goes first.
            let same = |a: usize, b: usize| bounds.faults[a] == bounds.faults[b];
            let is_first = |fault: &usize| !(0..*fault).any(|at| is_left(&at) && same(at, *fault));
            let left = (0..bounds.faults.len()).filter(is_left).filter(is_first);
            let may_strike = |at: &usize| match &bounds.faults[*at] {
                Action::Fault(fault) => node.world.may_strike(fault),
                Action::Command { .. } => true,
            };
            moves.extend(left.filter(may_strike).map(Move::Fault));
        }
    }

    /// The state after a move; none if it cannot be made, or is a fault that finds no target.
    pub fn next(&self, memo: &mut Memo, node: &Node, taken: Move) -> Option<(Node, Stepped)> {
        self.turn(memo, node.clone(), taken)
    }

    /// The same, with a state that is not needed any more.
    pub fn turn(&self, memo: &mut Memo, mut node: Node, taken: Move) -> Option<(Node, Stepped)> {
        let planned_is_next = self.planned_is_next(&node);
        let now = node.world.now();
        let entry = |place: usize| node.world.pending().nth(place).copied();
        let (at, event) = match taken {
            Move::Pending(place) => {
                let entry = entry(place)?;
                (entry.at, Event::Pending(entry.seq))
            }
            Move::Choice(place, value) => {
                let entry = entry(place)?;
                (entry.at, Event::Choice(entry.seq, value))
            }
            Move::Planned => {
                let (at, due) = self.bounds.plan.get(node.planned)?;
                node.planned += 1;
                (*at, due.event())
            }
            Move::Fault(fault) => {
                if !mutant::is("bounds: once") {
                    node.faults &= !(1 << fault);
                }
                (now, Event::Act(&self.bounds.faults[fault]))
            }
            Move::Recover => return None,
        };
        let is_default = match taken {
            _ if mutant::is("bounds: free") => true,
            Move::Pending(place) | Move::Choice(place, _) => place == 0 && !planned_is_next,
            Move::Planned => planned_is_next,
            Move::Fault(_) | Move::Recover => true,
        };
        if !is_default {
            let cost = u32::from(!mutant::is("bounds: deviations"));
            node.deviations = node.deviations.checked_sub(cost)?;
        }
        let stepped = step(memo, &mut node.world, at.max(now), event);
        if !stepped.injected && matches!(taken, Move::Fault(_)) {
            return None;
        }
        if stepped.panicked {
            // What the panic left of it is of no use; any world of that time will do.
            node.world = self.start.clone();
            node.world.shift(at.max(now).since(self.start.now()));
        }
        node.violated = stepped.violated.clone();
        node.world.cache_all_digests();
        let stands = node.world.now() == now;
        node.standing = Standing {
            moves: if stands { node.standing.moves + 1 } else { 0 },
            by_default: stands && matches!(taken, Move::Pending(0) | Move::Choice(0, _)),
        };
        if node.violated.is_none() && node.standing.moves > MOST_AT_ONE_INSTANT {
            node.violated = Some(endless(&node.world));
        }
        Some((node, stepped))
    }

    /// The violation, if events of the default order go on for ever at the instant of this state. A circle of
    /// states ends with a step to one that is known: whoever searches asks then, others after each step.
    pub fn stands_still(&self, memo: &mut Memo, node: &Node) -> Option<Box<FoundViolation>> {
        let may_be = node.may_stand_still() && node.violated.is_none();
        may_be.then(|| endless_from(memo, &node.world, self.planned(node)))?
    }

    /// Is what is next due at the instant of this state?
    pub(crate) fn time_stands(&self, node: &Node) -> bool {
        stands(&node.world, node.world.now(), self.planned(node))
    }

    /// Do the bounds leave out the usual answer to the choice that is next at the instant of this state?
    pub(crate) fn leaves_out_the_usual(&self, node: &Node) -> bool {
        let Some(entry) = node.world.next_entry() else {
            return false;
        };
        let What::Choose { domain, usual, .. } = entry.what else {
            return false;
        };
        !self.bounds.answers(domain).contains(&usual) && self.time_stands(node)
    }

    /// When the next of the plan is due.
    fn planned(&self, node: &Node) -> Option<Time> {
        self.bounds.plan.get(node.planned).map(|(at, _)| *at)
    }

    /// Is it due before any event?
    fn planned_is_next(&self, node: &Node) -> bool {
        let first = node
            .world
            .next_entry()
            .map_or(Time::NEVER, |entry| entry.at);
        self.planned(node).is_some_and(|at| at <= first)
    }
}

impl Model for WorldModel {
    type State = Node;
    type Action = Move;

    fn init_states(&self) -> Vec<Node> {
        vec![self.first()]
    }

    fn actions(&self, node: &Node, moves: &mut Vec<Move>) {
        self.moves(node, moves);
    }

    fn next_state(&self, node: &Node, taken: Move) -> Option<Node> {
        let mut memo = Memo::off();
        let (next, _) = self.next(&mut memo, node, taken)?;
        let violated = self.stands_still(&mut memo, &next);
        Some(Node {
            violated: violated.or(next.violated),
            ..next
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("guarantees hold", |_, node: &Node| {
            node.violated.is_none()
        })]
    }
}
