//! What a search has reached, and what of its bounds it has not: a verdict is worth as much.

use std::collections::BTreeSet;

use wavetank_engine::{Action, Class, Digest, What};

use crate::step::Stepped;
use crate::world_model::{Due, Move, Node, WorldModel};

/// The kinds of events, in the words of traces.
const KINDS: [&str; 11] = [
    "frame",
    "timer",
    "sleep",
    "grant",
    "recv",
    "send",
    "wake",
    "deadline",
    "choice",
    "link timer",
    "property",
];

/// What was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Faults that injected, one bit each.
    faults: u64,
    /// Properties that held when they were put to the test, one bit each.
    held: u128,
    /// How far the plan was followed.
    planned: usize,
    /// How often each kind of event happened.
    kinds: [u64; KINDS.len()],
    /// How often one happened out of turn.
    deviations: u64,
    /// What the properties remembered together: a verdict says no more than what they have seen.
    remembered: BTreeSet<Digest>,
}

/// What there was to reach, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// What was.
    pub reached: Vec<String>,
    /// What was not.
    pub missed: Vec<String>,
}

impl Reached {
    fn add(&mut self, was: bool, name: String) {
        match was {
            true => self.reached.push(name),
            false => self.missed.push(name),
        }
    }
}

impl Coverage {
    /// The search begins here, where some of the plan may be done.
    pub(crate) fn begun(&mut self, node: &Node) {
        self.planned = self.planned.max(node.planned);
    }

    /// What an event says of the properties.
    pub(crate) fn held(&mut self, stepped: &Stepped) {
        self.held |= stepped.held;
    }

    /// A move was made, of an event of this kind, and led to a state.
    pub(crate) fn note(
        &mut self,
        taken: Move,
        what: Option<What>,
        stepped: &Stepped,
        after: &Node,
    ) {
        self.held(stepped);
        self.remembered.insert(after.world.remembered());
        match taken {
            Move::Fault(fault) => self.faults |= 1 << fault,
            Move::Planned => self.planned = self.planned.max(after.planned),
            Move::Pending(place) | Move::Choice(place, _) => {
                self.deviations += u64::from(place > 0);
                if let Some(what) = what {
                    self.kinds[kind(what)] += 1;
                }
            }
            Move::Recover => {}
        }
    }

    /// Takes in what another thread has reached.
    pub(crate) fn add(&mut self, other: &Coverage) {
        self.faults |= other.faults;
        self.held |= other.held;
        self.planned = self.planned.max(other.planned);
        self.deviations += other.deviations;
        self.remembered.extend(&other.remembered);
        for (mine, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            *mine += theirs;
        }
    }

    /// How often an event happened out of turn.
    pub fn deviations(&self) -> u64 {
        self.deviations
    }

    /// What the properties remembered together, as fingerprints.
    pub fn remembered(&self) -> &BTreeSet<Digest> {
        &self.remembered
    }

    /// How often each kind of event happened.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        KINDS.into_iter().zip(self.kinds)
    }

    /// Faults that could strike.
    pub fn faults(&self, model: &WorldModel) -> Reached {
        let mut reached = Reached::default();
        for (at, action) in model.bounds.faults.iter().enumerate() {
            reached.add(self.faults >> at & 1 == 1, describe_action(action));
        }
        reached
    }

    /// What was planned.
    pub fn plan(&self, model: &WorldModel) -> Reached {
        let mut reached = Reached::default();
        for (at, (when, due)) in model.bounds.plan.iter().enumerate() {
            let what = match due {
                Due::Act(action) => describe_action(action),
                Due::Calm => "the storm ends".to_owned(),
            };
            reached.add(at < self.planned, format!("{what} at {when} s"));
        }
        reached
    }

    /// Properties of a class that were put to the test and held, or were reached.
    pub fn properties(&self, model: &WorldModel, class: Class) -> Reached {
        let mut reached = Reached::default();
        for (at, property) in model.start.properties().enumerate() {
            if property.class() == class {
                reached.add(self.held >> at & 1 == 1, property.name().to_owned());
            }
        }
        reached
    }
}

fn kind(what: What) -> usize {
    match what {
        What::Frame(_) => 0,
        What::Timer(_) => 1,
        What::Sleep { .. } => 2,
        What::Grant { .. } => 3,
        What::Recv { .. } => 4,
        What::Send { .. } => 5,
        What::Wake { .. } => 6,
        What::Deadline { .. } => 7,
        What::Choose { .. } => 8,
        What::Conn(_) => 9,
        What::Property(_) => 10,
    }
}

/// An action, for people.
pub fn describe_action(action: &Action) -> String {
    match action {
        Action::Fault(fault) => fault.to_string(),
        Action::Command {
            process,
            what,
            args,
        } if args.is_null() => format!("{process} is told `{what}`"),
        Action::Command {
            process,
            what,
            args,
        } => format!("{process} is told `{what} {args}`"),
    }
}
