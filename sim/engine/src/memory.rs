//! Volatile memory that the routines of one process share: typed cells, signals and what is in
//! channels, by name.
//! A crash empties it. Routines reach it through [`Rx`](crate::Rx), which records what they saw.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::channel::Buffers;
use crate::digest::{Cached, Digest, DigestKind, Known, digest, digest_of_type};
use crate::mutant::hashed_by_parts;
use crate::name::Name;
use crate::not_state::NotState;
use crate::observe::CellKey;

/// A variable shared by the routines of a process. Declare it as a `static` or `const`; its value
/// begins as `T::default()` in every life of the process.
pub struct Cell<T> {
    name: Name,
    number: u32,
    value: PhantomData<fn() -> T>,
}

impl<T> Cell<T> {
    /// A cell with this name, which must be unique within a process.
    pub const fn new(name: &'static str) -> Cell<T> {
        Cell::numbered(name, 0)
    }

    /// One of many cells of this name.
    pub const fn numbered(name: &'static str, number: u32) -> Cell<T> {
        Cell {
            name: Name::new(name),
            number,
            value: PhantomData,
        }
    }

    pub(crate) fn key(&self) -> CellKey {
        (self.name, self.number)
    }

    pub(crate) const fn name(&self) -> Name {
        self.name
    }

    fn holds_another_type(&self) -> ! {
        panic!("cell `{}` holds another type", self.name)
    }
}

/// A flag that is raised once and can be waited for, as a Go channel that is closed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signal {
    name: Name,
    number: u32,
}

impl Signal {
    /// A signal with this name, which must be unique within a process.
    pub const fn new(name: &'static str) -> Signal {
        Signal::numbered(name, 0)
    }

    /// One of many signals of this name.
    pub const fn numbered(name: &'static str, number: u32) -> Signal {
        Signal {
            name: Name::new(name),
            number,
        }
    }
}

trait CellValue: Any + Send + Sync + fmt::Debug {
    fn kind(&self) -> Digest;
    fn copy(&self) -> Arc<dyn CellValue>;
    fn same(&self, other: &dyn CellValue) -> bool;
    fn fingerprint(&self) -> u64;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Any + Send + Sync + fmt::Debug + Clone + Eq + Hash> CellValue for T {
    fn kind(&self) -> Digest {
        digest_of_type::<T>()
    }
    fn copy(&self) -> Arc<dyn CellValue> {
        Arc::new(self.clone())
    }
    fn same(&self, other: &dyn CellValue) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
    fn fingerprint(&self) -> u64 {
        digest(self)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The bounds on what a cell can hold.
pub trait CellType: Any + Send + Sync + fmt::Debug + Clone + Eq + Hash + Default {}
impl<T: Any + Send + Sync + fmt::Debug + Clone + Eq + Hash + Default> CellType for T {}

/// What a cell holds: a value of some type. Copied on write, with a fingerprint of its own: of many cells only those
/// that change are hashed again.
#[derive(Clone, Debug)]
struct Held {
    /// The fingerprint of the type.
    kind: Digest,
    value: Arc<dyn CellValue>,
    known: NotState<Known>,
}

impl Held {
    fn new<T: CellType>(value: T) -> Held {
        Held {
            kind: CellValue::kind(&value),
            value: Arc::new(value),
            known: NotState::default(),
        }
    }

    fn get<T: CellType>(&self) -> Option<&T> {
        self.value.as_ref().as_any().downcast_ref()
    }

    fn get_mut<T: CellType>(&mut self) -> Option<&mut T> {
        self.known.forget();
        if Arc::get_mut(&mut self.value).is_none() {
            self.value = self.value.as_ref().copy();
        }
        let value = Arc::get_mut(&mut self.value).expect("its only owner");
        value.as_any_mut().downcast_mut()
    }

    /// From now on its fingerprint is known.
    fn cache_digest(&mut self, sight: DigestKind) {
        self.known
            .cache(sight, || self.value.as_ref().fingerprint());
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || self.value.as_ref().same(other.value.as_ref())
    }
}
impl Eq for Held {}

impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.kind);
        let known = self
            .known
            .digest(DigestKind::now(), || self.value.as_ref().fingerprint());
        state.write_u64(known);
    }
}

/// The cells, raised signals and channels of one process.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Memory {
    cells: Vec<(CellKey, Held)>,
    raised: Vec<Signal>,
    buffers: Buffers,
}
hashed_by_parts!(Memory {
    cells,
    raised,
    buffers
});

impl Memory {
    pub fn read<T: CellType>(&self, cell: &Cell<T>) -> T {
        self.look(cell, T::clone)
    }

    pub fn look<T: CellType, R>(&self, cell: &Cell<T>, look: impl FnOnce(&T) -> R) -> R {
        let Ok(at) = self.place(cell.key()) else {
            return look(&T::default());
        };
        let held = &self.cells[at].1;
        look(held.get().unwrap_or_else(|| cell.holds_another_type()))
    }

    pub fn get_mut<T: CellType>(&mut self, cell: &Cell<T>) -> &mut T {
        let at = self.place(cell.key()).unwrap_or_else(|at| {
            self.cells.insert(at, (cell.key(), Held::new(T::default())));
            at
        });
        let held = &mut self.cells[at].1;
        held.get_mut().unwrap_or_else(|| cell.holds_another_type())
    }

    /// Does a cell hold the same in both?
    pub fn holds_the_same(&self, other: &Memory, key: CellKey) -> bool {
        let held = |memory: &Memory| memory.place(key).ok().map(|at| memory.cells[at].1.clone());
        held(self) == held(other)
    }

    /// Where a cell is, or would be: they are in order.
    fn place(&self, key: CellKey) -> Result<usize, usize> {
        self.cells.binary_search_by(|(other, _)| other.cmp(&key))
    }

    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    pub fn buffers_mut(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    pub fn is_raised(&self, signal: Signal) -> bool {
        self.raised.contains(&signal)
    }

    /// False if it was raised before.
    pub fn raise(&mut self, signal: Signal) -> bool {
        if self.is_raised(signal) {
            return false;
        }
        let at = self.raised.partition_point(|n| *n < signal);
        self.raised.insert(at, signal);
        true
    }
}

impl Cached<Memory> {
    /// From now on its fingerprint is known, and that of each cell is.
    pub fn cache_digests(&mut self, sight: DigestKind) {
        if !self.is_known(sight) {
            for (_, held) in &mut self.beside().cells {
                held.cache_digest(sight);
            }
            self.cache(sight);
        }
    }
}
