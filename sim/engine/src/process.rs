//! What a simulated process is: a sans-IO state machine with volatile and durable state.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::conn::Caller;
use crate::context::Cx;
use crate::digest::{digest, digest_of_type, pair};
use crate::message::Payload;
use crate::name::{Name, ProcId};
use crate::routine::{RoutineFuture, Task};

/// A timer of a process, by what it is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Timer {
    /// What it is for.
    pub tag: Name,
    /// Tells apart timers with one tag, for example an object's number.
    pub arg: u64,
}

impl Timer {
    /// A timer for `tag`, number `arg`.
    pub const fn new(tag: Name, arg: u64) -> Timer {
        Timer { tag, arg }
    }
}

/// A simulated process. Its callbacks get everything from outside through [`Cx`]: they read no
/// clock, no file, no thread and no random number.
///
/// Work of several steps is a *routine*: [`Process::routine`] turns a [`Task`] into a future in
/// which every await is one interaction with the world.
///
/// The type also has to be `Clone + Eq + Hash` ([`ProcessObject`]); equality and hash cover the
/// whole state.
pub trait Process: ProcessObject {
    /// Begins a life: the first one, or the next one after a crash.
    fn boot(&mut self, cx: &mut Cx<'_>);

    /// A request arrived. Answer with [`Cx::reply`], now or later, or let a routine serve it
    /// ([`Cx::serve`]).
    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload);

    /// A further message arrived on a stream whose request is not answered in full.
    fn part(&mut self, _cx: &mut Cx<'_>, _caller: Caller, body: &Payload) {
        panic!("this process takes nothing more on a stream: {body:?}");
    }

    /// The client has acknowledged parts of a stream ([`Transport::window`](crate::Transport)).
    fn acknowledged(&mut self, _cx: &mut Cx<'_>, _caller: Caller) {}

    /// A message arrived that wants no answer.
    fn cast(&mut self, _cx: &mut Cx<'_>, from: ProcId, body: &Payload) {
        panic!("this process expects no message from {from:?}: {body:?}");
    }

    /// The caller of a request that no routine serves gave up, or its connection broke.
    fn cancelled(&mut self, _cx: &mut Cx<'_>, _caller: Caller) {}

    /// A timer fired.
    fn timer(&mut self, _cx: &mut Cx<'_>, _timer: Timer) {}

    /// Asked to stop (SIGTERM). Ends with [`Cx::exit`], at once by default.
    fn stop(&mut self, cx: &mut Cx<'_>) {
        cx.exit();
    }

    /// A stimulus of the workload, or a fault of this process's own kind. An unknown one is an
    /// error for whoever wrote the plan.
    fn command(
        &mut self,
        _cx: &mut Cx<'_>,
        what: &str,
        _args: &serde_json::Value,
    ) -> Result<(), String> {
        Err(format!("does not know what `{what}` means"))
    }

    /// Does its listener take connections?
    fn accepting(&self) -> bool {
        true
    }

    /// Crashed: forget what is volatile. Routines, cells and locks are dropped by the engine.
    fn crash(&mut self);

    /// The future of a task. It may capture the task and what never changes in the process
    /// (configuration); all else comes through [`Rx`](crate::Rx), or rebuilding it goes wrong.
    fn routine(&self, task: &Task) -> RoutineFuture {
        panic!("this process has no routine `{}`", task.kind())
    }
}

/// What the engine needs of a process's type; implemented for every `Process + Clone + Eq + Hash`.
pub trait ProcessObject: Any + Send + Sync + fmt::Debug {
    /// A copy of the state.
    fn clone_box(&self) -> Box<dyn Process>;
    /// Structural equality.
    fn same(&self, other: &dyn Process) -> bool;
    /// The fingerprint of the state and its type.
    fn fingerprint(&self) -> u64;
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
    /// For downcasts.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Process + Clone + Eq + Hash> ProcessObject for T {
    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
    fn same(&self, other: &dyn Process) -> bool {
        other.as_any().downcast_ref::<T>() == Some(self)
    }
    fn fingerprint(&self) -> u64 {
        pair(digest_of_type::<T>(), digest(self))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Clone for Box<dyn Process> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}

impl PartialEq for Box<dyn Process> {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref().same(other.as_ref())
    }
}
impl Eq for Box<dyn Process> {}

impl Hash for Box<dyn Process> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.as_ref().fingerprint());
    }
}
