//! The watch side of a member: all watch streams, their watches and what is on its way to clients.
//!
//! Here are the parts that all others need: what a watch asks of the store, the limits, the
//! quirks of versions, the set of streams and what can be asked about it. `watch/receive.rs` takes
//! requests (recvLoop), `watch/sync.rs` moves watches between the groups (watchable_store.go),
//! `watch/send.rs` is what clients get (sendLoop); `watch/stream.rs` and `watch/watcher.rs` are
//! one stream and one watch. Time, connections and the store do not belong here: whoever runs a
//! member calls these methods when it is their time.
//!
//! Upstream iterates maps and selects among channels at random. Here watches go in the order of
//! their creation, streams in the order of opening, and the channel of events goes before the one
//! of control responses, unless the caller asks otherwise.

pub(crate) mod receive;
mod send;
mod stream;
pub(crate) mod sync;
mod watcher;

use std::hash::Hash;
use std::time::Duration;

pub use send::Channel;
pub use watcher::WatchGroup;

use crate::api::{Change, EtcdError, Key, KeyValue, Revision, Value, WatchId};
use stream::Stream;

/// How long `syncWatchersLoop` waits between passes (`watchResyncPeriod`, watchable_store.go).
pub const SYNC_EVERY: Duration = Duration::from_millis(100);

/// How long `syncVictimsLoop` waits while there are victims (watchable_store.go).
pub const VICTIMS_EVERY: Duration = Duration::from_millis(10);

/// How often a stream tells progress; upstream draws up to a tenth more once per stream
/// (`progressReportInterval`, v3rpc/watch.go).
pub const PROGRESS_EVERY: Duration = Duration::from_secs(600);

/// What a watch asks of the store.
pub trait History<V: Value> {
    /// The newest revision.
    fn revision(&self) -> Revision;

    /// The compact revision; 0 if nothing was compacted.
    fn compacted(&self) -> Revision;

    /// Commits from this revision on, in order, each with all of its changes. `start` is never
    /// below the compact revision; of that revision only what compaction left is there.
    fn since(&self, start: Revision) -> impl Iterator<Item = (Revision, &[Change<V>])>;

    /// The key as it was at this revision.
    ///
    /// # Errors
    /// `Compacted` below the compact revision.
    fn at(&self, key: &Key, revision: Revision) -> Result<Option<KeyValue<V>>, EtcdError>;
}

/// How much fits where. The default is upstream's; less makes rare paths common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Responses that wait on a stream (`chanBufLen`, watchable_store.go).
    pub channel: usize,
    /// Control responses that wait on a stream (`ctrlStreamBufLen`, v3rpc/watch.go).
    pub control: usize,
    /// Watches of one pass of `syncWatchers` (`maxWatchersPerSync`, watchable_store.go).
    pub watchers: usize,
    /// Revisions that one watch gets in one pass (`watchBatchMaxRevs`, watcher_group.go).
    pub revisions: usize,
    /// From this size in bytes on a response is split, if its watch asked for that:
    /// `MaxRequestBytes` and the overhead for gRPC (embed/config.go, v3rpc/grpc.go).
    pub fragment: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            channel: 128,
            control: 16,
            watchers: 512,
            revisions: 1000,
            fragment: (1536 + 512) * 1024,
        }
    }
}

/// In what a version differs from the newest one. All off is the newest, fixed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WatchQuirks {
    /// etcd#15220, until 3.4.24 and 3.5.7: a requested progress is answered at once, over events
    /// that are still to come.
    pub progress_overtakes_events: bool,
    /// etcd#17507, 3.4.25 to 3.4.30 and 3.5.8 to 3.5.12: after a request for progress that found
    /// an unsynced watch, all requests are ignored until the stream sends something else.
    pub progress_latch: bool,
    /// etcd#17529, until 3.4.30 and 3.5.12: an unsynced watch on compacted history whose channel
    /// is full becomes synced without a word.
    pub full_channel_hides_compaction: bool,
    /// etcd#15271, until 3.4.24 and 3.5.7: an event that is sent at once leaves `minRev` where it
    /// was, so a snapshot install makes the watch begin again.
    pub min_rev_stays: bool,
    /// etcd#20221, until 3.4.37, 3.5.21 and 3.6.1: progress is told below the start of a watch.
    pub progress_below_start: bool,
    /// etcd#20221, until 3.4.37, 3.5.21 and 3.6.1: a pass pulls `minRev` of a watch that starts
    /// in the future down to the present.
    pub sync_lowers_min_rev: bool,
    /// Until 3.4.37, 3.5.21 and 3.6.1 the revision in the created response is read before the
    /// watch is registered, since then after it (with etcd#20221). It makes a difference only to
    /// [`Watches::begin_create`].
    pub created_header_before: bool,
}

/// All watch streams of one member. `S` names a stream.
///
/// A method with a stream that is not open does nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watches<V, S> {
    rules: Rules,
    /// In the order of opening.
    streams: Vec<(S, Stream<V>)>,
}

/// What does not change while a member runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Rules {
    limits: Limits,
    quirks: WatchQuirks,
}

/// A watch as monitors see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WatchView<S> {
    /// Its stream.
    pub stream: S,
    /// Its number there.
    pub id: WatchId,
    /// Where it is.
    pub group: WatchGroup,
    /// The start that was asked for; 0: from its creation on.
    pub start: Revision,
    /// It gets no event below this one (`minRev`).
    pub min_rev: Revision,
}

impl<V: Value, S: Copy + Eq> Watches<V, S> {
    /// No stream.
    pub fn new(limits: Limits, quirks: WatchQuirks) -> Self {
        Watches {
            rules: Rules { limits, quirks },
            streams: Vec::new(),
        }
    }

    /// A client opens a stream. One of that name that is still there is closed.
    pub fn open(&mut self, stream: S) {
        self.close(stream);
        self.streams.push((stream, Stream::default()));
    }

    /// A stream ends, with all of its watches and all that is on its way.
    pub fn close(&mut self, stream: S) {
        self.streams.retain(|(name, _)| *name != stream);
    }

    /// The streams, in the order of opening.
    pub fn streams(&self) -> impl Iterator<Item = S> {
        self.streams.iter().map(|(name, _)| *name)
    }

    /// All watches, by stream, in the order of creation.
    pub fn watches(&self) -> impl Iterator<Item = WatchView<S>> {
        self.streams.iter().flat_map(|(name, stream)| {
            stream.watchers.iter().map(|watcher| WatchView {
                stream: *name,
                id: watcher.id,
                group: watcher.group(),
                start: watcher.start,
                min_rev: watcher.min_rev,
            })
        })
    }

    /// How many watches wait for a pass of [`Watches::sync`]?
    pub fn unsynced(&self) -> usize {
        self.in_group(WatchGroup::Unsynced)
    }

    /// How many watches wait for a pass of [`Watches::retry_victims`]?
    pub fn victims(&self) -> usize {
        self.in_group(WatchGroup::Victim)
    }

    fn in_group(&self, group: WatchGroup) -> usize {
        let all = self.streams.iter().flat_map(|(_, stream)| &stream.watchers);
        all.filter(|watcher| watcher.group() == group).count()
    }

    /// How many responses wait in the channel of a stream?
    pub fn queued(&self, stream: S) -> usize {
        self.stream(stream).map_or(0, |s| s.events.len())
    }

    /// Would [`Watches::next`] find something?
    pub fn has_to_send(&self, stream: S) -> bool {
        self.stream(stream).is_some_and(Stream::has_to_send)
    }

    /// Did a watch of the stream ask for progress from time to time? If not,
    /// [`Watches::tick_progress`] does nothing.
    pub fn wants_progress(&self, stream: S) -> bool {
        let wants = |s: &Stream<V>| s.watchers.iter().any(|w| w.progress.is_some());
        self.stream(stream).is_some_and(wants)
    }

    /// Is there nothing to do until the next request or write? Compacted watches that wait for
    /// their client do not count.
    pub fn is_idle(&self) -> bool {
        let quiet = |(_, stream): &(S, Stream<V>)| !stream.has_to_send() && !stream.is_creating();
        self.unsynced() == 0 && self.victims() == 0 && self.streams.iter().all(quiet)
    }

    fn stream(&self, stream: S) -> Option<&Stream<V>> {
        let mut all = self.streams.iter();
        all.find(|(name, _)| *name == stream).map(|(_, s)| s)
    }

    fn stream_mut(&mut self, stream: S) -> Option<&mut Stream<V>> {
        let mut all = self.streams.iter_mut();
        all.find(|(name, _)| *name == stream).map(|(_, s)| s)
    }
}
