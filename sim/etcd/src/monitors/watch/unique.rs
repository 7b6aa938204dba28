//! No event comes twice.

use wavetank_engine::Class;

use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::{Change, Value};

/// `watch-unique`: what came once does not come again.
pub fn unique<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-unique", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let watch = seen.watch;
    let events = seen.events();
    for (at, event) in events.iter().enumerate() {
        let same = |other: &Change<V>| other == event;
        let revision = event.revision;
        let here = events[..at].iter().any(same) || watch.last_events.iter().any(same);
        // Whatever is older than the last came, unless it was skipped.
        let wanted = |change: &Change<V>| change.key == event.key;
        let mut owed = seen
            .truth
            .owed(revision, &watch.start.keys, watch.start.filters);
        let before = revision < watch.last
            && revision >= watch.begun
            && !watch.skipped.contains(&revision)
            && owed.any(wanted);
        if here || before {
            return Err(format!("{} at revision {revision} comes again", event.key));
        }
    }
    Ok(!events.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, events, is_violated, put};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn a_repetition_is_found_but_not_what_comes_late() {
        let bench = Bench::new();
        let mut monitor = unique::<Bytes>();
        let changes = [put("/a", 2, "1"), put("/b", 3, "1"), put("/c", 4, "1")];
        let commits = changes
            .clone()
            .map(|c| bench.committed(c.revision, vec![c]));
        bench.feed(&mut monitor, &commits);
        let [a, b, c] = changes;
        let notes = [
            bench.watching(1, 2, false),
            bench.watched(1, created(4)),
            bench.watched(1, events(&[a.clone(), c.clone()])),
            bench.watched(1, events(&[b])),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        let mut other = monitor.clone();
        assert!(is_violated(
            &bench.feed(&mut other, &[bench.watched(1, events(&[a]))])
        ));
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, events(&[c]))])
        ));
    }
}
