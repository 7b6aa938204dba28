//! Properties: what must hold, checked at each relevant commit. A property with memory is part of
//! the world and of its hash, or merged states would hide violations.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::digest::{digest, digest_of_type, pair};
use crate::message::Payload;
use crate::name::ProcId;
use crate::not_state::NotState;
use crate::world::World;

/// Something that a process told with `note`: a commit, an answer, a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note {
    /// Who told it.
    pub process: ProcId,
    /// What it told.
    pub body: Payload,
}

/// Does a violation decide the verdict?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It does.
    Guarantee,
    /// It is counted and reported: the system does not promise it.
    Observation,
    /// It should happen somewhere in a sweep, so that the others mean something.
    Sometimes,
}

/// What was violated, and for which object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The kind of object, by which violations are told apart: `address`.
    pub kind: &'static str,
    /// The object: `10.0.0.1`.
    pub object: String,
    /// One line for people.
    pub message: String,
}

/// What a property says to a note or to a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// It was not concerned.
    Idle,
    /// It was put to the test, and held (or, of a `sometimes`, was reached).
    Held,
    /// It is violated.
    Violated(Violation),
}

/// A property. Its type also has to be `Clone + Eq + Hash` ([`PropertyObject`]).
pub trait Property: PropertyObject {
    /// The name, in kebab-case.
    fn name(&self) -> &'static str;

    /// Does a violation decide the verdict?
    fn class(&self) -> Class {
        Class::Guarantee
    }

    /// A process told something; `world` is as the whole event left it.
    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.glance(world, note).unwrap_or(Check::Idle)
    }

    /// What it says of a note that changes nothing in what it remembers. `None`: it has to be told of it
    /// ([`Property::note`]), which costs those who step many copies of a world a copy of the property.
    fn glance(&self, _world: &World, _note: &Note) -> Option<Check> {
        None
    }

    /// The storm is over. Returns when [`Property::deadline`] is to be called, if it is.
    fn calm(&mut self, _world: &World) -> Option<Duration> {
        None
    }

    /// The time that [`Property::calm`] asked for has passed.
    fn deadline(&mut self, _world: &World) -> Check {
        Check::Idle
    }
}

/// What the engine needs of a property's type.
pub trait PropertyObject: Any + Send + Sync + fmt::Debug {
    /// A copy.
    fn clone_box(&self) -> Box<dyn Property>;
    /// Structural equality.
    fn same(&self, other: &dyn Property) -> bool;
    /// The fingerprint of what it remembers, and of its type.
    fn fingerprint(&self) -> u64;
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Property + Clone + Eq + Hash> PropertyObject for T {
    fn clone_box(&self) -> Box<dyn Property> {
        Box::new(self.clone())
    }
    fn same(&self, other: &dyn Property) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
    fn fingerprint(&self) -> u64 {
        pair(digest_of_type::<T>(), digest(self))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Clone for Box<dyn Property> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}

impl PartialEq for Box<dyn Property> {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref().same(other.as_ref())
    }
}
impl Eq for Box<dyn Property> {}

impl Hash for Box<dyn Property> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.as_ref().fingerprint());
    }
}

/// A property that remembers nothing is its name.
macro_rules! is_its_name {
    ($type:ident) => {
        impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool {
                self.name == other.name
            }
        }
        impl Eq for $type {}
        impl Hash for $type {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                self.name.hash(hasher);
            }
        }
    };
}

/// A check without memory.
type Test = fn(&World, &Note) -> Check;
/// A condition on the world; `Idle` where it says nothing.
type Condition = fn(&World) -> Check;
/// Which notes can change a condition.
type Relevant = fn(&Note) -> bool;

/// Holds at every relevant commit.
#[derive(Clone, Debug)]
pub struct Always {
    /// Its name.
    pub name: &'static str,
    /// Its class.
    pub class: Class,
    /// The check at a note.
    pub check: Test,
}

is_its_name!(Always);

impl Property for Always {
    fn name(&self) -> &'static str {
        self.name
    }
    fn class(&self) -> Class {
        self.class
    }
    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        Some((self.check)(world, note))
    }
}

/// Is reached at least once in a sweep.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Its name.
    pub name: &'static str,
    /// Is this note the place?
    pub here: fn(&World, &Note) -> bool,
}

is_its_name!(Reached);

impl Property for Reached {
    fn name(&self) -> &'static str {
        self.name
    }
    fn class(&self) -> Class {
        Class::Sometimes
    }
    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        Some(match (self.here)(world, note) {
            true => Check::Held,
            false => Check::Idle,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Progress {
    Storm,
    Open,
    Settled,
}

/// Holds at some time within `within` of calm.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Eventually {
    name: &'static str,
    within: Duration,
    relevant: NotState<Relevant>,
    holds: NotState<Condition>,
    progress: Progress,
}

impl Eventually {
    /// `holds` must be true once within `within` (virtual time) of calm; it is looked at when calm
    /// begins, at each relevant note and at the deadline.
    pub fn new(
        name: &'static str,
        within: Duration,
        relevant: Relevant,
        holds: Condition,
    ) -> Eventually {
        Eventually {
            name,
            within,
            relevant: NotState(relevant),
            holds: NotState(holds),
            progress: Progress::Storm,
        }
    }
}
impl Property for Eventually {
    fn name(&self) -> &'static str {
        self.name
    }
    fn note(&mut self, world: &World, note: &Note) -> Check {
        if self.glance(world, note).is_none() {
            // Counted once, at the deadline.
            self.progress = Progress::Settled;
        }
        Check::Idle
    }
    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let settles = self.progress == Progress::Open
            && (self.relevant)(note)
            && (self.holds)(world) == Check::Held;
        (!settles).then_some(Check::Idle)
    }
    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.progress = match (self.holds)(world) {
            Check::Held => Progress::Settled,
            Check::Idle | Check::Violated(_) => Progress::Open,
        };
        Some(self.within)
    }
    fn deadline(&mut self, world: &World) -> Check {
        if self.progress == Progress::Settled {
            return Check::Held;
        }
        self.progress = Progress::Settled;
        (self.holds)(world)
    }
}

/// Holds from `after` of calm on, until the end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stable {
    name: &'static str,
    after: Duration,
    check: NotState<Test>,
    holds: NotState<Condition>,
    progress: Progress,
}

impl Stable {
    /// From `after` (virtual time) of calm on, `holds` must be true at once and `check` must not
    /// object to any later note.
    pub fn new(name: &'static str, after: Duration, check: Test, holds: Condition) -> Stable {
        Stable {
            name,
            after,
            check: NotState(check),
            holds: NotState(holds),
            progress: Progress::Storm,
        }
    }
}
impl Property for Stable {
    fn name(&self) -> &'static str {
        self.name
    }
    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        Some(match self.progress {
            Progress::Open => (self.check)(world, note),
            _ => Check::Idle,
        })
    }
    fn calm(&mut self, _world: &World) -> Option<Duration> {
        Some(self.after)
    }
    fn deadline(&mut self, world: &World) -> Check {
        self.progress = Progress::Open;
        (self.holds)(world)
    }
}
