//! A client of one stream that checks each response against the history.
//!
//! What it knows of a watch is what it asked and what it got. Events have to be the next ones of
//! those that are owed: so none is missing, twice, out of order or unwanted.

use std::collections::{BTreeMap, VecDeque};

use wavetank_etcd::{Change, History, Revision, WatchId, WatchResponse, WatchStart};

use crate::watch::log::{Bytes, Log};

#[derive(Default)]
pub struct Client {
    /// Creations without an answer, in order.
    asked: VecDeque<Asked>,
    watches: BTreeMap<WatchId, Watch>,
    /// How often progress of the whole stream was told.
    pub progresses: usize,
    /// Progress may be on its way.
    progress_asked: bool,
}

/// A creation.
pub struct Asked {
    start: WatchStart,
    /// Progress may be on its way that was told before this. Upstream may send it after created,
    /// though it says nothing about this watch: see `progress_may_reach_a_newer_watch`.
    after_progress: bool,
    /// The newest revision when it was registered, if the created response may tell another.
    registered_at: Option<Revision>,
}

struct Watch {
    start: WatchStart,
    /// As in [`Asked`], until the stream is read to its end.
    after_progress: bool,
    /// The first revision that is owed.
    from: Revision,
    /// How many of the events that are owed have come, and the revision of the last.
    got: usize,
    last: Revision,
    /// More of a response is to follow.
    fragment: bool,
    /// The client canceled it: it may lose its options, its events and its place in progress.
    canceling: bool,
    over: Over,
}

#[derive(PartialEq)]
enum Over {
    No,
    Compacted,
    Canceled,
}

impl Watch {
    /// All events from its beginning on, whatever is compacted.
    fn owed<'a>(&'a self, log: &'a Log) -> impl Iterator<Item = &'a Change<Bytes>> {
        let all = log
            .commits()
            .iter()
            .filter(|(revision, _)| *revision >= self.from);
        all.flat_map(|(_, changes)| changes).filter(|change| {
            let filters = self.start.filters;
            let filtered = if change.now.is_some() {
                filters.no_put
            } else {
                filters.no_delete
            };
            self.start.keys.contains(&change.key) && !filtered
        })
    }

    fn is_live(&self) -> bool {
        self.over == Over::No && !self.canceling
    }

    fn events(&mut self, response: &WatchResponse<Bytes>, log: &Log) -> Result<(), String> {
        for event in &response.events {
            if event.revision < self.from {
                return Err(format!("an event below its start {}", self.from));
            }
            if event.revision <= self.last && !self.fragment && self.got > 0 {
                return Err("a revision again, or split".into());
            }
            let Some(owed) = self.owed(log).nth(self.got) else {
                return Err("an event that is not owed".into());
            };
            if (&owed.key, owed.revision, &owed.now) != (&event.key, event.revision, &event.now) {
                return Err(format!("missing: {}@{}", owed.key, owed.revision));
            }
            let created = log.state(&event.key, event.revision - 1).is_none();
            if event.is_create() != (created && event.now.is_some()) {
                return Err("is_create".into());
            }
            self.prev_kv(event, log)?;
            self.got += 1;
        }
        self.fragment = response.fragment;
        if let Some(last) = response.events.last() {
            self.last = last.revision;
            if last.revision > response.revision {
                return Err("an event above the header".into());
            }
        }
        // A revision is whole where a response ends.
        let next = self.owed(log).nth(self.got);
        if !self.fragment && next.is_some_and(|next| next.revision == self.last) {
            return Err("a revision is split".into());
        }
        Ok(())
    }

    fn prev_kv(&self, event: &Change<Bytes>, log: &Log) -> Result<(), String> {
        let was = log.state(&event.key, event.revision - 1);
        let told = event.before.as_ref();
        let fine = match (told, self.start.prev_kv) {
            (Some(_), false) => false,
            (Some(_), true) => told == was,
            (None, false) => true,
            // The history may have been compacted when it was sent.
            (None, true) => was.is_none() || self.canceling || event.revision - 1 < log.compacted(),
        };
        fine.then_some(())
            .ok_or_else(|| format!("prev_kv {told:?}, but it was {was:?}"))
    }

    fn progress(&self, revision: Revision, log: &Log) -> Result<(), String> {
        if revision < self.start.revision {
            return Err(format!("progress below its start {}", self.start.revision));
        }
        match self.owed(log).nth(self.got) {
            Some(next) if next.revision <= revision => Err("progress above what came".into()),
            _ => Ok(()),
        }
    }
}

impl Client {
    /// The client asks for a watch, that is registered now if a revision is given.
    pub fn creates(&mut self, start: WatchStart, registered_at: Option<Revision>) {
        self.asked.push_back(Asked {
            start,
            after_progress: self.progress_asked,
            registered_at,
        });
    }

    /// The client asks for progress.
    pub fn asks_progress(&mut self) {
        self.progress_asked = true;
    }

    /// Nothing is on its way.
    pub fn read_all(&mut self) {
        self.progress_asked = false;
        for watch in self.watches.values_mut() {
            watch.after_progress = false;
        }
    }

    /// The client wants to cancel a watch that it knows.
    pub fn cancels(&mut self, id: WatchId) -> bool {
        let watch = self
            .watches
            .get_mut(&id)
            .filter(|w| w.over != Over::Canceled);
        watch.map(|watch| watch.canceling = true).is_some()
    }

    /// Watches that are over for the server only when they are canceled.
    pub fn ended(&self) -> impl Iterator<Item = WatchId> {
        let ended = |w: &Watch| w.over == Over::Compacted && !w.canceling;
        self.watches
            .iter()
            .filter(move |(_, w)| ended(w))
            .map(|(id, _)| *id)
    }

    pub fn receive(&mut self, response: WatchResponse<Bytes>, log: &Log) -> Result<(), String> {
        if response.created {
            return self.created(&response);
        }
        if response.is_progress() {
            self.progresses += usize::from(response.id.is_none());
            let told = |id: &WatchId, w: &Watch| match response.id {
                None => !w.after_progress,
                Some(one) => one == *id,
            };
            let mut live = self
                .watches
                .iter()
                .filter(|(id, w)| told(id, w) && w.is_live());
            return live.try_for_each(|(_, watch)| watch.progress(response.revision, log));
        }
        let id = response.id.ok_or("events of no watch")?;
        let watch = self.watches.get_mut(&id).ok_or("an unknown watch")?;
        if watch.over == Over::Canceled {
            return Err("something after the cancellation".into());
        }
        if response.compact_revision > 0 {
            let compacted = response.compact_revision;
            let next = watch.from.max(watch.last + 1);
            if compacted > log.compacted() || next >= compacted {
                return Err(format!("nothing from {next} on is compacted"));
            }
            watch.over = Over::Compacted;
            return Ok(());
        }
        if response.canceled {
            watch.over = Over::Canceled;
            return watch
                .canceling
                .then_some(())
                .ok_or_else(|| "canceled unasked".into());
        }
        if watch.over == Over::Compacted {
            return Err("an event after compaction".into());
        }
        watch.events(&response, log)
    }

    fn created(&mut self, response: &WatchResponse<Bytes>) -> Result<(), String> {
        let Asked {
            start,
            after_progress,
            registered_at,
        } = self.asked.pop_front().ok_or("created unasked")?;
        let id = response.id.ok_or("refused")?;
        let now = registered_at.unwrap_or(response.revision);
        let watch = Watch {
            from: if start.revision == 0 {
                now + 1
            } else {
                start.revision
            },
            start,
            after_progress,
            got: 0,
            last: 0,
            fragment: false,
            canceling: false,
            over: Over::No,
        };
        let taken = self.watches.insert(id, watch);
        taken
            .is_none()
            .then_some(())
            .ok_or_else(|| "a number in use".into())
    }

    /// Nothing is owed any more.
    pub fn complete(&self, log: &Log) -> Result<(), String> {
        if !self.asked.is_empty() {
            return Err("a creation without an answer".into());
        }
        for (id, watch) in self.watches.iter().filter(|(_, w)| w.is_live()) {
            if let Some(next) = watch.owed(log).nth(watch.got) {
                return Err(format!(
                    "{id:?} still misses {}@{}",
                    next.key, next.revision
                ));
            }
        }
        Ok(())
    }
}
