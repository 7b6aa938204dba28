//! A resumed watch goes on where it was.

use wavetank_engine::Class;

use super::super::watches::{Happens, Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `watch-resumable`: it is not resumed behind what it has not had, and what comes first is the
/// first that is owed from where it was resumed.
pub fn resumable<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("watch-resumable", Class::Guarantee, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let watch = seen.watch;
    if let Happens::Resumes(start) = &seen.happens {
        let (Some(have), true) = (watch.have, start.revision > 0) else {
            return Ok(false);
        };
        let known = have.max(watch.offered);
        return match start.revision > known + 1 {
            true => Err(format!(
                "is resumed from revision {}, and has what is up to {known} only",
                start.revision
            )),
            false => Ok(true),
        };
    }
    let events = seen.events();
    if !watch.resumed || events.is_empty() {
        return Ok(false);
    }
    let first = events[0].revision;
    if first < watch.start.revision {
        let start = watch.start.revision;
        return Err(format!(
            "is resumed from revision {start}, and gets revision {first}"
        ));
    }
    match watch.missing(seen.truth, first, events).first() {
        Some(owed) => Err(format!(
            "goes on with revision {first} after its resumption, not with {owed}"
        )),
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, events, is_violated, put};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn a_step_too_far_is_found_on_either_side() {
        let bench = Bench::new();
        let mut monitor = resumable::<Bytes>();
        let changes = [put("/a", 2, "1"), put("/b", 3, "1"), put("/c", 4, "1")];
        bench.feed(
            &mut monitor,
            &changes
                .clone()
                .map(|c| bench.committed(c.revision, vec![c])),
        );
        let [a, b, c] = changes;
        let notes = [
            bench.watching(1, 2, false),
            bench.watched(1, created(4)),
            bench.watched(1, events(&[a])),
        ];
        bench.feed(&mut monitor, &notes);
        let far = [bench.watching(1, 4, true)];
        assert!(is_violated(&bench.feed(&mut monitor.clone(), &far)));
        let right = [bench.watching(1, 3, true)];
        assert_eq!(bench.feed(&mut monitor, &right), Check::Held);
        let good = [bench.watched(1, events(&[b, c.clone()]))];
        assert_eq!(bench.feed(&mut monitor.clone(), &good), Check::Held);
        assert!(is_violated(
            &bench.feed(&mut monitor, &[bench.watched(1, events(&[c]))])
        ));
    }
}
