//! Time goes forward for whoever looks through an informer: in one life that is promised, over a restart it
//! is not.

use std::collections::BTreeMap;

use wavetank_engine::{Check, Class, Note, ProcId, Property, World};
use wavetank_etcd::Revision;

use super::{Who, violated};
use crate::fifo::StoreKey;
use crate::observed::{Changed, Informing, Listed, WatchBegan, Watched};

/// Within one life of its process no list is older than what was known, and no object of a store gets
/// older.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StoreNeverGoesBack {
    known: BTreeMap<Who, Known>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Known {
    newest: Revision,
    objects: BTreeMap<StoreKey, Revision>,
    filling: Filling,
}

/// The watch whose initial events come yet, if there is one. They go into a store of their own, of which
/// nothing is left if the watch ends before they do (`reflector.go`, `watchList`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Filling(Option<u64>);

impl Filling {
    fn began(&mut self, began: &WatchBegan) {
        self.0 = Some(began.watch).filter(|_| began.initial_events);
    }

    /// Does the store learn of this?
    fn takes(&mut self, watched: &Watched) -> bool {
        if watched.initial_events_end {
            self.0 = None;
        }
        self.0 != Some(watched.watch)
    }
}

/// What is known of the informers of a process.
struct Entry<'a, T>(&'a mut BTreeMap<Who, T>, ProcId);

impl<T: Default> Entry<'_, T> {
    fn of(&mut self, informer: u32) -> &mut T {
        self.0.entry((self.1, informer)).or_default()
    }
}

impl Property for StoreNeverGoesBack {
    fn name(&self) -> &'static str {
        "store-never-goes-back"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let mut known = Entry(&mut self.known, note.process);
        if let Some(begins) = note.body.get::<Informing>() {
            *known.of(begins.informer) = Known::default();
        } else if let Some(watched) = note.body.get::<Watched>() {
            let known = known.of(watched.informer);
            if known.filling.takes(watched) {
                known.newest = known.newest.max(watched.revision);
            }
        } else if let Some(began) = note.body.get::<WatchBegan>() {
            known.of(began.informer).filling.began(began);
        } else if let Some(listed) = note.body.get::<Listed>() {
            let known = known.of(listed.informer);
            if listed.got < known.newest {
                let message = format!("a list at {} after {}", listed.got, known.newest);
                return violated(world, (note.process, listed.informer), message);
            }
            known.newest = listed.got;
            return Check::Held;
        } else if let Some(changed) = note.body.get::<Changed>() {
            let objects = &mut known.of(changed.informer).objects;
            for (key, now) in changed.changes.iter() {
                let before = match now {
                    Some(now) => objects.insert(key.clone(), *now).filter(|b| b > now),
                    None => objects.remove(key).and(None),
                };
                if let (Some(before), Some(now)) = (before, now) {
                    let message = format!("its {key} of {before} became that of {now}");
                    return violated(world, (note.process, changed.informer), message);
                }
            }
        }
        Check::Idle
    }
}

/// A list is not older than what an earlier life of the process knew (k/k#59848: nobody promises it).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NoTimeTravel {
    known: BTreeMap<Who, Lives>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lives {
    /// The newest revision of earlier lives,
    earlier: Revision,
    /// and of this one.
    own: Revision,
    filling: Filling,
}

impl Property for NoTimeTravel {
    fn name(&self) -> &'static str {
        "no-time-travel-after-restart"
    }

    fn class(&self) -> Class {
        Class::Observation
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let mut known = Entry(&mut self.known, note.process);
        if let Some(begins) = note.body.get::<Informing>() {
            let known = known.of(begins.informer);
            known.earlier = known.earlier.max(known.own);
            known.filling = Filling::default();
        } else if let Some(watched) = note.body.get::<Watched>() {
            let known = known.of(watched.informer);
            if known.filling.takes(watched) {
                known.own = known.own.max(watched.revision);
            }
        } else if let Some(began) = note.body.get::<WatchBegan>() {
            known.of(began.informer).filling.began(began);
        } else if let Some(listed) = note.body.get::<Listed>() {
            let known = known.of(listed.informer);
            known.own = known.own.max(listed.got);
            let earlier = known.earlier;
            if listed.got < earlier {
                let message = format!(
                    "a list at {}; before it crashed it was at {earlier}",
                    listed.got
                );
                return violated(world, (note.process, listed.informer), message);
            }
            if earlier > 0 {
                return Check::Held;
            }
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, began, begins, event, listed};
    use super::*;
    use wavetank_api::WatchKind;

    #[test]
    fn initial_events_of_a_watch_that_ends_early_are_forgotten() {
        let bench = Bench::new();
        for complete in [false, true] {
            let mut own = StoreNeverGoesBack::default();
            let mut watch = began(None);
            watch.initial_events = true;
            let mut end = event(WatchKind::Bookmark, "", 9);
            end.initial_events_end = true;
            let mut notes = vec![
                bench.note(begins()),
                bench.note(watch),
                bench.note(event(WatchKind::Added, "a", 9)),
            ];
            notes.extend(complete.then(|| bench.note(end)));
            for note in &notes {
                assert_eq!(own.note(&bench.world, note), Check::Idle);
            }
            let older = own.note(&bench.world, &bench.note(listed(&[], 8)));
            assert_eq!(matches!(older, Check::Violated(_)), complete);
        }
    }

    #[test]
    fn an_older_list_is_wrong_in_one_life_and_observed_after_another() {
        let bench = Bench::new();
        for restarted in [false, true] {
            let mut own = StoreNeverGoesBack::default();
            let mut travel = NoTimeTravel::default();
            let mut notes = vec![
                bench.note(begins()),
                bench.note(listed(&[], 5)),
                bench.note(event(WatchKind::Added, "a", 9)),
            ];
            notes.extend(restarted.then(|| bench.note(begins())));
            for note in &notes {
                assert!(!matches!(own.note(&bench.world, note), Check::Violated(_)));
                assert!(!matches!(
                    travel.note(&bench.world, note),
                    Check::Violated(_)
                ));
            }
            let older = bench.note(listed(&[], 8));
            let is_wrong = |check| matches!(check, Check::Violated(_));
            assert_eq!(is_wrong(own.note(&bench.world, &older)), !restarted);
            assert_eq!(is_wrong(travel.note(&bench.world, &older)), restarted);
        }
    }
}
