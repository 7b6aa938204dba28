//! Events come in order on each watch, and a bookmark covers what it says.

use std::collections::BTreeMap;

use wavetank_api::WatchKind;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Revision;

use super::{Who, violated};
use crate::fifo::StoreKey;
use crate::observed::{Informing, WatchBegan, WatchOver, Watched};

/// A watch that is open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    number: u64,
    /// Its first ADDED events may come in any order.
    unordered: bool,
    /// Everything up to here was covered by the start or by a bookmark.
    covered: Revision,
    /// The last event.
    last: Option<(Revision, StoreKey)>,
}

/// On each watch revisions go up; after a bookmark no event comes that it covers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct WatchOrdered {
    open: BTreeMap<Who, Watch>,
}

impl WatchOrdered {
    fn watched(&mut self, world: &World, who: Who, watched: &Watched) -> Check {
        let Some(watch) = self
            .open
            .get_mut(&who)
            .filter(|w| w.number == watched.watch)
        else {
            return Check::Idle;
        };
        if watch.unordered && watched.kind == WatchKind::Added {
            return Check::Idle;
        }
        watch.unordered = false;
        let (revision, key) = (watched.revision, &watched.key);
        let newest = watch.last.as_ref().map_or(0, |(revision, _)| *revision);
        if watched.kind == WatchKind::Bookmark {
            if revision < newest || revision < watch.covered {
                let message = format!("a bookmark at {revision} after {newest}");
                return violated(world, who, message);
            }
            watch.covered = revision;
            return Check::Held;
        }
        let again = watch.last.as_ref() == Some(&(revision, key.clone()));
        if revision <= watch.covered || revision < newest || again {
            let message = format!(
                "{} of {key} at {revision} after {newest}, and all up to {} was covered",
                watched.kind.name(),
                watch.covered
            );
            return violated(world, who, message);
        }
        watch.last = Some((revision, key.clone()));
        Check::Held
    }
}

impl Property for WatchOrdered {
    fn name(&self) -> &'static str {
        "informer-watch-ordered"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(began) = note.body.get::<WatchBegan>() {
            let from = began.from.unwrap_or(0);
            let unordered = began.initial_events || from == 0;
            self.open.insert(
                (note.process, began.informer),
                Watch {
                    number: began.watch,
                    unordered,
                    covered: if unordered { 0 } else { from },
                    last: None,
                },
            );
        } else if let Some(over) = note.body.get::<WatchOver>() {
            self.open.remove(&(note.process, over.informer));
        } else if let Some(begins) = note.body.get::<Informing>() {
            self.open.remove(&(note.process, begins.informer));
        } else if let Some(watched) = note.body.get::<Watched>() {
            return self.watched(world, (note.process, watched.informer), watched);
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, began, event};
    use super::*;

    fn run(events: &[(WatchKind, &str, Revision)], from: Option<Revision>) -> Vec<bool> {
        let bench = Bench::new();
        let mut monitor = WatchOrdered::default();
        assert_eq!(
            monitor.note(&bench.world, &bench.note(began(from))),
            Check::Idle
        );
        let notes = events.iter().map(|e| bench.note(event(e.0, e.1, e.2)));
        notes
            .map(|note| !matches!(monitor.note(&bench.world, &note), Check::Violated(_)))
            .collect()
    }

    use WatchKind::{Added, Bookmark, Deleted, Modified};

    #[test]
    fn what_comes_back_or_twice_is_wrong() {
        let events = [(Added, "a", 6), (Modified, "a", 7), (Modified, "a", 7)];
        assert_eq!(run(&events, Some(5)), [true, true, false]);
        assert_eq!(run(&[(Added, "a", 5)], Some(5)), [false]);
        // What went with one lease shares its revision.
        let together = [(Deleted, "a", 6), (Deleted, "b", 6), (Deleted, "c", 5)];
        assert_eq!(run(&together, Some(4)), [true, true, false]);
    }

    #[test]
    fn a_bookmark_covers_what_it_says() {
        let events = [(Bookmark, "", 9), (Modified, "a", 9), (Modified, "a", 10)];
        assert_eq!(run(&events, Some(5)), [true, false, true]);
        assert_eq!(
            run(&[(Modified, "a", 9), (Bookmark, "", 8)], Some(5)),
            [true, false]
        );
    }

    #[test]
    fn the_first_added_events_have_no_order() {
        let events = [
            (Added, "b", 9),
            (Added, "c", 3),
            (Bookmark, "", 9),
            (Added, "d", 9),
        ];
        assert_eq!(run(&events, None), [true, true, true, false]);
    }
}
