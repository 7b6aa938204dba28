//! Revisions never go down within a watch.

use wavetank_engine::Class;

use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-ordered`: over all responses and resumptions.
pub fn ordered<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-ordered", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let mut last = seen.watch.last;
    for event in seen.events() {
        if event.revision < last {
            let (key, revision) = (&event.key, event.revision);
            return Err(format!(
                "{key} at revision {revision} comes after revision {last}"
            ));
        }
        last = event.revision;
    }
    Ok(!seen.events().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, events, is_violated, put};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn going_back_is_found_also_after_a_resumption() {
        let bench = Bench::new();
        let mut monitor = ordered::<Bytes>();
        let (a, b) = (put("/a", 2, "1"), put("/b", 3, "1"));
        let notes = [
            bench.committed(2, vec![a.clone()]),
            bench.committed(3, vec![b.clone()]),
            bench.watching(1, 2, false),
            bench.watched(1, created(3)),
            bench.watched(1, events(&[a.clone(), b.clone()])),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        let again = [bench.watching(1, 4, true), bench.watched(1, events(&[a]))];
        assert!(is_violated(&bench.feed(&mut monitor, &again)));
    }
}
