//! Notes for the tests of monitors.

use std::hash::Hash;

use wavetank_api::{Object, WatchKind, kinds};
use wavetank_engine::{Caller, Cx, Message, Note, Payload, ProcId, Process, World, WorldBuilder};
use wavetank_etcd::{Cause, Change, Committed, KeyValue, Revision};

use crate::informer::InformerSpec;
use crate::observed::{Informing, Listed, WatchBegan, Watched};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Idle;

impl Process for Idle {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
}

/// A world in which nothing happens, and a process that tells.
pub struct Bench {
    pub world: World,
    process: ProcId,
}

impl Bench {
    pub fn new() -> Bench {
        let world = WorldBuilder::new().process("c1", Idle).build();
        let process = world.find("c1").expect("it was just made");
        Bench { world, process }
    }

    pub fn note<T: Message + Eq + Hash>(&self, body: T) -> Note {
        Note {
            process: self.process,
            body: Payload::new(body),
        }
    }

    fn commit(&self, revision: Revision, key: &str, now: Option<Object>) -> Note {
        let kv = |value| KeyValue {
            key: key.into(),
            value,
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease: None,
        };
        let change = Change {
            key: key.into(),
            revision,
            now: now.map(kv),
            before: None,
        };
        self.note(Committed {
            index: revision,
            revision,
            changes: vec![change].into(),
            cause: Cause::Internal,
        })
    }

    pub fn put(&self, revision: Revision, name: &str) -> Note {
        let key = kinds::CONFIG_MAPS.key("ns", name);
        self.commit(revision, &key, Some(Object::new(serde_json::json!({}))))
    }

    pub fn delete(&self, revision: Revision, name: &str) -> Note {
        self.commit(revision, &kinds::CONFIG_MAPS.key("ns", name), None)
    }

    /// Something that no informer of ours is about.
    pub fn put_other(&self, revision: Revision) -> Note {
        let key = kinds::ENDPOINTS.key("ns", "x");
        self.commit(revision, &key, Some(Object::new(serde_json::json!({}))))
    }
}

pub fn begins() -> Informing {
    Informing {
        informer: 0,
        selection: InformerSpec::of(&kinds::CONFIG_MAPS).selection,
        handlers: 1,
        resyncs: vec![None],
    }
}

pub fn began(from: Option<Revision>) -> WatchBegan {
    WatchBegan {
        informer: 0,
        watch: 1,
        from,
        initial_events: false,
        server: Bench::new().process,
    }
}

pub fn event(kind: WatchKind, name: &str, revision: Revision) -> Watched {
    Watched {
        informer: 0,
        watch: 1,
        kind,
        key: format!("ns/{name}").into(),
        revision,
        initial_events_end: false,
    }
}

pub fn listed(items: &[(&str, Revision)], got: Revision) -> Listed {
    let items = items.iter();
    Listed {
        informer: 0,
        asked: Some(0),
        got,
        items: items
            .map(|(name, revision)| (format!("ns/{name}").into(), *revision))
            .collect(),
        streamed: false,
    }
}
