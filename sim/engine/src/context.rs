//! What a process can do from its callbacks.

use std::panic::Location;
use std::time::Duration;

use crate::conn::{Caller, Transport};
use crate::memory::{Cell, CellType};
use crate::message::{Message, Payload};
use crate::name::{Name, ProcId};
use crate::observe::Teller;
use crate::process::Timer;
use crate::routine::Task;
use crate::world::World;

/// The world, as one process may touch it during one of its callbacks.
#[derive(Debug)]
pub struct Cx<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) me: ProcId,
}

impl Cx<'_> {
    /// This process.
    pub fn me(&self) -> ProcId {
        self.me
    }

    /// Answers a call for good.
    pub fn reply<T: Message + Eq + std::hash::Hash>(&mut self, to: Caller, body: T) {
        self.world.reply(self.me, to, Payload::new(body), true);
    }

    /// Sends one part of a stream of answers.
    pub fn push<T: Message + Eq + std::hash::Hash>(&mut self, to: Caller, body: T) {
        self.world.reply(self.me, to, Payload::new(body), false);
    }

    /// How many parts of a stream were sent and are not acknowledged; 0 if nobody waits for it any
    /// more, or its transport has no window.
    pub fn unacknowledged(&mut self, to: Caller) -> u32 {
        self.world.unacknowledged(to)
    }

    /// Sends a message that wants no answer, on a connection that is opened if there is none. It
    /// is lost if the connection breaks or cannot be opened.
    pub fn cast<T: Message + Eq + std::hash::Hash>(
        &mut self,
        to: ProcId,
        transport: &'static Transport,
        body: T,
    ) {
        self.world.cast(self.me, to, transport, Payload::new(body));
    }

    /// How long until a timer fires, by this process's clock; `None` if it is not armed.
    pub fn remaining(&mut self, timer: Timer) -> Option<Duration> {
        self.world.remaining(self.me, timer)
    }

    /// The armed timers with this tag, the next one first: number, and how long until it fires.
    pub fn timers(&mut self, tag: Name) -> impl Iterator<Item = (u64, Duration)> {
        self.world.timers(self.me, tag)
    }

    /// Lets a routine answer a call. When the caller gives up or its connection breaks, the
    /// routine's context ends.
    pub fn serve(&mut self, caller: Caller, task: Task) {
        self.world.start(self.me, task, Some(caller));
    }

    /// Starts a routine.
    pub fn spawn(&mut self, task: Task) {
        self.world.start(self.me, task, None);
    }

    /// Arms a timer, replacing the one with the same name. `after` counts by this process's clock.
    pub fn arm(&mut self, timer: Timer, after: Duration) {
        self.world.arm(self.me, timer, after);
    }

    /// Disarms a timer.
    pub fn disarm(&mut self, timer: Timer) {
        self.world.disarm(self.me, timer);
    }

    /// A cell of the process's memory.
    pub fn cell<T: CellType>(&mut self, cell: &Cell<T>) -> &mut T {
        self.world.observe_cell(self.me, cell.key());
        self.world.memory_mut(self.me).get_mut(cell)
    }

    /// Tells properties and reports what has just happened.
    #[track_caller]
    pub fn note<T: Message + Eq + std::hash::Hash>(&mut self, note: T) {
        let teller = Teller::Callback(Location::caller());
        self.world.note(self.me, teller, Payload::new(note));
    }

    /// Ends the process once this callback is over.
    pub fn exit(&mut self) {
        self.world.exit_later(self.me, false);
    }
}
