//! How watches get events, and the groups they go through: `notify`, `syncWatchers`,
//! `moveVictims` and `Restore` of watchable_store.go, `choose` of watcher_group.go.
//!
//! What happens to a response once it is in a channel does not belong here.

use std::time::Duration;
use wavetank_engine::mutant;

use wavetank_version::{Defect, Listed};

use super::stream::Stream;
use super::watcher::{Batch, Place};
use super::{History, Rules, SYNC_EVERY, VICTIMS_EVERY, Watches};
use crate::EtcdDefect;
use crate::api::{Change, Revision, Value, WatchResponse};
use crate::gates;

/// Where a watch is: which stream, which of its watches.
type At = (usize, usize);

pub(crate) const COMPACTION_SKIPS_SLOW_WATCH: Defect = Defect::known(
    "compaction-skips-slow-watch",
    "etcd#17529 (3.4.31, 3.5.13)",
    "a watch that a compaction overtakes while its channel is full goes on behind the gap",
)
.of_etcd(gates::COMPACTION_SKIPS_SLOW_WATCH);

pub(crate) const WATCH_GOES_BACK: Defect = Defect::known(
    "watch-goes-back",
    "etcd#15271 (3.4.25, 3.5.8)",
    "a watch on a member that gets a snapshot begins again where it once became synced",
)
.of_etcd(gates::WATCH_GOES_BACK);

impl<V: Value, S: Copy + Eq> Watches<V, S> {
    /// A write happened. To be called in the same step, before anybody can see its revision.
    pub fn notify(&mut self, revision: Revision, changes: &[Change<V>]) {
        let rules = self.rules;
        for (_, stream) in &mut self.streams {
            for at in 0..stream.watchers.len() {
                stream.notify(at, revision, changes, &rules);
            }
        }
    }

    /// One pass of `syncWatchersLoop`: unsynced watches catch up. When the next one is due: at
    /// once (zero) if watches are left and there are fewer than before, after [`SYNC_EVERY`] if
    /// there are not, never if none is left.
    pub fn sync(&mut self, history: &impl History<V>) -> Option<Duration> {
        let before = self.unsynced();
        let (current, compacted) = (history.revision(), history.compacted());
        let (chosen, all) = self.choose();
        let mut first = None;
        let mut rest = Vec::new();
        for (s, w) in chosen {
            let stream = &mut self.streams[s].1;
            let min_rev = stream.watchers[w].min_rev;
            if min_rev >= compacted {
                first = Some(first.map_or(min_rev, |first| min_rev.min(first)));
                rest.push((s, w));
            } else if stream.tell_compacted(w, compacted, &self.rules) {
                // Upstream takes it out of those that were chosen. If that is a part only, it is
                // unsynced still, and is told again.
                if all {
                    stream.watchers[w].place = Place::Compacted;
                }
            } else if EtcdDefect::CompactionSkipsSlowWatch
                .passed(self.rules.quirks.full_channel_hides_compaction)
            {
                rest.push((s, w));
            }
        }
        let commits: Vec<_> = first.map_or_else(Vec::new, |first| history.since(first).collect());
        for (s, w) in rest {
            self.streams[s]
                .1
                .catch_up(w, current, &commits, &self.rules);
        }
        match self.unsynced() {
            0 => None,
            left if left < before => Some(Duration::ZERO),
            _ => Some(SYNC_EVERY),
        }
    }

    /// The watches of a pass, and whether that is all there are.
    ///
    /// Upstream takes any if there are too many. Here they take turns, so that none waits for
    /// ever behind others that stay unsynced.
    fn choose(&mut self) -> (Vec<At>, bool) {
        let mut turn: Vec<At> = Vec::new();
        let mut had: Vec<At> = Vec::new();
        for (s, (_, stream)) in self.streams.iter().enumerate() {
            for (w, watcher) in stream.watchers.iter().enumerate() {
                match watcher.place {
                    Place::Unsynced { had_turn: false } => turn.push((s, w)),
                    Place::Unsynced { had_turn: true } => had.push((s, w)),
                    _ => {}
                }
            }
        }
        let limit = self.rules.limits.watchers;
        if turn.len() + had.len() < limit {
            turn.extend(had);
            turn.sort_unstable();
            return (turn, true);
        }
        let round_ends = turn.len() <= limit;
        if round_ends {
            for &at in &had {
                self.set_turn(at, false);
            }
            had.truncate(limit - turn.len());
            turn.extend(had);
        }
        turn.truncate(limit);
        for &at in &turn {
            self.set_turn(at, true);
        }
        (turn, false)
    }

    fn set_turn(&mut self, (s, w): At, had_turn: bool) {
        self.streams[s].1.watchers[w].place = Place::Unsynced { had_turn };
    }

    /// One pass of `syncVictimsLoop`: victims whose channel has room get their events. The loop
    /// wakes at a new victim, and while there are any after what this returns.
    pub fn retry_victims(&mut self, history: &impl History<V>) -> Option<Duration> {
        let rules = self.rules;
        for (_, stream) in &mut self.streams {
            for at in 0..stream.watchers.len() {
                stream.retry_victim(at, history.revision(), &rules);
            }
        }
        (self.victims() > 0).then_some(VICTIMS_EVERY)
    }

    /// A snapshot was installed: all synced watches have to look at what it brought. Victims and
    /// unsynced watches will anyway.
    pub fn restore(&mut self) {
        let stays = self.rules.quirks.min_rev_stays;
        let streams = self.streams.iter_mut();
        for watcher in streams.flat_map(|(_, stream)| &mut stream.watchers) {
            if watcher.is_synced()
                && !mutant!(
                    "snapshot-is-not-watched",
                    "a synced watch does not get what a snapshot brought"
                )
            {
                // It goes by `min_rev` now, wherever that was left.
                EtcdDefect::WatchGoesBack.passed(stays);
                watcher.place = Place::UNSYNCED;
            }
        }
    }
}

pub(crate) const FUTURE_WATCH_GETS_OLD_EVENTS: Defect = Defect::known(
    "future-watch-gets-old-events",
    "etcd#20221 (3.4.38, 3.5.22, 3.6.2)",
    "a watch from a future revision gets earlier events and notifications on a member that lags",
)
.of_etcd(gates::FUTURE_WATCH_GETS_OLD_EVENTS);

impl<V: Value> Stream<V> {
    fn notify(&mut self, at: usize, revision: Revision, changes: &[Change<V>], rules: &Rules) {
        let watcher = &self.watchers[at];
        if !watcher.is_synced() {
            return;
        }
        let Some(batch) = Batch::of(watcher, &[(revision, changes)], rules.limits.revisions) else {
            return;
        };
        let sent = self.offer_events(at, &batch.events, revision, &rules.limits);
        let watcher = &mut self.watchers[at];
        if !sent
            && !mutant!(
                "slow-watch-skips",
                "an etcd watch whose channel is full skips an event"
            )
        {
            watcher.place = Place::Victim(batch.events);
        }
        if !sent || !rules.quirks.min_rev_stays {
            watcher.min_rev = revision + 1;
        }
    }

    /// Its header has no revision, and no reason is given. The client cancels the watch by itself.
    fn tell_compacted(&mut self, at: usize, compacted: Revision, rules: &Rules) -> bool {
        let mut response = WatchResponse::bare(Some(self.watchers[at].id), 0);
        response.canceled = true;
        response.compact_revision = compacted;
        self.offer(response, &rules.limits)
    }

    /// Gives an unsynced watch what it missed. The header has the newest revision also when more
    /// is to follow.
    fn catch_up(
        &mut self,
        at: usize,
        current: Revision,
        commits: &[(Revision, &[Change<V>])],
        rules: &Rules,
    ) {
        let watcher = &mut self.watchers[at];
        let batch = Batch::of(watcher, commits, rules.limits.revisions);
        // A start in the future may come here through a snapshot install.
        let future = watcher.min_rev > current + 1;
        if !future || EtcdDefect::FutureWatchGetsOldEvents.passed(rules.quirks.sync_lowers_min_rev)
        {
            watcher.min_rev = current + 1;
        }
        let Some(batch) = batch else {
            watcher.place = Place::Synced;
            return;
        };
        let more = batch.more_rev != 0;
        if more {
            watcher.min_rev = batch.more_rev;
        }
        let sent = self.offer_events(at, &batch.events, current, &rules.limits);
        let watcher = &mut self.watchers[at];
        if !sent {
            watcher.place = Place::Victim(batch.events);
        } else if !more {
            watcher.place = Place::Synced;
        }
    }

    /// Gives a victim the events that it waits with. It has seen all below `min_rev` then.
    fn retry_victim(&mut self, at: usize, current: Revision, rules: &Rules) {
        let watcher = &mut self.watchers[at];
        let Place::Victim(events) = &mut watcher.place else {
            return;
        };
        let events = std::mem::take(events);
        let min_rev = watcher.min_rev;
        let sent = self.offer_events(at, &events, min_rev - 1, &rules.limits);
        self.watchers[at].place = if !sent
            && !mutant!(
                "victim-gives-up",
                "a watch whose channel stays full goes on without its events"
            ) {
            Place::Victim(events)
        } else if min_rev <= current {
            Place::UNSYNCED
        } else {
            Place::Synced
        };
    }
}
