//! Watch streams at this member: the loops of `watchable_store.go` as timers, `sendLoop` as far as
//! the client's flow control lets it, and the end of streams that require a leader.

use std::time::Duration;

use wavetank_engine::{Caller, Cx, Name, Rx, Task, Timer, mutant};

use crate::api::{EtcdError, Value, WatchPart, WatchRequest};
use crate::watch::{PROGRESS_EVERY, SYNC_EVERY, VICTIMS_EVERY};

use super::Etcd;

/// `syncWatchersLoop` (`watchResyncPeriod`)
pub(super) const SYNC: Timer = Timer::new(Name::new("sync-watchers"), 0);
/// `syncVictimsLoop`
pub(super) const VICTIMS: Timer = Timer::new(Name::new("sync-victims"), 0);
pub(super) const PROGRESS: Name = Name::new("progress");
pub(super) const PROGRESS_LENGTH: Name = Name::new("progress-length");
/// `monitorLeader` looks once an election timeout, and gives up after three looks in a row.
pub(super) const LEADER_LOOK: Timer = Timer::new(Name::new("monitor-leader"), 0);
const LEADER_LOOK_EVERY: Duration = Duration::from_secs(1);
const LEADERLESS_LOOKS: u32 = 3;

/// The streams of this member, beside their watches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Streams {
    open: Vec<Open>,
    opened: u64,
    /// Looks in a row that found no leader.
    leaderless: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Open {
    number: u64,
    caller: Caller,
    require_leader: bool,
    /// What its progress notifications are apart by, once a watch wants some.
    progress: Option<Duration>,
}

impl<V: Value> Etcd<V> {
    pub(super) fn open_stream(&mut self, cx: &mut Cx<'_>, caller: Caller, require_leader: bool) {
        if require_leader && self.raft.lead().is_none() {
            return cx.reply(caller, WatchPart::<V>::Failed(EtcdError::NoLeader));
        }
        self.streams.opened += 1;
        self.streams.open.push(Open {
            number: self.streams.opened,
            caller,
            require_leader,
            progress: None,
        });
        self.watches.open(caller);
        let looking = cx.remaining(LEADER_LOOK).is_some();
        if require_leader && !looking && !self.config.is_single() {
            cx.arm(LEADER_LOOK, LEADER_LOOK_EVERY);
        }
    }

    pub(super) fn close_stream(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        if let Some(at) = self.streams.open.iter().position(|s| s.caller == caller) {
            let stream = self.streams.open.remove(at);
            cx.disarm(Timer::new(PROGRESS, stream.number));
            self.watches.close(caller);
        }
    }

    /// `recvLoop`
    pub(super) fn recv_loop(&mut self, cx: &mut Cx<'_>, caller: Caller, request: &WatchRequest) {
        let Some(stream) = self.streams.open.iter().find(|s| s.caller == caller) else {
            return;
        };
        let (number, notifies) = (stream.number, stream.progress.is_some());
        self.watches
            .request(&self.state.store, caller, request.clone());
        if !notifies && self.watches.wants_progress(caller) {
            cx.spawn(Task::new(PROGRESS_LENGTH, number));
        }
    }

    /// Runs the loops while they have something to do, and sends what can be sent.
    pub(super) fn keep_watches(&mut self, cx: &mut Cx<'_>) {
        if self.watches.unsynced() > 0 && cx.remaining(SYNC).is_none() {
            cx.arm(SYNC, SYNC_EVERY);
        }
        if self.watches.victims() > 0 && cx.remaining(VICTIMS).is_none() {
            cx.arm(VICTIMS, VICTIMS_EVERY);
        }
        for at in 0..self.streams.open.len() {
            let caller = self.streams.open[at].caller;
            if self.watches.has_to_send(caller) {
                self.send_loop(cx, caller);
            }
        }
    }

    /// `sendLoop`: as long as the client takes what is sent.
    pub(super) fn send_loop(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        let window = self.config.sizes.watch_window;
        while cx.unacknowledged(caller) < window
            && let Some(response) = self.watches.next(&self.state.store, caller)
        {
            cx.push(caller, WatchPart::Message(response));
        }
    }

    pub(super) fn sync_watchers(&mut self, cx: &mut Cx<'_>) {
        if let Some(again) = self.watches.sync(&self.state.store) {
            cx.arm(SYNC, again);
        }
    }

    pub(super) fn sync_victims(&mut self, cx: &mut Cx<'_>) {
        if let Some(again) = self.watches.retry_victims(&self.state.store) {
            cx.arm(VICTIMS, again);
        }
    }

    /// The driver has drawn how far apart a stream's progress notifications are.
    fn drawn_progress(&mut self, number: u64, interval: Duration) -> bool {
        let mut open = self.streams.open.iter_mut();
        let Some(stream) = open.find(|s| s.number == number) else {
            return false;
        };
        stream.progress.replace(interval).is_none()
    }

    pub(super) fn notify_progress(&mut self, cx: &mut Cx<'_>, number: u64) {
        let stream = self.streams.open.iter().find(|s| s.number == number);
        let stream = *stream.expect("its timer ends with it");
        self.watches.tick_progress(&self.state.store, stream.caller);
        let interval = stream.progress.expect("it has a timer");
        cx.arm(Timer::new(PROGRESS, number), interval);
    }

    pub(super) fn end_streams(
        &mut self,
        cx: &mut Cx<'_>,
        error: EtcdError,
        which: impl Fn(&Open) -> bool,
    ) {
        let open = self.streams.open.iter().filter(|stream| which(stream));
        for caller in open.map(|stream| stream.caller).collect::<Vec<_>>() {
            cx.reply(caller, WatchPart::<V>::Failed(error));
            self.close_stream(cx, caller);
        }
    }

    pub(super) fn look_for_leader(&mut self, cx: &mut Cx<'_>) {
        match self.raft.lead() {
            Some(_) => self.streams.leaderless = 0,
            None => self.streams.leaderless += 1,
        }
        if self.streams.leaderless >= LEADERLESS_LOOKS
            && !mutant!(
                "leaderless-watch-stays",
                "a member without a leader does not end watches that require one"
            )
        {
            self.end_streams(cx, EtcdError::NoLeader, |stream| stream.require_leader);
        }
        if self.streams.open.iter().any(|s| s.require_leader) {
            cx.arm(LEADER_LOOK, LEADER_LOOK_EVERY);
        } else {
            self.streams.leaderless = 0;
        }
    }
}

/// Draws how far apart the progress notifications of a stream are.
pub(super) async fn progress_length<V: Value>(rx: Rx, number: u64) {
    let tenths = rx.choose(1000).await as u32;
    let interval = PROGRESS_EVERY + PROGRESS_EVERY / 10 / 1000 * tenths;
    if rx.process(move |etcd: &mut Etcd<V>| etcd.drawn_progress(number, interval)) {
        rx.arm(Timer::new(PROGRESS, number), interval);
    }
}
