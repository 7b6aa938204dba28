//! The dispatch loop of a watch cache (`dispatchEvents`): each change to each watcher that may want
//! it. Those whose buffer is full are waited for, as long as there is time saved up; then their
//! watches end.

use std::pin::pin;
use std::sync::Arc;

use wavetank_engine::{Either, Outcome, Payload, Rx, Task, mutant};
use wavetank_etcd::Revision;

use super::event::{Event, Item};
use super::watcher::input;
use super::{Cacher, DISPATCH};
use crate::cacher::gates;

/// The size of the channel before it.
pub(super) const INCOMING: u32 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Dispatch {
    cacher: Cacher,
    /// `lastProcessedResourceVersion`, what bookmarks carry; 0 before the first event.
    last: Revision,
}

impl Dispatch {
    pub fn new(cacher: Cacher) -> Dispatch {
        Dispatch { cacher, last: 0 }
    }
}

pub(super) async fn dispatch(rx: Rx, dispatch: Dispatch) -> Outcome {
    let Dispatch { cacher, mut last } = dispatch;
    if last == 0
        && cacher
            .config
            .release
            .has(gates::DISPATCH_BEGINS_AT_THE_LIST)
    {
        // v1.36 begins with the revision of the first list.
        last = match cacher.first_list(rx).await {
            Some(listed) => listed,
            None => return Outcome::Done,
        };
    }
    match rx
        .select(rx.recv(cacher.incoming()), rx.recv(cacher.ticks()))
        .await
    {
        Either::Left(Some(item)) => {
            let received = item.expect::<Item>();
            if let Item::Event(event) = received
                && !(event.revision % 7 == 0
                    && mutant!(
                        "dispatch-drops",
                        "a watch cache does not pass on some events"
                    ))
            {
                cacher.dispatch_event(rx, &item, event).await;
            }
            last = received.revision();
        }
        Either::Right(Some(number)) => cacher.send_bookmark(rx, *number.expect(), last),
        Either::Left(None) | Either::Right(None) => return Outcome::Done,
    }
    Outcome::Become(Task::new(DISPATCH, Dispatch { cacher, last }))
}

impl Cacher {
    async fn first_list(self, rx: Rx) -> Option<Revision> {
        loop {
            let (listed, stopped) = rx.look(&self.cell(), |cache| {
                (cache.listed, cache.ready.is_stopped())
            });
            if stopped {
                return None;
            }
            if listed != 0 {
                return Some(listed);
            }
            rx.changed(self.changed()).await;
        }
    }

    /// `dispatchEvent`. The lock in `startDispatching` is no await here: nothing can happen there
    /// that could not as well happen before the event was taken.
    async fn dispatch_event(self, rx: Rx, item: &Payload, event: &Arc<Event>) {
        let mut slow = rx.look(&self.cell(), |cache| cache.concerned(self, event));
        slow.retain(|number| !rx.try_send(input(*number), item.clone()));
        if slow.is_empty() {
            return;
        }
        let release = self.config.release;
        let limit = rx.update_at(&self.cell(), |cache, now| {
            cache.budget.take_available(now, release)
        });
        let mut timer = pin!(rx.sleep(limit));
        let mut fired = false;
        for number in slow {
            if rx.try_send(input(number), item.clone()) {
                continue;
            }
            if !fired {
                let send = rx.send_to(input(number), item.clone());
                match rx.select(send, timer.as_mut()).await {
                    Either::Left(_) => continue,
                    Either::Right(()) => fired = true,
                }
            }
            if !mutant!(
                "slow-watcher-skips",
                "a watcher whose buffer stays full skips the event, and is not closed"
            ) {
                self.close_slow(rx, number);
            }
        }
        rx.update_at(&self.cell(), |cache, now| {
            cache.budget.return_unused(limit, now);
        });
    }
}
