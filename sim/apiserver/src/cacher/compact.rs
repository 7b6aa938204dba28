//! The compactor (`etcd3/compact.go`): of all servers one at a time compacts etcd, by a
//! compare-and-swap on one key; and what v1.36 makes of it: snapshots that old are dropped.

use std::time::Duration;

use wavetank_api::kinds::Kinds;
use wavetank_api::{Json, Object};
use wavetank_engine::{Cell, Outcome, Payload, Rx, Stream, Task, mutant};
use wavetank_etcd::{
    Client, Compare, CompareResult, EtcdError, Keys, OpResponse, Purpose, Put, Range, Request,
    Revision, Target, Txn, TxnOp, WatchPart, WatchStart,
};

use super::note::CacheNote;
use super::{COMPACT, COMPACT_CACHES, COMPACTED, Cacher, Config, gates};

/// `compactRevKey`
pub const COMPACT_KEY: &str = "compact_rev_key";
/// `DefaultCompactInterval`
pub const COMPACT_EVERY: Duration = Duration::from_secs(300);
/// Each read of the key, with the watch that follows it, comes after so long.
const AGAIN: Duration = Duration::from_secs(1);
/// `compactorPollPeriod`, in seconds.
const POLL: u64 = 15;

/// `compactRevision`: what was compacted, as far as a server knows; 0: nothing.
static COMPACT_REVISION: Cell<Revision> = Cell::new("compact-revision-known");

impl Config {
    /// The client of etcd that compacts, and follows what is compacted (`startCompactorOnce`).
    fn compactor(&self) -> Client {
        self.etcd.made_for(Purpose::new("compactor"))
    }
}

/// What one server remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Compactor {
    config: Config,
    kinds: Kinds,
    /// `--etcd-compaction-interval`
    every: Duration,
    /// How often the key was written, as far as it knows.
    times: u64,
    /// What it compacts next; 0: nothing.
    revision: Revision,
}

impl Compactor {
    pub fn new(config: Config, kinds: Kinds, every: Duration) -> Compactor {
        Compactor {
            config,
            kinds,
            every,
            times: 0,
            revision: 0,
        }
    }

    /// One round. An error leaves it to the next.
    async fn round(&mut self, rx: Rx) -> Result<(), EtcdError> {
        let key = || Keys::one(COMPACT_KEY);
        let value = Object::new(Json::String(self.revision.to_string()));
        let txn = Txn {
            compare: vec![Compare {
                keys: key(),
                result: CompareResult::Equal,
                target: Target::Version(self.times),
            }],
            success: vec![TxnOp::Put(Put::new(COMPACT_KEY, value))],
            failure: vec![TxnOp::Range(Range::of(key()))],
        };
        let response = self.config.compactor().txn(rx, txn).await?;
        let noted = std::mem::replace(&mut self.revision, response.revision);
        if response.succeeded {
            self.times += 1;
            if noted > 0 {
                let compact = Request::<Object>::Compact {
                    // What was noted is five minutes old.
                    revision: match mutant!(
                        "compacts-the-present",
                        "the compactor compacts what is new"
                    ) {
                        true => response.revision,
                        false => noted,
                    },
                    physical: false,
                };
                self.config.compactor().call(rx, compact).await?;
                rx.note(CacheNote::Compacted(noted));
                self.learn(rx, noted);
            }
        } else if let Some(OpResponse::Range(ranged)) = response.responses.first() {
            let found = ranged.kvs.first();
            self.times = found.map_or(0, |kv| kv.version);
            self.learn(rx, found.and_then(|kv| self::noted(&kv.value)).unwrap_or(0));
        }
        Ok(())
    }

    /// What a round has found out is known, too.
    fn learn(&self, rx: Rx, revision: Revision) {
        if self.config.release.has(gates::CACHE_CHECKS_ITSELF) {
            update_compact_revision(rx, self.config, &self.kinds, revision);
        }
    }
}

/// One round after another.
pub(super) async fn compact(rx: Rx, mut compactor: Compactor) -> Outcome {
    rx.sleep(compactor.every).await;
    // The next round comes all the same.
    let _ = compactor.round(rx).await;
    Outcome::Become(Task::new(COMPACT, compactor))
}

/// Follows what is compacted, by whichever server (`runWatchLoop`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Follower {
    config: Config,
    kinds: Kinds,
    stream: Option<Stream>,
}

impl Follower {
    pub fn new(config: Config, kinds: Kinds) -> Follower {
        Follower {
            config,
            kinds,
            stream: None,
        }
    }

    /// Reads the key (`getCompactRev`) and watches from there: what is written in between is not missed.
    async fn begin(&self, rx: Rx) -> Result<Stream, EtcdError> {
        let key = || Keys::one(COMPACT_KEY);
        let read = self
            .config
            .compactor()
            .range::<Object>(rx, Range::of(key()));
        let read = read.await?;
        let revision = read.kvs.first().and_then(|kv| noted(&kv.value));
        update_compact_revision(rx, self.config, &self.kinds, revision.unwrap_or(0));
        let start = WatchStart::of(key(), read.revision);
        let etcd = self.config.compactor().pick(rx).await;
        Ok(etcd.watch::<Object>(rx, start))
    }
}

/// The revision in the key.
fn noted(value: &Object) -> Option<Revision> {
    value.json().as_str()?.parse().ok()
}

pub(super) async fn follow(rx: Rx, mut follower: Follower) -> Outcome {
    let Some(stream) = follower.stream else {
        rx.sleep(AGAIN).await;
        // After an error it is tried again.
        follower.stream = follower.begin(rx).await.ok();
        return Outcome::Become(Task::new(COMPACTED, follower));
    };
    let part = rx.next(stream).await.ok().flatten();
    let message = part.as_ref().map(Payload::expect::<WatchPart<Object>>);
    match message {
        Some(WatchPart::Message(message)) if !message.canceled => {
            let last = message.events.last().and_then(|event| event.now.as_ref());
            let revision = last.and_then(|kv| noted(&kv.value)).unwrap_or(0);
            update_compact_revision(rx, follower.config, &follower.kinds, revision);
        }
        _ => {
            rx.close_stream(stream);
            follower.stream = None;
        }
    }
    Outcome::Become(Task::new(COMPACTED, follower))
}

/// `UpdateCompactRevision`. The caches look at it every 15 s: here they do some time after it has changed.
fn update_compact_revision(rx: Rx, config: Config, kinds: &Kinds, revision: Revision) {
    let is_newer = rx.update(&COMPACT_REVISION, |known| {
        let is_newer = revision > *known;
        *known = revision.max(*known);
        is_newer
    });
    if is_newer {
        rx.spawn(Task::new(COMPACT_CACHES, (config, kinds.clone())));
    }
}

/// `compactIfNeeded`, of all caches.
pub(super) async fn compact_if_needed(rx: Rx, config: Config, kinds: Kinds) -> Outcome {
    let poll = rx.choose(POLL).await;
    rx.sleep(Duration::from_secs(poll)).await;
    let revision = rx.read(&COMPACT_REVISION);
    for resource in kinds.cached() {
        let cell = Cacher::serving(rx, config, resource).cell();
        if rx.look(&cell, |cache| cache.ready.is_ready()) {
            rx.update(&cell, |cache| cache.snapshots.remove_before(revision));
        }
    }
    Outcome::Done
}
