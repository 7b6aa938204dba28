//! The watch of etcd under a watch cache: `storage/etcd3/watcher.go` over the watcher of
//! `client/v3`, which takes a broken stream up again by itself and gives up for a compaction or for
//! want of a leader only.

use std::time::Duration;

use wavetank_api::{Object, Status, Stored};
use wavetank_engine::{NetError, Payload, Rx, Stream, mutant};
use wavetank_etcd::{
    Client, Code, EtcdError, Keys, Revision, WatchPart, WatchRequest, WatchResponse, WatchStart,
};
use wavetank_version::Defect;

use super::Cacher;
use super::note::CacheNote;
use super::state::Change;
use crate::CacheDefect;
use crate::cacher::gates;

/// grpc's back-off between attempts to connect: 1 s, × 1.6, up to 120 s (jitter left out).
const BACKOFF: Duration = Duration::from_secs(1);
const BACKOFF_LIMIT: Duration = Duration::from_secs(120);
/// `watch.go` `openWatchClient`: the first pause before a stream is opened again.
const REOPEN: Duration = Duration::from_millis(1);

/// A watch, and how far it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Source {
    stream: Stream,
    /// The revision that comes next.
    next: Revision,
    backoff: Duration,
}

/// What came.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Got {
    /// These, and perhaps the end of the watch after them.
    Changes(Vec<Change>, Option<Status>),
    /// Nothing up to this revision is still to come.
    Progress(Revision),
    /// Nothing of interest.
    Nothing,
    /// The watch is over.
    Failed(Status),
}

pub(crate) const DELETED_AT_OLD_REVISION: Defect = Defect::known(
    "deleted-at-old-revision",
    "k/k#58545, PR #58547 (1.10)",
    "a deletion comes with the revision of the object's last update: caches and watches go back",
)
.until(gates::DELETIONS_HAVE_THEIR_REVISION);

pub(crate) const WATCH_WITHOUT_LEADER: Defect = Defect::known(
    "watch-without-leader",
    "k/k#89488, PR #89881 (1.19)",
    "watches of etcd do not require a leader: on a member without one a cache stands still",
)
.until(gates::WATCHES_REQUIRE_LEADER);

impl Source {
    /// A watch of everything after `revision`, by a client that has picked its member.
    pub fn open(rx: Rx, cacher: Cacher, etcd: Client, revision: Revision) -> Source {
        let next = revision
            + 1
            + u64::from(mutant!(
                "cache-watch-begins-late",
                "a watch cache watches from one revision too late"
            ));
        let config = cacher.config;
        let leader = !config.defects.has(CacheDefect::WatchWithoutLeader);
        let stream = etcd.watch_stream::<Object>(rx, leader);
        let start = WatchStart {
            prev_kv: true,
            progress_notify: config.release.has(gates::PROGRESS_IS_NOTIFIED),
            ..WatchStart::of(Keys::Prefix(cacher.prefix()), next)
        };
        rx.send(stream, Payload::new(WatchRequest::Create(start)));
        rx.update(&cacher.cell(), |cache| cache.stream = Some(stream));
        Source {
            stream,
            next,
            backoff: BACKOFF,
        }
    }

    /// The last revision that it has told of.
    pub fn last(&self) -> Revision {
        self.next - 1
    }

    pub fn close(self, rx: Rx, cacher: Cacher) {
        rx.close_stream(self.stream);
        rx.update(&cacher.cell(), |cache| cache.stream = None);
    }

    /// Waits for what comes next.
    pub async fn next(&mut self, rx: Rx, cacher: Cacher) -> Got {
        match rx.next(self.stream).await {
            Ok(Some(part)) => match part.expect::<WatchPart<Object>>() {
                WatchPart::Message(message) => {
                    self.backoff = BACKOFF;
                    self.message(rx, message, cacher).await
                }
                WatchPart::Failed(error) => {
                    let again = error.code() == Code::Unavailable && *error != EtcdError::NoLeader;
                    match again {
                        true => self.watch_again(rx, cacher).await,
                        false => Got::Failed(Status::new_internal_error(error)),
                    }
                }
            },
            Err(NetError::Refused | NetError::DialTimeout) => {
                let pause = self.backoff;
                let next = (pause * 8 / 5).min(BACKOFF_LIMIT);
                let got = self.reopen(rx, cacher, pause).await;
                self.backoff = next;
                got
            }
            Ok(None) | Err(NetError::Reset | NetError::Cancelled) => {
                self.watch_again(rx, cacher).await
            }
        }
    }

    /// It was broken. (That nobody listens for a while is told of once.)
    async fn watch_again(&mut self, rx: Rx, cacher: Cacher) -> Got {
        let got = self.reopen(rx, cacher, REOPEN).await;
        rx.note(CacheNote::WatchesAgain(cacher.resource, self.last()));
        got
    }

    async fn reopen(&mut self, rx: Rx, cacher: Cacher, pause: Duration) -> Got {
        self.close(rx, cacher);
        rx.sleep(pause).await;
        let etcd = cacher.etcd().pick(rx).await;
        *self = Source::open(rx, cacher, etcd, self.last());
        Got::Nothing
    }

    async fn message(&mut self, rx: Rx, message: &WatchResponse<Object>, cacher: Cacher) -> Got {
        if message.canceled {
            return Got::Failed(match message.compact_revision {
                0 => Status::new_internal_error(message.cancel_reason),
                _ => {
                    // `interpretWatchError`
                    Status::new_resource_expired(
                        "The resourceVersion for the provided watch is too old.",
                    )
                }
            });
        }
        if message.created {
            return Got::Nothing;
        }
        if message.is_progress() {
            if !mutant!(
                "progress-is-not-kept",
                "a watch cache does not begin its next watch behind what etcd told it"
            ) {
                self.next = self.next.max(message.revision + 1);
            }
            return Got::Progress(message.revision);
        }
        let mut changes = Vec::with_capacity(message.events.len());
        for event in &message.events {
            let object = match (&event.now, &event.before) {
                (Some(now), _) => (&now.value, event.revision),
                (None, Some(before)) => {
                    // PR #58547: the revision of the deletion.
                    let at = match cacher.config.defects.has(CacheDefect::DeletedAtOldRevision) {
                        true => before.mod_revision,
                        false => event.revision,
                    };
                    (&before.value, at)
                }
                (None, None) => {
                    let key = &event.key;
                    let why = format!("etcd event received with PrevKv=nil (key={key:?})");
                    return Got::Changes(changes, Some(Status::new_internal_error(why)));
                }
            };
            let decoded = match cacher.codec().decode(rx, object.0.clone()).await {
                Ok(decoded) => decoded,
                Err(_) => {
                    let why = format!("unable to decode an object stored under {}", event.key);
                    return Got::Changes(changes, Some(Status::new_internal_error(why)));
                }
            };
            self.next = event.revision + 1;
            if event.now.is_none()
                && mutant!(
                    "cache-misses-deletions",
                    "a watch cache does not hear of deletions"
                )
            {
                continue;
            }
            changes.push(Change {
                key: event.key.clone(),
                deleted: event.now.is_none(),
                object: Stored {
                    object: decoded,
                    resource_version: object.1,
                },
            });
        }
        Got::Changes(changes, None)
    }
}
