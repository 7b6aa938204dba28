//! What each quirk breaks, and that it is whole without it.

use wavetank_etcd::{Keys, Limits, WatchQuirks, WatchStart};

use crate::watch::bench::{Bench, S, small};

const NONE: WatchQuirks = WatchQuirks {
    progress_overtakes_events: false,
    progress_latch: false,
    full_channel_hides_compaction: false,
    min_rev_stays: false,
    progress_below_start: false,
    sync_lowers_min_rev: false,
    created_header_before: false,
};

/// What a client sees, with and without the quirk.
fn both(
    quirk: WatchQuirks,
    limits: Limits,
    run: fn(&mut Bench) -> Vec<String>,
) -> [Vec<String>; 2] {
    assert_eq!(NONE, WatchQuirks::default());
    [quirk, NONE].map(|quirks| run(&mut Bench::new(limits, quirks)))
}

#[test]
fn etcd_15220_requested_progress_overtakes_events() {
    let quirk = WatchQuirks {
        progress_overtakes_events: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.put_until("a", 3);
        b.watch_key("a", 2);
        b.ask_progress();
        let mut seen = b.seen();
        b.sync();
        seen.extend(b.seen());
        seen
    });
    assert_eq!(
        with,
        ["0 created@3", "* progress@3", "0 events@3: +a@2 +a@3"]
    );
    assert_eq!(without, ["0 created@3", "0 events@3: +a@2 +a@3"]);
}

#[test]
fn etcd_15220_progress_is_told_without_watches() {
    let quirk = WatchQuirks {
        progress_overtakes_events: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.ask_progress();
        b.seen()
    });
    assert_eq!((with, without), (vec!["* progress@1".to_string()], vec![]));
}

#[test]
fn etcd_17507_one_request_too_early_silences_all_others() {
    let quirk = WatchQuirks {
        progress_latch: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.put_until("a", 10);
        b.watch_key("b", 5);
        b.ask_progress();
        b.sync();
        b.ask_progress();
        b.ask_progress();
        let mut seen = b.seen();
        b.put("b");
        seen.extend(b.seen());
        seen
    });
    assert_eq!(
        with,
        ["0 created@10", "0 events@11: +b@11", "* progress@11"]
    );
    let progress = "* progress@10";
    assert_eq!(
        without,
        [progress, progress, "0 created@10", "0 events@11: +b@11"]
    );
}

#[test]
fn etcd_17529_compaction_is_passed_over_in_silence() {
    let quirk = WatchQuirks {
        full_channel_hides_compaction: true,
        ..NONE
    };
    let [with, without] = both(quirk, small(), |b| {
        b.put("b");
        b.watch_key("a", 0);
        b.put_until("a", 4);
        b.watch_key("b", 2);
        b.put("b");
        b.log.compact(5);
        b.sync();
        let mut seen = b.seen();
        b.sync();
        b.put("b");
        seen.extend(b.seen());
        seen
    });
    let before = [
        "0 created@2",
        "0 events@3: +a@3",
        "0 events@4: +a@4",
        "1 created@4",
    ];
    assert_eq!(
        (&with[..4], &without[..4]),
        (&before.map(String::from)[..], &before.map(String::from)[..])
    );
    assert_eq!(with[4..], ["1 events@6: +b@6"], "2 and 5 are missing");
    assert_eq!(without[4..], ["1 compacted 5@0"]);
}

#[test]
fn etcd_15271_a_snapshot_brings_old_events_again() {
    let quirk = WatchQuirks {
        min_rev_stays: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.watch_key("a", 0);
        b.put_until("a", 3);
        b.seen();
        b.install("a", 5);
        b.sync();
        b.seen()
    });
    assert_eq!(with, ["0 events@5: +a@2 +a@3 +a@4 +a@5"]);
    assert_eq!(without, ["0 events@5: +a@4 +a@5"]);
}

#[test]
fn etcd_15271_or_ends_a_watch_that_is_not_behind() {
    let quirk = WatchQuirks {
        min_rev_stays: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.watch_key("a", 0);
        b.put_until("a", 4);
        b.seen();
        b.log.compact(4);
        b.install("a", 5);
        b.sync();
        b.seen()
    });
    assert_eq!(with, ["0 compacted 4@0"]);
    assert_eq!(without, ["0 events@5: +a@5"]);
}

#[test]
fn etcd_20221_progress_is_told_below_the_start() {
    let quirk = WatchQuirks {
        progress_below_start: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.put_until("a", 4);
        b.watch(WatchStart {
            progress_notify: true,
            ..WatchStart::of(Keys::one("a"), 6)
        });
        let mut seen = b.seen();
        b.ask_progress();
        b.tick();
        seen.extend(b.seen());
        b.put_until("b", 6);
        b.ask_progress();
        b.tick();
        seen.extend(b.seen());
        seen
    });
    assert_eq!(with[..3], ["0 created@4", "* progress@4", "0 progress@4"]);
    assert_eq!(without, ["0 created@4", "* progress@6", "0 progress@6"]);
}

#[test]
fn etcd_20221_events_come_below_the_start() {
    let quirk = WatchQuirks {
        sync_lowers_min_rev: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        b.put_until("a", 3);
        b.watch_key("a", 6);
        b.install("a", 4);
        b.sync();
        b.put_until("a", 6);
        b.seen()
    });
    assert_eq!(
        with,
        ["0 created@3", "0 events@5: +a@5", "0 events@6: +a@6"]
    );
    assert_eq!(without, ["0 created@3", "0 events@6: +a@6"]);
}

/// Each order has its price: the old one delays events, the new one lets events come that the
/// header counts as seen.
#[test]
fn etcd_20221_the_created_header_around_a_write() {
    let quirk = WatchQuirks {
        created_header_before: true,
        ..NONE
    };
    let [with, without] = both(quirk, Limits::default(), |b| {
        let start = WatchStart::of(Keys::one("a"), 0);
        assert!(b.watches.begin_create(&b.log, S, start));
        b.put("a");
        b.watches.finish_create(&b.log, S);
        let mut seen = vec![format!("{:?}", b.groups()[0])];
        seen.extend(b.seen());
        b.sync();
        seen.extend(b.seen());
        seen
    });
    assert_eq!(with, ["Unsynced", "0 created@1", "0 events@2: +a@2"]);
    assert_eq!(without, ["Synced", "0 created@2", "0 events@2: +a@2"]);
}
