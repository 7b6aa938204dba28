//! Watches, in the shape of `etcd-client`'s.

use wavetank_api::Object;
use wavetank_engine::Payload;
use wavetank_etcd::{
    Change, ETCD, Filters, Request, Revision, WatchId, WatchPart, WatchRequest, WatchStart,
};

use super::kv::KeyValue;
use super::{Channel, Error, ResponseHeader, Result, value};
use crate::guest::{Asked, Further, Parts};

/// A client for watches.
#[derive(Clone)]
pub struct WatchClient {
    channel: Channel,
}

impl WatchClient {
    pub(super) fn new(channel: Channel) -> WatchClient {
        WatchClient { channel }
    }

    /// Watches a key, or all with a prefix. Each watch has a stream of its own, at the first member. If the connection
    /// breaks the stream ends with an error: watch again from the revision after the last one that was seen.
    ///
    /// # Errors
    /// [`Error`]: the watch was refused.
    pub async fn watch(
        &mut self,
        key: impl Into<Vec<u8>>,
        options: Option<WatchOptions>,
    ) -> Result<(Watcher, WatchStream)> {
        let start = options.unwrap_or_default().start(key.into())?;
        let asked = Asked {
            to: self.channel.members[0],
            transport: &ETCD,
            body: Payload::new(Request::<Object>::Watch {
                require_leader: false,
            }),
        };
        let parts = self.channel.visit.follow(asked);
        let further = parts.sender();
        further.send(Payload::new(WatchRequest::Create(start)));
        let mut stream = WatchStream { parts };
        let created = stream.message().await?;
        match created {
            Some(first) if first.created() && !first.canceled() => {
                let id = WatchId(first.watch_id as u32);
                Ok((Watcher { further, id }, stream))
            }
            Some(refused) => Err(Error::WatchError(refused.cancel_reason().to_owned())),
            None => Err(Error::WatchError("the stream ended".to_owned())),
        }
    }
}

/// Options of a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    revision: i64,
    prefix: bool,
    prev_kv: bool,
    progress_notify: bool,
    filters: Filters,
}

impl WatchOptions {
    /// As it comes.
    pub fn new() -> WatchOptions {
        WatchOptions::default()
    }

    /// From a revision on; 0 is from now on.
    #[must_use]
    pub const fn with_start_revision(mut self, revision: i64) -> WatchOptions {
        self.revision = revision;
        self
    }

    /// All keys that begin so.
    #[must_use]
    pub const fn with_prefix(mut self) -> WatchOptions {
        self.prefix = true;
        self
    }

    /// Tells what keys were before.
    #[must_use]
    pub const fn with_prev_key(mut self) -> WatchOptions {
        self.prev_kv = true;
        self
    }

    /// Tells from time to time how far it is.
    #[must_use]
    pub const fn with_progress_notify(mut self) -> WatchOptions {
        self.progress_notify = true;
        self
    }

    /// Leaves writes out.
    #[must_use]
    pub const fn with_no_put(mut self) -> WatchOptions {
        self.filters.no_put = true;
        self
    }

    /// Leaves deletions out.
    #[must_use]
    pub const fn with_no_delete(mut self) -> WatchOptions {
        self.filters.no_delete = true;
        self
    }

    fn start(self, key: Vec<u8>) -> Result<WatchStart> {
        Ok(WatchStart {
            prev_kv: self.prev_kv,
            progress_notify: self.progress_notify,
            filters: self.filters,
            ..WatchStart::of(
                value::keys(key, self.prefix)?,
                self.revision.max(0) as Revision,
            )
        })
    }
}

/// Speaks to a watch that stands.
pub struct Watcher {
    further: Further,
    id: WatchId,
}

impl Watcher {
    /// Its number on its stream.
    pub const fn watch_id(&self) -> i64 {
        self.id.0 as i64
    }

    /// Ends it; the stream says so.
    ///
    /// # Errors
    /// None: if the stream has ended already nothing happens.
    pub async fn cancel(&mut self) -> Result<()> {
        self.further
            .send(Payload::new(WatchRequest::Cancel(self.id)));
        Ok(())
    }

    /// Asks how far it is; the stream says so.
    ///
    /// # Errors
    /// None: if the stream has ended already nothing happens.
    pub async fn request_progress(&mut self) -> Result<()> {
        self.further.send(Payload::new(WatchRequest::Progress));
        Ok(())
    }
}

/// What a watch tells. Dropping it ends the watch.
pub struct WatchStream {
    parts: Parts,
}

impl WatchStream {
    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// [`Error`]: the connection broke, or etcd ended the stream.
    pub async fn message(&mut self) -> Result<Option<WatchResponse>> {
        match self.parts.next().await {
            None => Ok(None),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(part)) => match part.expect::<WatchPart<Object>>() {
                WatchPart::Message(message) => Ok(Some(WatchResponse::from(message))),
                WatchPart::Failed(error) => Err((*error).into()),
            },
        }
    }
}

/// A message of a watch.
#[derive(Clone, Debug)]
pub struct WatchResponse {
    header: ResponseHeader,
    watch_id: i64,
    created: bool,
    canceled: bool,
    compact_revision: i64,
    cancel_reason: &'static str,
    events: Vec<Event>,
}

impl From<&wavetank_etcd::WatchResponse<Object>> for WatchResponse {
    fn from(message: &wavetank_etcd::WatchResponse<Object>) -> WatchResponse {
        WatchResponse {
            header: ResponseHeader::at(message.revision),
            watch_id: message.id.map_or(-1, |id| i64::from(id.0)),
            created: message.created,
            canceled: message.canceled,
            compact_revision: message.compact_revision as i64,
            cancel_reason: message.cancel_reason,
            events: message.events.iter().map(Event::from).collect(),
        }
    }
}

impl WatchResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// Whose; -1 is of all watches of the stream.
    pub const fn watch_id(&self) -> i64 {
        self.watch_id
    }

    /// Does the watch stand now?
    pub const fn created(&self) -> bool {
        self.created
    }

    /// Is it over?
    pub const fn canceled(&self) -> bool {
        self.canceled
    }

    /// Its history is compacted up to here; 0 if that is not why it is over.
    pub const fn compact_revision(&self) -> i64 {
        self.compact_revision
    }

    /// Why it is over.
    pub const fn cancel_reason(&self) -> &str {
        self.cancel_reason
    }

    /// What happened, in the order of revisions.
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

/// What happened to a key.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// It was written.
    #[default]
    Put,
    /// It was deleted.
    Delete,
}

/// A change of a key.
#[derive(Clone, Debug)]
pub struct Event {
    event_type: EventType,
    kv: KeyValue,
    prev_kv: Option<KeyValue>,
}

impl From<&Change<Object>> for Event {
    fn from(change: &Change<Object>) -> Event {
        let prev_kv = change.before.as_ref().map(KeyValue::from);
        match &change.now {
            Some(now) => Event {
                event_type: EventType::Put,
                kv: now.into(),
                prev_kv,
            },
            None => Event {
                event_type: EventType::Delete,
                kv: KeyValue::deleted(&change.key, change.revision),
                prev_kv,
            },
        }
    }
}

impl Event {
    /// What happened.
    pub const fn event_type(&self) -> EventType {
        self.event_type
    }

    /// What the key is now; of one that was deleted its name and the revision.
    pub fn kv(&self) -> Option<&KeyValue> {
        Some(&self.kv)
    }

    /// What it was, if that was asked for.
    pub fn prev_kv(&self) -> Option<&KeyValue> {
        self.prev_kv.as_ref()
    }
}
