//! The last events of a watch cache: from where watches can be taken up.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use imbl::Vector;
use wavetank_api::Resource;
use wavetank_engine::{Time, mutant};
use wavetank_etcd::Revision;
use wavetank_version::Version;

use super::event::Event;
use crate::cacher::gates;

/// `defaultLowerBoundCapacity`, `defaultUpperBoundCapacity`.
const LOWER: usize = 100;
const UPPER: usize = 100 * 1024;
/// `eventFreshDuration`, `DefaultEventFreshDuration`.
pub(super) const FRESH: Duration = Duration::from_secs(75);

/// How a window grows and shrinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizing {
    begin: usize,
    upper: usize,
}

impl Sizing {
    /// v1.16: fixed, by kind (`NewHeuristicWatchCacheSizes` without a hint of memory); from v1.20 on
    /// by how fast events come.
    pub fn of(release: Version, resource: &Resource) -> Sizing {
        let large = ["endpoints", "nodes", "pods", "services", "apiservices"];
        match release.has(gates::WINDOW_IS_RESIZED) {
            true => Sizing {
                begin: LOWER,
                upper: UPPER,
            },
            false if large.contains(&resource.plural) => Sizing::fixed(1000),
            false => Sizing::fixed(LOWER),
        }
    }

    fn fixed(size: usize) -> Sizing {
        Sizing {
            begin: size,
            upper: size,
        }
    }
}

/// Events in the order of their revisions. Each keeps its number while it is inside.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Window {
    events: Vector<Arc<Event>>,
    /// The number of the first.
    start: u64,
    /// How many fit; 0 before the first event.
    capacity: usize,
    /// Has one gone since the last list?
    removed: bool,
}

impl Window {
    /// Takes an event in; the oldest may go.
    pub fn push(&mut self, event: Arc<Event>, now: Time, sizing: Sizing) {
        if self.capacity == 0 {
            self.capacity = sizing.begin;
        }
        self.resize(now, sizing);
        if self.is_full() {
            self.events.pop_front();
            self.start += 1;
            self.removed = true;
        }
        self.events.push_back(event);
    }

    pub fn is_full(&self) -> bool {
        self.events.len() == self.capacity
    }

    fn resize(&mut self, now: Time, sizing: Sizing) {
        if !self.is_full() {
            return;
        }
        let age = |at: usize| now.since(self.events[at].recorded.0);
        if age(0) < FRESH {
            self.capacity = (self.capacity * 2).min(sizing.upper);
        } else if age(self.capacity - self.capacity / 4) > FRESH {
            self.capacity = (self.capacity / 2).max(sizing.begin);
            while self.events.len() > self.capacity {
                self.events.pop_front();
                self.start += 1;
                self.removed = true;
            }
        }
    }

    /// After a list: what was before it is of no use.
    pub fn clear(&mut self) {
        self.start = self.end();
        self.events.clear();
        self.removed = false;
    }

    pub fn capacity(&self) -> usize {
        self.capacity.max(LOWER)
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The revision of the oldest event.
    pub fn oldest(&self) -> Option<Revision> {
        self.events.front().map(|event| event.revision)
    }

    /// Does it hold all events since the list?
    pub fn is_whole(&self, release: Version) -> bool {
        match release.has(gates::WINDOW_KNOWS_WHAT_IT_LOST) {
            true => {
                !self.removed
                    || mutant!(
                        "window-forgets-loss",
                        "a window does not remember that it has dropped events"
                    )
            }
            // v1.16 asks whether it is full, not whether something is lost.
            false => {
                !self.is_full()
                    || self.events.is_empty()
                    || mutant!(
                        "full-window-is-whole",
                        "a window that has lost events is taken for a whole one"
                    )
            }
        }
    }

    /// The number of the first event after a revision.
    pub fn after(&self, revision: Revision) -> u64 {
        // Not a binary search: a cache that goes back in time has no order.
        let first = self.events.iter().position(|event| {
            event.revision > revision
                || event.revision == revision
                    && mutant!(
                        "watch-repeats-its-start",
                        "a watch from a revision delivers what happened at it (k/k#24004)"
                    )
        });
        self.start + first.unwrap_or(self.events.len()) as u64
    }

    /// The number of the event that comes next.
    pub fn end(&self) -> u64 {
        self.start + self.events.len() as u64
    }

    /// Up to `most` events from one number to, without, another; `None` if the first has gone.
    pub fn slice(&self, from: u64, to: u64, most: usize) -> Option<Vec<Arc<Event>>> {
        let skip = usize::try_from(from.checked_sub(self.start)?).ok()?;
        let count = usize::try_from(to.saturating_sub(from)).ok()?.min(most);
        Some(self.events.iter().skip(skip).take(count).cloned().collect())
    }
}
