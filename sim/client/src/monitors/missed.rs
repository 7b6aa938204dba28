//! No event is passed by.

use std::collections::BTreeMap;

use wavetank_api::WatchKind;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Revision;

use super::matching::{History, event_of};
use super::{Who, violated};
use crate::observed::{Informing, Selection, WatchBegan, WatchOver, Watched};

/// A watch that is open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    number: u64,
    /// It has brought all up to here; `None` while its initial events come.
    upto: Option<Revision>,
}

/// Between where a watch began and what it brought, it has left nothing out. What a list coalesces is not
/// missed: its watch begins behind it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct MissesNothing {
    history: History,
    informers: BTreeMap<Who, Selection>,
    open: BTreeMap<Who, Watch>,
}

impl MissesNothing {
    fn watched(&mut self, world: &World, who: Who, watched: &Watched) -> Check {
        let Some(watch) = self
            .open
            .get_mut(&who)
            .filter(|w| w.number == watched.watch)
        else {
            return Check::Idle;
        };
        let bookmark = watched.kind == WatchKind::Bookmark;
        let Some(upto) = watch.upto else {
            if watched.kind != WatchKind::Added {
                watch.upto = Some(watched.revision);
            }
            return Check::Idle;
        };
        watch.upto = Some(upto.max(watched.revision));
        if !self.history.is_whole() || watched.revision > self.history.revision() {
            return Check::Idle;
        }
        let selection = &self.informers[&who];
        // An event's own revision may have more of them.
        let end = watched.revision + u64::from(bookmark);
        for revision in upto + 1..end {
            let changes = self.history.changes(revision).unwrap_or_default();
            for change in changes {
                if let Some(key) = event_of(selection, &self.history, change) {
                    let message = format!(
                        "{} at {} without the event of {key} at {revision}",
                        watched.kind.name(),
                        watched.revision
                    );
                    return violated(world, who, message);
                }
            }
        }
        Check::Held
    }
}

impl Property for MissesNothing {
    fn name(&self) -> &'static str {
        "informer-misses-nothing"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        if let Some(begins) = note.body.get::<Informing>() {
            let who = (note.process, begins.informer);
            self.informers.insert(who, begins.selection.clone());
            self.open.remove(&who);
        } else if let Some(began) = note.body.get::<WatchBegan>() {
            let from = began.from.filter(|from| *from > 0 && !began.initial_events);
            self.open.insert(
                (note.process, began.informer),
                Watch {
                    number: began.watch,
                    upto: from,
                },
            );
        } else if let Some(over) = note.body.get::<WatchOver>() {
            self.open.remove(&(note.process, over.informer));
        } else if let Some(watched) = note.body.get::<Watched>() {
            return self.watched(world, (note.process, watched.informer), watched);
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, began, begins, event};
    use super::*;
    use WatchKind::{Bookmark, Deleted, Modified};

    fn run(events: &[(WatchKind, &str, Revision)], from: Revision) -> Vec<bool> {
        let bench = Bench::new();
        let mut monitor = MissesNothing::default();
        for note in [
            bench.note(begins()),
            bench.put(2, "a"),
            bench.put(3, "b"),
            bench.delete(4, "a"),
            bench.put_other(5),
            bench.put(6, "b"),
            bench.note(began(Some(from))),
        ] {
            monitor.note(&bench.world, &note);
        }
        let notes = events.iter().map(|e| bench.note(event(e.0, e.1, e.2)));
        notes
            .map(|note| !matches!(monitor.note(&bench.world, &note), Check::Violated(_)))
            .collect()
    }

    #[test]
    fn an_event_or_a_bookmark_must_not_pass_another_by() {
        assert_eq!(
            run(&[(Deleted, "a", 4), (Modified, "b", 6)], 3),
            [true, true]
        );
        assert_eq!(run(&[(Modified, "b", 6)], 3), [false]);
        assert_eq!(run(&[(Bookmark, "", 5)], 4), [true]);
        assert_eq!(run(&[(Bookmark, "", 6)], 4), [false]);
    }
}
