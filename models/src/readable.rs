//! The same model in words, for stateright's Explorer: a page that walks through states by hand.

use std::fmt;

use stateright::{Model, Property};

use crate::coverage::describe_action;
use crate::world_model::{Due, Move, Node, WorldModel};

/// So many pending events are shown of a state.
const PENDING: usize = 12;

/// A model whose actions are events by their names.
#[derive(Clone, Debug)]
pub struct Readable(pub WorldModel);

/// A state, described by what is going on in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shown(Node);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(&self.0, f)
    }
}

/// A move, and what it is called.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    taken: Move,
    name: String,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Readable {
    fn name(&self, node: &Node, taken: Move) -> String {
        let pending = |place: usize| {
            let entry = node.world.pending().nth(place);
            let name = entry.map(|entry| node.world.render(&node.world.entry_name(entry)));
            let late = if place > 0 { " (out of turn)" } else { "" };
            format!("{}{late}", name.unwrap_or_default())
        };
        match taken {
            Move::Pending(place) => pending(place),
            Move::Choice(place, value) => format!("{} = {value}", pending(place)),
            Move::Planned => match &self.0.bounds.plan[node.planned].1 {
                Due::Act(action) => describe_action(action),
                Due::Calm => "the storm ends".to_owned(),
            },
            Move::Fault(fault) => describe_action(&self.0.bounds.faults[fault]),
            Move::Recover => "faults end".to_owned(),
        }
    }
}

fn describe(node: &Node, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let world = &node.world;
    writeln!(f, "at {} s", world.now())?;
    if let Some(violated) = &node.violated {
        writeln!(f, "VIOLATED {}: {}", violated.property, violated.message)?;
    }
    for process in world.processes() {
        let (name, status) = (world.name(process), world.status(process));
        let paused = if world.is_paused(process) {
            ", paused"
        } else {
            ""
        };
        let life = world.incarnation(process);
        writeln!(f, "{name}: {status:?}{paused}, life {life}")?;
        for routine in world.routines(process) {
            writeln!(f, "    {routine}")?;
        }
    }
    writeln!(f, "{} pending:", world.pending().len())?;
    for entry in world.pending().take(PENDING) {
        let name = world.render(&world.entry_name(entry));
        writeln!(f, "    {} {name}", entry.at)?;
    }
    let left = node.faults.count_ones();
    write!(f, "{} deviations and {left} faults left", node.deviations)
}

impl Model for Readable {
    type State = Shown;
    type Action = Step;

    fn init_states(&self) -> Vec<Shown> {
        self.0.init_states().into_iter().map(Shown).collect()
    }

    fn actions(&self, shown: &Shown, steps: &mut Vec<Step>) {
        let mut moves = Vec::new();
        self.0.moves(&shown.0, &mut moves);
        steps.extend(moves.into_iter().map(|taken| Step {
            taken,
            name: self.name(&shown.0, taken),
        }));
    }

    fn next_state(&self, shown: &Shown, step: Step) -> Option<Shown> {
        self.0.next_state(&shown.0, step.taken).map(Shown)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("guarantees hold", |_, shown: &Shown| {
            shown.0.violated.is_none()
        })]
    }
}
