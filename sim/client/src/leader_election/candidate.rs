//! A candidate as its routines see it: what it remembers and what it is called by in its process. What it does is in
//! `run` and `attempt`.

use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use wavetank_engine::{Condition, Message, Name, ProcId, Rx, Timer, World};

use super::{ELECTORS, Election, ElectionNote, Elector, OfElection};
use crate::wait::Stop;

/// An election of a process: by its lock, and with the number by which the process tells its elections apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ElectionId {
    /// The name of the lock.
    pub name: Name,
    /// Its place among the elections of the process.
    pub(super) number: u32,
}

/// The argument of a timer has the number of an election in its upper bits.
const BITS: u32 = 48;

impl ElectionId {
    pub(super) fn leadership(self) -> Stop {
        Stop::numbered("leadership", self.number)
    }

    /// The context of the election itself.
    pub(super) fn context(self) -> Stop {
        Stop::numbered("election", self.number)
    }

    /// The leader should have stopped.
    pub(super) fn overdue(self) -> Condition {
        Condition::new("renewal-overdue", self.number.into())
    }

    /// A renewal that runs by itself has ended, v1.16.
    pub(super) fn attempted(self) -> Condition {
        Condition::new("attempted", self.number.into())
    }

    /// A timer of the election, of those that have this tag.
    pub(super) fn timer(self, tag: Name, number: u64) -> Timer {
        Timer::new(tag, u64::from(self.number) << BITS | number)
    }

    /// The election among those of a process whose timer this is, and the number of the timer.
    pub(super) fn of_timer(timer: Timer) -> (usize, u64) {
        let election = timer.arg >> BITS;
        (election as usize, timer.arg & ((1 << BITS) - 1))
    }
}

/// A candidate.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub(super) rx: Rx,
    pub(super) election: Arc<Election>,
    pub(super) id: ElectionId,
}

impl Deref for Candidate {
    type Target = Election;

    fn deref(&self) -> &Election {
        &self.election
    }
}

impl Candidate {
    /// Does it lead, as far as it acts on it?
    pub fn leads(&self) -> bool {
        self.look(|elector| elector.leads)
    }

    /// The context of what the leader does.
    pub fn leadership(&self) -> Stop {
        self.id.leadership()
    }

    /// Whatever the leader does is cancelled, or has ended by itself.
    pub fn stop_leading(&self) {
        self.leadership().close(self.rx);
        if self.with(|elector| std::mem::take(&mut elector.leads)) {
            self.note(ElectionNote::Ends);
        }
    }

    /// Ends the election: a leader releases its lock if it is to.
    pub fn cancel(&self) {
        self.context().close(self.rx);
    }

    pub(super) fn context(&self) -> Stop {
        self.id.context()
    }

    pub(super) fn look<R: Message + Clone + Eq + Hash>(
        &self,
        look: impl FnOnce(&Elector) -> R,
    ) -> R {
        let at = self.id.number as usize;
        self.rx.look(&ELECTORS, |all| look(&all[at]))
    }

    pub(super) fn with<R: Message + Clone + Eq + Hash>(
        &self,
        work: impl FnOnce(&mut Elector) -> R,
    ) -> R {
        let at = self.id.number as usize;
        self.rx.update(&ELECTORS, |all| work(&mut all[at]))
    }

    #[track_caller]
    pub(super) fn note(&self, note: ElectionNote) {
        let lock = self.lock;
        self.rx.note(OfElection { lock, note });
    }
}

/// The candidates of a process that runs, one for each of its elections.
pub fn candidates(world: &World, process: ProcId) -> Vec<Elector> {
    world.cell(process, &ELECTORS)
}

/// Does a process lead in the election of this name?
pub fn leads(world: &World, process: ProcId, name: Name) -> bool {
    let all = candidates(world, process);
    let mut own = all.iter().filter(|elector| elector.lock.name == name);
    own.any(|elector| elector.leads)
}
