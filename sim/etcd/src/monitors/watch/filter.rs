//! A watch gets what it asked for only.

use wavetank_engine::Class;

use super::super::truth::passes;
use super::super::watches::{Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-filter`: its keys, not the kinds it left out, nothing before its start.
pub fn filter<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-filter", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let start = &seen.watch.start;
    for event in seen.events() {
        let (key, revision) = (&event.key, event.revision);
        if !start.keys.contains(key) {
            return Err(format!("gets {key}, which is none of its keys"));
        }
        if !passes(start.filters, event) {
            return Err(format!(
                "gets {key} at revision {revision}, a kind it left out"
            ));
        }
        if revision < start.revision {
            let start = start.revision;
            return Err(format!(
                "begins at revision {start}, and gets {key} at {revision}"
            ));
        }
    }
    Ok(!seen.events().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, delete, events, is_violated, put};
    use super::*;
    use crate::api::{Filters, Keys, WatchStart};
    use wavetank_engine::Check;

    #[test]
    fn what_was_not_asked_for_is_found() {
        let bench = Bench::new();
        let mut monitor = filter::<Bytes>();
        let (a, b) = (put("/a", 2, "1"), put("/b", 3, "1"));
        let gone = delete(&b, 4);
        let start = WatchStart {
            filters: Filters {
                no_delete: true,
                no_put: false,
            },
            ..WatchStart::of(Keys::prefix("/b"), 3)
        };
        let notes = [
            bench.committed(2, vec![a.clone()]),
            bench.committed(3, vec![b.clone()]),
            bench.committed(4, vec![gone.clone()]),
            bench.started(1, start, false),
            bench.watched(1, created(4)),
            bench.watched(1, events(&[b])),
        ];
        assert_eq!(bench.feed(&mut monitor, &notes), Check::Held);
        let mut deleted = monitor.clone();
        assert!(is_violated(
            &bench.feed(&mut deleted, &[bench.watched(1, events(&[gone]))])
        ));
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, events(&[a]))])
        ));
    }
}
