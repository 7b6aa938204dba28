//! No event is missing, none is made up, and only what is compacted ends a watch as compacted.

use wavetank_engine::Class;

use super::super::watches::{Happens, Seen, Verdict, WatchMonitor};
use crate::api::{Change, Value, WatchResponse};

/// `watch-reliable`: up to the newest event, or a progress notification, all has come that is owed.
pub fn reliable<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-reliable", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    if let Happens::Gets(response) = &seen.happens
        && response.compact_revision > 0
    {
        return ends_for_a_reason(seen, response);
    }
    if let Some(revision) = seen.progress() {
        let missing = seen.watch.missing(seen.truth, revision, &[]);
        return match missing.first() {
            Some(first) => Err(format!(
                "progress to revision {revision} without the events of revision {first}"
            )),
            None => Ok(true),
        };
    }
    let events = seen.events();
    if let Some(event) = events.iter().find(|event| !is_true(seen, event)) {
        let (key, revision) = (&event.key, event.revision);
        return Err(format!("{key} was not so at revision {revision}"));
    }
    let Some(newest) = events.iter().map(|e| e.revision).max() else {
        return Ok(false);
    };
    match seen.watch.missing(seen.truth, newest, events).first() {
        Some(first) => Err(format!(
            "revision {newest} comes without the events of revision {first}"
        )),
        None => Ok(true),
    }
}

fn is_true<V: Value>(seen: &Seen<'_, V>, event: &Change<V>) -> bool {
    let changes = seen.truth.changes(event.revision).unwrap_or_default();
    let is_it = |change: &Change<V>| change.key == event.key && change.now == event.now;
    changes.iter().any(is_it)
}

fn ends_for_a_reason<V: Value>(seen: &Seen<'_, V>, response: &WatchResponse<V>) -> Verdict {
    let revision = response.compact_revision;
    let needs = seen.watch.start.revision.max(seen.watch.last_here);
    if revision > seen.compacted {
        return Err(format!(
            "is told of a compaction at revision {revision} that was not"
        ));
    }
    if revision <= needs {
        return Err(format!(
            "ends for a compaction at revision {revision}, and is at revision {needs}"
        ));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::*;
    use super::*;
    use crate::api::Request;
    use wavetank_engine::{Check, Note};

    fn begun(bench: &Bench) -> (WatchMonitor<Bytes>, [Change<Bytes>; 3]) {
        let mut monitor = reliable::<Bytes>();
        let changes = [put("/a", 2, "1"), put("/b", 3, "1"), put("/c", 4, "1")];
        let mut notes: Vec<Note> = Vec::new();
        notes.extend(
            changes
                .clone()
                .map(|c| bench.committed(c.revision, vec![c])),
        );
        notes.push(bench.watching(1, 2, false));
        notes.push(bench.watched(1, created(4)));
        bench.feed(&mut monitor, &notes);
        (monitor, changes)
    }

    #[test]
    fn a_gap_is_found_at_the_next_event_and_at_progress() {
        let bench = Bench::new();
        let (mut monitor, [a, b, c]) = begun(&bench);
        let first = [bench.watched(1, events(&[a, b]))];
        assert_eq!(bench.feed(&mut monitor, &first), Check::Held);
        let mut good = monitor.clone();
        let all = [
            bench.watched(1, events(&[c])),
            bench.watched(1, progress(4, true)),
        ];
        assert_eq!(bench.feed(&mut good, &all), Check::Held);
        let early = [bench.watched(1, progress(4, true))];
        assert!(is_violated(&bench.feed(&mut monitor, &early)));
        let (mut monitor, [a, _, c]) = begun(&bench);
        let gap = [bench.watched(1, events(&[a, c]))];
        assert!(is_violated(&bench.feed(&mut monitor, &gap)));
    }

    #[test]
    fn a_made_up_event_and_a_made_up_compaction_are_found() {
        let bench = Bench::new();
        let (mut monitor, _) = begun(&bench);
        let other = [bench.watched(1, events(&[put("/a", 2, "2")]))];
        assert!(is_violated(&bench.feed(&mut monitor.clone(), &other)));
        let ends = bench.watched(1, compacted(3));
        assert!(is_violated(
            &bench.feed(&mut monitor.clone(), std::slice::from_ref(&ends))
        ));
        let request = Request::Compact {
            revision: 3,
            physical: false,
        };
        let asked = [bench.called(7, request), ends];
        assert_eq!(bench.feed(&mut monitor, &asked), Check::Held);
    }
}
