//! What the monitors' tests feed them: a world in which nothing runs, and notes made by hand.

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Check, Event, Note, Payload, ProcId, Property, Time, World, WorldBuilder};

use crate::api::{Change, EtcdError, KeyValue, Keys, LeaseId, Request, Response, Revision};
use crate::api::{WatchId, WatchResponse, WatchStart};
use crate::observed::{Answered, CallId, Called, ProgressAsked, Watched, Watching};
use crate::server::{Committed, Etcd};
use crate::state::Cause;

pub type Bytes = Arc<[u8]>;

pub fn bytes(text: &str) -> Bytes {
    text.as_bytes().into()
}

/// A put that creates.
pub fn put(key: &str, revision: Revision, value: &str) -> Change<Bytes> {
    Change {
        key: key.into(),
        revision,
        now: Some(KeyValue {
            key: key.into(),
            value: bytes(value),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease: None,
        }),
        before: None,
    }
}

/// The deletion of what a change made.
pub fn delete(of: &Change<Bytes>, revision: Revision) -> Change<Bytes> {
    Change {
        key: of.key.clone(),
        revision,
        now: None,
        before: of.now.clone(),
    }
}

/// The same, under a lease.
pub fn leased(mut change: Change<Bytes>, lease: u64) -> Change<Bytes> {
    if let Some(kv) = &mut change.now {
        kv.lease = Some(LeaseId(lease));
    }
    change
}

/// An event of a watch without `prev_kv`.
pub fn event(change: &Change<Bytes>) -> Change<Bytes> {
    Change {
        before: None,
        ..change.clone()
    }
}

pub fn created(revision: Revision) -> WatchResponse<Bytes> {
    WatchResponse {
        created: true,
        ..WatchResponse::bare(Some(WatchId(0)), revision)
    }
}

pub fn events(of: &[Change<Bytes>]) -> WatchResponse<Bytes> {
    let revision = of.last().map_or(0, |change| change.revision);
    WatchResponse {
        events: of.iter().map(event).collect(),
        ..WatchResponse::bare(Some(WatchId(0)), revision)
    }
}

pub fn compacted(revision: Revision) -> WatchResponse<Bytes> {
    WatchResponse {
        canceled: true,
        compact_revision: revision,
        ..WatchResponse::bare(Some(WatchId(0)), 0)
    }
}

/// Progress, of one watch or of the stream.
pub fn progress(revision: Revision, requested: bool) -> WatchResponse<Bytes> {
    WatchResponse::bare((!requested).then_some(WatchId(0)), revision)
}

pub struct Bench {
    pub world: World,
    pub client: ProcId,
}

impl Bench {
    pub fn new() -> Bench {
        let client = WorldBuilder::id_of("client", &["client", "member"]);
        let member = WorldBuilder::id_of("member", &["client", "member"]);
        let mut builder = WorldBuilder::new();
        builder.process("client", Etcd::<Bytes>::single(client));
        builder.process("member", Etcd::<Bytes>::single(member));
        Bench {
            world: builder.build(),
            client,
        }
    }

    /// Lets time pass.
    pub fn at(&mut self, seconds: u64) {
        let at = Time::from_secs(seconds);
        let applied = self.world.apply(at, Event::Calm, &mut |_| Duration::ZERO);
        applied.expect("calm is always possible");
    }

    pub fn id(&self, number: u64) -> CallId {
        CallId {
            client: self.client,
            number,
        }
    }

    pub fn note<T: wavetank_engine::Message + Eq + std::hash::Hash>(&self, body: T) -> Note {
        Note {
            process: self.client,
            body: Payload::new(body),
        }
    }

    /// A commit that the client caused.
    pub fn committed(&self, revision: Revision, changes: Vec<Change<Bytes>>) -> Note {
        self.caused(revision, changes, Cause::Client(self.client))
    }

    pub fn caused(&self, revision: Revision, changes: Vec<Change<Bytes>>, cause: Cause) -> Note {
        self.note(Committed {
            index: revision + 10,
            revision,
            changes: changes.into(),
            cause,
        })
    }

    pub fn called(&self, number: u64, request: Request<Bytes>) -> Note {
        let id = self.id(number);
        self.note(Called { id, request })
    }

    pub fn answered(&self, number: u64, result: Result<Response<Bytes>, EtcdError>) -> Note {
        let id = self.id(number);
        self.note(Answered { id, result })
    }

    pub fn watching(&self, number: u64, revision: Revision, resumed: bool) -> Note {
        let start = WatchStart::of(Keys::prefix("/"), revision);
        self.started(number, start, resumed)
    }

    pub fn started(&self, number: u64, start: WatchStart, resumed: bool) -> Note {
        let watch = self.id(number);
        self.note(Watching {
            watch,
            start,
            resumed,
        })
    }

    pub fn watched(&self, number: u64, response: WatchResponse<Bytes>) -> Note {
        let watch = self.id(number);
        self.note(Watched { watch, response })
    }

    pub fn asked(&self, number: u64) -> Note {
        let watch = self.id(number);
        self.note(ProgressAsked { watch })
    }

    /// Feeds notes; what is said to the last. The others must not be violations.
    pub fn feed(&self, monitor: &mut impl Property, notes: &[Note]) -> Check {
        let mut last = Check::Idle;
        for note in notes {
            assert!(!is_violated(&last), "{last:?}");
            last = monitor.note(&self.world, note);
        }
        last
    }
}

pub fn is_violated(check: &Check) -> bool {
    matches!(check, Check::Violated(_))
}
