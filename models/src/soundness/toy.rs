//! The process of random worlds: it does what its script says. Callbacks are here; what its routines do is
//! in `steps.rs`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{
    Caller, Cell, Channel, Condition, Cx, Instant, Keepalive, Lock, Name, NotState, Outcome,
    Payload, ProcId, Process, RoutineFuture, Rx, Signal, Task, Timer, Transport,
};

use super::build::micros;
use super::description::{Lie, On, Script, Serve};
use super::steps;

/// What is told of, and the number at that time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Noted {
    pub what: u8,
    pub number: u8,
}

const fn transport(name: &'static str, dial: u64, window: Option<u32>) -> Transport {
    Transport {
        name: Name::new(name),
        dial_timeout: Duration::from_micros(dial),
        keepalive: None,
        window,
    }
}

/// What is done in answer to a silent peer, in the time that a search has.
const EAGER: Keepalive = Keepalive {
    after: Duration::from_millis(2),
    limit: Duration::from_millis(1),
    idle: false,
};

pub(super) static TRANSPORTS: [Transport; 4] = [
    transport("t0", 3000, None),
    Transport {
        keepalive: Some(EAGER),
        ..transport("t1", 5000, Some(4))
    },
    transport("t2", 2000, Some(8)),
    Transport {
        keepalive: Some(Keepalive {
            idle: true,
            ..EAGER
        }),
        ..transport("t3", 1500, None)
    },
];
pub(super) const ROUTINES: [Name; 4] = [
    Name::new("r0"),
    Name::new("r1"),
    Name::new("r2"),
    Name::new("r3"),
];
const TIMERS: [Name; 3] = [Name::new("x"), Name::new("y"), Name::new("z")];
/// Ends a process that was asked to stop.
const END: Timer = Timer::new(Name::new("end"), 0);
pub(super) const LOCKS: [Lock; 2] = [Lock::new("la"), Lock::new("lb")];
pub(super) const SIGNALS: [Signal; 2] = [Signal::new("sa"), Signal::new("sb")];
pub(super) const CHANNELS: [Channel; 2] = [Channel::new("c", 0), Channel::new("c", 1)];
pub(super) const CONDITIONS: [Condition; 2] = [Condition::new("d", 0), Condition::new("d", 1)];
pub(super) const CELLS: [Cell<u64>; 2] = [Cell::numbered("n", 0), Cell::numbered("n", 1)];
pub(super) const MARKED: Cell<Option<Instant>> = Cell::new("marked");

/// One of these.
pub(super) fn one<T>(of: &[T], number: u8) -> &T {
    &of[usize::from(number) % of.len()]
}

pub(super) fn timer(number: u8) -> Timer {
    // Two of each kind, so that there is something to list.
    Timer::new(*one(&TIMERS, number), u64::from(number / 3 % 2))
}

/// Numbers stay small, so that worlds meet again.
pub(super) fn small(number: u64) -> u64 {
    number % 7
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Even(u64);
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Odd(u64);

/// A number as a value of one of two types, which hold the same words.
pub(super) fn sent(number: u64) -> Payload {
    match number % 2 {
        0 => Payload::new(Even(number / 2)),
        _ => Payload::new(Odd(number / 2)),
    }
}

/// The number that was sent.
pub(super) fn number(value: &Payload) -> u64 {
    match value.get::<Even>() {
        Some(Even(half)) => 2 * half,
        None => 2 * value.expect::<Odd>().0 + 1,
    }
}

/// A number, compared and hashed as honestly as the world's description says.
#[derive(Clone, Copy, Debug)]
struct Kept {
    number: u64,
    lie: Lie,
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.lie == Lie::Equality || self.number == other.number
    }
}
impl Eq for Kept {}
impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.lie == Lie::None {
            self.number.hash(state);
        }
    }
}

/// What a process is to do, and whom it knows.
#[derive(Debug)]
pub(super) struct Plot {
    pub script: Script,
    pub peers: Vec<ProcId>,
}

impl Plot {
    pub fn peer(&self, number: u8) -> ProcId {
        *one(&self.peers, number)
    }

    /// The routine of this number, counted round; nothing if there are none.
    pub fn any_task(&self, number: u8, run: impl FnOnce(&mut Run)) -> Option<Task> {
        self.task(
            usize::from(number).checked_rem(self.script.routines.len())?,
            run,
        )
    }

    /// The routine of this number; nothing if there is none.
    pub fn task(&self, routine: usize, run: impl FnOnce(&mut Run)) -> Option<Task> {
        if routine >= self.script.routines.len().min(ROUTINES.len()) {
            return None;
        }
        let mut task = Run {
            routine,
            round: 0,
            caller: None,
        };
        run(&mut task);
        Some(Task::new(ROUTINES[routine], task))
    }
}

/// What a routine is begun with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Run {
    pub routine: usize,
    pub round: u8,
    /// Whom it answers in the end.
    pub caller: Option<Caller>,
}

/// A process with a script.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Toy {
    plot: NotState<Arc<Plot>>,
    volatile: Kept,
    durable: Kept,
    /// Who waits for an answer that comes later.
    callers: Vec<Caller>,
    stopping: bool,
}

impl Toy {
    pub fn new(plot: Plot, lie: Lie) -> Toy {
        Toy {
            plot: NotState(Arc::new(plot)),
            volatile: Kept { number: 0, lie },
            durable: Kept { number: 0, lie },
            callers: Vec::new(),
            stopping: false,
        }
    }

    pub fn volatile(&self) -> u64 {
        self.volatile.number
    }

    /// Was it asked to stop in this life?
    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    pub fn durable(&self) -> u64 {
        self.durable.number
    }

    pub fn keep(&mut self, by: u8) -> u64 {
        self.durable.number = (self.durable.number + u64::from(by)) % 4;
        self.durable.number
    }

    fn count(&mut self, by: u64) {
        self.volatile.number = (self.volatile.number + by) % 5;
    }

    fn act(&mut self, cx: &mut Cx<'_>, all: &[On]) {
        for on in all {
            self.act_once(cx, on);
        }
    }

    fn act_once(&mut self, cx: &mut Cx<'_>, on: &On) {
        match *on {
            On::Count { by } => self.count(by.into()),
            On::Keep { by } => drop(self.keep(by)),
            On::Note { what } => {
                let number = self.volatile() as u8;
                cx.note(Noted { what, number });
            }
            On::Spawn { routine } => {
                if let Some(task) = self.plot.any_task(routine, |_| ()) {
                    cx.spawn(task);
                }
            }
            On::Cast { to, over } => {
                cx.cast(self.plot.peer(to), one(&TRANSPORTS, over), self.volatile());
            }
            On::Arm {
                timer: which,
                after,
            } => cx.arm(timer(which), micros(after)),
            On::Disarm { timer: which } => cx.disarm(timer(which)),
            On::Remaining { timer: which } => {
                let left = cx.remaining(timer(which));
                self.count(left.map_or(0, |left| 1 + left.as_micros() as u64 / 100));
            }
            On::Timers { timer: which } => {
                let all = cx.timers(timer(which).tag);
                let all = all.map(|(number, left)| 1 + number + left.as_micros() as u64 / 300);
                let all: u64 = all.fold(0, |all, one| (2 * all + one) % 5);
                self.count(all);
            }
            On::TrySend { channel } => {
                let number = self.volatile();
                // A type of its own for each half, as what routines send.
                let sent = match number % 2 {
                    0 => cx.try_send(*one(&CHANNELS, channel), Even(number / 2)),
                    _ => cx.try_send(*one(&CHANNELS, channel), Odd(number / 2)),
                };
                self.count(sent.into());
            }
            On::Add { cell, by } => {
                let cell = cx.cell(one(&CELLS, cell));
                *cell = (*cell + u64::from(by)) % 4;
            }
            On::Broadcast { condition } => cx.broadcast(*one(&CONDITIONS, condition)),
            On::Unacknowledged => {
                if let Some(caller) = self.callers.first().copied() {
                    let waiting = cx.unacknowledged(caller);
                    self.count(waiting.into());
                }
            }
            On::Exit => cx.exit(),
        }
    }

    fn push(&self, cx: &mut Cx<'_>, caller: Caller, parts: u8) {
        for part in 0..parts % 8 {
            cx.push(caller, Even((self.volatile() + u64::from(part)) % 5));
        }
    }

    fn reply(&self, cx: &mut Cx<'_>, caller: Caller) {
        cx.reply(caller, Odd(self.volatile()));
    }
}

impl Process for Toy {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        let plot = self.plot.0.clone();
        for (channel, holds) in CHANNELS.iter().zip(plot.script.channels) {
            if holds > 0 {
                cx.make(*channel, holds.into());
            }
        }
        self.act(cx, &plot.script.boot);
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let plot = self.plot.0.clone();
        self.count(number(body));
        self.act(cx, &plot.script.request);
        match plot.script.serve {
            Serve::Now { parts } => {
                self.push(cx, caller, parts);
                self.reply(cx, caller);
            }
            Serve::Later {
                parts,
                timer: which,
                after,
            } => {
                self.push(cx, caller, parts);
                self.callers.push(caller);
                cx.arm(timer(which), micros(after));
            }
            Serve::Routine { routine } => {
                match plot.any_task(routine, |run| run.caller = Some(caller)) {
                    Some(task) => cx.serve(caller, task),
                    None => self.reply(cx, caller),
                }
            }
            Serve::Never => {}
        }
    }

    fn part(&mut self, cx: &mut Cx<'_>, _: Caller, body: &Payload) {
        self.count(number(body));
        let plot = self.plot.0.clone();
        self.act(cx, &plot.script.part);
    }

    fn acknowledged(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        self.count(u64::from(cx.unacknowledged(caller)));
        let plot = self.plot.0.clone();
        self.act(cx, &plot.script.part);
    }

    fn cast(&mut self, cx: &mut Cx<'_>, _: ProcId, body: &Payload) {
        let number = *body.expect::<u64>();
        self.count(self.volatile() + number);
        let plot = self.plot.0.clone();
        self.act(cx, &plot.script.cast);
    }

    fn cancelled(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        self.callers.retain(|waits| *waits != caller);
        let number = self.volatile() as u8;
        cx.note(Noted { what: 9, number });
    }

    fn timer(&mut self, cx: &mut Cx<'_>, fired: Timer) {
        if fired == END {
            return cx.exit();
        }
        for caller in std::mem::take(&mut self.callers) {
            self.reply(cx, caller);
        }
        let plot = self.plot.0.clone();
        let which = TIMERS.iter().position(|tag| *tag == fired.tag);
        if let Some(all) = which.and_then(|which| plot.script.timers.get(which)) {
            self.act(cx, all);
        }
    }

    fn stop(&mut self, cx: &mut Cx<'_>) {
        let plot = self.plot.0.clone();
        self.stopping = true;
        self.act(cx, &plot.script.stop.0);
        match plot.script.stop.1 {
            Some(after) => cx.arm(END, micros(after)),
            None => cx.exit(),
        }
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        let plot = self.plot.0.clone();
        self.act(cx, &plot.script.told);
        match what {
            REFUSED => Err("refuses it".to_owned()),
            _ => Ok(()),
        }
    }

    fn accepting(&self) -> bool {
        let deaf_at = self.plot.script.deaf_at;
        !self.stopping && deaf_at.is_none_or(|deaf_at| u64::from(deaf_at) != self.volatile())
    }

    fn crash(&mut self) {
        self.volatile.number = 0;
        self.callers.clear();
        self.stopping = false;
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (plot, run) = (self.plot.0.clone(), task.args::<Run>().clone());
        Box::pin(async move {
            let routine = &plot.script.routines[run.routine];
            let left = steps::run(&plot, run.routine, &routine.steps, 0).await;
            if let Some(caller) = run.caller {
                Rx::new().reply(caller, sent(left));
            } else if run.round + 1 < routine.rounds {
                let next = Run {
                    round: run.round + 1,
                    ..run
                };
                return Outcome::Become(Task::new(ROUTINES[next.routine], next));
            }
            Outcome::Done
        })
    }
}

/// A process does what it is told, and then says that it did not understand this.
pub(super) const REFUSED: &str = "refused";
