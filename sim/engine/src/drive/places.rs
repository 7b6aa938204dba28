//! Where a run has been. A *place* is that a process of some kind did one thing after another: which process it was, when
//! and how often does not count. A run that reaches a place which no other has reached has shown something new; so a
//! campaign knows where it is worth to look on. The idea is that of coverage by edges, as fuzzers have it (AFL).

use std::collections::{BTreeMap, BTreeSet};

use crate::digest::{Digest, digest};
use crate::name::{EventName, Kind, ProcId};
use crate::trace::Record;
use crate::world::World;

/// Where the run of this record has been, in a world with these processes. The same in every build that names things as this
/// one does.
pub fn places(record: &Record, world: &World) -> BTreeSet<Digest> {
    let kinds: Vec<&str> = world
        .processes()
        .map(|process| kind_of(world.name(process)))
        .collect();
    let kind = |process: ProcId| kinds.get(process.index()).copied().unwrap_or_default();
    let mut last: BTreeMap<ProcId, Digest> = BTreeMap::new();
    // A fault strikes between two events: what comes next is another place than without it.
    let mut struck = None;
    let mut all = BTreeSet::new();
    for event in record.names() {
        let Some((what, at)) = thing(event, record, &kind) else {
            continue;
        };
        if at.is_empty() {
            struck = Some(what);
        }
        for process in at {
            let before = last.insert(process, what).unwrap_or_default();
            all.insert(digest(&(kind(process), before, what)));
            if let Some(fault) = struck.take() {
                all.insert(digest(&(kind(process), fault, what)));
            }
        }
    }
    all
}

/// `a2` is one of the kind `a`.
fn kind_of(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// What an event is, and at which processes it happens: at none, if it comes from outside.
fn thing<'a>(
    event: EventName,
    record: &Record,
    kind: &dyn Fn(ProcId) -> &'a str,
) -> Option<(Digest, Vec<ProcId>)> {
    Some(match event.0 {
        Kind::CallFrame {
            verb,
            client,
            origin,
            server,
        } => {
            let what = (
                verb,
                kind(client.process),
                origin.routine.kind,
                kind(server),
            );
            (digest(&what), vec![client.process, server])
        }
        Kind::LinkFrame {
            verb,
            client,
            transport,
            server,
        }
        | Kind::LinkTimer {
            verb,
            client,
            transport,
            server,
        } => {
            let what = (verb, kind(client.process), transport, kind(server));
            (digest(&what), vec![client.process, server])
        }
        Kind::Timer { life, tag, .. } => (digest(&("timer", tag)), vec![life.process]),
        Kind::Routine {
            verb,
            life,
            routine,
            ..
        } => (digest(&(verb, routine.kind)), vec![life.process]),
        Kind::Choose { life, origin, .. } => {
            let what = ("choose", origin.routine.kind);
            (digest(&what), vec![life.process])
        }
        Kind::Act { index } => (digest(record.kind_of_action(index)?), Vec::new()),
        Kind::Property { .. } | Kind::Calm => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_process_does_not_count() {
        assert_eq!(kind_of("a12"), kind_of("a3"));
        assert_eq!(kind_of("store-1"), "store-");
        assert_ne!(kind_of("m1"), kind_of("a1"));
    }
}
