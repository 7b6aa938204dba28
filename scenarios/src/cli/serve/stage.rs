//! The moment that is served, and the time that goes by there.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wavetank_engine::Time;

use crate::stopwatch::Stopwatch;
use crate::travel::{Stuck, Travel};

use super::LOOK;

/// Time is looked after at least and at most this often; in between, when the next event is due.
const TICK: RangeInclusive<Duration> = Duration::from_millis(2)..=Duration::from_millis(40);
/// In one tick at most so many events happen: who asks something gets its turn.
const EVENTS: usize = 2_000;

/// What there is on the stage.
pub(super) struct Act<'a> {
    pub travel: Travel<'a>,
    /// Virtual seconds a second.
    pub speed: f64,
    /// Changes with each move.
    pub version: u64,
    /// How many have written.
    pub writes: u32,
    /// Why time does not go on by itself any more.
    pub halted: Option<String>,
}

/// A moment that several look at.
pub(super) struct Stage<'a> {
    act: Mutex<Act<'a>>,
    moved: Condvar,
}

impl<'a> Stage<'a> {
    pub fn new(travel: Travel<'a>, speed: f64) -> Stage<'a> {
        let act = Act {
            travel,
            speed,
            version: 0,
            writes: 0,
            halted: None,
        };
        Stage {
            act: Mutex::new(act),
            moved: Condvar::new(),
        }
    }

    /// To look, or to move: then `moved` says so.
    pub fn lock(&self) -> MutexGuard<'_, Act<'a>> {
        // Who panics with it has changed nothing halfway: a step is taken or not.
        self.act.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those who wait look again.
    pub fn moved(&self, mut act: MutexGuard<'_, Act<'a>>) {
        act.version += 1;
        drop(act);
        self.moved.notify_all();
    }

    /// Waits a while for another moment than that of this version.
    pub fn wait(&self, version: u64) {
        let act = self.lock();
        if act.version == version {
            // Whoever waits looks by itself whether anything has changed.
            drop(self.moved.wait_timeout(act, LOOK));
        }
    }

    /// Where it stands. Between two events nothing changes: at a time that was asked for it stands after the last event
    /// until then.
    pub fn described(&self, asked: Option<Time>) -> String {
        let act = self.lock();
        let (travel, head) = (&act.travel, &act.travel.trace().head);
        let (at, of, now) = (travel.at(), travel.len(), travel.world().now());
        let place = match asked.filter(|asked| *asked != now) {
            None => format!("after event {at} of {of}, at {now} s"),
            Some(asked) if at == 0 => format!("at {asked} s, before the first event of {of}"),
            Some(asked) if at == of && asked > now => {
                format!("at {asked} s, after the last of {of} events, which was at {now} s")
            }
            Some(asked) => {
                format!("at {asked} s, after event {at} of {of}, which was at {now} s")
            }
        };
        format!("{}, seed {}: {place}\n", head.case, head.seed)
    }

    /// Lets time go by, as fast as is wanted, until it is over.
    pub fn keep_time(&self, stop: &AtomicBool) {
        let mut watch = Stopwatch::start();
        // What of virtual time is due, and no event has come for yet.
        let mut due = 0.0;
        while !stop.load(Ordering::Relaxed) {
            let act = self.lock();
            let version = act.version;
            let tick = act.until_next(due);
            let waited = self.moved.wait_timeout(act, tick);
            let (mut act, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let passed = std::mem::replace(&mut watch, Stopwatch::start()).elapsed();
            if act.speed == 0.0 || act.halted.is_some() || act.version != version {
                due = 0.0;
                continue;
            }
            due += passed.as_secs_f64() * act.speed;
            let before = act.travel.world().now();
            if act.go_on(before + Duration::from_secs_f64(due)) {
                due = 0.0_f64.max(due - act.travel.world().now().since(before).as_secs_f64());
                self.moved(act);
            }
        }
    }
}

impl Act<'_> {
    /// How long it takes until the next event is due, of `due` seconds that have gone by already.
    fn until_next(&self, due: f64) -> Duration {
        let (least, most) = (*TICK.start(), *TICK.end());
        let now = self.travel.world().now();
        let next = self.travel.next_at().filter(|_| self.speed > 0.0);
        let seconds = next.map(|next| (next.since(now).as_secs_f64() - due) / self.speed);
        let exact = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
        exact.map_or(most, |exact| exact.clamp(least, most))
    }

    /// On to this time, or as far as one turn reaches. Has anything happened?
    fn go_on(&mut self, until: Time) -> bool {
        let mut happened = false;
        for _ in 0..EVENTS {
            let next = self.travel.next_at();
            if next.is_none_or(|at| at > until) {
                if next.is_none() {
                    self.halted = Some("the end is reached".to_owned());
                }
                break;
            }
            match self.travel.step() {
                Ok(_) => happened = true,
                Err(Stuck::End) => self.halted = Some("the end is reached".to_owned()),
                Err(Stuck::Refused(why)) => self.halted = Some(why),
            }
            if self.halted.is_some() {
                break;
            }
        }
        happened
    }
}
