//! How watches move between the groups, and what they get there.

use std::time::Duration;

use wavetank_etcd::{
    Filters, Keys, Limits, SYNC_EVERY, VICTIMS_EVERY, WatchGroup, WatchQuirks, WatchStart,
};

use crate::watch::bench::{Bench, S, small};

use WatchGroup::{Compacted, Synced, Unsynced, Victim};

#[test]
fn a_synced_watch_gets_a_revision_at_once_and_whole() {
    let mut b = Bench::plain();
    b.watch(WatchStart::of(Keys::prefix("a"), 0));
    b.watch_key("b", 0);
    b.txn(&[("a/2", Some(b"v")), ("b", Some(b"v")), ("a/1", Some(b"v"))]);
    b.put("c");
    b.delete("a/1");
    let seen = [
        "0 created@1",
        "0 events@2: +a/2@2 +a/1@2",
        "0 events@4: -a/1@4",
        "1 created@1",
        "1 events@2: +b@2",
    ];
    assert_eq!(b.seen(), seen);
    assert_eq!(b.min_revs(), [5, 3]);
}

#[test]
fn a_future_start_gets_nothing_below_it() {
    let mut b = Bench::plain();
    b.watch_key("a", 4);
    b.put_until("a", 5);
    assert_eq!(
        b.seen(),
        ["0 created@1", "0 events@4: +a@4", "0 events@5: +a@5"]
    );
}

#[test]
fn the_past_comes_with_the_next_pass_in_one_response() {
    let mut b = Bench::plain();
    b.put_until("a", 4);
    b.put("b");
    b.watch_key("a", 3);
    b.put("a");
    assert_eq!(b.seen(), ["0 created@5"], "not before the pass");
    assert_eq!(b.sync(), None);
    assert_eq!(b.seen(), ["0 events@6: +a@3 +a@4 +a@6"]);
    assert_eq!((b.groups(), b.min_revs()), (vec![Synced], vec![7]));
    assert_eq!(b.sync(), None);
}

#[test]
fn without_events_a_watch_becomes_synced_silently() {
    let mut b = Bench::plain();
    b.put_until("a", 4);
    b.watch_key("b", 2);
    b.seen();
    b.sync();
    assert_eq!(
        (b.seen(), b.groups(), b.min_revs()),
        (vec![], vec![Synced], vec![5])
    );
}

#[test]
fn a_pass_has_so_many_revisions_and_splits_none() {
    let limits = Limits {
        revisions: 2,
        ..Limits::default()
    };
    let mut b = Bench::new(limits, WatchQuirks::default());
    for _ in 0..3 {
        b.txn(&[("a/1", Some(b"v")), ("a/2", Some(b"v"))]);
        b.put("b");
    }
    b.watch(WatchStart::of(Keys::prefix("a"), 2));
    b.seen();
    assert_eq!(b.sync(), Some(SYNC_EVERY), "none became synced");
    assert_eq!(b.seen(), ["0 events@7: +a/1@2 +a/2@2 +a/1@4 +a/2@4"]);
    assert_eq!((b.groups(), b.min_revs()), (vec![Unsynced], vec![6]));
    assert_eq!(b.sync(), None);
    assert_eq!(b.seen(), ["0 events@7: +a/1@6 +a/2@6"]);
}

#[test]
fn a_pass_with_too_many_watches_takes_some_and_each_has_its_turn() {
    let limits = Limits {
        watchers: 2,
        ..Limits::default()
    };
    let mut b = Bench::new(limits, WatchQuirks::default());
    b.put("a");
    for _ in 0..3 {
        b.watch_key("a", 2);
    }
    b.seen();
    assert_eq!(b.sync(), Some(Duration::ZERO), "fewer than before: no wait");
    assert_eq!(b.groups(), [Synced, Synced, Unsynced]);
    assert_eq!(b.sync(), None);
    assert_eq!(b.seen().len(), 3);

    // Watches that stay unsynced do not keep others waiting; upstream tells them again.
    b.put_until("a", 5);
    b.log.compact(4);
    for start in [2, 2, 2, 4] {
        b.watch_key("a", start);
    }
    b.seen();
    b.sync();
    assert_eq!(b.seen(), ["3 compacted 4@0", "4 compacted 4@0"]);
    b.sync();
    assert_eq!(b.seen(), ["5 compacted 4@0", "6 events@5: +a@4 +a@5"]);
    b.sync();
    assert_eq!(b.seen(), ["3 compacted 4@0", "4 compacted 4@0"]);
    assert_eq!(b.groups()[3..], [Unsynced, Unsynced, Unsynced, Synced]);
}

#[test]
fn a_full_channel_makes_a_victim_that_catches_up() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    b.watch_key("a", 0);
    b.put_until("a", 5);
    assert_eq!(
        (b.groups(), b.min_revs(), b.watches.queued(S)),
        (vec![Victim], vec![5], 2)
    );
    assert_eq!(b.retry(), Some(VICTIMS_EVERY));
    assert_eq!(b.sync(), None, "a victim is in no group");
    assert_eq!(
        b.seen(),
        ["0 created@1", "0 events@2: +a@2", "0 events@3: +a@3"]
    );
    assert_eq!(b.retry(), None);
    assert_eq!((b.groups(), b.watches.unsynced()), (vec![Unsynced], 1));
    b.sync();
    assert_eq!(b.seen(), ["0 events@4: +a@4", "0 events@5: +a@5"]);
    assert_eq!(b.groups(), [Synced]);
}

#[test]
fn a_victim_that_missed_nothing_is_synced() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    b.watch_key("a", 0);
    b.put_until("a", 4);
    b.seen();
    b.retry();
    assert_eq!(
        (b.groups(), b.seen()),
        (vec![Synced], vec!["0 events@4: +a@4".to_string()])
    );
}

#[test]
fn a_victim_of_a_pass_keeps_what_more_there_is() {
    let limits = Limits {
        revisions: 1,
        ..small()
    };
    let mut b = Bench::new(limits, WatchQuirks::default());
    b.watch_key("b", 0);
    b.put("b");
    b.put("b");
    b.put("a");
    b.put("a");
    b.watch_key("a", 4);
    b.sync();
    assert_eq!((b.groups()[1], b.min_revs()[1]), (Victim, 5));
    b.seen();
    b.retry();
    assert_eq!(
        b.seen(),
        ["1 events@4: +a@4"],
        "the header is below what is still to come"
    );
    b.sync();
    assert_eq!(b.seen(), ["1 events@5: +a@5"]);
}

#[test]
fn the_channel_counts_responses_of_all_watches() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    for _ in 0..3 {
        b.watch_key("a", 0);
    }
    b.put("a");
    assert_eq!(b.groups(), [Synced, Synced, Victim]);
}

#[test]
fn what_filters_leave_out_needs_no_room_but_moves_the_watch() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    let filters = Filters {
        no_put: true,
        no_delete: false,
    };
    b.watch(WatchStart {
        filters,
        ..WatchStart::of(Keys::one("a"), 0)
    });
    b.watch_key("b", 0);
    b.put("b");
    b.put("b");
    b.put("a");
    assert_eq!(
        (b.groups(), b.min_revs()),
        (vec![Synced, Synced], vec![5, 4])
    );
    b.delete("a");
    assert_eq!(b.groups(), [Victim, Synced]);
    b.seen();
    b.retry();
    assert_eq!(b.seen(), ["0 events@5: -a@5"]);
}

#[test]
fn compaction_cancels_unsynced_watches_strictly_below_it() {
    let mut b = Bench::plain();
    b.watch_key("c", 0);
    b.put_until("a", 5);
    b.log.compact(4);
    b.watch_key("a", 3);
    b.watch_key("a", 4);
    let created = ["0 created@1", "1 created@5", "2 created@5"];
    assert_eq!(
        b.seen(),
        created,
        "compaction is not an alternative to created"
    );
    b.sync();
    assert_eq!(b.seen(), ["1 compacted 4@0", "2 events@5: +a@4 +a@5"]);
    assert_eq!(
        b.groups(),
        [Synced, Compacted, Synced],
        "a synced one is left alone"
    );
    assert_eq!(b.sync(), None);
    b.ask_progress();
    assert_eq!(b.seen(), [""; 0], "it stands in the way of progress");
    b.cancel(1);
    b.ask_progress();
    assert_eq!(b.seen(), ["* progress@5", "1 canceled@5"]);
}

#[test]
fn compaction_is_told_when_there_is_room() {
    let mut b = Bench::new(small(), WatchQuirks::default());
    b.watch_key("a", 0);
    b.put_until("a", 4);
    b.log.compact(4);
    b.watch_key("b", 2);
    assert_eq!(b.sync(), Some(SYNC_EVERY));
    assert_eq!(b.groups(), [Victim, Unsynced], "a victim keeps its events");
    b.seen();
    b.retry();
    b.sync();
    assert_eq!(b.seen(), ["0 events@4: +a@4", "1 compacted 4@0"]);
}

#[test]
fn a_snapshot_brings_events_by_the_next_pass() {
    let mut b = Bench::plain();
    b.watch_key("a", 0);
    b.put("a");
    b.install("a", 4);
    b.seen();
    assert_eq!(b.groups(), [Unsynced]);
    b.sync();
    assert_eq!(b.seen(), ["0 events@4: +a@3 +a@4"]);
}

/// Also with etcd#15271 fixed: `minRev` follows matching events only.
#[test]
fn a_snapshot_cancels_an_idle_watch_if_it_is_compacted() {
    let mut b = Bench::plain();
    b.watch_key("idle", 0);
    b.watch_key("a", 0);
    b.put_until("a", 5);
    b.seen();
    b.log.compact(5);
    b.install("a", 7);
    b.sync();
    assert_eq!(b.seen(), ["0 compacted 5@0", "1 events@7: +a@6 +a@7"]);
}
