//! What comes on a watch (`handleAnyWatch`; `watchHandler` in v1.16 and v1.20): one part at a time.

use imbl::OrdMap;
use wavetank_api::http::WatchPart;
use wavetank_api::{Reason, Status, Stored, WatchEvent, WatchKind};
use wavetank_engine::{Either, NetError, Payload, ProcId, Stream, mutant};
use wavetank_etcd::Revision;
use wavetank_version::Defect;

use super::{Between, Place, Reflector, is_expired_error};
use crate::InformerDefect;
use crate::fifo::{StoreKey, key_of};
use crate::gates;
use crate::informer::{HoldAt, released};
use crate::load_balancer::{BALANCED, MOVED};
use crate::observed::{Trouble, Watched};
use crate::rest::Failure;

/// What [`wavetank_engine::Rx::next`] answers.
pub(super) type Part = Result<Option<Payload>, NetError>;

/// A watch that was accepted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Streaming {
    pub stream: Stream,
    pub server: ProcId,
    /// Its number.
    pub watch: u64,
    /// How often the load balancer had taken connections away when it began.
    pub moves: u32,
    /// ADDED events count for the revision, too (`propagateRVFromStart`, `eventReceivedBesidesAdded`).
    pub past_added: bool,
    /// Something came.
    pub events: bool,
    pub use_as: Use,
}

/// What is done with events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Use {
    /// They go into the queue.
    Watch,
    /// They are collected into a list.
    List {
        /// The revision that was asked for.
        asked: Option<Revision>,
        /// `temporaryStore`
        items: OrdMap<StoreKey, Stored>,
    },
}

pub(crate) const EXPIRED_GOES_UNNOTICED: Defect = Defect::known(
    "expired-goes-unnoticed",
    "k/k#56121 (1.8)",
    "a watch that ends as expired is begun again where it was, and no list is asked for",
)
.until(gates::EXPIRED_ENDS_THE_ROUND);

pub(crate) const WATCH_LIST_WITHOUT_END: Defect = Defect::open(
    "watch-list-without-end",
    "k/k#140890 (not fixed)",
    "a watch-list that the server closes before its end is asked for again, at once and for ever. Off: the reflector lists instead, \
     and asks for what is there now, as with the watch-list",
)
.fits_only(gates::WATCH_LIST_CLIENT);

impl Reflector {
    /// Waits for the next part, and takes it.
    pub(super) async fn stream(&self, streaming: Streaming) -> Place {
        loop {
            if self.rx.update(&BALANCED, |balanced| balanced.moves) != streaming.moves {
                // The load balancer has cut the connection.
                return self.take(streaming, Err(NetError::Reset), true).await;
            }
            if self.with(|informer| informer.held(HoldAt::Watch).is_some()) {
                let release = self.rx.changed(released(self.informer));
                self.rx.select(release, self.rx.changed(MOVED)).await;
                continue;
            }
            let next = self.rx.next(streaming.stream);
            match self.rx.select(next, self.rx.changed(MOVED)).await {
                Either::Left(part) => return self.take(streaming, part, true).await,
                Either::Right(()) => {}
            }
        }
    }

    /// Takes a part of a watch that is older than a second, or not.
    pub(super) async fn take(&self, streaming: Streaming, part: Part, is_long: bool) -> Place {
        let payload = match part {
            Ok(Some(payload)) => payload,
            Ok(None) => return self.closed(streaming, is_long).await,
            Err(_) => {
                self.own.rest.servers.broke(self.rx, streaming.server);
                return self.closed(streaming, is_long).await;
            }
        };
        let event = match payload.expect::<WatchPart>() {
            WatchPart::Event(event) => event,
            WatchPart::Closed => return self.closed(streaming, is_long).await,
            other => unreachable!("a watch is accepted once: {other:?}"),
        };
        match event {
            WatchEvent::Error(status) => self.failed(streaming, status).await,
            WatchEvent::Object(kind, stored) => {
                let key = key_of(&stored.object);
                self.note_watched(&streaming, *kind, key, stored.resource_version, false);
                self.object(streaming, *kind, stored)
            }
            WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
                ..
            } => {
                let (revision, end) = (*resource_version, *initial_events_end);
                self.note_watched(&streaming, WatchKind::Bookmark, "".into(), revision, end);
                self.bookmark(streaming, revision, end)
            }
        }
    }

    fn object(&self, mut streaming: Streaming, kind: WatchKind, stored: &Stored) -> Place {
        streaming.events = true;
        streaming.past_added |= kind != WatchKind::Added;
        if let Use::List { items, .. } = &mut streaming.use_as {
            let key = key_of(&stored.object);
            match kind {
                WatchKind::Deleted => items.remove(&key),
                _ => items.insert(key, stored.clone()),
            };
            return Place::Stream(streaming);
        }
        let past_added = streaming.past_added;
        let revision = stored.resource_version;
        let stored = stored.clone();
        self.queue(|informer| {
            match kind {
                WatchKind::Modified
                    if mutant!(
                        "modified-is-dropped",
                        "a reflector drops an object that was changed"
                    ) => {}
                WatchKind::Deleted
                    if mutant!(
                        "deleted-is-dropped",
                        "a reflector drops an object that was deleted"
                    ) => {}
                WatchKind::Added => informer.fifo.add(stored),
                WatchKind::Modified => informer.fifo.update(stored),
                WatchKind::Deleted => informer.fifo.delete(stored, &informer.indexer),
                WatchKind::Bookmark | WatchKind::Error => unreachable!("it has no object"),
            }
            if past_added {
                informer.reflector.last = Some(revision);
            }
        });
        Place::Stream(streaming)
    }

    fn bookmark(&self, mut streaming: Streaming, revision: Revision, end: bool) -> Place {
        streaming.events = true;
        streaming.past_added = true;
        match streaming.use_as {
            Use::List { asked, items } if end => {
                // The last bookmark names the revision of the list.
                self.with(|informer| informer.reflector.unavailable = false);
                let items = items.into_iter().map(|(_, stored)| stored).collect();
                self.replace(items, revision, asked, true);
                Place::Adopt(Streaming {
                    use_as: Use::Watch,
                    events: false,
                    ..streaming
                })
            }
            Use::List { .. } => Place::Stream(streaming),
            Use::Watch => {
                self.queue(|informer| {
                    informer.fifo.bookmark(revision);
                    let beyond = mutant!(
                        "bookmark-is-overtaken",
                        "a reflector goes on one revision behind a bookmark"
                    );
                    informer.reflector.last = Some(revision + u64::from(beyond));
                });
                Place::Stream(streaming)
            }
        }
    }

    /// The watch ended without an ERROR. A connection that breaks in the middle is the same to the
    /// decoder of the stream.
    async fn closed(&self, streaming: Streaming, is_long: bool) -> Place {
        self.rx.close_stream(streaming.stream);
        let is_short = !is_long && !streaming.events;
        let why = is_short.then_some(Trouble::Short);
        self.over(streaming.watch, why.clone());
        match (&streaming.use_as, why) {
            (Use::Watch, why) => self.after_watch(why).await,
            (Use::List { .. }, Some(_)) => Place::List,
            (Use::List { .. }, None) => self.without_end(),
        }
    }

    /// Where a round goes on after a watch-list that was closed before its end. (Our proposal, a list, is not answered by a cache
    /// that lags: whoever begins with it would go back in time.)
    pub(super) fn without_end(&self) -> Place {
        if self.own.defects.has(InformerDefect::WatchListWithoutEnd) {
            return Place::WatchList;
        }
        self.with(|informer| informer.reflector.unavailable = true);
        Place::List
    }

    /// It ended with an ERROR.
    async fn failed(&self, streaming: Streaming, status: &Status) -> Place {
        self.rx.close_stream(streaming.stream);
        let why = Trouble::Status(status.clone());
        self.over(streaming.watch, Some(why.clone()));
        match streaming.use_as {
            Use::Watch => self.after_watch(Some(why)).await,
            Use::List { .. } => {
                let failure = Failure::Status(status.clone());
                self.after_watch_list(&failure).await
            }
        }
    }

    /// Where a round goes on after a watch that ended so.
    pub(super) async fn after_watch(&self, why: Option<Trouble>) -> Place {
        match why {
            None => Place::Watch,
            Some(Trouble::Status(status))
                if is_expired_error(&status)
                    && mutant!(
                        "expired-watch-skips-ahead",
                        "a watch that is expired is begun again at the present"
                    ) =>
            {
                self.with(|informer| informer.reflector.last = None);
                Place::Watch
            }
            Some(Trouble::Status(status))
                if self.release().has(gates::TOO_MANY_REQUESTS_ARE_RETRIED)
                    && status.is(Reason::TooManyRequests) =>
            {
                self.back_off(Between::Connections).await;
                Place::Watch
            }
            Some(Trouble::Status(status))
                if is_expired_error(&status)
                    && self.own.defects.has(InformerDefect::ExpiredGoesUnnoticed) =>
            {
                self.back_off(Between::Rounds).await;
                Place::Watch
            }
            Some(_) => Place::End,
        }
    }

    fn note_watched(
        &self,
        streaming: &Streaming,
        kind: WatchKind,
        key: StoreKey,
        revision: Revision,
        initial_events_end: bool,
    ) {
        self.rx.note(Watched {
            informer: self.informer,
            watch: streaming.watch,
            kind,
            key,
            revision,
            initial_events_end,
        });
    }
}
