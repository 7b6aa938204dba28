//! One place of the world: a process with all that belongs to it. Copied on write, with a cached
//! fingerprint that is free of time.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use triomphe::Arc as Shared;

use crate::channel::{Channel, Condition, Waiters};
use crate::conn::Call;
use crate::digest::{Digest, Known, Sight, StableHasher, digest};
use crate::lock::LockState;
use crate::memory::Memory;
use crate::name::{Life, Name, ProcId, RoutineId};
use crate::process::Process;
use crate::room::with_room;
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Clock {
    /// Parts per million by which it is fast.
    pub rate_ppm: i64,
    /// What its wall clock is ahead by, in nanoseconds.
    pub ahead: i64,
}

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

#[derive(Debug)]
pub(crate) struct Slot {
    pub name: Arc<str>,
    pub incarnation: u32,
    pub status: Status,
    pub paused: bool,
    pub clock: Clock,
    /// Absent only while one of its callbacks or routines runs.
    pub process: Option<Box<dyn Process>>,
    pub memory: Memory,
    /// In order of their identities.
    pub routines: Vec<Shared<Routine>>,
    pub locks: Vec<LockState>,
    /// Waiters of signals.
    pub waiting: Vec<(Name, RoutineId, u32)>,
    /// Waiters at channels, in order of these.
    pub channels: Vec<Waiters>,
    /// Waiters for conditions.
    pub changes: Vec<(Condition, RoutineId, u32)>,
    pub calls: Vec<Call>,
    pub next_call: u32,
    pub digest: Known,
}

impl Slot {
    pub fn new(name: Arc<str>, process: Box<dyn Process>) -> Slot {
        Slot {
            name,
            incarnation: 0,
            status: Status::Down,
            paused: false,
            clock: Clock::default(),
            process: Some(process),
            memory: Memory::default(),
            routines: Vec::new(),
            locks: Vec::new(),
            waiting: Vec::new(),
            channels: Vec::new(),
            changes: Vec::new(),
            calls: Vec::new(),
            next_call: 0,
            digest: Known::default(),
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

    pub fn routine_mut(&mut self, id: RoutineId) -> Option<&mut Routine> {
        let routine = self.routines.iter_mut().find(|r| r.id == id)?;
        Some(change(routine))
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
        self.routines
            .insert(at, Shared::new(Routine::new(id, task, serving)));
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
        self.memory = Memory::default();
        self.routines.clear();
        self.locks.clear();
        self.waiting.clear();
        self.channels.clear();
        self.changes.clear();
        self.calls.clear();
        self.next_call = 0;
    }

    /// The fingerprint, from what is cached.
    pub fn digest(&self, sight: Sight) -> Digest {
        let routine = |r: &Routine| r.digest.get(sight).unwrap_or_else(|| digest(r));
        let compute = || self.combine(self.memory.digest(sight), routine);
        let known = self.digest.get(sight);
        known.unwrap_or_else(|| sight.make(compute))
    }

    pub fn digest_from_scratch(&self) -> Digest {
        self.combine(self.memory.digest_from_scratch(), digest)
    }

    pub fn cache_digests(&mut self, sight: Sight) {
        let unknown = |r: &&mut Shared<Routine>| r.digest.get(sight).is_none();
        for routine in self.routines.iter_mut().filter(unknown) {
            let digest = sight.make(|| digest(routine.as_ref()));
            Shared::make_mut(routine).digest.set(sight, digest);
        }
        self.memory.cache_digest(sight);
        self.digest.set(sight, self.digest(sight));
    }

    fn combine(&self, memory: Digest, routine: impl Fn(&Routine) -> Digest) -> Digest {
        let mut state = StableHasher::new();
        self.name.hash(&mut state);
        self.incarnation.hash(&mut state);
        self.status.hash(&mut state);
        self.paused.hash(&mut state);
        self.clock.hash(&mut state);
        state.write_u64(self.process().fingerprint());
        state.write_u64(memory);
        state.write_usize(self.routines.len());
        for each in &self.routines {
            state.write_u64(routine(each));
        }
        self.locks.hash(&mut state);
        self.waiting.hash(&mut state);
        self.channels.hash(&mut state);
        self.changes.hash(&mut state);
        self.calls.hash(&mut state);
        self.next_call.hash(&mut state);
        state.finish()
    }
}

/// A routine that is about to change.
pub(crate) fn change(routine: &mut Shared<Routine>) -> &mut Routine {
    if !Shared::is_unique(routine) {
        *routine = Shared::new(routine.split());
    }
    let routine = Shared::get_mut(routine).expect("its only owner");
    routine.digest.forget();
    routine
}

impl Clone for Slot {
    fn clone(&self) -> Slot {
        Slot {
            name: self.name.clone(),
            incarnation: self.incarnation,
            status: self.status,
            paused: self.paused,
            clock: self.clock,
            process: Some(self.process().clone_box()),
            memory: self.memory.clone(),
            routines: with_room(&self.routines),
            locks: self.locks.clone(),
            waiting: self.waiting.clone(),
            channels: self.channels.clone(),
            changes: self.changes.clone(),
            calls: with_room(&self.calls),
            next_call: self.next_call,
            digest: self.digest,
        }
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Slot) -> bool {
        self.name == other.name
            && self.incarnation == other.incarnation
            && self.status == other.status
            && self.paused == other.paused
            && self.clock == other.clock
            && self.process().same(other.process())
            && self.memory == other.memory
            && self.routines == other.routines
            && self.locks == other.locks
            && self.waiting == other.waiting
            && self.channels == other.channels
            && self.changes == other.changes
            && self.calls == other.calls
            && self.next_call == other.next_call
    }
}
impl Eq for Slot {}
