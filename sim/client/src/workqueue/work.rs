//! A whole rate-limiting queue for the routines of a process: waits are conditions, delays are routines that
//! sleep. What is worked on does not belong here.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{
    Cell, Condition, Cx, Lock, Message, Name, Outcome, RoutineFuture, Rx, Task, Timer,
};

use super::limiters::{ITEM_FIRST, ITEM_LONGEST};
use super::{Bucket, Delaying, Limiter, Queue, Ticket};

/// What is worked on: `namespace/name`.
pub type Item = Arc<str>;

/// The queues of a process, in the order in which they were made.
static QUEUES: Cell<Vec<State>> = Cell::new("work-queues");
const DELAY: Name = Name::new("add-after");
const REFILL: Name = Name::new("refill");
/// Between two items others have their turn.
const NEXT: Lock = Lock::new("next-item");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    of: WorkQueue,
    queue: Queue<Item>,
    delaying: Delaying<Item>,
    limiter: Limiter<Item>,
}

/// A delayed item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Delayed {
    queue: WorkQueue,
    item: Item,
    ticket: Ticket,
    by: Duration,
}

/// A work queue of the process, by the controller that it belongs to and its name there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WorkQueue {
    scope: Name,
    name: Name,
    /// So long an item waits that failed once.
    first: Duration,
    /// No item that failed waits longer.
    longest: Duration,
}

/// Another item waits in the queue with this number.
fn filled(number: usize) -> Condition {
    Condition::new("work", number as u64)
}

impl WorkQueue {
    /// The queue `name` of the controller `scope`.
    pub const fn new(scope: Name, name: &'static str) -> WorkQueue {
        WorkQueue {
            scope,
            name: Name::new(name),
            first: ITEM_FIRST,
            longest: ITEM_LONGEST,
        }
    }

    /// The same with another rate limiter: an item that failed once waits so long.
    #[must_use]
    pub const fn waiting_first(self, first: Duration) -> WorkQueue {
        WorkQueue { first, ..self }
    }

    /// The same with another rate limiter: no item that failed waits longer than this.
    #[must_use]
    pub const fn waiting_at_most(self, longest: Duration) -> WorkQueue {
        WorkQueue { longest, ..self }
    }

    /// Makes it (`NewTypedRateLimitingQueue`), in each life of the process.
    ///
    /// # Panics
    /// If the process has a queue of this name.
    pub fn make(self, cx: &mut Cx<'_>) {
        let all = cx.cell(&QUEUES);
        assert!(
            all.iter().all(|state| state.of != self),
            "the work queue `{}` of `{}` is made twice in one process",
            self.name,
            self.scope
        );
        all.push(State {
            of: self,
            queue: Queue::default(),
            delaying: Delaying::default(),
            limiter: Limiter::default(),
        });
    }

    /// Works on its state; its number is that of its conditions and timers.
    fn with<R: Message + Clone + Eq + Hash>(
        self,
        rx: Rx,
        work: impl FnOnce(&mut State, usize) -> R,
    ) -> R {
        rx.update(&QUEUES, |all| {
            let Some(number) = all.iter().position(|state| state.of == self) else {
                let WorkQueue { scope, name, .. } = self;
                panic!("the work queue `{name}` of `{scope}` was not made in this process");
            };
            work(&mut all[number], number)
        })
    }

    /// `Add`
    pub fn add(self, rx: Rx, item: Item) {
        let added = self.with(rx, |state, number| state.queue.add(item).then_some(number));
        if let Some(number) = added {
            rx.broadcast(filled(number));
        }
    }

    /// `AddAfter`
    pub fn add_after(self, rx: Rx, item: Item, by: Duration) {
        if by.is_zero() {
            return self.add(rx, item);
        }
        let ticket = self.with(rx, |state, _| state.delaying.add_after(item.clone()));
        let delayed = Delayed {
            queue: self,
            item,
            ticket,
            by,
        };
        rx.spawn(Task::new(DELAY, delayed));
    }

    /// `AddRateLimited`
    pub fn add_rate_limited(self, rx: Rx, item: Item) {
        let (by, first) = self.with(rx, |state, number| {
            let limiter = &mut state.limiter;
            let first = limiter.bucket.is_full().then_some(number);
            (
                limiter.when_within(item.clone(), self.first, self.longest),
                first,
            )
        });
        if let Some(number) = first {
            rx.arm(Timer::new(REFILL, number as u64), Bucket::EVERY);
        }
        self.add_after(rx, item, by);
    }

    /// `Forget`: the item has succeeded.
    pub fn forget(self, rx: Rx, item: &Item) {
        self.with(rx, |state, _| state.limiter.items.forget(item));
    }

    /// `NumRequeues`
    pub fn num_requeues(self, rx: Rx, item: &Item) -> u32 {
        self.with(rx, |state, _| state.limiter.items.num_requeues(item))
    }

    /// `Get`: waits for an item. It is in work until [`WorkQueue::done`].
    pub async fn get(self, rx: Rx) -> Item {
        drop(rx.lock(NEXT).await);
        loop {
            match self.with(rx, |state, number| state.queue.get().ok_or(number)) {
                Ok(item) => return item,
                Err(number) => rx.changed(filled(number)).await,
            }
        }
    }

    /// Does nothing wait to be taken (`Len`)?
    pub fn is_empty(self, rx: Rx) -> bool {
        self.with(rx, |state, _| state.queue.is_empty())
    }

    /// `Done`
    pub fn done(self, rx: Rx, item: &Item) {
        let again = self.with(rx, |state, number| state.queue.done(item).then_some(number));
        if let Some(number) = again {
            rx.broadcast(filled(number));
        }
    }

    /// What it has to do with: what is queued, delayed, or in work.
    pub fn known(self, rx: Rx) -> BTreeSet<Item> {
        self.with(rx, |state, _| {
            let all = state.queue.known().chain(state.delaying.known());
            all.cloned().collect()
        })
    }

    /// A timer of the process; false if it is none of work queues.
    pub fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
        if timer.tag != REFILL {
            return false;
        }
        let bucket = &mut cx.cell(&QUEUES)[timer.arg as usize].limiter.bucket;
        bucket.refill();
        if !bucket.is_full() {
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
    let Delayed {
        queue,
        item,
        ticket,
        by,
    } = delayed;
    rx.sleep(by).await;
    if queue.with(rx, |state, _| state.delaying.over(&item, ticket)) {
        queue.add(rx, item);
    }
    Outcome::Done
}
