//! Mutexes of a process. Taking one is an await: the grant is an event, so that two routines
//! interleave there. First come, first served is the default order; a driver may grant another.

use crate::name::{Name, RoutineId};

/// One mutex with its queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LockState {
    pub name: Name,
    pub holder: Option<RoutineId>,
    /// Who waits, with the operation that waits, in order of arrival.
    pub waiters: Vec<(RoutineId, u32)>,
}

impl LockState {
    pub fn new(name: Name) -> LockState {
        LockState {
            name,
            holder: None,
            waiters: Vec::new(),
        }
    }
}
