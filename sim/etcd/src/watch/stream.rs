//! One watch stream: its watches, its two channels and what its loops know (`watchStream` of
//! watcher.go, `serverWatchStream` of v3rpc/watch.go).
//!
//! Here is what both sides of a channel share; the loops themselves are elsewhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wavetank_engine::mutant;

use wavetank_version::Listed;

use super::receive::Creating;
use super::watcher::Watcher;
use super::{Limits, Rules};
use crate::EtcdDefect;
use crate::api::{Change, Revision, Value, WatchId, WatchRequest, WatchResponse};

/// A stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Stream<V> {
    /// In the order of creation.
    pub watchers: Vec<Watcher<V>>,
    /// The number that is tried first for the next watch.
    pub next_id: WatchId,
    /// What the store has for the client, with a limit.
    pub events: VecDeque<WatchResponse<V>>,
    /// What recvLoop has for the client; the one above the limit is what it is blocked on.
    pub control: VecDeque<WatchResponse<V>>,
    /// What recvLoop has not got to.
    pub requests: VecDeque<WatchRequest>,
    /// In which creation recvLoop is.
    pub creating: Option<Creating>,
    /// Watches that the client knows.
    pub announced: BTreeSet<WatchId>,
    /// What waits for the announcement of its watch.
    pub pending: BTreeMap<WatchId, Vec<WatchResponse<V>>>,
    /// What sendLoop took and is sending.
    pub sending: VecDeque<WatchResponse<V>>,
    /// `deferredProgress` of etcd#17507.
    pub deferred_progress: bool,
}

impl<V> Default for Stream<V> {
    fn default() -> Self {
        Stream {
            watchers: Vec::new(),
            next_id: WatchId(0),
            events: VecDeque::new(),
            control: VecDeque::new(),
            requests: VecDeque::new(),
            creating: None,
            announced: BTreeSet::new(),
            pending: BTreeMap::new(),
            sending: VecDeque::new(),
            deferred_progress: false,
        }
    }
}

impl<V: Value> Stream<V> {
    /// Would sendLoop find something?
    pub fn has_to_send(&self) -> bool {
        let goes_out = |r: &WatchResponse<V>| r.id.is_none_or(|id| self.announced.contains(&id));
        !self.sending.is_empty() || !self.control.is_empty() || self.events.iter().any(goes_out)
    }

    /// Is recvLoop between the two steps of a creation?
    pub fn is_creating(&self) -> bool {
        self.creating.is_some()
    }

    /// The watch of this number.
    pub fn watcher_mut(&mut self, id: WatchId) -> Option<&mut Watcher<V>> {
        self.watchers.iter_mut().find(|watcher| watcher.id == id)
    }

    /// Puts a response into the channel of events, if there is room.
    pub fn offer(&mut self, response: WatchResponse<V>, limits: &Limits) -> bool {
        let room = self.events.len() < limits.channel;
        if room {
            self.events.push_back(response);
        }
        room
    }

    /// Puts events into the channel for the watch at this place, if there is room. A watch that
    /// filters all of them out needs no room.
    pub fn offer_events(
        &mut self,
        at: usize,
        events: &[Change<V>],
        revision: Revision,
        limits: &Limits,
    ) -> bool {
        let watcher = &self.watchers[at];
        let wanted = || events.iter().filter(|event| !watcher.filters_out(event));
        if wanted().next().is_none() {
            return true;
        }
        if self.events.len() >= limits.channel {
            return false;
        }
        let mut response = WatchResponse::bare(Some(watcher.id), revision);
        response.events = wanted().cloned().collect();
        self.offer(response, limits)
    }

    /// Tells how far one watch or all of them are, if they are synced and have begun
    /// (`progressIfSync`); false if they are not. No room: nothing is told, and nothing owed.
    ///
    /// Check and sending are one step, so what is in the channel before it is complete.
    pub fn offer_progress(
        &mut self,
        which: Option<WatchId>,
        revision: Revision,
        rules: &Rules,
    ) -> bool {
        let mut asked = self
            .watchers
            .iter()
            .filter(|w| which.is_none_or(|id| w.id == id));
        let early = rules.quirks.progress_below_start;
        let tells = |w: &Watcher<V>| {
            let starts = || EtcdDefect::FutureWatchGetsOldEvents.passed(early);
            let has_all = w.is_synced()
                || mutant!(
                    "progress-of-unsynced",
                    "progress is told for a watch that has to catch up"
                );
            has_all && (revision >= w.start || starts())
        };
        if !asked.clone().all(tells) {
            return false;
        }
        if asked.next().is_some() {
            self.offer(WatchResponse::bare(which, revision), &rules.limits);
        }
        true
    }
}
