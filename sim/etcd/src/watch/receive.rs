//! What clients ask on a stream: recvLoop of v3rpc/watch.go and `Watch` of watcher.go.
//!
//! What they get does not belong here.

use wavetank_engine::mutant;
use wavetank_version::{Defect, Listed};

use super::stream::Stream;
use super::watcher::{Place, Watcher};
use super::{History, Rules, Watches};
use crate::EtcdDefect;
use crate::api::{Keys, Revision, Value, WatchId, WatchRequest, WatchResponse, WatchStart};
use crate::gates;

const EMPTY_RANGE: &str = "mvcc: watcher range is empty";
const DUPLICATE_ID: &str = "mvcc: duplicate watch ID provided on the WatchStream";

/// A creation between its two steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Creating {
    /// The revision is read, the watch is not registered (before etcd#20221).
    Read(WatchStart, Revision),
    /// The watch is registered or refused, the revision is not read.
    Registered(Result<WatchId, &'static str>),
}

impl<V: Value, S: Copy + Eq> Watches<V, S> {
    /// A client sends a request. It is served at once, or, while the stream is blocked on its
    /// control channel or in a creation, when it no longer is.
    pub fn request(&mut self, history: &impl History<V>, stream: S, request: WatchRequest) {
        let rules = self.rules;
        if let Some(stream) = self.stream_mut(stream) {
            stream.requests.push_back(request);
            stream.receive(history, &rules);
        }
    }

    /// As a request that creates a watch, but it stops between its two steps, as recvLoop may:
    /// writes can come in between. True: it did, and [`Watches::finish_create`] must follow.
    /// False: others have to be served first, so it is as with [`Watches::request`].
    pub fn begin_create(
        &mut self,
        history: &impl History<V>,
        stream: S,
        start: WatchStart,
    ) -> bool {
        let rules = self.rules;
        let Some(stream) = self.stream_mut(stream) else {
            return false;
        };
        if stream.is_blocked(&rules) || !stream.requests.is_empty() {
            stream.requests.push_back(WatchRequest::Create(start));
            return false;
        }
        stream.begin_create(start, history.revision(), &rules);
        true
    }

    /// The second step of [`Watches::begin_create`].
    pub fn finish_create(&mut self, history: &impl History<V>, stream: S) {
        let rules = self.rules;
        if let Some(stream) = self.stream_mut(stream) {
            stream.finish_create(history.revision());
            stream.receive(history, &rules);
        }
    }
}

pub(crate) const PROGRESS_OVERTAKES_EVENTS: Defect = Defect::known(
    "progress-overtakes-events",
    "etcd#15220 (3.4.25, 3.5.8)",
    "a progress notification that was asked for is sent at once, before events that it covers",
)
.of_etcd(gates::PROGRESS_OVERTAKES_EVENTS);

pub(crate) const PROGRESS_LATCH: Defect = Defect::known(
    "progress-latch",
    "etcd#17507 (3.4.31, 3.5.13)",
    "one request for progress that finds a watch behind blocks all later ones until an event",
)
.of_etcd(gates::PROGRESS_LATCH);

impl<V: Value> Stream<V> {
    /// Must recvLoop wait before it takes the next request?
    fn is_blocked(&self, rules: &Rules) -> bool {
        self.is_creating() || self.control.len() > rules.limits.control
    }

    /// Takes requests until there is none, or recvLoop is blocked.
    pub(super) fn receive(&mut self, history: &impl History<V>, rules: &Rules) {
        while !self.is_blocked(rules)
            && let Some(request) = self.requests.pop_front()
        {
            let revision = history.revision();
            match request {
                WatchRequest::Create(start) => {
                    self.begin_create(start, revision, rules);
                    self.finish_create(revision);
                }
                WatchRequest::Cancel(id) => self.cancel(id, revision),
                WatchRequest::Progress => self.progress(revision, rules),
            }
        }
    }

    fn begin_create(&mut self, start: WatchStart, revision: Revision, rules: &Rules) {
        self.creating = Some(if rules.quirks.created_header_before {
            Creating::Read(start, revision)
        } else {
            let from = start.revision;
            Creating::Registered(self.register(start, from, revision))
        });
    }

    fn finish_create(&mut self, revision: Revision) {
        let (registered, header) = match self.creating.take() {
            None => return,
            Some(Creating::Registered(registered)) => (registered, revision),
            Some(Creating::Read(start, read)) => {
                let from = match start.revision {
                    0 => read + 1,
                    from => from,
                };
                (self.register(start, from, revision), read)
            }
        };
        let mut response = WatchResponse::bare(registered.ok(), header);
        response.created = true;
        if let Err(reason) = registered {
            response.canceled = true;
            response.cancel_reason = reason;
        }
        self.control.push_back(response);
    }

    /// Adds a watch that gets events from a revision on (0: from now on).
    fn register(
        &mut self,
        start: WatchStart,
        from: Revision,
        current: Revision,
    ) -> Result<WatchId, &'static str> {
        if let Keys::Between(first, end) = &start.keys
            && first >= end
        {
            return Err(EMPTY_RANGE);
        }
        let id = self.number(start.id)?;
        let (min_rev, place) = if from == 0
            || from > current
            || from == current
                && mutant!(
                    "watch-skips-now",
                    "a watch from the current revision does not get its events"
                ) {
            (from.max(current + 1), Place::Synced)
        } else {
            (from, Place::UNSYNCED)
        };
        let keys = match start.keys {
            // `\0` is the least key.
            Keys::One(key) if key.is_empty() => Keys::one("\0"),
            keys => keys,
        };
        let start = WatchStart { keys, ..start };
        self.watchers.push(Watcher::new(id, start, min_rev, place));
        Ok(id)
    }

    /// The number of a new watch. On the wire 0 asks for any.
    fn number(&mut self, wanted: Option<WatchId>) -> Result<WatchId, &'static str> {
        let in_use = |id: WatchId, watchers: &[Watcher<V>]| watchers.iter().any(|w| w.id == id);
        match wanted {
            None | Some(WatchId(0)) => {
                while in_use(self.next_id, &self.watchers) {
                    self.next_id.0 += 1;
                }
                let id = self.next_id;
                self.next_id.0 += 1;
                Ok(id)
            }
            Some(id) if in_use(id, &self.watchers) => Err(DUPLICATE_ID),
            Some(id) => Ok(id),
        }
    }

    /// Ends a watch, in whatever group it is; a number that is not in use gets no answer. What is
    /// in the channel stays there.
    fn cancel(&mut self, id: WatchId, revision: Revision) {
        let Some(at) = self.watchers.iter().position(|w| w.id == id) else {
            return;
        };
        self.watchers.remove(at);
        let mut response = WatchResponse::bare(Some(id), revision);
        response.canceled = true;
        self.control.push_back(response);
    }

    fn progress(&mut self, revision: Revision, rules: &Rules) {
        let quirks = rules.quirks;
        if EtcdDefect::ProgressOvertakesEvents.passed(quirks.progress_overtakes_events) {
            self.control.push_back(WatchResponse::bare(None, revision));
        } else if !self.deferred_progress {
            let told = self.offer_progress(None, revision, rules);
            self.deferred_progress =
                !told && EtcdDefect::ProgressLatch.passed(quirks.progress_latch);
        }
    }
}
