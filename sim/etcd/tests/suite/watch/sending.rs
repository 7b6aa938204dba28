//! What sendLoop makes of responses.

use wavetank_etcd::{Keys, Limits, WatchQuirks, WatchStart};

use crate::watch::bench::{Bench, S};
use crate::watch::log::Bytes;

fn prev_kv(keys: Keys, start: u64) -> WatchStart {
    WatchStart {
        prev_kv: true,
        ..WatchStart::of(keys, start)
    }
}

/// Revision and version before of each event of the next response.
fn befores(b: &mut Bench) -> Vec<(u64, Option<u64>)> {
    let response = b.next().expect("events");
    let version = |kv: &wavetank_etcd::KeyValue<Bytes>| kv.version;
    response
        .events
        .iter()
        .map(|e| (e.revision, e.before.as_ref().map(version)))
        .collect()
}

#[test]
fn prev_kv_is_read_when_events_are_sent() {
    let mut b = Bench::plain();
    b.watch(prev_kv(Keys::one("a"), 0));
    b.watch_key("a", 0);
    b.seen();
    b.put("a");
    b.put("a");
    b.delete("a");
    assert_eq!(befores(&mut b), [(2, None)]);
    assert_eq!(befores(&mut b), [(2, None)]);
    assert_eq!(befores(&mut b), [(3, Some(1))]);
    assert_eq!(befores(&mut b), [(3, None)], "only if asked for");
    b.put("a");
    b.log.compact(4);
    assert_eq!(befores(&mut b), [(4, None)], "compacted meanwhile");
    b.next();
    assert_eq!(befores(&mut b), [(5, None)], "created again");
}

#[test]
fn prev_kv_is_absent_at_the_compact_revision_only() {
    let mut b = Bench::plain();
    b.put_until("a", 5);
    b.log.compact(4);
    b.watch(prev_kv(Keys::one("a"), 4));
    b.seen();
    b.sync();
    assert_eq!(befores(&mut b), [(4, None), (5, Some(3))]);
}

#[test]
fn events_wait_for_the_announcement() {
    let mut b = Bench::plain();
    b.watch_key("a", 0);
    b.put("a");
    b.put("a");
    assert_eq!(
        b.seen(),
        ["0 created@1", "0 events@2: +a@2", "0 events@3: +a@3"]
    );
}

#[test]
fn the_order_of_channels_is_free() {
    let mut b = Bench::plain();
    b.watch_key("a", 0);
    b.seen();
    b.put("a");
    b.watch_key("b", 0);
    let mut c = b.clone();
    assert_eq!(b.seen(), ["0 events@2: +a@2", "1 created@2"]);
    assert_eq!(c.seen_control_first(), ["1 created@2", "0 events@2: +a@2"]);
}

#[test]
fn a_large_response_is_split_if_asked_for() {
    let limits = Limits {
        fragment: 25,
        ..Limits::default()
    };
    for fragment in [false, true] {
        let mut b = Bench::new(limits, WatchQuirks::default());
        b.watch(WatchStart {
            fragment,
            ..WatchStart::of(Keys::all(), 0)
        });
        b.seen();
        let ten: &[u8] = &[0; 10];
        let keys = ["a", "b", "c", "d", "e"];
        b.txn(&keys.map(|key| (key, Some(ten))));
        b.txn(&[("a", Some(&[0; 99]))]);
        let wanted = match fragment {
            false => vec!["0 events@2: +a@2 +b@2 +c@2 +d@2 +e@2"],
            true => vec![
                "0 fragment@2: +a@2 +b@2",
                "0 fragment@2: +c@2 +d@2",
                "0 events@2: +e@2",
            ],
        };
        let seen = b.seen();
        assert_eq!(seen[..seen.len() - 1], wanted);
        assert_eq!(
            seen.last().unwrap(),
            "0 events@3: +a@3",
            "one event is never split"
        );
    }
}

#[test]
fn what_waited_for_the_announcement_is_not_split() {
    let limits = Limits {
        fragment: 2,
        ..Limits::default()
    };
    let mut b = Bench::new(limits, WatchQuirks::default());
    b.watch(WatchStart {
        fragment: true,
        progress_notify: true,
        ..WatchStart::of(Keys::all(), 0)
    });
    b.txn(&[("a", Some(b"v")), ("b", Some(b"v"))]);
    assert_eq!(b.seen(), ["0 created@1", "0 events@2: +a@2 +b@2"]);
    b.tick();
    assert_eq!(b.seen(), ["0 progress@2"], "nor does it suppress progress");
}

#[test]
fn the_timer_tells_synced_watches_without_events_since_the_last_tick() {
    let mut b = Bench::plain();
    assert!(!b.watches.wants_progress(S));
    for (key, start, progress_notify) in [("a", 0, true), ("b", 0, true), ("b", 0, false)] {
        b.watch(WatchStart {
            progress_notify,
            ..WatchStart::of(Keys::one(key), start)
        });
    }
    assert!(b.watches.wants_progress(S));
    b.put("a");
    b.seen();
    b.put("a");
    b.seen();
    b.tick();
    assert_eq!(b.seen(), ["1 progress@3"]);
    b.tick();
    assert_eq!(b.seen(), ["0 progress@3", "1 progress@3"]);
    b.watch(WatchStart {
        progress_notify: true,
        ..WatchStart::of(Keys::one("a"), 2)
    });
    b.seen();
    b.tick();
    assert_eq!(
        b.seen(),
        ["0 progress@3", "1 progress@3"],
        "the new one is unsynced"
    );
}

#[test]
fn the_timer_is_dropped_without_room() {
    let mut b = Bench::new(crate::watch::bench::small(), WatchQuirks::default());
    b.watch(WatchStart {
        progress_notify: true,
        ..WatchStart::of(Keys::one("a"), 0)
    });
    b.watch_key("b", 0);
    b.seen();
    b.put("b");
    b.put("b");
    b.tick();
    assert_eq!(b.seen(), ["1 events@2: +b@2", "1 events@3: +b@3"]);
}

/// Also in the newest version: progress of the stream goes through the channel of events, created
/// through the other. A watch that is made between them may see its created first and then take
/// the progress for its own, though its events are still to come.
#[test]
fn progress_may_reach_a_newer_watch() {
    let mut b = Bench::plain();
    b.put("a");
    b.watch_key("b", 0);
    b.ask_progress();
    b.watch_key("a", 2);
    let mut seen = b.seen_control_first();
    b.sync();
    seen.extend(b.seen());
    let wanted = [
        "0 created@2",
        "1 created@2",
        "* progress@2",
        "1 events@2: +a@2",
    ];
    assert_eq!(seen, wanted);
}
