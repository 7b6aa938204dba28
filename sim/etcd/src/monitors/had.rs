//! What one watch has had so far, over all of its streams. Whether that was right does not belong
//! here.

use crate::api::{Change, Revision, Value, WatchResponse, WatchStart};

use super::truth::Truth;

/// A watch, as its client knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watch<V> {
    /// How it began on its present stream.
    pub start: WatchStart,
    /// Does it stand on its present stream?
    pub created: bool,
    /// Has it been resumed, and nothing come since?
    pub resumed: bool,
    /// The newest revision of an event, and those of that revision.
    pub last: Revision,
    /// The events of that revision.
    pub last_events: Vec<Change<V>>,
    /// The newest revision of an event on this stream.
    pub last_here: Revision,
    /// All that it is owed up to here has come; `None`: not known yet where it begins.
    pub have: Option<Revision>,
    /// No event up to here may come any more.
    pub floor: Revision,
    /// Revisions that it should have had before what came.
    pub skipped: Vec<Revision>,
    /// It is owed nothing before this.
    pub begun: Revision,
    /// The parts of a split answer.
    pub parts: Vec<Change<V>>,
    /// Its client had asked for progress before it began: an answer to that up to this revision
    /// says nothing of it.
    pub doubtful: Revision,
    /// Such an answer has come, with this revision.
    pub offered: Revision,
}

impl<V: Value> Watch<V> {
    /// It begins; had its client asked for progress on a stream that may be the same?
    pub fn new(start: WatchStart, asked_before: bool) -> Watch<V> {
        Watch {
            have: start.revision.checked_sub(1),
            begun: start.revision,
            start,
            created: false,
            resumed: false,
            last: 0,
            last_events: Vec::new(),
            last_here: 0,
            floor: 0,
            skipped: Vec::new(),
            parts: Vec::new(),
            doubtful: if asked_before { Revision::MAX } else { 0 },
            offered: 0,
        }
    }

    /// May this be progress that was asked for before the watch was there?
    pub fn is_doubtful(&self, response: &WatchResponse<V>) -> bool {
        let requested = response.is_progress() && response.id.is_none();
        requested && (!self.created || response.revision <= self.doubtful)
    }

    /// It goes on, on another stream.
    pub fn resume(&mut self, start: WatchStart, asked_before: bool) {
        let known = start.revision.saturating_sub(1);
        if start.revision > 0 {
            // A client may want to hear again what it has heard.
            self.last = self.last.min(known);
            self.floor = self.floor.min(known);
            self.have = Some(known);
            self.skipped.retain(|skipped| *skipped <= known);
            if self.last_events.first().is_some_and(|e| e.revision > known) {
                self.last_events.clear();
            }
        }
        self.parts.clear();
        self.start = start;
        self.created = false;
        self.resumed = true;
        self.last_here = 0;
        self.doubtful = if asked_before { Revision::MAX } else { 0 };
    }

    /// Revisions that are owed and have not come, up to `to`, without those of `events`.
    pub fn missing(&self, truth: &Truth<V>, to: Revision, events: &[Change<V>]) -> Vec<Revision> {
        let Some(have) = self.have else {
            return Vec::new();
        };
        let is_owed = |revision: &Revision| {
            let mut owed = truth.owed(*revision, &self.start.keys, self.start.filters);
            owed.next().is_some() && !events.iter().any(|e| e.revision == *revision)
        };
        let to = to.min(truth.revision());
        (have + 1..=to).filter(is_owed).collect()
    }

    /// A whole response came.
    pub fn take(&mut self, truth: &Truth<V>, response: &WatchResponse<V>) {
        if response.created {
            self.created = true;
            if self.doubtful > 0 {
                self.doubtful = truth.revision();
            }
            if self.start.revision == 0 {
                self.floor = self.floor.max(response.revision);
                self.have = self.have.max(Some(response.revision));
                self.begun = self.begun.max(response.revision + 1);
            }
        }
        if response.is_progress() {
            if self.is_doubtful(response) {
                self.offered = self.offered.max(response.revision);
                return;
            }
            let missing = self.missing(truth, response.revision, &[]);
            self.skipped.extend(missing);
            self.floor = self.floor.max(response.revision);
            self.have = self.have.max(Some(response.revision));
        }
        let Some(newest) = response.events.iter().map(|e| e.revision).max() else {
            return;
        };
        let missing = self.missing(truth, newest, &response.events);
        self.skipped.extend(missing);
        for event in &response.events {
            self.skipped.retain(|skipped| *skipped != event.revision);
            if event.revision > self.last {
                self.last = event.revision;
                self.last_events.clear();
            }
            if event.revision == self.last {
                self.last_events.push(event.clone());
            }
        }
        self.last_here = newest;
        self.have = self.have.max(Some(newest));
        self.resumed = false;
    }
}
