//! What a process may rely on when it begins to work.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_engine::{Check, Note, ProcId, Property, World};

use super::{Who, violated};
use crate::fifo::StoreKey;
use crate::observed::{Handled, Informing, Listed, Ready};

/// When a process begins to work, each of its handlers has been told of each object of the first list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct HandlersSawAll {
    informers: BTreeMap<Who, First>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct First {
    handlers: u32,
    /// The first list has come.
    listed: bool,
    /// What each handler has still to see of it.
    unseen: BTreeSet<(u32, StoreKey)>,
}

impl HandlersSawAll {
    fn ready(&self, world: &World, process: ProcId, ready: &Ready) -> Check {
        let is_own = |who: &Who| who.0 == process && ready.informers.contains(&who.1);
        let own = self.informers.iter().filter(|(who, _)| is_own(who));
        for (who, first) in own {
            if !first.listed {
                return violated(world, *who, "work begins before the first list".to_owned());
            }
            if let Some((handler, key)) = first.unseen.first() {
                let message = format!("work begins before handler {handler} was told of {key}");
                return violated(world, *who, message);
            }
        }
        Check::Held
    }
}

impl Property for HandlersSawAll {
    fn name(&self) -> &'static str {
        "work-begins-when-handlers-saw-all"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let own = &mut self.informers;
        if let Some(begins) = note.body.get::<Informing>() {
            let first = First {
                handlers: begins.handlers,
                listed: false,
                unseen: BTreeSet::new(),
            };
            own.insert((note.process, begins.informer), first);
        } else if let Some(listed) = note.body.get::<Listed>() {
            if let Some(first) = own.get_mut(&(note.process, listed.informer))
                && !first.listed
            {
                first.listed = true;
                for (key, _) in listed.items.iter() {
                    let all = (0..first.handlers).map(|handler| (handler, key.clone()));
                    first.unseen.extend(all);
                }
            }
        } else if let Some(handled) = note.body.get::<Handled>() {
            if let Some(first) = own.get_mut(&(note.process, handled.informer)) {
                first.unseen.remove(&(handled.handler, handled.key.clone()));
            }
        } else if let Some(ready) = note.body.get::<Ready>() {
            return self.ready(world, note.process, ready);
        }
        Check::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, begins, listed};
    use super::*;
    use crate::observed::Call;

    #[test]
    fn each_handler_has_to_see_each_object() {
        let bench = Bench::new();
        let handled = |key: &str| Handled {
            informer: 0,
            handler: 0,
            call: Call::Add { initial: true },
            key: format!("ns/{key}").into(),
            revision: 2,
        };
        for seen in [&["a"][..], &["a", "b"]] {
            let mut monitor = HandlersSawAll::default();
            monitor.note(&bench.world, &bench.note(begins()));
            monitor.note(&bench.world, &bench.note(listed(&[("a", 2), ("b", 3)], 3)));
            for key in seen {
                monitor.note(&bench.world, &bench.note(handled(key)));
            }
            let check = monitor.note(&bench.world, &bench.note(Ready { informers: 0..1 }));
            assert_eq!(check == Check::Held, seen.len() == 2);
        }
    }
}
