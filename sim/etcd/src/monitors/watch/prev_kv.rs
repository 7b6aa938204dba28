//! What an event says of the time before it.

use wavetank_engine::Class;

use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-prev-kv`: where it was asked for, it is what the key was one revision before; absent if the
/// key was created, or that revision may be compacted.
pub fn prev_kv<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-prev-kv", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    if !seen.watch.start.prev_kv {
        return Ok(false);
    }
    for event in seen.events() {
        let (key, revision) = (&event.key, event.revision);
        let before = seen.truth.at(key, revision - 1);
        let right = match &event.before {
            Some(_) => !event.is_create() && event.before.as_ref() == before,
            None => event.is_create() || before.is_none() || revision <= seen.compacted,
        };
        if !right {
            return Err(format!(
                "{key} at revision {revision} comes with a wrong value before"
            ));
        }
    }
    Ok(!seen.events().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, delete, events, is_violated, put};
    use super::*;
    use crate::api::{Keys, WatchResponse, WatchStart};
    use wavetank_engine::Check;

    #[test]
    fn another_value_before_is_found() {
        let bench = Bench::new();
        let mut monitor = prev_kv::<Bytes>();
        let a = put("/a", 2, "1");
        let gone = delete(&a, 3);
        let start = WatchStart {
            prev_kv: true,
            ..WatchStart::of(Keys::prefix("/"), 2)
        };
        let notes = [
            bench.committed(2, vec![a.clone()]),
            bench.committed(3, vec![gone.clone()]),
            bench.started(1, start, false),
            bench.watched(1, created(3)),
            bench.watched(1, events(&[a])),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        let whole = |before| WatchResponse::<Bytes> {
            events: vec![crate::api::Change {
                before,
                ..gone.clone()
            }],
            ..WatchResponse::bare(None, 3)
        };
        let good = [bench.watched(1, whole(gone.before.clone()))];
        assert_eq!(bench.feed(&mut monitor.clone(), &good), Check::Held);
        let absent = [bench.watched(1, whole(None))];
        assert!(is_violated(&bench.feed(&mut monitor, &absent)));
    }
}
