//! The same search without trust. A search skips a state when it has seen its hash, so a process
//! that forgets a field in its `Hash` hides violations without a sign. Here every state is kept,
//! and what a search relies on is checked:
//!
//! - `digests-are-fresh`: a cached digest is the one computed from scratch;
//! - `equal-hashes-equal-states`: what has one hash is equal;
//! - `equal-states-act-alike`: what is equal has equal successors, one step ahead.
//!
//! Each is violated like a guarantee, with a path that leads there. It takes memory for all states
//! and some steps for each that is skipped: for small scopes, and for tests of one's own processes.

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
}

impl Audited {
    /// The same states and moves, audited.
    pub fn new(model: WorldModel) -> Audited {
        Audited {
            model,
            seen: Mutex::default(),
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
            return Some(("digests-are-fresh", why));
        }
        let first = self.first_like(node)?;
        if first != *node {
            let why = format!("one hash, two states: {first:?} and {node:?}");
            return Some(("equal-hashes-equal-states", why));
        }
        let step = self.parts_them(&first, node)?;
        let why = format!("after {step:?} two equal states differ: {node:?}");
        Some(("equal-states-act-alike", why))
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

    /// A move after which two states are no longer equal.
    fn parts_them(&self, a: &Node, b: &Node) -> Option<Move> {
        let mut moves = Vec::new();
        self.model.actions(a, &mut moves);
        let after = |node, step: &Move| self.model.next_state(node, *step);
        moves
            .into_iter()
            .find(|step| after(a, step) != after(b, step))
    }
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
        vec![Property::always("guarantees hold", |_, node: &Node| {
            node.violated.is_none()
        })]
    }
}
