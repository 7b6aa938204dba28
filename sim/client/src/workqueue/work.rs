//! A whole rate-limiting queue for the routines of a process: waits are conditions, delays are routines that
//! sleep. What is worked on does not belong here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Cell, Condition, Cx, Lock, Name, Outcome, RoutineFuture, Rx, Task, Timer};

use super::{Bucket, Delaying, Limiter, Queue, Ticket};

/// What is worked on: `namespace/name`.
pub type Item = Arc<str>;

static QUEUES: Cell<BTreeMap<u32, State>> = Cell::new("work-queues");
const DELAY: Name = Name::new("add-after");
const REFILL: Name = Name::new("refill");
/// Between two items others have their turn.
const NEXT: Lock = Lock::new("next-item");

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct State {
    queue: Queue<Item>,
    delaying: Delaying<Item>,
    limiter: Limiter<Item>,
}

/// A delayed item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Delayed {
    queue: u32,
    item: Item,
    ticket: Ticket,
    by: Duration,
}

/// A work queue of the process, by number. It is there without being made, and gone with a crash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WorkQueue(pub u32);

impl WorkQueue {
    fn filled(self) -> Condition {
        Condition::new("work", self.0.into())
    }

    /// `Add`
    pub fn add(self, rx: Rx, item: Item) {
        if rx.update(&QUEUES, |all| {
            all.entry(self.0).or_default().queue.add(item)
        }) {
            rx.broadcast(self.filled());
        }
    }

    /// `AddAfter`
    pub fn add_after(self, rx: Rx, item: Item, by: Duration) {
        if by.is_zero() {
            return self.add(rx, item);
        }
        let ticket = rx.update(&QUEUES, |all| {
            let state = all.entry(self.0).or_default();
            state.delaying.delay(item.clone())
        });
        rx.spawn(Task::new(
            DELAY,
            Delayed {
                queue: self.0,
                item,
                ticket,
                by,
            },
        ));
    }

    /// `AddRateLimited`
    pub fn add_rate_limited(self, rx: Rx, item: Item) {
        let (by, first) = rx.update(&QUEUES, |all| {
            let limiter = &mut all.entry(self.0).or_default().limiter;
            let first = limiter.bucket.is_full();
            (limiter.when(item.clone()), first)
        });
        if first {
            rx.arm(Timer::new(REFILL, self.0.into()), Bucket::EVERY);
        }
        self.add_after(rx, item, by);
    }

    /// `Forget`: the item has succeeded.
    pub fn forget(self, rx: Rx, item: &Item) {
        rx.update(&QUEUES, |all| {
            let limiter = &mut all.entry(self.0).or_default().limiter;
            limiter.items.forget(item);
        });
    }

    /// `NumRequeues`
    pub fn requeues(self, rx: Rx, item: &Item) -> u32 {
        rx.update(&QUEUES, |all| {
            let limiter = &all.entry(self.0).or_default().limiter;
            limiter.items.requeues(item)
        })
    }

    /// `Get`: waits for an item. It is in work until [`WorkQueue::done`].
    pub async fn get(self, rx: Rx) -> Item {
        drop(rx.lock(NEXT).await);
        loop {
            let got = rx.update(&QUEUES, |all| all.entry(self.0).or_default().queue.get());
            match got {
                Some(item) => return item,
                None => rx.changed(self.filled()).await,
            }
        }
    }

    /// `Done`
    pub fn done(self, rx: Rx, item: &Item) {
        if rx.update(&QUEUES, |all| {
            all.entry(self.0).or_default().queue.done(item)
        }) {
            rx.broadcast(self.filled());
        }
    }

    /// A timer of the process; false if it is none of work queues.
    pub fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
        if timer.tag != REFILL {
            return false;
        }
        let state = cx.cell(&QUEUES).entry(timer.arg as u32).or_default();
        state.limiter.bucket.refill();
        if !state.limiter.bucket.is_full() {
            cx.arm(timer, Bucket::EVERY);
        }
        true
    }

    /// The future of a task, if it is one of work queues.
    pub fn routine(task: &Task) -> Option<RoutineFuture> {
        if task.kind() != DELAY {
            return None;
        }
        let delayed = task.args::<Delayed>().clone();
        Some(Box::pin(delay(Rx::new(), delayed)))
    }
}

async fn delay(rx: Rx, delayed: Delayed) -> Outcome {
    rx.sleep(delayed.by).await;
    let counts = rx.update(&QUEUES, |all| {
        let delaying = &mut all.entry(delayed.queue).or_default().delaying;
        delaying.over(&delayed.item, delayed.ticket)
    });
    if counts {
        WorkQueue(delayed.queue).add(rx, delayed.item);
    }
    Outcome::Done
}
