//! A member's watch side with its history: the setting of the single tests, and short ways to
//! say what happens and what is seen.

use std::time::Duration;

use wavetank_etcd::{
    Channel, History, Keys, Limits, Revision, WatchGroup, WatchId, WatchQuirks, WatchRequest,
    WatchResponse, WatchStart, Watches,
};

use crate::watch::log::{Bytes, Log};

#[derive(Clone)]
pub struct Bench {
    pub log: Log,
    pub watches: Watches<Bytes, u8>,
}

/// The stream of most tests.
pub const S: u8 = 1;

/// The limits of most tests: two responses fill the channel.
pub fn small() -> Limits {
    Limits {
        channel: 2,
        ..Limits::default()
    }
}

impl Bench {
    /// Stream [`S`] is open.
    pub fn new(limits: Limits, quirks: WatchQuirks) -> Bench {
        let mut watches = Watches::new(limits, quirks);
        watches.open(S);
        Bench {
            log: Log::new(),
            watches,
        }
    }

    /// Upstream's limits, nothing odd.
    pub fn plain() -> Bench {
        Bench::new(Limits::default(), WatchQuirks::default())
    }

    /// Writes several keys in one revision.
    pub fn txn(&mut self, ops: &[(&str, Option<&[u8]>)]) -> Revision {
        let revision = self.log.write(ops).expect("a change");
        let (_, changes) = self.log.commits().last().expect("just written");
        self.watches.notify(revision, changes);
        revision
    }

    pub fn put(&mut self, key: &str) -> Revision {
        self.txn(&[(key, Some(b"v"))])
    }

    pub fn delete(&mut self, key: &str) -> Revision {
        self.txn(&[(key, None)])
    }

    /// Puts a key until the store is at this revision.
    pub fn put_until(&mut self, key: &str, revision: Revision) {
        while self.log.revision() < revision {
            self.put(key);
        }
    }

    /// A snapshot brings the member to this revision.
    pub fn install(&mut self, key: &str, revision: Revision) {
        while self.log.revision() < revision {
            self.log.write(&[(key, Some(b"v"))]);
        }
        self.watches.restore();
    }

    pub fn request(&mut self, request: WatchRequest) {
        self.watches.request(&self.log, S, request);
    }

    pub fn watch(&mut self, start: WatchStart) {
        self.request(WatchRequest::Create(start));
    }

    pub fn watch_key(&mut self, key: &str, start: Revision) {
        self.watch(WatchStart::of(Keys::one(key), start));
    }

    pub fn cancel(&mut self, id: u32) {
        self.request(WatchRequest::Cancel(WatchId(id)));
    }

    pub fn ask_progress(&mut self) {
        self.request(WatchRequest::Progress);
    }

    pub fn tick(&mut self) {
        self.watches.tick_progress(&self.log, S);
    }

    pub fn sync(&mut self) -> Option<Duration> {
        self.watches.sync(&self.log)
    }

    pub fn retry(&mut self) -> Option<Duration> {
        self.watches.retry_victims(&self.log)
    }

    pub fn next(&mut self) -> Option<WatchResponse<Bytes>> {
        let has = self.watches.has_to_send(S);
        let next = self.watches.next(&self.log, S);
        assert_eq!(has, next.is_some(), "has_to_send");
        next
    }

    /// What the stream sends, in short.
    pub fn seen(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next())
            .map(|response| short(&response))
            .collect()
    }

    /// As `seen`, control responses first.
    pub fn seen_control_first(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.watches.next_from(&self.log, S, Channel::Control))
            .map(|response| short(&response))
            .collect()
    }

    /// The groups of all watches.
    pub fn groups(&self) -> Vec<WatchGroup> {
        self.watches.watches().map(|watch| watch.group).collect()
    }

    pub fn min_revs(&self) -> Vec<Revision> {
        self.watches.watches().map(|watch| watch.min_rev).collect()
    }
}

/// `0 created@5`, `0 events@7: +a@6 -b@7`, `* progress@7`, `0 compacted 4@0` and so on.
fn short(response: &WatchResponse<Bytes>) -> String {
    let who = response
        .id
        .map_or_else(|| "*".into(), |id| id.0.to_string());
    let at = response.revision;
    if response.created && response.canceled {
        return format!("{who} refused@{at}: {}", response.cancel_reason);
    }
    if response.created {
        return format!("{who} created@{at}");
    }
    if response.compact_revision != 0 {
        return format!("{who} compacted {}@{at}", response.compact_revision);
    }
    if response.canceled {
        return format!("{who} canceled@{at}");
    }
    if response.is_progress() {
        return format!("{who} progress@{at}");
    }
    let events = response.events.iter().map(|event| {
        let sign = if event.now.is_some() { '+' } else { '-' };
        format!(" {sign}{}@{}", event.key, event.revision)
    });
    let what = if response.fragment {
        "fragment"
    } else {
        "events"
    };
    format!("{who} {what}@{at}:{}", events.collect::<String>())
}
