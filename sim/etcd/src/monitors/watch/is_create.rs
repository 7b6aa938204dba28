//! Whether an event created its key.

use wavetank_engine::Class;

use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-is-create`: a put says that it created its key exactly if the key was not there before.
pub fn is_create<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-is-create", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let mut tested = false;
    for event in seen.events().iter().filter(|event| event.now.is_some()) {
        let (key, revision) = (&event.key, event.revision);
        let changes = seen.truth.changes(revision).unwrap_or_default();
        if changes.iter().filter(|change| change.key == *key).count() != 1 {
            continue; // it may be gone and come again within the revision
        }
        tested = true;
        if event.is_create() != seen.truth.at(key, revision - 1).is_none() {
            let says = if event.is_create() {
                "created"
            } else {
                "changed"
            };
            return Err(format!("{key} was not {says} at revision {revision}"));
        }
    }
    Ok(tested)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, events, is_violated, put};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn a_creation_of_what_was_there_is_found() {
        let bench = Bench::new();
        let mut monitor = is_create::<Bytes>();
        let (a, again) = (put("/a", 2, "1"), put("/a", 3, "2"));
        let notes = [
            bench.committed(2, vec![a.clone()]),
            bench.committed(3, vec![again.clone()]),
            bench.watching(1, 2, false),
            bench.watched(1, created(3)),
            bench.watched(1, events(&[a])),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, events(&[again]))])
        ));
    }
}
