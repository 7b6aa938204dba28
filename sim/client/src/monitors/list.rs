//! What stands in a list, and what it makes of the store.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Revision;

use super::matching::{History, selected};
use super::{Who, violated};
use crate::informer::INFORMERS;
use crate::observed::{Changed, Informing, Listed, NotListed, Selection, Trouble};

/// A list at a revision shows exactly what etcd held then.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListShowsAMoment {
    history: History,
    informers: BTreeMap<Who, Selection>,
}

impl Property for ListShowsAMoment {
    fn name(&self) -> &'static str {
        "list-shows-a-moment"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        if let Some(begins) = note.body.get::<Informing>() {
            let who = (note.process, begins.informer);
            self.informers.insert(who, begins.selection.clone());
        }
        let Some(listed) = note.body.get::<Listed>() else {
            return Check::Idle;
        };
        let who = (note.process, listed.informer);
        let content = self.history.content(listed.got);
        let (Some(content), Some(selection)) = (content, self.informers.get(&who)) else {
            return Check::Idle;
        };
        if !self.history.is_whole() {
            return Check::Idle;
        }
        let mut held: BTreeMap<_, _> = selected(selection, &content).collect();
        for (key, revision) in listed.items.iter() {
            if held.remove(key) != Some(*revision) {
                let message = format!(
                    "the list at {} shows {key} of {revision}, which etcd did not hold",
                    listed.got
                );
                return violated(world, who, message);
            }
        }
        match held.first_key_value() {
            None => Check::Held,
            Some((key, revision)) => {
                let message = format!("the list at {} lacks {key} of {revision}", listed.got);
                violated(world, who, message)
            }
        }
    }
}

/// Once all that a list brought has been taken out of the queue, the store is what etcd held at the revision
/// that the reflector knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListSettlesTheStore {
    history: History,
    informers: BTreeMap<Who, Selection>,
    /// Informers that have listed, and whose queue was not empty since.
    unsettled: BTreeSet<Who>,
}

impl ListSettlesTheStore {
    fn changed(&mut self, world: &World, who: Who) -> Check {
        let all = world.cell(who.0, &INFORMERS);
        let Some(informer) = all.get(who.1 as usize) else {
            return Check::Idle;
        };
        if !informer.fifo.is_empty() || !self.history.is_whole() {
            return Check::Idle;
        }
        self.unsettled.remove(&who);
        let known = informer.last_revision();
        let content = known.and_then(|known| self.history.content(known));
        let (Some(content), Some(selection)) = (content, self.informers.get(&who)) else {
            return Check::Idle;
        };
        let mut held: BTreeMap<_, _> = selected(selection, &content).collect();
        for (key, revision) in informer.content().iter() {
            if held.remove(key) != Some(*revision) {
                let message = format!("after a list it holds {key} of {revision}, which is gone");
                return violated(world, who, message);
            }
        }
        match held.first_key_value() {
            None => Check::Held,
            Some((key, _)) => violated(world, who, format!("after a list it lacks {key}")),
        }
    }
}

impl Property for ListSettlesTheStore {
    fn name(&self) -> &'static str {
        "list-settles-the-store"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.history.learn(world, note);
        if let Some(begins) = note.body.get::<Informing>() {
            let who = (note.process, begins.informer);
            self.informers.insert(who, begins.selection.clone());
            self.unsettled.remove(&who);
        } else if let Some(listed) = note.body.get::<Listed>() {
            self.unsettled.insert((note.process, listed.informer));
        } else if let Some(changed) = note.body.get::<Changed>() {
            let who = (note.process, changed.informer);
            if self.unsettled.contains(&who) {
                return self.changed(world, who);
            }
        }
        Check::Idle
    }
}

/// A list that was refused because the server does not know of its revision yet is not asked for again: the
/// next names another revision, or none (k/k#91073).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TooLargeFallsBack {
    /// What was refused last.
    refused: BTreeMap<Who, Revision>,
}

impl Property for TooLargeFallsBack {
    fn name(&self) -> &'static str {
        "too-large-falls-back"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let refused = |failed: &NotListed| match &failed.why {
            Trouble::Status(status) => status.has_cause("ResourceVersionTooLarge"),
            _ => false,
        };
        let (informer, asked, again) = if let Some(listed) = note.body.get::<Listed>() {
            (listed.informer, listed.asked, None)
        } else if let Some(failed) = note.body.get::<NotListed>() {
            let again = failed.asked.filter(|_| refused(failed));
            (failed.informer, failed.asked, again)
        } else if let Some(begins) = note.body.get::<Informing>() {
            self.refused.remove(&(note.process, begins.informer));
            return Check::Idle;
        } else {
            return Check::Idle;
        };
        let who = (note.process, informer);
        let before = self.refused.remove(&who);
        self.refused.extend(again.map(|revision| (who, revision)));
        match before {
            None => Check::Idle,
            before if before != asked => Check::Held,
            Some(revision) => {
                let message =
                    format!("it asks for a list at {revision} again, which was too large");
                violated(world, who, message)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, begins, listed};
    use super::*;

    #[test]
    fn a_list_lacks_nothing_and_adds_nothing() {
        let bench = Bench::new();
        let run = |items: &[(&str, u64)], got| {
            let mut monitor = ListShowsAMoment::default();
            for note in [
                bench.note(begins()),
                bench.put(2, "a"),
                bench.put(3, "b"),
                bench.delete(4, "a"),
            ] {
                monitor.note(&bench.world, &note);
            }
            let note = bench.note(listed(items, got));
            monitor.note(&bench.world, &note) == Check::Held
        };
        assert!(run(&[("a", 2), ("b", 3)], 3));
        assert!(run(&[("b", 3)], 4));
        assert!(!run(&[("a", 2), ("b", 3)], 4));
        assert!(!run(&[("a", 2)], 3));
        assert!(!run(&[("a", 3), ("b", 3)], 3));
    }
}
