//! A watch hears how far it is, if its client keeps asking.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::{Check, Note, Property, Time, World};

use crate::api::{Revision, Value};
use crate::observed::{CallId, ProgressAsked, Unwatched, Watching};

use super::violated;
use super::watches::Watches;

/// Questions are in vain for less than this. A watch itself is behind for seconds at most: 1000 revisions
/// a pass of 100 ms, a full channel is tried again every 10 ms. But a question that comes before
/// that is done for every watch of its stream is dropped (`progressIfSync`, v3.6.13,
/// `server/storage/mvcc/watchable_store.go`), and who asks after so many messages asks when
/// there are some: with small buffers two questions of three come too early. Of sixty in a row one does not.
const IN_VAIN_FOR: Duration = Duration::from_secs(60);
/// A client that has not asked for so long is gone.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// So many questions must have been in vain.
const IN_VAIN: u32 = 3;

/// The first question that has not been answered on the present stream of a watch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Asked {
    at: Time,
    /// The newest revision then.
    revision: Revision,
    /// How often it was asked since.
    times: u32,
    /// When last: a client that is gone asks no more.
    last: Time,
}

/// `watch-catches-up`: some time after calm no watch whose client keeps asking for progress is
/// without what had been made long before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchCatchesUp<V: Value> {
    within: Duration,
    watches: Watches<V>,
    asked: BTreeMap<CallId, Asked>,
}

impl<V: Value> WatchCatchesUp<V> {
    /// Judged so long after calm: streams that died must have been noticed and opened again, and
    /// clients have asked on them.
    pub fn new(within: Duration) -> WatchCatchesUp<V> {
        WatchCatchesUp {
            within,
            watches: Watches::default(),
            asked: BTreeMap::new(),
        }
    }

    fn known(&self, watch: CallId) -> Option<Revision> {
        let watch = self.watches.all.get(&watch)?;
        Some(watch.have.unwrap_or(0).max(watch.offered))
    }

    fn ask(&mut self, now: Time, watch: CallId) {
        let revision = self.watches.truth.revision();
        let Some(known) = self.known(watch) else {
            return;
        };
        if let Some(asked) = self.asked.get_mut(&watch) {
            asked.times += 1;
            asked.last = now;
        } else if known < revision {
            let asked = Asked {
                at: now,
                revision,
                times: 1,
                last: now,
            };
            self.asked.insert(watch, asked);
        }
    }
}

impl<V: Value> Property for WatchCatchesUp<V> {
    fn name(&self) -> &'static str {
        "watch-catches-up"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.watches.follow(world, note, |_| Ok(false));
        if let Some(ProgressAsked { watch }) = note.body.get() {
            self.ask(world.now(), *watch);
        } else if let Some(Watching { watch, .. }) = note.body.get() {
            self.asked.remove(watch);
        } else if let Some(Unwatched { watch, .. }) = note.body.get() {
            self.asked.remove(watch);
        } else {
            let mut asked = std::mem::take(&mut self.asked);
            asked.retain(|id, asked| self.known(*id).is_some_and(|known| known < asked.revision));
            self.asked = asked;
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.within)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let now = world.now();
        for (id, asked) in &self.asked {
            let keeps_asking = asked.times >= IN_VAIN && now.since(asked.last) <= GONE_AFTER;
            if keeps_asking && now.since(asked.at) >= IN_VAIN_FOR {
                let client = world.name(id.client);
                let object = format!("watch {} of {client}", id.number);
                let Asked {
                    at,
                    revision,
                    times,
                    ..
                } = asked;
                let message = format!(
                    "{object} asked for progress {times} times since {at} s, and does not know of \
                     revision {revision} at {now} s"
                );
                return violated("watch", &object, message);
            }
        }
        match self.watches.all.is_empty() {
            true => Check::Idle,
            false => Check::Held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, Bytes, created, is_violated, progress, put};
    use super::*;

    #[test]
    fn questions_in_vain_are_found() {
        let mut bench = Bench::new();
        let mut monitor = WatchCatchesUp::<Bytes>::new(Duration::from_secs(60));
        assert_eq!(monitor.clone().deadline(&bench.world), Check::Idle);
        let notes = [
            bench.watching(1, 2, false),
            bench.watched(1, created(1)),
            bench.committed(2, vec![put("/a", 2, "1")]),
            bench.asked(1),
            bench.asked(1),
            bench.asked(1),
        ];
        bench.feed(&mut monitor, &notes);
        let mut answered = monitor.clone();
        bench.feed(&mut answered, &[bench.watched(1, progress(2, true))]);
        bench.at(60);
        assert_eq!(
            monitor.clone().deadline(&bench.world),
            Check::Held,
            "it has gone"
        );
        bench.feed(&mut monitor, &[bench.asked(1)]);
        assert!(is_violated(&monitor.deadline(&bench.world)));
        assert_eq!(answered.deadline(&bench.world), Check::Held);
    }
}
