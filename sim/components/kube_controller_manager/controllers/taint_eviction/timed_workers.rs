//! Evictions that wait for their time (`pkg/controller/tainteviction/timed_workers.go`, v1.36.2). Pure: a timer is a routine that
//! sleeps and then asks whether it was cancelled.
//!
//! Upstream's queue goes by names. One that has fired takes the entry of its name away when it is done, also if that is another
//! one's by now: that one fires, and can be cancelled no more. It is the same here.

use std::collections::BTreeMap;

use wavetank_client::workqueue::Item;
use wavetank_engine::Instant;

/// The number of a worker.
pub(super) type Ticket = u64;

/// `TimedWorker`, and of which pod it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TimedWorker {
    /// `CreatedAt`
    pub created_at: Instant,
    /// `FireAt`
    pub fire_at: Instant,
    /// The UID of the pod that was seen.
    pub uid: Item,
    /// How often its work has failed.
    pub failures: u32,
}

/// `TimedWorkerQueue`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct TimedWorkerQueue {
    /// `workers`: nothing where the work began at once.
    workers: BTreeMap<Item, Option<Ticket>>,
    /// Those that were not cancelled and are not done.
    live: BTreeMap<Ticket, TimedWorker>,
    next: Ticket,
}

impl TimedWorkerQueue {
    /// `AddWork`: its number; nothing if there is one of this name. Without a delay it is at work at once.
    pub fn add_work(&mut self, pod: &Item, worker: TimedWorker, at_once: bool) -> Option<Ticket> {
        if self.workers.contains_key(pod) {
            return None;
        }
        let ticket = self.next;
        self.next += 1;
        self.live.insert(ticket, worker);
        self.workers
            .insert(pod.clone(), (!at_once).then_some(ticket));
        Some(ticket)
    }

    /// `CancelWork`
    pub fn cancel_work(&mut self, pod: &Item) -> bool {
        let found = self.workers.remove(pod);
        let ticket = found.flatten();
        if let Some(ticket) = ticket {
            self.live.remove(&ticket);
        }
        ticket.is_some()
    }

    /// `GetWorkerUnsafe`
    pub fn get_worker_unsafe(&self, pod: &Item) -> Option<&TimedWorker> {
        let ticket = self.workers.get(pod).copied().flatten()?;
        self.live.get(&ticket)
    }

    /// The worker with this number begins to work, unless it was cancelled.
    pub fn fires(&self, ticket: Ticket) -> Option<TimedWorker> {
        self.live.get(&ticket).cloned()
    }

    /// It is done (`getWrappedWorkerFunc`).
    pub fn finished(&mut self, pod: &Item, ticket: Ticket) {
        self.live.remove(&ticket);
        self.workers.remove(pod);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker() -> TimedWorker {
        TimedWorker {
            created_at: Instant::default(),
            fire_at: Instant::default(),
            uid: "u".into(),
            failures: 0,
        }
    }

    #[test]
    fn one_of_a_name_is_there_until_it_is_done_or_cancelled() {
        let mut queue = TimedWorkerQueue::default();
        let pod: Item = "ns/a".into();
        let first = queue.add_work(&pod, worker(), false).expect("it is new");
        assert_eq!(queue.add_work(&pod, worker(), false), None);
        assert!(queue.cancel_work(&pod) && queue.fires(first).is_none());
        let second = queue.add_work(&pod, worker(), true).expect("it is new");
        assert!(queue.get_worker_unsafe(&pod).is_none() && !queue.cancel_work(&pod));
        assert!(queue.fires(second).is_some());
    }

    #[test]
    fn who_is_done_takes_the_entry_of_its_name_away() {
        let mut queue = TimedWorkerQueue::default();
        let pod: Item = "ns/a".into();
        let first = queue.add_work(&pod, worker(), false).expect("it is new");
        queue.fires(first).expect("it was not cancelled");
        queue.cancel_work(&pod);
        let second = queue.add_work(&pod, worker(), false).expect("it is new");
        queue.finished(&pod, first);
        assert!(queue.get_worker_unsafe(&pod).is_none());
        assert!(queue.fires(second).is_some());
    }
}
