//! What a watch was told of its progress stays true.

use wavetank_engine::Class;

use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-bookmarkable`: after progress to a revision, or the creation of a watch from now on at it,
/// no event up to it comes; a watch from a later revision is not told of progress before its start.
pub fn bookmarkable<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-bookmarkable", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let (floor, start) = (seen.watch.floor, seen.watch.start.revision);
    if let Some(revision) = seen.progress() {
        return match revision + 1 < start {
            true => Err(format!(
                "begins at revision {start}, and is told of progress to {revision}"
            )),
            false => Ok(true),
        };
    }
    match seen.events().iter().find(|event| event.revision <= floor) {
        Some(event) => Err(format!(
            "{} at revision {} comes after progress to revision {floor}",
            event.key, event.revision
        )),
        None => Ok(floor > 0 && !seen.events().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, events, is_violated, progress, put};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn progress_that_was_too_early_is_found() {
        let bench = Bench::new();
        let mut monitor = bookmarkable::<Bytes>();
        let (a, b) = (put("/a", 2, "1"), put("/b", 3, "1"));
        let notes = [
            bench.committed(2, vec![a.clone()]),
            bench.committed(3, vec![b.clone()]),
            bench.watching(1, 2, false),
            bench.asked(1),
            bench.watched(1, created(3)),
            bench.watched(1, progress(2, true)),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        let good = [bench.watched(1, events(&[b]))];
        assert_eq!(bench.feed(&mut monitor.clone(), &good), Check::Held);
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, events(&[a]))])
        ));
    }

    #[test]
    fn progress_before_the_start_is_found() {
        let bench = Bench::new();
        let mut monitor = bookmarkable::<Bytes>();
        let notes = [bench.watching(1, 9, false), bench.watched(1, created(3))];
        bench.feed(&mut monitor, &notes);
        let right = [bench.watched(1, progress(8, false))];
        assert_eq!(bench.feed(&mut monitor.clone(), &right), Check::Held);
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, progress(7, false))])
        ));
    }
}
