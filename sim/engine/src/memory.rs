//! Volatile memory that the routines of one process share: typed cells, signals and what is in
//! channels, by name.
//! A crash empties it. Routines reach it through [`Rx`](crate::Rx), which records what they saw.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use crate::channel::Buffers;
use crate::digest::{Digest, Known, Sight, StableHasher, digest};
use crate::name::Name;

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

    fn key(&self) -> (Name, u32) {
        (self.name, self.number)
    }

    pub(crate) const fn name(&self) -> Name {
        self.name
    }
}

/// A flag that is raised once and can be waited for, as a Go channel that is closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Signal(pub(crate) Name);

impl Signal {
    /// A signal with this name, which must be unique within a process.
    pub const fn new(name: &'static str) -> Signal {
        Signal(Name::new(name))
    }
}

trait CellValue: Any + Send + Sync + fmt::Debug {
    fn copy(&self) -> Arc<dyn CellValue>;
    fn same(&self, other: &dyn CellValue) -> bool;
    fn fingerprint(&self) -> u64;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Any + Send + Sync + fmt::Debug + Clone + Eq + Hash> CellValue for T {
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

/// The cells, raised signals and channels of one process.
#[derive(Clone, Default, Debug)]
pub(crate) struct Memory {
    /// Copied on write.
    cells: Vec<((Name, u32), Arc<dyn CellValue>)>,
    raised: Vec<Name>,
    buffers: Buffers,
    digest: Known,
}

impl Memory {
    pub fn read<T: CellType>(&self, cell: &Cell<T>) -> T {
        self.look(cell, T::clone)
    }

    pub fn look<T: CellType, R>(&self, cell: &Cell<T>, look: impl FnOnce(&T) -> R) -> R {
        let found = self.cells.iter().find(|(key, _)| *key == cell.key());
        let Some((_, value)) = found else {
            return look(&T::default());
        };
        let value = value.as_ref().as_any().downcast_ref::<T>();
        look(value.unwrap_or_else(|| panic!("cell `{}` holds another type", cell.name())))
    }

    pub fn get_mut<T: CellType>(&mut self, cell: &Cell<T>) -> &mut T {
        let at = match self.cells.iter().position(|(key, _)| *key == cell.key()) {
            Some(at) => at,
            None => {
                let at = self.cells.partition_point(|(key, _)| *key < cell.key());
                self.cells.insert(at, (cell.key(), Arc::new(T::default())));
                at
            }
        };
        self.digest.forget();
        let value = &mut self.cells[at].1;
        if Arc::get_mut(value).is_none() {
            *value = value.as_ref().copy();
        }
        Arc::get_mut(value)
            .expect("its only owner")
            .as_any_mut()
            .downcast_mut()
            .unwrap_or_else(|| panic!("cell `{}` holds another type", cell.name()))
    }

    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    pub fn buffers_mut(&mut self) -> &mut Buffers {
        self.digest.forget();
        &mut self.buffers
    }

    pub fn is_raised(&self, signal: Name) -> bool {
        self.raised.contains(&signal)
    }

    /// False if it was raised before.
    pub fn raise(&mut self, signal: Name) -> bool {
        if self.is_raised(signal) {
            return false;
        }
        let at = self.raised.partition_point(|n| *n < signal);
        self.raised.insert(at, signal);
        self.digest.forget();
        true
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Memory) -> bool {
        self.raised == other.raised
            && self.buffers == other.buffers
            && self.cells.len() == other.cells.len()
            && self
                .cells
                .iter()
                .zip(&other.cells)
                .all(|((n, v), (m, w))| n == m && v.as_ref().same(w.as_ref()))
    }
}
impl Eq for Memory {}

impl Memory {
    /// The fingerprint, from the cache if it is there.
    pub fn digest(&self, sight: Sight) -> Digest {
        let known = self.digest.get(sight);
        known.unwrap_or_else(|| sight.make(|| self.digest_from_scratch()))
    }

    pub fn digest_from_scratch(&self) -> Digest {
        let mut state = StableHasher::new();
        self.raised.hash(&mut state);
        self.buffers.hash(&mut state);
        for (key, value) in &self.cells {
            key.hash(&mut state);
            state.write_u64(value.as_ref().fingerprint());
        }
        state.finish()
    }

    pub fn cache_digest(&mut self, sight: Sight) {
        self.digest.set(sight, self.digest(sight));
    }
}
