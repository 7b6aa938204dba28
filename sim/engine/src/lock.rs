//! Mutexes of a process. Taking one is an await: the grant is an event, so that two routines
//! interleave there. First come, first served is the default order; a driver may grant another.

use crate::mutant::hashed_by_parts;
use crate::name::{Name, RoutineId};

/// One mutex with its queue.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct LockState {
    pub name: Name,
    pub holder: Option<RoutineId>,
    /// Who waits, with the operation that waits, in order of arrival.
    pub waiters: Vec<(RoutineId, u32)>,
}
hashed_by_parts!(LockState {
    name,
    holder,
    waiters
});

/// Who waits for whom in a circle, from `first` on, who has just begun to wait: each with the lock that it
/// waits for.
pub(crate) fn circle(locks: &[LockState], first: RoutineId) -> Option<Vec<(RoutineId, Name)>> {
    let mut circle = Vec::new();
    let mut waiting = first;
    // Each lock stands in it once.
    for _ in locks {
        let mut wanted = locks.iter().filter(|lock| lock.holder.is_some());
        let wanted = wanted.find(|lock| lock.waiters.iter().any(|(who, _)| *who == waiting))?;
        circle.push((waiting, wanted.name));
        waiting = wanted.holder?;
        if waiting == first {
            return Some(circle);
        }
    }
    None
}

/// Does it wait for a lock that is held?
pub(crate) fn waits(locks: &[LockState], routine: RoutineId) -> bool {
    let mut held = locks.iter().filter(|lock| lock.holder.is_some());
    held.any(|lock| lock.waiters.iter().any(|(who, _)| *who == routine))
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
