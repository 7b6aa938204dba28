//! A shared informer (`tools/cache/shared_informer.go`, `controller.go`): a reflector fills a queue, one
//! routine empties it into the store, and each handler is told by a routine of its own, from a buffer
//! without a bound.
//!
//! `spec` says what an informer is about, `state` is what it remembers, `apply` what a popped delta does;
//! these are pure. This file has the routines and timers. How the queue is filled is in `reflector`.

mod apply;
mod spec;
pub(crate) mod state;

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Condition, Cx, Lock, Name, Outcome, RoutineFuture, Rx, Task, Timer};

use crate::observed::{Handled, Held, Informing, Ready, Synced};
use crate::reflector::{self, REFLECT, Reflect};
use crate::wait::backoff::{RESET_AFTER, Rearm};

pub use apply::{Notice, Told};
pub use spec::{HandlerSpec, InformerSpec, Informers, Lag, Resync};
pub use state::{Hold, HoldAt, INFORMERS, Informer, Listener};

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
const fn told(informer: u32, handler: u32) -> Condition {
    Condition::new("told", (informer as u64) << 16 | handler as u64)
}

/// Whoever pops holds the queue's lock. What is done under it is done at once, so one name is enough
/// for all queues; that it has to be taken lets others run between two pops.
const QUEUE: Lock = Lock::new("queue");
/// The same between two calls of a handler.
const TURN: Lock = Lock::new("turn");

/// The reflector's resync timer.
pub(crate) const fn resync(informer: u32) -> Timer {
    Timer::new(Name::new("resync"), informer as u64)
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
    pub fn boot(&self, cx: &mut Cx<'_>) {
        let all = self.specs.iter();
        *cx.cell(&INFORMERS) = all
            .map(|spec| Informer::new(spec, self.rest.release, self.defects))
            .collect();
        for (informer, spec) in (0..).zip(&self.specs) {
            cx.note(Informing {
                informer,
                selection: spec.selection.clone(),
                handlers: spec.handlers.len() as u32,
            });
            for (handler, period) in (0..).zip(spec.resync_periods().1) {
                cx.spawn(Task::new(HANDLE, (informer, handler)));
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
            cx.spawn(Task::new(POP, informer));
            cx.spawn(Task::new(REFLECT, Reflect::new(informer)));
        }
        cx.spawn(Task::new(WAIT, ()));
    }

    /// A timer of the process; false if it is none of informers.
    pub fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        if timer.tag == FORGET {
            let all = cx.cell(&INFORMERS);
            let reflector = &mut all[(timer.arg >> 1) as usize].reflector;
            reflector.backoffs[(timer.arg & 1) as usize].over();
        } else if timer.tag == DUE {
            let informer = &mut cx.cell(&INFORMERS)[(timer.arg >> 16) as usize];
            informer.listeners[(timer.arg & 0xffff) as usize].due = true;
        } else if timer == resync(timer.arg as u32) {
            self.resync(cx, timer.arg as u32);
        } else {
            return false;
        }
        true
    }

    /// The resync timer of the reflector fired (`startResync`).
    fn resync(&self, cx: &mut Cx<'_>, informer: u32) {
        let (check, periods) = self.specs[informer as usize].resync_periods();
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

    /// The future of a task, if it is one of informers.
    pub fn routine(self: &Arc<Self>, task: &Task) -> Option<RoutineFuture> {
        let (rx, own) = (Rx::new(), self.clone());
        let kind = task.kind();
        if kind == REFLECT {
            return Some(Box::pin(reflector::turn(
                rx,
                own,
                task.args::<Reflect>().clone(),
            )));
        }
        if kind == POP {
            return Some(Box::pin(pop(rx, own, *task.args())));
        }
        if kind == HANDLE {
            let (informer, handler) = *task.args();
            return Some(Box::pin(handle(rx, own, informer, handler)));
        }
        if kind == WAIT {
            return Some(Box::pin(wait_for_caches(rx, own)));
        }
        None
    }

    /// Holds an informer back: it takes nothing more, or nothing newer than a revision.
    pub fn hold(&self, cx: &mut Cx<'_>, informer: u32, hold: Option<Hold>) {
        cx.cell(&INFORMERS)[informer as usize].hold = hold;
        cx.note(Held {
            informer,
            held: hold.is_some(),
        });
        cx.broadcast(queued(informer));
        cx.broadcast(released(informer));
    }

    /// The first informer of this resource, `configmaps`, `deployments.apps`.
    pub fn of_resource(&self, name: &str) -> Option<u32> {
        let mut all = (0..).zip(&self.specs);
        let found = all.find(|(_, spec)| spec.selection.resource.qualified() == name)?;
        Some(found.0)
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

/// `processLoop`, one turn: waits for something, and takes it into the store.
async fn pop(rx: Rx, own: Arc<Informers>, informer: u32) -> Outcome {
    let spec = &own.specs[informer as usize];
    // What is left from the last turn must not be taken before others had theirs.
    match spec.queue_lag {
        Some(queue_lag) => lag(rx, queue_lag).await,
        None => drop(rx.lock(QUEUE).await),
    }
    loop {
        let release = own.rest.release;
        let popped = rx.update(&INFORMERS, |all| all[informer as usize].pop(release));
        let Some(popped) = popped else {
            rx.changed(queued(informer)).await;
            continue;
        };
        for handler in &popped.told {
            rx.broadcast(told(informer, *handler));
        }
        rx.note(crate::observed::Changed {
            informer,
            changes: popped.changes.clone(),
        });
        if popped.synced {
            rx.note(Synced { informer });
        }
        if popped.more {
            return Outcome::Become(Task::new(POP, informer));
        }
        rx.changed(queued(informer)).await;
    }
}

/// `processorListener.run`, one turn: the handler is told one thing.
async fn handle(rx: Rx, own: Arc<Informers>, informer: u32, handler: u32) -> Outcome {
    let spec = &own.specs[informer as usize].handlers[handler as usize];
    let take = |all: &mut Vec<Informer>| all[informer as usize].take(handler);
    let notice = loop {
        match rx.update(&INFORMERS, take) {
            Some(notice) => break notice,
            None => rx.changed(told(informer, handler)).await,
        }
    };
    match spec.lag {
        Some(own_lag) => lag(rx, own_lag).await,
        None => drop(rx.lock(TURN).await),
    }
    (spec.on)(rx, informer, &notice);
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
    Outcome::Become(Task::new(HANDLE, (informer, handler)))
}

/// `WaitForCacheSync`; then the process begins to work.
async fn wait_for_caches(rx: Rx, own: Arc<Informers>) -> Outcome {
    let defects = own.defects;
    if rx.update(&INFORMERS, |all| all.iter().all(|i| i.is_ready(defects))) {
        rx.note(Ready);
        return Outcome::Done;
    }
    rx.sleep(SYNC_POLL).await;
    Outcome::Become(Task::new(WAIT, ()))
}
