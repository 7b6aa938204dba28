//! The same search without trust. A search skips a state when it has seen its hash, so a process
//! that forgets a field in its `Hash` hides violations without a sign. Here every state is kept,
//! and what a search relies on is checked:
//!
//! - `digests-are-fresh`: a cached digest is the one computed from scratch;
//! - `equal-hashes-equal-states`: what has one hash is equal;
//! - `equal-states-act-alike`: what is equal has equal successors, one step ahead by each move, and
//!   further ahead in the default order, as far as [`Audited::looking_ahead`] says.
//!
//! Each is violated like a guarantee, with a path that leads there. A guarantee of the model that is
//! violated does not end the audit: it goes on until it has found both or has seen everything. It takes
//! memory for all states and some steps for each that is skipped: for small scopes, and for tests of
//! one's own processes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use stateright::{Model, Property};
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Digest, digest};

use crate::{Move, Node, WorldModel};

/// A model whose states are checked against all that were seen before.
#[derive(Debug)]
pub struct Audited {
    model: WorldModel,
    /// The first state with each hash.
    seen: Mutex<BTreeMap<Digest, Node>>,
    ahead: usize,
}

/// The property of the audit itself; the other one is that the guarantees of the model hold.
pub const AUDIT: &str = "states are what they seem";

/// How many steps of the default order are compared by default.
const AHEAD: usize = 1;

const FRESH: &str = "digests-are-fresh";
const EQUAL: &str = "equal-hashes-equal-states";
const ALIKE: &str = "equal-states-act-alike";

impl Audited {
    /// The same states and moves, audited.
    pub fn new(model: WorldModel) -> Audited {
        Audited {
            model,
            seen: Mutex::default(),
            ahead: AHEAD,
        }
    }

    /// Compares what becomes of two equal states for so many steps of the default order. What a process
    /// leaves out of its `Eq` may show late: the more steps, the more is caught.
    pub fn looking_ahead(self, steps: usize) -> Audited {
        Audited {
            ahead: steps,
            ..self
        }
    }

    /// The states that were seen.
    pub fn states(&self) -> Vec<Node> {
        let seen = self.seen.lock().expect("no auditor panicked");
        seen.values().cloned().collect()
    }

    /// The state, or a violation in its place.
    fn audit(&self, node: Node) -> Node {
        match self.objection(&node) {
            None => node,
            Some((what, why)) => Node {
                violated: Some(Box::new(FoundViolation {
                    property: what.to_owned(),
                    kind: "simulation".to_owned(),
                    object: String::new(),
                    message: why,
                })),
                ..node
            },
        }
    }

    fn objection(&self, node: &Node) -> Option<(&'static str, String)> {
        let (cached, scratch) = (node.world.digest(), node.world.digest_from_scratch());
        if cached != scratch {
            let why = format!("{cached:016x} is cached, {scratch:016x} it should be");
            return Some((FRESH, why));
        }
        let first = self.first_like(node)?;
        if first != *node {
            let why = format!("one hash, two states: {first:?} and {node:?}");
            return Some((EQUAL, why));
        }
        let step = self.parts_them(&first, node)?;
        let why = format!("after {step:?} two equal states differ: {node:?}");
        Some((ALIKE, why))
    }

    /// The state that a search would take this one for; this one is the first of its kind else.
    fn first_like(&self, node: &Node) -> Option<Node> {
        let mut seen = self.seen.lock().expect("no auditor panicked");
        let hash = digest(node);
        let first = seen.get(&hash).cloned();
        if first.is_none() {
            seen.insert(hash, node.clone());
        }
        first
    }

    /// A move after which two states are no longer equal: each move of theirs is tried, and then the
    /// first of each state, which is the default order's, on and on.
    fn parts_them(&self, a: &Node, b: &Node) -> Option<Move> {
        let moves = self.moves(a);
        let after = |node: &Node, step: &Move| self.model.next_state(node, *step);
        if let Some(step) = moves.iter().find(|step| after(a, step) != after(b, step)) {
            return Some(*step);
        }
        let (mut a, mut b, mut next) = (a.clone(), b.clone(), moves.first().copied());
        for _ in 1..self.ahead {
            let step = next?;
            (a, b) = (after(&a, &step)?, after(&b, &step)?);
            let (mine, theirs) = (self.moves(&a), self.moves(&b));
            next = mine.first().copied();
            let step = next?;
            if mine != theirs || after(&a, &step) != after(&b, &step) {
                return Some(step);
            }
        }
        None
    }

    fn moves(&self, node: &Node) -> Vec<Move> {
        let mut moves = Vec::new();
        self.model.actions(node, &mut moves);
        moves
    }
}

/// Is what is violated something that the audit looks for?
fn is_audited(found: &FoundViolation) -> bool {
    [FRESH, EQUAL, ALIKE].contains(&found.property.as_str())
}

impl Model for Audited {
    type State = Node;
    type Action = Move;

    fn init_states(&self) -> Vec<Node> {
        let first = self.model.init_states().into_iter();
        first.map(|node| self.audit(node)).collect()
    }

    fn actions(&self, node: &Node, moves: &mut Vec<Move>) {
        self.model.actions(node, moves);
    }

    fn next_state(&self, node: &Node, step: Move) -> Option<Node> {
        let next = self.model.next_state(node, step)?;
        Some(self.audit(next))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("guarantees hold", |_, node: &Node| {
                node.violated.as_deref().is_none_or(is_audited)
            }),
            Property::always(AUDIT, |_, node: &Node| {
                !node.violated.as_deref().is_some_and(is_audited)
            }),
        ]
    }
}
