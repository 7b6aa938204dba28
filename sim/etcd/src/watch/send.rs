//! What clients get from a stream: sendLoop of v3rpc/watch.go.
//!
//! How responses come into the channels does not belong here.

use super::stream::Stream;
use super::{History, Rules, Watches};
use crate::api::{Change, KeyValue, Value, WatchId, WatchResponse};
use wavetank_engine::mutant;

/// One of the channels that sendLoop reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// What the store sends: events, progress, compaction.
    Events,
    /// What recvLoop sends: created and canceled.
    Control,
}

impl<V: Value, S: Copy + Eq> Watches<V, S> {
    /// What the stream sends next. Upstream takes any channel that has something; here events
    /// go first.
    pub fn next(&mut self, history: &impl History<V>, stream: S) -> Option<WatchResponse<V>> {
        self.next_from(history, stream, Channel::Events)
    }

    /// As [`Watches::next`], with this channel first: both orders are possible upstream.
    pub fn next_from(
        &mut self,
        history: &impl History<V>,
        stream: S,
        first: Channel,
    ) -> Option<WatchResponse<V>> {
        let rules = self.rules;
        self.stream_mut(stream)?.next(history, first, &rules)
    }

    /// The progress timer of the stream: watches that asked for it are told how far they are,
    /// unless they got events since the last tick.
    pub fn tick_progress(&mut self, history: &impl History<V>, stream: S) {
        let rules = self.rules;
        let Some(stream) = self.stream_mut(stream) else {
            return;
        };
        for at in 0..stream.watchers.len() {
            let watcher = &mut stream.watchers[at];
            let id = watcher.id;
            let Some(is_due) = &mut watcher.progress else {
                continue;
            };
            if std::mem::replace(is_due, true) {
                stream.offer_progress(Some(id), history.revision(), &rules);
            }
        }
    }
}

impl<V: Value> Stream<V> {
    fn next(
        &mut self,
        history: &impl History<V>,
        first: Channel,
        rules: &Rules,
    ) -> Option<WatchResponse<V>> {
        loop {
            if let Some(response) = self.sending.pop_front() {
                return Some(response);
            }
            let control = match first {
                Channel::Events => self.events.is_empty(),
                Channel::Control => !self.control.is_empty(),
            };
            if control {
                let response = self.control.pop_front()?;
                // There is room for recvLoop.
                self.receive(history, rules);
                self.send_control(response);
            } else {
                let response = self.events.pop_front()?;
                self.send_event(response, history, rules);
            }
        }
    }

    fn send_control(&mut self, response: WatchResponse<V>) {
        let (id, created, canceled) = (response.id, response.created, response.canceled);
        self.sending.push_back(response);
        let Some(id) = id else {
            return;
        };
        if canceled {
            self.announced.remove(&id);
        } else if created {
            self.announced.insert(id);
            // As they are: not split, and without a word to the progress timer.
            self.sending
                .extend(self.pending.remove(&id).unwrap_or_default());
        }
    }

    fn send_event(
        &mut self,
        mut response: WatchResponse<V>,
        history: &impl History<V>,
        rules: &Rules,
    ) {
        let options = |id: WatchId| {
            let watcher = self.watchers.iter().find(|w| w.id == id)?;
            Some((watcher.prev_kv, watcher.fragment))
        };
        let (prev_kv, fragment) = response.id.and_then(options).unwrap_or_default();
        if prev_kv {
            for event in response.events.iter_mut().filter(|e| !e.is_create()) {
                // What is compacted by now is left out.
                let late = mutant!(
                    "previous-is-missing",
                    "the previous value of an event is not found"
                );
                let before = history.at(&event.key, event.revision - 1).unwrap_or(None);
                event.before = before.filter(|_| !late);
            }
        }
        if let Some(id) = response.id {
            if !self.announced.contains(&id) {
                self.pending.entry(id).or_default().push(response);
                return;
            }
            if !response.events.is_empty()
                && let Some(watcher) = self.watcher_mut(id)
            {
                watcher.progress = watcher.progress.and(Some(false));
            }
        }
        if fragment {
            self.sending
                .extend(fragments(response, rules.limits.fragment));
        } else {
            self.sending.push_back(response);
        }
        if self.deferred_progress {
            self.deferred_progress = !self.offer_progress(None, history.revision(), rules);
        }
    }
}

/// Splits a response that is too large (`sendFragments`). An event is never split.
fn fragments<V: Value>(mut whole: WatchResponse<V>, limit: usize) -> Vec<WatchResponse<V>> {
    let events = std::mem::take(&mut whole.events);
    if events.len() < 2 || events.iter().map(size).sum::<usize>() < limit {
        whole.events = events;
        return vec![whole];
    }
    let mut parts: Vec<WatchResponse<V>> = Vec::new();
    let mut used = 0;
    for event in events {
        used += size(&event);
        match parts.last_mut() {
            Some(part) if used < limit => part.events.push(event),
            _ => {
                used = size(&event);
                let mut part = whole.clone();
                part.fragment = true;
                part.events.push(event);
                parts.push(part);
            }
        }
    }
    if let Some(last) = parts.last_mut() {
        last.fragment = false;
    }
    parts
}

/// The size of an event, without the few bytes that protobuf needs around it.
fn size<V: Value>(event: &Change<V>) -> usize {
    let value = |kv: &Option<KeyValue<V>>| {
        kv.as_ref()
            .map_or(0, |kv| event.key.len() + kv.value.size())
    };
    // A deletion still has its key.
    value(&event.now).max(event.key.len()) + value(&event.before)
}
