//! A stateright model whose states are worlds and whose actions are pending events.
//!
//! The default order is that of virtual time under nominal latencies. Letting something else
//! happen first is a *deviation* and costs one from a budget: the events that were due earlier
//! come late, nothing comes early, so no timer fires before its time.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use stateright::{Model, Property};
use wavetank_engine::{Action, Check, Class, Event, Time, What, World};

/// A world with what is left of the budgets.
#[derive(Clone, Debug)]
pub struct Node {
    /// The world.
    pub world: World,
    /// Deviations left.
    pub deviations: u32,
    /// Which of the model's faults have not struck, one bit each.
    pub faults: u64,
    /// The guarantee that was violated on the way here, with what was wrong. A panic of what is
    /// simulated violates `no-panic`.
    pub violated: Option<(String, String)>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.key() == other.key() && self.violated == other.violated && self.world == other.world
    }
}
impl Eq for Node {}

impl Node {
    /// What the bounds of the search depend on, and a world's own equality leaves out.
    fn key(&self) -> (u32, u64, Time) {
        (self.deviations, self.faults, self.world.now())
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        self.violated.hash(state);
        self.world.hash(state);
    }
}

/// One step of the search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// The pending event at this place of the default order; 0 is the default.
    Pending(usize),
    /// A choice, answered.
    Choice(usize, u64),
    /// The model's fault with this index.
    Fault(usize),
}

/// The bounds of a search from one world.
#[derive(Clone, Debug)]
pub struct WorldModel {
    /// Where it begins.
    pub start: World,
    /// Faults that may strike, once each, after any event; where one finds no target, it waits.
    pub faults: Vec<Action>,
    /// Deviations from the default order.
    pub deviations: u32,
    /// Virtual time after which nothing is explored.
    pub horizon: Time,
}

impl WorldModel {
    fn apply(&self, node: &Node, event: Event<'_>, at: Time) -> Option<Node> {
        let mut next = node.clone();
        let applied = catch_unwind(AssertUnwindSafe(|| {
            next.world.apply(at, event, &mut |sent| sent.nominal)
        }));
        let report = match applied {
            // A fault that no world knows must not look like one that does no harm.
            Ok(fits) => fits.unwrap_or_else(|misfit| panic!("the model's own mistake: {misfit}")),
            Err(panic) => return Some(broken(node, panic.as_ref())),
        };
        if !report.struck {
            return None;
        }
        for (index, check) in &report.checks {
            let Check::Violated(violation) = check else {
                continue;
            };
            let property = next.world.properties().nth((*index).into())?;
            if property.class() == Class::Guarantee {
                next.violated
                    .get_or_insert((property.name().to_owned(), violation.message.clone()));
            }
        }
        World::recycle(report);
        next.world.cache_digests();
        Some(next)
    }
}

/// The state after an event in which what is simulated panicked: the world is as it was before, for
/// what the panic left of it is of no use.
fn broken(before: &Node, panic: &(dyn Any + Send)) -> Node {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    let why = text.unwrap_or("without a message").to_owned();
    Node {
        violated: Some(("no-panic".to_owned(), why)),
        ..before.clone()
    }
}

impl Model for WorldModel {
    type State = Node;
    type Action = Move;

    fn init_states(&self) -> Vec<Node> {
        let mut world = self.start.clone();
        world.cache_digests();
        assert!(self.faults.len() <= 64, "one bit a fault");
        vec![Node {
            world,
            deviations: self.deviations,
            faults: (1_u64 << self.faults.len()) - 1,
            violated: None,
        }]
    }

    fn actions(&self, node: &Node, moves: &mut Vec<Move>) {
        if node.violated.is_some() {
            return; // one counterexample a path
        }
        let allowed = if node.deviations > 0 { usize::MAX } else { 1 };
        for (place, entry) in node.world.pending().enumerate().take(allowed) {
            if entry.at > self.horizon {
                break;
            }
            match entry.what {
                What::Choose { domain, .. } => {
                    moves.extend((0..domain).map(|value| Move::Choice(place, value)));
                }
                _ => moves.push(Move::Pending(place)),
            }
        }
        let left = (0..self.faults.len()).filter(|fault| node.faults >> fault & 1 == 1);
        moves.extend(left.map(Move::Fault));
    }

    fn next_state(&self, node: &Node, step: Move) -> Option<Node> {
        let entry = |place: usize| node.world.pending().nth(place).copied();
        let mut next = match step {
            Move::Pending(place) => {
                let entry = entry(place)?;
                self.apply(node, Event::Pending(entry.seq), entry.at)?
            }
            Move::Choice(place, value) => {
                let entry = entry(place)?;
                self.apply(node, Event::Choice(entry.seq, value), entry.at)?
            }
            Move::Fault(fault) => {
                let now = node.world.now();
                let mut next = self.apply(node, Event::Act(&self.faults[fault]), now)?;
                next.faults &= !(1 << fault);
                next
            }
        };
        if let Move::Pending(place) | Move::Choice(place, _) = step
            && place > 0
        {
            next.deviations -= 1;
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("guarantees hold", |_, node: &Node| {
            node.violated.is_none()
        })]
    }
}
