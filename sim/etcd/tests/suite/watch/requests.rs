//! What recvLoop does with requests.

use wavetank_etcd::{Keys, Limits, WatchGroup, WatchId, WatchQuirks, WatchStart};

use crate::watch::bench::{Bench, S, small};

fn numbered(key: &str, id: u32) -> WatchStart {
    WatchStart {
        id: Some(WatchId(id)),
        ..WatchStart::of(Keys::one(key), 0)
    }
}

#[test]
fn a_watch_of_now_or_later_is_synced_one_of_the_past_is_not() {
    let mut b = Bench::plain();
    b.put_until("a", 5);
    for start in [0, 5, 6, 9] {
        b.watch_key("a", start);
    }
    use WatchGroup::{Synced, Unsynced};
    assert_eq!(b.groups(), [Synced, Unsynced, Synced, Synced]);
    assert_eq!(b.min_revs(), [6, 5, 6, 9]);
    let created = ["0 created@5", "1 created@5", "2 created@5", "3 created@5"];
    assert_eq!(b.seen(), created);
    assert!(!b.watches.is_idle());
}

#[test]
fn numbers_are_free_ones_from_0_on() {
    let mut b = Bench::plain();
    b.watch(numbered("a", 1));
    b.watch(numbered("a", 0));
    b.watch_key("a", 0);
    b.cancel(0);
    b.watch_key("a", 0);
    let seen = [
        "1 created@1",
        "0 created@1",
        "2 created@1",
        "0 canceled@1",
        "3 created@1",
    ];
    assert_eq!(b.seen(), seen);
}

#[test]
fn a_refused_watch_has_no_number_and_the_stream_lives_on() {
    let mut b = Bench::plain();
    b.watch(numbered("a", 7));
    b.watch(numbered("b", 7));
    b.watch(WatchStart::of(Keys::Between("b".into(), "b".into()), 0));
    b.watch_key("a", 0);
    let seen = [
        "7 created@1",
        "* refused@1: mvcc: duplicate watch ID provided on the WatchStream",
        "* refused@1: mvcc: watcher range is empty",
        "0 created@1",
    ];
    assert_eq!(b.seen(), seen);
}

#[test]
fn the_empty_key_is_the_least_one() {
    let mut b = Bench::plain();
    b.watch_key("", 0);
    b.put("\0");
    b.put("a");
    assert_eq!(b.seen(), ["0 created@1", "0 events@2: +\0@2"]);
}

#[test]
fn cancel_answers_for_known_numbers_only() {
    let mut b = Bench::plain();
    b.watch_key("a", 0);
    b.put("a");
    b.cancel(0);
    b.cancel(0);
    b.cancel(4);
    b.put("a");
    assert_eq!(
        b.seen(),
        ["0 created@1", "0 events@2: +a@2", "0 canceled@2"]
    );
    assert!(b.watches.is_idle());
}

#[test]
fn nothing_of_a_watch_comes_after_its_cancellation() {
    let mut b = Bench::plain();
    b.watch_key("a", 0);
    b.seen();
    b.put("a");
    b.cancel(0);
    assert_eq!(b.seen_control_first(), ["0 canceled@2"]);
}

/// Upstream keeps what a watch left behind under its number, in all versions.
#[test]
fn a_number_used_again_inherits_what_was_on_its_way() {
    let mut b = Bench::plain();
    b.watch(numbered("a", 7));
    b.seen();
    b.put("a");
    b.cancel(7);
    b.seen_control_first();
    b.watch(numbered("b", 7));
    assert_eq!(b.seen(), ["7 created@2", "7 events@2: +a@2"]);
}

#[test]
fn watches_are_canceled_in_every_group() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    b.watch_key("a", 0);
    for _ in 0..3 {
        b.put("a");
    }
    b.watch_key("a", 2);
    assert_eq!(b.groups(), [WatchGroup::Victim, WatchGroup::Unsynced]);
    b.cancel(0);
    b.cancel(1);
    assert_eq!((b.sync(), b.retry()), (None, None));
    let seen = [
        "0 created@1",
        "0 events@2: +a@2",
        "0 events@3: +a@3",
        "1 created@4",
    ];
    assert_eq!(b.seen()[..4], seen);
}

#[test]
fn requests_wait_while_the_control_channel_is_full() {
    let limits = Limits {
        control: 1,
        ..Limits::default()
    };
    let mut b = Bench::new(limits, WatchQuirks::default());
    for _ in 0..5 {
        b.watch_key("a", 0);
    }
    assert_eq!(
        b.groups().len(),
        2,
        "one is in the channel, one waits for room"
    );
    b.next();
    assert_eq!(b.groups().len(), 3);
    assert_eq!(b.seen().len(), 4);
    assert_eq!(b.groups().len(), 5);
}

#[test]
fn requests_wait_for_a_creation_in_two_steps() {
    let mut b = Bench::plain();
    let start = WatchStart::of(Keys::one("a"), 0);
    assert!(b.watches.begin_create(&b.log, S, start.clone()));
    b.cancel(0);
    assert!(!b.watches.begin_create(&b.log, S, start));
    assert_eq!(b.seen(), [""; 0]);
    assert!(!b.watches.is_idle());
    b.watches.finish_create(&b.log, S);
    assert_eq!(b.seen(), ["0 created@1", "0 canceled@1", "1 created@1"]);
}

#[test]
fn progress_is_owed_only_if_all_watches_are_synced() {
    let mut b = Bench::plain();
    b.ask_progress();
    assert_eq!(b.seen(), [""; 0], "no watch");
    b.put_until("a", 5);
    b.watch_key("b", 0);
    b.ask_progress();
    assert_eq!(
        b.seen(),
        ["* progress@5", "0 created@5"],
        "it may overtake the announcement"
    );
    b.watch_key("b", 3);
    b.ask_progress();
    assert_eq!(b.seen(), ["1 created@5"], "one is unsynced");
    b.sync();
    b.ask_progress();
    assert_eq!(b.seen(), ["* progress@5"]);
}

#[test]
fn requested_progress_comes_after_events_and_is_dropped_without_room() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    b.watch_key("a", 0);
    b.put("a");
    b.ask_progress();
    b.ask_progress();
    assert_eq!(
        b.seen(),
        ["* progress@2", "0 created@1", "0 events@2: +a@2"]
    );
    b.put("a");
    b.ask_progress();
    assert_eq!(b.seen(), ["0 events@3: +a@3", "* progress@3"]);
}

#[test]
fn streams_are_apart_and_a_closed_one_is_gone() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    b.watches.open(2);
    b.watch_key("a", 0);
    b.watches
        .request(&b.log, 2, wavetank_etcd::WatchRequest::Progress);
    b.put("a");
    assert!(b.watches.has_to_send(S) && !b.watches.has_to_send(2));
    b.watches.close(S);
    assert_eq!(b.watches.streams().collect::<Vec<_>>(), [2]);
    b.put("a");
    b.watch_key("a", 0);
    assert_eq!((b.seen(), b.groups()), (vec![], vec![]));
    assert!(b.watches.is_idle());
}
