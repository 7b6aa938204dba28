//! The compactor (`etcd3/compact.go`): of all servers one at a time compacts etcd, by a
//! compare-and-swap on one key; and what v1.36 makes of it: snapshots that old are dropped.

use std::time::Duration;

use wavetank_api::kinds::Kinds;
use wavetank_api::{Json, Object};
use wavetank_engine::{Outcome, Payload, Rx, Stream, Task};
use wavetank_etcd::{
    Client, Compare, CompareResult, EtcdError, Keys, OpResponse, Purpose, Put, Range, Request,
    Revision, Target, Txn, TxnOp, WatchPart, WatchStart,
};

use super::note::CacheNote;
use super::{COMPACT, COMPACTED, Cacher, Config};

/// `compactRevKey`
pub const COMPACT_KEY: &str = "compact_rev_key";
/// `DefaultCompactInterval`
pub const COMPACT_EVERY: Duration = Duration::from_secs(300);
/// The watch of the key begins again after so long.
const AGAIN: Duration = Duration::from_secs(1);
/// `compactorPollPeriod`, in seconds.
const POLL: u64 = 15;

impl Config {
    /// The client of etcd that compacts, and follows what is compacted (`startCompactorOnce`).
    fn compactor(&self) -> Client {
        self.etcd.made_for(Purpose::new("compactor"))
    }
}

/// What one server remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Compactor {
    config: Config,
    /// `--etcd-compaction-interval`
    every: Duration,
    /// How often the key was written, as far as it knows.
    times: u64,
    /// What it compacts next; 0: nothing.
    revision: Revision,
}

impl Compactor {
    pub fn new(config: Config, every: Duration) -> Compactor {
        Compactor {
            config,
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
                    revision: noted,
                    physical: false,
                };
                self.config.compactor().call(rx, compact).await?;
                rx.note(CacheNote::Compacted(noted));
            }
        } else if let Some(OpResponse::Range(ranged)) = response.responses.first() {
            self.times = ranged.kvs.first().map_or(0, |kv| kv.version);
        }
        Ok(())
    }
}

/// One round after another.
pub(super) async fn compact(rx: Rx, mut compactor: Compactor) -> Outcome {
    rx.sleep(compactor.every).await;
    // The next round comes all the same.
    let _ = compactor.round(rx).await;
    Outcome::Become(Task::new(COMPACT, compactor))
}

/// Follows what is compacted, by whichever server.
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
}

pub(super) async fn follow(rx: Rx, mut follower: Follower) -> Outcome {
    let stream = match follower.stream {
        Some(stream) => stream,
        None => {
            let start = WatchStart::of(Keys::one(COMPACT_KEY), 0);
            let etcd = follower.config.compactor().pick(rx).await;
            etcd.watch::<Object>(rx, start)
        }
    };
    follower.stream = Some(stream);
    let part = rx.next(stream).await.ok().flatten();
    let message = part.as_ref().map(Payload::expect::<WatchPart<Object>>);
    match message {
        Some(WatchPart::Message(message)) if !message.canceled => {
            let values = message.events.iter().filter_map(|event| event.now.as_ref());
            let texts = values.filter_map(|kv| kv.value.json().as_str());
            if let Some(revision) = texts.filter_map(|text| text.parse().ok()).next_back() {
                let poll = rx.choose(POLL).await;
                rx.sleep(Duration::from_secs(poll)).await;
                compact_if_needed(rx, &follower, revision);
            }
        }
        _ => {
            rx.close_stream(stream);
            rx.sleep(AGAIN).await;
            follower.stream = None;
        }
    }
    Outcome::Become(Task::new(COMPACTED, follower))
}

/// `compactIfNeeded`
fn compact_if_needed(rx: Rx, follower: &Follower, revision: Revision) {
    for resource in follower.kinds.cached() {
        let cell = Cacher::serving(rx, follower.config, resource).cell();
        if rx.look(&cell, |cache| cache.ready.is_ready()) {
            rx.update(&cell, |cache| cache.snapshots.remove_before(revision));
        }
    }
}
