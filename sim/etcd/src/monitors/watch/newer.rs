//! A likely finding about etcd itself, no promise: the answer to a request for progress speaks for
//! all watches of the stream, also for one that was created after it was given.

use wavetank_engine::Class;

use super::super::watches::{Happens, Seen, Verdict, WatchMonitor};
use crate::api::Value;

/// `progress-reaches-newer-watch`: progress that was asked for before the watch began does not claim
/// more than the watch has.
pub fn progress_reaches_newer<V: Value>() -> WatchMonitor<V> {
    WatchMonitor::new("progress-reaches-newer-watch", Class::Observation, rule)
}

fn rule<V: Value>(seen: &Seen<'_, V>) -> Verdict {
    let Happens::Gets(response) = &seen.happens else {
        return Ok(false);
    };
    if !seen.watch.is_doubtful(response) {
        return Ok(false);
    }
    let revision = response.revision;
    match seen.watch.missing(seen.truth, revision, &[]).first() {
        Some(first) => Err(format!(
            "progress to revision {revision}, asked for before it began, without revision {first}"
        )),
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{Bench, Bytes, created, is_violated, progress, put};
    use super::super::{bookmarkable, reliable};
    use super::*;
    use wavetank_engine::Check;

    #[test]
    fn it_is_seen_here_and_by_no_guarantee() {
        let bench = Bench::new();
        let notes = [
            bench.committed(2, vec![put("/a", 2, "1")]),
            bench.watching(1, 0, false),
            bench.watched(1, created(2)),
            bench.asked(1),
            bench.watching(2, 2, false),
            bench.watched(2, created(2)),
            bench.watched(2, progress(2, true)),
        ];
        assert!(is_violated(
            &bench.feed(&mut progress_reaches_newer::<Bytes>(), &notes)
        ));
        assert_eq!(bench.feed(&mut reliable::<Bytes>(), &notes), Check::Idle);
        assert_eq!(
            bench.feed(&mut bookmarkable::<Bytes>(), &notes),
            Check::Idle
        );
        let mut nothing_owed = notes;
        nothing_owed[4] = bench.watching(2, 3, false);
        let held = bench.feed(&mut progress_reaches_newer::<Bytes>(), &nothing_owed);
        assert_eq!(held, Check::Held);
    }
}
