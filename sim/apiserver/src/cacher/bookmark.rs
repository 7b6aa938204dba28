//! When a watch gets a bookmark, and which revision it carries: that of the last event that the
//! dispatch loop has dealt with. Nothing is promised of them, so one that finds a full buffer is
//! dropped.

use std::time::Duration;

use wavetank_engine::{Condition, Either, Outcome, Payload, Rx, Task, mutant};
use wavetank_etcd::Revision;

use super::event::Item;
use super::scope::Awaiting;
use super::watcher::input;
use super::{BOOKMARKS, Cacher};
use crate::cacher::gates;

/// Ticks on their way to the dispatch loop.
pub(super) const TICKS: u32 = 16;
/// `defaultBookmarkFrequency`
const EVERY: Duration = Duration::from_secs(60);
/// `nextBookmarkTime`: so long before the end of the watch.
const BEFORE_END: Duration = Duration::from_secs(2);
/// The bookmark timer of the dispatch loop: 1 s, jitter 0.25. Ticks at which nobody is due are left
/// out, so it is drawn how long a watch that is due waits for the next one.
const TICK: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(250);
const STEPS: u64 = 6;

/// Keeps the time of one watch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timekeeper {
    pub cacher: Cacher,
    pub number: u64,
    /// How long the watch lasts yet; `None`: it has no deadline.
    pub left: Option<Duration>,
}

/// Nobody listens to the watch with this number any more.
pub(super) fn gone(number: u64) -> Condition {
    Condition::new("watch-gone", number)
}

/// The dispatch loop has dealt with a tick of the watch with this number.
fn ticked(number: u64) -> Condition {
    Condition::new("watch-ticked", number)
}

pub(super) async fn keep_time(rx: Rx, keeper: Timekeeper) -> Outcome {
    let Timekeeper {
        cacher,
        number,
        left,
    } = keeper;
    let Some(due) = cacher.next_bookmark_time(rx, number, left) else {
        return Outcome::Done;
    };
    let round = async {
        let wait = STEP * u32::try_from(rx.choose(STEPS).await).expect("small");
        rx.sleep(due + wait).await;
        rx.send_to(cacher.ticks(), Payload::new(number)).await;
        // When the next is due depends on what became of this one.
        rx.changed(ticked(number)).await;
        wait
    };
    match rx.select(rx.changed(gone(number)), round).await {
        Either::Left(()) => Outcome::Done,
        Either::Right(wait) => {
            let left = left.map(|left| left.saturating_sub(due + wait));
            Outcome::Become(Task::new(BOOKMARKS, Timekeeper { left, ..keeper }))
        }
    }
}

impl Cacher {
    /// `nextBookmarkTime`; `None` if there is none any more.
    fn next_bookmark_time(self, rx: Rx, number: u64, left: Option<Duration>) -> Option<Duration> {
        let awaiting = rx.look(&self.cell(), |cache| {
            cache.watchers.get(&number).map(|watcher| watcher.awaiting)
        })?;
        if awaiting == Awaiting::Bookmark {
            return Some(TICK); // the next tick
        }
        let last = left.map(|left| left.checked_sub(BEFORE_END).filter(|last| !last.is_zero()));
        let every = self.config.release.has(gates::BOOKMARKS_EVERY_MINUTE);
        match (every.then_some(EVERY), last) {
            (_, Some(None)) => None,
            (every, None) => every,
            (None, Some(Some(last))) => Some(last),
            (Some(every), Some(Some(last))) => Some(last.min(every)),
        }
    }

    /// A tick of the dispatch loop.
    pub(super) fn send_bookmark(self, rx: Rx, number: u64, last: Revision) {
        // Before the first event v1.20 has nothing to tell, and forgets those who are due.
        if last == 0 {
            return rx.broadcast(gone(number));
        }
        rx.broadcast(ticked(number));
        let after = rx.look(&self.cell(), |cache| {
            cache.watchers.get(&number).map(|watcher| watcher.after)
        });
        if after.is_none_or(|after| last < after) {
            return;
        }
        let last = last
            + u64::from(mutant!(
                "bookmark-too-high",
                "a bookmark is one revision too high"
            ));
        if rx.try_send(input(number), Payload::new(Item::Bookmark(last))) {
            rx.update(&self.cell(), |cache| cache.bookmark_received(number));
        }
    }
}
