//! One place of the world: a process with all that belongs to it. Copied on write, with a cached
//! fingerprint that is free of time.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use triomphe::Arc as Shared;

use crate::channel::{Channel, Condition, Waiters};
use crate::conn::Call;
use crate::digest::{Cached, DigestKind, Known};
use crate::lock::LockState;
use crate::memory::{Memory, Signal};
use crate::mutant::hashed_by_parts;
use crate::name::{Life, Name, ProcId, RoutineId};
use crate::not_state::NotState;
use crate::process::Process;
use crate::room::Roomy;
use crate::routine::{Routine, Task};
use crate::time::Time;

/// Is a process alive?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// It runs.
    Up,
    /// It has ended by itself or crashed; its machine answers for it.
    Down,
    /// Its machine is off: nothing answers.
    Off,
}

/// A process's clock against the world's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Clock {
    /// Parts per million by which it is fast.
    pub rate_ppm: i64,
    /// What its wall clock is ahead by, in nanoseconds.
    pub ahead: i64,
}
hashed_by_parts!(Clock { rate_ppm, ahead });

impl Clock {
    /// World time that passes while this clock counts `local`.
    pub fn stretch(self, local: std::time::Duration) -> std::time::Duration {
        if self.rate_ppm == 0 {
            return local;
        }
        let nanos = i128::from(crate::time::nanos(local)) * 1_000_000
            / i128::from((1_000_000 + self.rate_ppm).max(1));
        std::time::Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// What this clock counts while `world` passes.
    pub fn counted(self, world: std::time::Duration) -> std::time::Duration {
        if self.rate_ppm == 0 {
            return world;
        }
        let nanos = i128::from(crate::time::nanos(world))
            * i128::from((1_000_000 + self.rate_ppm).max(1))
            / 1_000_000;
        std::time::Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub fn wall(self, now: Time) -> Time {
        Time::from_nanos(now.nanos().saturating_add_signed(self.ahead))
    }
}

/// What a process itself keeps, with its fingerprint: most steps of its routines do not change it.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    process: Box<dyn Process>,
    known: NotState<Known>,
}

impl Body {
    pub fn new(process: Box<dyn Process>) -> Body {
        let known = NotState::default();
        Body { process, known }
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        self.process.as_ref().same(other.process.as_ref())
    }
}
impl Eq for Body {}

impl Hash for Body {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let make = || self.process.as_ref().fingerprint();
        state.write_u64(self.known.digest(DigestKind::now(), make));
    }
}

impl Deref for Body {
    type Target = dyn Process;
    fn deref(&self) -> &dyn Process {
        self.process.as_ref()
    }
}

impl DerefMut for Body {
    fn deref_mut(&mut self) -> &mut dyn Process {
        self.known.forget();
        self.process.as_mut()
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Slot {
    pub name: Arc<str>,
    pub incarnation: u32,
    pub status: Status,
    /// Asked to stop, and has not ended yet.
    pub stopping: bool,
    pub paused: bool,
    pub clock: Clock,
    /// Absent only while one of its callbacks or routines runs.
    pub process: Option<Body>,
    pub memory: Cached<Memory>,
    /// In order of their identities.
    pub routines: Roomy<Shared<Cached<Routine>>>,
    pub locks: Vec<LockState>,
    /// Waiters of signals.
    pub waiting: Vec<(Signal, RoutineId, u32)>,
    /// Waiters at channels, in order of these.
    pub channels: Vec<Waiters>,
    /// Waiters for conditions.
    pub changes: Vec<(Condition, RoutineId, u32)>,
    pub calls: Roomy<Call>,
    pub next_call: u32,
}
hashed_by_parts!(Slot {
    name,
    incarnation,
    status,
    stopping,
    paused,
    clock,
    process,
    memory,
    routines,
    locks,
    waiting,
    channels,
    changes,
    calls,
    next_call
});

impl Slot {
    pub fn new(name: Arc<str>, process: Box<dyn Process>) -> Slot {
        Slot {
            name,
            incarnation: 0,
            status: Status::Down,
            stopping: false,
            paused: false,
            clock: Clock::default(),
            process: Some(Body::new(process)),
            memory: Cached::default(),
            routines: Roomy::default(),
            locks: Vec::new(),
            waiting: Vec::new(),
            channels: Vec::new(),
            changes: Vec::new(),
            calls: Roomy::default(),
            next_call: 0,
        }
    }

    pub fn life(&self, process: ProcId) -> Life {
        Life {
            process,
            incarnation: self.incarnation,
        }
    }

    pub fn process(&self) -> &dyn Process {
        self.process
            .as_deref()
            .expect("its own callback is running")
    }

    pub fn routine(&self, id: RoutineId) -> Option<&Routine> {
        let at = place(&self.routines, id)?;
        Some(&self.routines[at])
    }

    pub fn routine_mut(&mut self, id: RoutineId) -> Option<&mut Routine> {
        let at = place(&self.routines, id)?;
        Some(change(&mut self.routines[at]))
    }

    /// The routine that was at this place, if it is still alive: mostly it is still there.
    pub fn routine_near(&mut self, at: usize, id: RoutineId) -> Option<&mut Routine> {
        match self.routines.get(at) {
            Some(routine) if routine.id == id => Some(change(&mut self.routines[at])),
            _ => self.routine_mut(id),
        }
    }

    /// Enters a routine under the smallest free ordinal of its kind.
    pub fn enter(&mut self, task: Task, serving: Option<crate::conn::Caller>) -> RoutineId {
        let kind = task.kind();
        let mut id = RoutineId { kind, ordinal: 0 };
        let mut at = self.routines.partition_point(|r| r.id < id);
        while self.routines.get(at).is_some_and(|r| r.id == id) {
            id.ordinal += 1;
            at += 1;
        }
        let routine = Cached::new(Routine::new(id, task, serving));
        self.routines.insert(at, Shared::new(routine));
        id
    }

    pub fn lock_mut(&mut self, name: Name) -> &mut LockState {
        let at = match self.locks.iter().position(|l| l.name == name) {
            Some(at) => at,
            None => {
                let at = self.locks.partition_point(|l| l.name < name);
                self.locks.insert(at, LockState::new(name));
                at
            }
        };
        &mut self.locks[at]
    }

    /// Who waits at a channel.
    pub fn waiters_mut(&mut self, channel: Channel) -> &mut Waiters {
        let at = self.channels.partition_point(|w| w.channel < channel);
        if self.channels.get(at).is_none_or(|w| w.channel != channel) {
            self.channels.insert(at, Waiters::new(channel));
        }
        &mut self.channels[at]
    }

    /// Everything volatile goes; the process keeps what it calls durable.
    pub fn clear(&mut self) {
        self.memory = Cached::default();
        self.routines.clear();
        self.locks.clear();
        self.waiting.clear();
        self.channels.clear();
        self.changes.clear();
        self.calls.clear();
        self.next_call = 0;
    }
}

impl Cached<Slot> {
    /// From now on its fingerprint is known, and those of its parts are.
    pub fn cache_digests(&mut self, sight: DigestKind) {
        let slot = self.beside();
        let unknown = |r: &&mut Shared<Cached<Routine>>| !r.is_known(sight);
        for routine in slot.routines.iter_mut().filter(unknown) {
            Shared::make_mut(routine).cache(sight);
        }
        slot.memory.cache_digests(sight);
        if let Some(body) = &mut slot.process {
            let make = || body.process.as_ref().fingerprint();
            body.known.cache(sight, make);
        }
        self.cache(sight);
    }
}

/// Where a routine is among others.
pub(crate) fn place(routines: &[Shared<Cached<Routine>>], id: RoutineId) -> Option<usize> {
    routines
        .binary_search_by(|routine| routine.id.cmp(&id))
        .ok()
}

/// A routine that is about to change.
pub(crate) fn change(routine: &mut Shared<Cached<Routine>>) -> &mut Routine {
    if !Shared::is_unique(routine) {
        *routine = Shared::new(Cached::new(routine.split()));
    }
    Shared::get_mut(routine).expect("its only owner")
}
