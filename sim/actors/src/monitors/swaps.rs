//! Swaps: an object is read and then changed if it is still the same, through servers that may be behind.

use std::collections::BTreeMap;

use wavetank_client::monitors::matching::History;
use wavetank_engine::{Check, Note, ProcId, Property, Violation, World};
use wavetank_etcd::Revision;

use crate::writer::{Swap, Swapped, Swapping};

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

/// An update or a deletion that names the resourceVersion it is based on replaces that, and nothing newer. One that changes
/// nothing succeeds only if the object was of that resourceVersion when it was asked for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoLostUpdate {
    history: History,
    /// What was the newest revision when each was asked for.
    asked: BTreeMap<(ProcId, u32), Revision>,
}

impl NoLostUpdate {
    /// Is it gone at this revision, or being deleted?
    fn is_going(&self, key: &str, revision: Revision) -> bool {
        let stored = self.history.at(key, revision);
        stored.is_none_or(|kv| kv.value.is_being_deleted())
    }

    /// What is wrong with it.
    fn judge(&self, swapped: &Swapped, asked: Revision) -> Result<(), String> {
        let Swapped { key, read, .. } = swapped;
        let at = |revision| revision_at(&self.history, key, revision);
        let told = |found: Option<Revision>| found.map_or("nothing".into(), |r| r.to_string());
        match swapped.swap {
            Swap::Refused => Ok(()),
            Swap::Stored(stored) if stored == *read => match at(asked) {
                Some(was) if was == *read => Ok(()),
                was => Err(format!("nothing had to change, and it was {}", told(was))),
            },
            Swap::Stored(stored) => match at(stored - 1) {
                Some(replaced) if replaced == *read => Ok(()),
                replaced => Err(format!("it replaced {} at {stored}", told(replaced))),
            },
            Swap::Deleted => {
                let mut later = *read + 1..=self.history.revision();
                match later.find(|revision| at(*revision) != Some(*read)) {
                    // It may be marked first, and go then.
                    Some(next) if self.is_going(key, next) => Ok(()),
                    next => {
                        let next = told(next.and_then(at));
                        Err(format!("it is told gone, and was {next} next"))
                    }
                }
            }
        }
    }
}

impl Property for NoLostUpdate {
    fn name(&self) -> &'static str {
        "no-lost-update"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        if let Some(Swapping { number }) = note.body.get() {
            let newest = self.history.revision();
            self.asked.insert((note.process, *number), newest);
        }
        let Some(swapped) = note.body.get::<Swapped>() else {
            return Check::Idle;
        };
        let asked = self.asked.remove(&(note.process, swapped.number));
        let Some(asked) = asked.filter(|_| self.history.is_whole()) else {
            return Check::Idle;
        };
        match self.judge(swapped, asked) {
            Err(wrong) => violated(world, swapped, wrong),
            Ok(()) if swapped.swap == Swap::Refused => Check::Idle,
            Ok(()) => Check::Held,
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

    /// Does a monitor find nothing wrong with a swap that was asked for when the object was at `asked`? It is made at 2,
    /// changed at 3 and 4, and perhaps deleted at 5.
    fn is_right(
        mut monitor: impl Property,
        asked: Revision,
        deleted: bool,
        read: Revision,
        swap: Swap,
    ) -> bool {
        let idle = Writer {
            servers: Default::default(),
            streams: false,
        };
        let world = WorldBuilder::new().process("w1", idle).build();
        let process = world.find("w1").expect("it was just made");
        for revision in 2..=4 + u64::from(deleted) {
            monitor.note(&world, &commit(process, revision, revision < 5));
            if revision == asked {
                monitor.note(&world, &note(process, Swapping { number: 1 }));
            }
        }
        let swapped = Swapped {
            number: 1,
            server: process,
            key: CONFIG_MAPS.key("ns", "a"),
            read,
            swap,
        };
        monitor.note(&world, &note(process, swapped)) == Check::Held
    }

    #[test]
    fn a_swap_replaces_what_was_read() {
        let is_right = |read, swap| is_right(NoLostUpdate::default(), 3, false, read, swap);
        assert!(is_right(3, Swap::Stored(4)));
        assert!(!is_right(2, Swap::Stored(4)));
    }

    #[test]
    fn a_swap_deletes_what_was_read() {
        let is_right =
            |deleted, read| is_right(NoLostUpdate::default(), 3, deleted, read, Swap::Deleted);
        assert!(is_right(true, 4));
        assert!(!is_right(true, 3));
        assert!(!is_right(false, 4));
    }

    #[test]
    fn a_swap_without_a_change_is_of_what_was_there() {
        let is_right = |asked, read| {
            is_right(
                NoLostUpdate::default(),
                asked,
                false,
                read,
                Swap::Stored(read),
            )
        };
        assert!(is_right(4, 4));
        assert!(is_right(3, 3));
        assert!(!is_right(4, 3));
    }

    #[test]
    fn a_refusal_is_for_what_has_changed() {
        let is_right = |deleted, read| {
            is_right(
                RefusedSwapIsOutdated::default(),
                2,
                deleted,
                read,
                Swap::Refused,
            )
        };
        assert!(is_right(false, 3));
        assert!(!is_right(false, 4));
        assert!(is_right(true, 4));
    }
}
