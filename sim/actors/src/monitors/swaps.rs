//! Swaps: an object is read and then changed if it is still the same, through servers that may be behind.

use wavetank_client::monitors::matching::History;
use wavetank_engine::{Check, Note, Property, Violation, World};
use wavetank_etcd::Revision;

use crate::writer::{Swap, Swapped};

/// The revision that a key was of when `until` was the newest, if it existed.
fn revision_at(history: &History, key: &str, until: Revision) -> Option<Revision> {
    history.at(key, until).map(|kv| kv.mod_revision)
}

fn violated(world: &World, swapped: &Swapped, message: String) -> Check {
    let server = world.name(swapped.server);
    Check::Violated(Violation {
        kind: "object",
        object: swapped.key.to_string(),
        message: format!(
            "{server} was asked to change it as it was at {}: {message}",
            swapped.read
        ),
    })
}

/// An update that names the resourceVersion it is based on replaces that, and nothing newer.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoLostUpdate {
    history: History,
}

impl Property for NoLostUpdate {
    fn name(&self) -> &'static str {
        "no-lost-update"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        let Some(swapped) = note.body.get::<Swapped>() else {
            return Check::Idle;
        };
        let Swap::Stored(stored) = swapped.swap else {
            return Check::Idle;
        };
        if !self.history.is_whole() || stored == swapped.read {
            return Check::Idle; // nothing was there to be written
        }
        match revision_at(&self.history, &swapped.key, stored - 1) {
            Some(replaced) if replaced == swapped.read => Check::Held,
            replaced => {
                let replaced = replaced.map_or("nothing".into(), |r| r.to_string());
                violated(
                    world,
                    swapped,
                    format!("it replaced {replaced} at {stored}"),
                )
            }
        }
    }
}

/// Who is told that an object is not what he read is told the truth, however stale the cache of the server
/// (k/k#82130).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RefusedSwapIsOutdated {
    history: History,
}

impl Property for RefusedSwapIsOutdated {
    fn name(&self) -> &'static str {
        "refused-swap-is-outdated"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        let Some(swapped) = note.body.get::<Swapped>() else {
            return Check::Idle;
        };
        if swapped.swap != Swap::Refused || !self.history.is_whole() {
            return Check::Idle;
        }
        // What has changed has changed for ever, so it is enough to look at the end.
        let now = self.history.revision();
        match revision_at(&self.history, &swapped.key, now) {
            Some(stored) if stored == swapped.read => {
                let message = "that was refused, and it is that still";
                violated(world, swapped, message.into())
            }
            _ => Check::Held,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hash;

    use wavetank_api::{Object, kinds::CONFIG_MAPS};
    use wavetank_engine::{Message, Payload, ProcId, WorldBuilder};
    use wavetank_etcd::{Cause, Change, Committed, KeyValue};

    use super::*;
    use crate::Writer;

    fn note<T: Message + Eq + Hash>(process: ProcId, body: T) -> Note {
        let body = Payload::new(body);
        Note { process, body }
    }

    /// The object is put at this revision, or deleted.
    fn commit(process: ProcId, revision: Revision, is_put: bool) -> Note {
        let key = CONFIG_MAPS.key("ns", "a");
        let now = is_put.then(|| KeyValue {
            key: key.clone(),
            value: Object::new(serde_json::json!({})),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease: None,
        });
        let change = Change {
            key,
            revision,
            now,
            before: None,
        };
        let committed = Committed {
            index: revision,
            revision,
            changes: vec![change].into(),
            cause: Cause::Internal,
        };
        note(process, committed)
    }

    /// Does a monitor find nothing wrong with a swap, after an object was made at 2, changed at 3 and 4?
    fn is_right(mut monitor: impl Property, deleted: bool, read: Revision, swap: Swap) -> bool {
        let idle = Writer {
            servers: Default::default(),
            streams: false,
        };
        let world = WorldBuilder::new().process("w1", idle).build();
        let process = world.find("w1").expect("it was just made");
        for revision in 2..5 {
            monitor.note(&world, &commit(process, revision, true));
        }
        if deleted {
            monitor.note(&world, &commit(process, 5, false));
        }
        let swapped = Swapped {
            server: process,
            key: CONFIG_MAPS.key("ns", "a"),
            read,
            swap,
        };
        monitor.note(&world, &note(process, swapped)) == Check::Held
    }

    #[test]
    fn a_swap_replaces_what_was_read() {
        assert!(is_right(NoLostUpdate::default(), false, 3, Swap::Stored(4)));
        assert!(!is_right(
            NoLostUpdate::default(),
            false,
            2,
            Swap::Stored(4)
        ));
    }

    #[test]
    fn a_refusal_is_for_what_has_changed() {
        let monitor = RefusedSwapIsOutdated::default;
        assert!(is_right(monitor(), false, 3, Swap::Refused));
        assert!(!is_right(monitor(), false, 4, Swap::Refused));
        assert!(is_right(monitor(), true, 4, Swap::Refused));
    }
}
