//! All events of one revision come in one response.

use wavetank_engine::Class;

use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-atomic`: a revision is not split. Parts of a split answer are one response.
pub fn atomic<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-atomic", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let events = seen.events();
    let start = &seen.watch.start;
    let mut several = false;
    for event in events {
        let revision = event.revision;
        let owed = seen.truth.owed(revision, &start.keys, start.filters);
        for (at, change) in owed.enumerate() {
            several |= at > 0;
            let comes = events
                .iter()
                .any(|e| e.revision == revision && e.key == change.key);
            if !comes {
                let (one, other) = (&event.key, &change.key);
                return Err(format!(
                    "{one} at revision {revision} comes without {other}"
                ));
            }
        }
    }
    Ok(several)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, events, is_violated, put};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn half_a_revision_is_found() {
        let bench = Bench::new();
        let mut monitor = atomic::<Bytes>();
        let (a, b) = (put("/a", 2, "1"), put("/b", 2, "1"));
        let notes = [
            bench.committed(2, vec![a.clone(), b.clone()]),
            bench.watching(1, 2, false),
            bench.watched(1, created(2)),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Idle);
        let whole = [bench.watched(1, events(&[a.clone(), b]))];
        assert_eq!(bench.feed(&mut monitor.clone(), &whole), Check::Held);
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, events(&[a]))])
        ));
    }
}
