//! A shared informer (`tools/cache/shared_informer.go`, `controller.go`): a reflector fills a queue, one
//! routine empties it into the store, and each handler is told by a routine of its own, from a buffer
//! without a bound.
//!
//! `spec` says what an informer is about, `factory` shares informers between the controllers of a process, `state` is
//! what an informer remembers, `apply` what a popped delta does; these are pure. `hold` holds informers back. This file has the
//! routines and timers. How the queue is filled is in `reflector`.

mod apply;
mod factory;
mod hold;
mod spec;
pub(crate) mod state;

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{
    Condition, Cx, Lock, Message, Name, Outcome, RoutineFuture, Rx, Task, Timer,
};

use crate::observed::{Handled, Informing, Ready, Synced};
use crate::reflector::{self, REFLECT, Reflect};
use crate::wait::backoff::{RESET_AFTER, Rearm};

pub use apply::{Notice, Notification};
pub use factory::{Lister, SharedInformer, SharedInformerFactory};
use hold::{LAG, LET_GO};
pub use spec::{EventHandler, HandlerSpec, InformerSpec, Informers, Lag, Resync};
use state::Pop;
pub use state::{Hold, HoldAt, INFORMERS, Informer, InformerId, Listener, first_of};

const POP: Name = Name::new("pop");
const HANDLE: Name = Name::new("handle");
const WAIT: Name = Name::new("wait-for-caches");

/// The queue of the informer has something.
pub(crate) const fn queued(informer: u32) -> Condition {
    Condition::new("queued", informer as u64)
}

/// The informer is held no longer.
pub(crate) const fn released(informer: u32) -> Condition {
    Condition::new("released", informer as u64)
}

/// A handler has something to be told.
const fn notified(informer: u32, handler: u32) -> Condition {
    Condition::new("told", (informer as u64) << 16 | handler as u64)
}

/// Whoever pops holds the queue's lock. What is done under it is done at once, so one name is enough
/// for all queues; that it has to be taken lets others run between two pops.
const QUEUE: Lock = Lock::new("queue");
/// `blockDeltas`, under which what was popped is processed; one name for all, likewise.
const BLOCK_DELTAS: Lock = Lock::new("block-deltas");
/// The same between two calls of a handler.
const TURN: Lock = Lock::new("turn");

/// The reflector's resync timer.
const RESYNC: Name = Name::new("resync");
pub(crate) const fn resync(informer: u32) -> Timer {
    Timer::new(RESYNC, informer as u64)
}
/// A handler's resync is due.
const DUE: Name = Name::new("resync-due");
/// A back-off manager forgets.
const FORGET: Name = Name::new("back-off-over");

/// The timer of a back-off manager of an informer.
pub(crate) const fn forget(informer: u32, manager: u32) -> Timer {
    Timer::new(FORGET, (informer as u64) << 1 | manager as u64)
}

/// `WaitForCacheSync` looks so often.
const SYNC_POLL: Duration = Duration::from_millis(100);

impl Informers {
    /// Begins, in each life of the process.
    ///
    /// # Panics
    /// If there are informers of this name already.
    pub fn boot(&self, cx: &mut Cx<'_>) {
        let all = cx.cell(&INFORMERS);
        let scope = self.scope;
        assert!(
            all.iter().all(|informer| informer.id.scope != scope),
            "informers of `{scope}` begin twice in one process: each owner needs a name of its own"
        );
        let first = all.len() as u32;
        let ids = (0..self.specs.len() as u32).map(|at| InformerId {
            scope,
            at,
            number: first + at,
        });
        let (release, defects) = (self.rest.release, self.defects);
        let new = ids.clone().zip(&self.specs);
        all.extend(new.map(|(id, spec)| Informer::new(id, spec, release, defects)));
        for (id, spec) in ids.zip(&self.specs) {
            self.begin(cx, id, spec);
        }
        cx.spawn(Task::new(WAIT, scope));
    }

    fn begin(&self, cx: &mut Cx<'_>, id: InformerId, spec: &InformerSpec) {
        let informer = id.number;
        cx.note(Informing {
            informer,
            selection: spec.selection.clone(),
            handlers: spec.handlers.len() as u32,
            resyncs: spec.resync_periods().1,
        });
        for (handler, period) in (0..).zip(spec.resync_periods().1) {
            cx.spawn(Task::new(HANDLE, (id, handler)));
            if let Some(period) = period {
                cx.arm(due(informer, handler), period);
            }
        }
        for manager in 0..2 {
            let backoff = &mut cx.cell(&INFORMERS)[informer as usize].reflector.backoffs;
            if backoff[manager as usize].begins() == Rearm::Now {
                cx.arm(forget(informer, manager), RESET_AFTER);
            }
        }
        cx.spawn(Task::new(POP, id));
        cx.spawn(Task::new(REFLECT, Reflect::new(id)));
    }

    /// The informer with this number, if it is one of these.
    fn own(&self, cx: &mut Cx<'_>, number: u64) -> Option<InformerId> {
        let informer = cx.cell(&INFORMERS).get(number as usize)?;
        Some(informer.id).filter(|id| id.scope == self.scope)
    }

    /// A timer of the process; false if it is none of these informers.
    pub fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        let bits = [(RESYNC, 0), (DUE, 16), (FORGET, 1), (LET_GO, 0)];
        let found = bits.into_iter().find(|(tag, _)| *tag == timer.tag);
        let Some((tag, bits)) = found else {
            return false;
        };
        let Some(id) = self.own(cx, timer.arg >> bits) else {
            return false;
        };
        if tag == LET_GO {
            self.hold(cx, id.at, None);
            return true;
        }
        let informer = &mut cx.cell(&INFORMERS)[id.number as usize];
        let part = (timer.arg & ((1 << bits) - 1)) as usize;
        if tag == RESYNC {
            self.resync(cx, id);
        } else if tag == DUE {
            informer.listeners[part].due = true;
        } else {
            informer.reflector.backoffs[part].over();
        }
        true
    }

    /// The resync timer of the reflector fired (`startResync`).
    fn resync(&self, cx: &mut Cx<'_>, id: InformerId) {
        let (check, periods) = self.specs[id.at as usize].resync_periods();
        let informer = id.number;
        let own = &mut cx.cell(&INFORMERS)[informer as usize];
        let due_now = own.should_resync();
        if !due_now.is_empty() {
            own.fifo.resync(&own.indexer);
            cx.broadcast(queued(informer));
        }
        for handler in due_now {
            if let Some(period) = periods[handler as usize] {
                cx.arm(due(informer, handler), period);
            }
        }
        if let Some(check) = check {
            cx.arm(resync(informer), check);
        }
    }

    /// The future of a task, if it is one of these informers.
    pub fn routine(self: &Arc<Self>, task: &Task) -> Option<RoutineFuture> {
        let (rx, kind) = (Rx::new(), task.kind());
        let own = |scope: Name| (scope == self.scope).then(|| self.clone());
        if kind == REFLECT {
            let reflect = task.args::<Reflect>();
            let own = own(reflect.scope())?;
            return Some(Box::pin(reflector::turn(rx, own, reflect.clone())));
        }
        if kind == POP {
            let id = *task.args::<InformerId>();
            return Some(Box::pin(process_loop(rx, own(id.scope)?, id)));
        }
        if kind == HANDLE {
            let (id, handler) = *task.args::<(InformerId, u32)>();
            return Some(Box::pin(run(rx, own(id.scope)?, id, handler)));
        }
        if kind == WAIT {
            let own = own(*task.args::<Name>())?;
            return Some(Box::pin(wait_for_cache_sync(rx, own)));
        }
        if kind == LAG {
            let own = own(*task.args::<Name>())?;
            return Some(Box::pin(hold::lag(rx, own)));
        }
        None
    }

    /// The first informer of this resource, `configmaps`, `deployments.apps`, by its place among these.
    pub fn of_resource(&self, name: &str) -> Option<u32> {
        let mut all = (0..).zip(&self.specs);
        let found = all.find(|(_, spec)| spec.selection.resource.qualified() == name)?;
        Some(found.0)
    }

    /// Looks at one of these informers, by its place among them.
    pub fn look<R: Message + Clone + Eq + Hash>(
        rx: Rx,
        scope: Name,
        at: u32,
        look: impl FnOnce(&Informer) -> R,
    ) -> R {
        rx.look(&INFORMERS, |all| {
            look(&all[first_of(all, scope) + at as usize])
        })
    }

    /// Are the stores of all informers of an owner filled?
    pub fn have_synced(rx: Rx, scope: Name) -> bool {
        rx.look(&INFORMERS, |all| {
            let mut own = all.iter().filter(|informer| informer.id.scope == scope);
            own.all(Informer::has_synced)
        })
    }
}

const fn due(informer: u32, handler: u32) -> Timer {
    Timer::new(DUE, (informer as u64) << 16 | handler as u64)
}

/// Draws whether to lag, and lags.
async fn lag(rx: Rx, lag: Lag) {
    let drawn = rx.choose(lag.one_in << 10).await;
    if drawn % lag.one_in == 0 {
        let part = (drawn / lag.one_in) as u32;
        rx.sleep(lag.upto * part / 1024).await;
    }
}

/// `processLoop`, one turn: waits for something, and takes it into the store. From v1.36 on others have a turn between
/// the pop and that.
async fn process_loop(rx: Rx, own: Arc<Informers>, id: InformerId) -> Outcome {
    let (spec, informer) = (&own.specs[id.at as usize], id.number);
    // What is left from the last turn must not be taken before others had theirs.
    match spec.queue_lag {
        Some(queue_lag) => lag(rx, queue_lag).await,
        None => drop(rx.lock(QUEUE).await),
    }
    loop {
        let release = own.rest.release;
        match rx.update(&INFORMERS, |all| all[informer as usize].pop(release)) {
            Pop::Nothing => {
                rx.changed(queued(informer)).await;
                continue;
            }
            Pop::Locked => {}
            Pop::Unlocked => drop(rx.lock(BLOCK_DELTAS).await),
        }
        let done = rx.update(&INFORMERS, |all| all[informer as usize].process(release));
        for handler in &done.notified {
            rx.broadcast(notified(informer, *handler));
        }
        rx.note(crate::observed::Changed {
            informer,
            changes: done.changes.clone(),
        });
        if done.synced {
            rx.note(Synced { informer });
        }
        if done.more {
            return Outcome::Become(Task::new(POP, id));
        }
        rx.changed(queued(informer)).await;
    }
}

/// `processorListener.run`, one turn: the handler is told one thing.
async fn run(rx: Rx, own: Arc<Informers>, id: InformerId, handler: u32) -> Outcome {
    let spec = &own.specs[id.at as usize].handlers[handler as usize];
    let informer = id.number;
    let take = |all: &mut Vec<Informer>| all[informer as usize].take(handler);
    let notice = loop {
        match rx.update(&INFORMERS, take) {
            Some(notice) => break notice,
            None => rx.changed(notified(informer, handler)).await,
        }
    };
    match spec.lag {
        Some(own_lag) => lag(rx, own_lag).await,
        None => drop(rx.lock(TURN).await),
    }
    (*spec.on)(rx, id.at, &notice);
    rx.update(&INFORMERS, |all| {
        all[informer as usize].finish(handler, &notice)
    });
    rx.note(Handled {
        informer,
        handler,
        call: notice.call(),
        key: notice.key(),
        revision: notice.revision(),
    });
    Outcome::Become(Task::new(HANDLE, (id, handler)))
}

/// `WaitForCacheSync`; then their owner begins to work.
async fn wait_for_cache_sync(rx: Rx, own: Arc<Informers>) -> Outcome {
    let (scope, defects) = (own.scope, own.defects);
    let (first, ready) = rx.update(&INFORMERS, |all| {
        let first = all.iter().position(|informer| informer.id.scope == scope);
        let mut own = all.iter().filter(|informer| informer.id.scope == scope);
        (first, own.all(|informer| informer.is_ready(defects)))
    });
    if ready {
        let first = first.unwrap_or_default() as u32;
        let informers = first..first + own.specs.len() as u32;
        rx.note(Ready { informers });
        return Outcome::Done;
    }
    rx.sleep(SYNC_POLL).await;
    Outcome::Become(Task::new(WAIT, scope))
}
