//! How routines run: polls, what they ask for, locks and signals, the ends of routines and
//! processes.

use std::time::Duration;

use crate::conn::{Call, Caller, NetError};
use crate::exchange::{self, Answer, Exchange, Log, Op};
use crate::lock;
use crate::memory::{Memory, Signal};
use crate::name::{Name, Origin, ProcId, RoutineId};
use crate::observe::{CellKey, Passed, Ran, Source, Teller};
use crate::process::Timer;
use crate::queue::{What, Which};
use crate::routine::{Outcome, Task, poll_once};
use crate::slot::{self, Slot, Status};

use super::{After, Arrival, World};

/// So many logs of routines that are over are kept for the next ones.
const SPARE_LOGS: usize = 8;

impl World {
    /// Starts a routine; it runs before the event is over.
    pub(crate) fn start(&mut self, process: ProcId, task: Task, serving: Option<Caller>) {
        let id = self.view.slot_mut(process).enter(task, serving);
        self.scratch.ready.push_back((process, id, Arrival::First));
    }

    pub(super) fn answer(&mut self, process: ProcId, routine: RoutineId, op: u32, answer: Answer) {
        self.scratch
            .ready
            .push_back((process, routine, Arrival::Answer(op, answer)));
    }

    /// Polls a routine with what arrived for it, then does what it asked for.
    pub(super) fn poll(&mut self, process: ProcId, id: RoutineId, arrival: Arrival) {
        let watch = self.view.lend_watch();
        let mut rebuilt = false;
        let spare = match arrival {
            Arrival::First => self.scratch.logs.pop(),
            Arrival::Answer(..) => None,
        };
        let slot = self.view.slot_mut(process);
        let Slot {
            routines,
            process: state,
            memory,
            clock,
            next_call,
            ..
        } = slot;
        let Some(place) = slot::place(routines, id) else {
            return;
        };
        let routine = slot::change(&mut routines[place]);
        let body = state.as_deref().expect("routines run between callbacks");
        let mut future = match arrival {
            Arrival::First => {
                routine.log = spare.unwrap_or_default();
                body.routine(&routine.task)
            }
            Arrival::Answer(op, answer) => {
                if routine.descheduled {
                    routine.inbox.push((op, answer));
                    return;
                }
                let future = routine.take_live().unwrap_or_else(|| {
                    rebuilt = true;
                    routine
                        .rebuild(body)
                        .unwrap_or_else(|impure| panic!("{impure}"))
                });
                if !routine.log.accept(op, answer) {
                    routine.set_live(Some(future));
                    return;
                }
                future
            }
        };
        let log = std::mem::take(&mut routine.log);
        let (serving, cancelled) = (routine.serving, routine.cancelled);
        let fresh = log.steps.len();
        let before = self.observer.is_on().then(|| memory.clone());
        let touched = before.is_some().then(Vec::new);
        let fill = |exchange: &mut Exchange| {
            exchange.log = log;
            exchange.cursor = fresh;
            exchange.visible = u32::MAX;
            exchange.clock = *clock;
            exchange.watch = watch;
            exchange.next_stream = *next_call;
            exchange.touched = touched;
            std::mem::swap(&mut exchange.process, state);
            std::mem::swap(&mut exchange.memory, memory);
        };
        let (poll, (log, next_stream, watch, process_after, memory_after, touched, telling)) =
            exchange::scope(
                fill,
                || poll_once(&mut future),
                |exchange| {
                    (
                        std::mem::take(&mut exchange.log),
                        exchange.next_stream,
                        exchange.watch,
                        exchange.process.take(),
                        std::mem::take(&mut exchange.memory),
                        exchange.touched.take().unwrap_or_default(),
                        std::mem::take(&mut exchange.telling),
                    )
                },
            );
        *state = process_after;
        *memory = memory_after;
        *next_call = next_stream;
        self.view.take_back(watch);
        if let Some(before) = before {
            let begins = fresh == 0;
            self.observe_poll(process, (id, begins), (touched, telling), &before);
        }
        *self.rebuilt += u64::from(rebuilt);
        if let std::task::Poll::Ready(outcome) = poll {
            let slot = self.view.slot_mut(process);
            slot.routines.remove(place);
            if log.has_deadline() {
                self.view
                    .cancel_entry(process, What::Deadline { routine: id });
            }
            self.effects(process, id, &log, fresh, cancelled);
            self.keep_spare(log);
            if let Outcome::Become(task) = outcome {
                let next = self.view.slot_mut(process).enter(task, serving);
                if cancelled && let Some(r) = self.view.slot_mut(process).routine_mut(next) {
                    r.cancelled = true;
                }
                self.scratch
                    .ready
                    .push_back((process, next, Arrival::First));
            }
            return;
        }
        self.effects(process, id, &log, fresh, cancelled);
        let slot = self.view.slot_mut(process);
        if let Some(routine) = slot.routine_near(place, id) {
            routine.log = log;
            routine.set_live(Some(future));
            if lock::waits(&slot.locks, id) {
                self.scratch.waiting.push((process, id));
            }
        }
    }

    /// Writes down that a routine ran, and what it saw and changed of the cells that it came to.
    fn observe_poll(
        &mut self,
        process: ProcId,
        (routine, begins): (RoutineId, bool),
        (touched, telling): (Vec<CellKey>, Vec<Source>),
        before: &Memory,
    ) {
        let after = &self.view.slot(process).memory;
        let is_other = |cell: &CellKey| !before.holds_the_same(after, *cell);
        let changed: Vec<CellKey> = touched.iter().copied().filter(is_other).collect();
        self.observer.see(|seen| {
            seen.telling = telling.into();
            seen.ran.push(Ran {
                process,
                routine,
                begins,
            });
            seen.seen
                .extend(touched.into_iter().map(|cell| (process, cell)));
            seen.changed
                .extend(changed.into_iter().map(|cell| (process, cell)));
        });
    }

    fn keep_spare(&mut self, mut log: Log) {
        if self.scratch.logs.len() < SPARE_LOGS {
            log.clear();
            self.scratch.logs.push(log);
        }
    }

    fn effects(&mut self, p: ProcId, id: RoutineId, log: &Log, fresh: usize, cancelled: bool) {
        for index in fresh..log.steps.len() {
            self.effect(p, id, index as u32, log, cancelled);
        }
    }

    fn effect(&mut self, p: ProcId, routine: RoutineId, op: u32, log: &Log, cancelled: bool) {
        let origin = || Origin {
            routine,
            op,
            nth: log.steps[op as usize].nth,
        };
        let step = &log.steps[op as usize];
        match &step.op {
            Op::Call { .. } if cancelled => {
                self.answer(p, routine, op, Answer::Net(Err(NetError::Cancelled)));
            }
            Op::Call {
                to,
                transport,
                body,
            } => {
                let slot = self.view.slot_mut(p);
                slot.next_call += 1;
                let call = slot.next_call;
                self.begin_call(p, origin(), call, *to, transport, body.clone(), false);
            }
            Op::OpenStream {
                to,
                transport,
                body,
            } => {
                let Some(Answer::Number(call)) = step.answer else {
                    unreachable!("numbered in place");
                };
                self.begin_call(p, origin(), call as u32, *to, transport, body.clone(), true);
            }
            Op::Connect { to, transport } => {
                let Some(Answer::Number(call)) = step.answer else {
                    unreachable!("numbered in place");
                };
                self.begin_connection(p, origin(), call as u32, *to, transport);
            }
            Op::Next(_) if cancelled => {
                self.answer(p, routine, op, Answer::Next(Err(NetError::Cancelled)));
            }
            Op::Next(stream) => self.take_part(p, origin(), *stream),
            Op::Send(stream, body) => self.send_part(p, *stream, body.clone()),
            Op::CloseStream(stream) => self.end_call(p, *stream),
            Op::Sleep(duration) => {
                let after = self.view.slot(p).clock.stretch(*duration);
                self.view.enqueue(after, p, What::Sleep { routine, op });
            }
            Op::Lock(name) => {
                let lock = self.view.slot_mut(p).lock_mut(*name);
                lock.waiters.push((routine, op));
                if lock.holder.is_none() {
                    self.offer(p, *name, routine, op);
                }
            }
            Op::Unlock(name) => self.unlock(p, *name),
            Op::Wait(signal) => {
                let slot = self.view.slot_mut(p);
                if slot.memory.is_raised(*signal) {
                    self.answer(p, routine, op, Answer::Unit);
                } else {
                    slot.waiting.push((*signal, routine, op));
                }
            }
            Op::Done if cancelled => self.answer(p, routine, op, Answer::Unit),
            // Answered when the context ends.
            Op::Done => {}
            Op::Raise(signal) => self.raise(p, *signal),
            Op::Recv(channel) => self.wait_to_receive(p, *channel, routine, op),
            Op::SendTo(channel, _) => self.wait_to_send(p, *channel, routine, op),
            Op::MakeChannel(channel, _) | Op::TrySend(channel, _) | Op::Close(channel) => {
                let is_put =
                    matches!(step.op, Op::TrySend(..)) && step.answer == Some(Answer::Number(1));
                if is_put {
                    self.observer
                        .see(|seen| seen.passed.push((p, *channel, Passed::In)));
                }
                self.rebalance(p, *channel);
            }
            Op::Changed(condition) => self
                .view
                .slot_mut(p)
                .changes
                .push((*condition, routine, op)),
            Op::Broadcast(condition) => self.broadcast(p, *condition),
            Op::Choose { domain, apart } => {
                let choose = a_choice(p, routine, op, *domain, *apart);
                self.view.enqueue(Duration::ZERO, p, choose);
            }
            Op::Clock => self.observer.see(|seen| seen.clocks.push(p)),
            Op::Memory(_) | Op::Process | Op::Look(_) => {}
            Op::Spawn(task) => self.start(p, task.clone(), None),
            Op::Reply { to, body, last } => self.reply(p, *to, body.clone(), *last),
            Op::Note(note) => self.note(p, Teller::Routine(routine), note.clone()),
            Op::Arm(timer, after) => self.arm(p, *timer, *after),
            Op::Disarm(timer) => self.disarm(p, *timer),
            Op::Deadline(after) => {
                let slot = self.view.slot(p);
                // One that is over has no context left.
                if slot.routine(routine).is_some() {
                    let after = slot.clock.stretch(*after);
                    self.view.enqueue(after, p, What::Deadline { routine });
                }
            }
            Op::GoAway => self.go_away(p),
            Op::Exit { again } => self.exit_later(p, *again),
            Op::Drop(dropped) => self.drop_op(p, routine, *dropped, log),
        }
    }

    /// Who waits for a lock when the event is over, and for nothing besides, waits for ever if whoever holds
    /// it waits for the first in turn. In the middle of an event nothing can be said of that: more may
    /// be unlocked, or no longer waited for.
    pub(super) fn look_for_deadlocks(&mut self) {
        let waiting = std::mem::take(&mut self.scratch.waiting);
        for (p, routine) in &waiting {
            let slot = self.view.slot(*p);
            let Some(circle) = lock::circle(&slot.locks, *routine) else {
                continue;
            };
            // Who waits for anything besides may be freed by that.
            let waits_besides = |(id, _): &(RoutineId, Name)| {
                slot.routine(*id)
                    .is_none_or(|routine| routine.log.open() > 1)
            };
            if circle.iter().any(waits_besides) {
                continue;
            }
            let held = circle
                .iter()
                .map(|(who, lock)| format!("{who} waits for `{lock}`"));
            let held: Vec<String> = held.collect();
            let name = self.view.name(*p);
            let text = format!("{name}: {}, which the next one holds", held.join(", "));
            self.report.deadlock.get_or_insert(text);
        }
        self.scratch.waiting = waiting;
    }

    /// The future no longer waits for operation `op`.
    fn drop_op(&mut self, p: ProcId, routine: RoutineId, op: u32, log: &Log) {
        let step = &log.steps[op as usize];
        match &step.op {
            // Answered, but in the same poll in which it was dropped: the lock must not stay held.
            Op::Lock(name) if step.answer.is_some() => self.unlock(p, *name),
            Op::Recv(channel) => {
                let given = match &step.answer {
                    Some(Answer::Value(item)) => Some(item.clone()),
                    _ => None,
                };
                self.leave_receivers(p, *channel, (routine, op), given);
            }
            _ if step.answer.is_some() => {}
            Op::Call { .. } => {
                // Not a stream: that may be of an earlier routine, which had the same number.
                let is_it = |call: &&Call| {
                    let origin = call.origin;
                    call.stream.is_none() && (origin.routine, origin.op) == (routine, op)
                };
                if let Some(id) = self.view.slot(p).calls.iter().find(is_it).map(|c| c.id) {
                    self.end_call(p, id);
                }
            }
            Op::Next(stream) => {
                let slot = self.view.slot_mut(p);
                if let Some(call) = slot.calls.iter_mut().find(|c| c.id == *stream)
                    && let Some(state) = &mut call.stream
                {
                    state.waiter = None;
                }
            }
            Op::Lock(name) => {
                self.view
                    .slot_mut(p)
                    .lock_mut(*name)
                    .waiters
                    .retain(|w| *w != (routine, op));
                let lock = *name;
                self.view.cancel_entry(p, What::Grant { lock, routine, op });
            }
            Op::Sleep(_) => {
                self.view.cancel_entry(p, What::Sleep { routine, op });
            }
            Op::SendTo(channel, _) => self.leave_senders(p, *channel, (routine, op)),
            Op::Changed(_) => {
                self.view
                    .slot_mut(p)
                    .changes
                    .retain(|(_, r, o)| (*r, *o) != (routine, op));
                self.view.cancel_entry(p, What::Wake { routine, op });
            }
            Op::Wait(_) => {
                self.view
                    .slot_mut(p)
                    .waiting
                    .retain(|(_, r, o)| (*r, *o) != (routine, op));
                self.view.cancel_entry(p, What::Wake { routine, op });
            }
            // Looked for when the context ends.
            Op::Done => {}
            Op::Choose { domain, apart } => {
                let choose = a_choice(p, routine, op, *domain, *apart);
                self.view.cancel_entry(p, choose);
            }
            other => unreachable!("{other:?} is answered in place"),
        }
    }

    fn offer(&mut self, p: ProcId, lock: Name, routine: RoutineId, op: u32) {
        self.view
            .enqueue(Duration::ZERO, p, What::Grant { lock, routine, op });
    }

    pub(super) fn grant(&mut self, p: ProcId, name: Name, routine: RoutineId, op: u32) {
        let lock = self.view.slot_mut(p).lock_mut(name);
        lock.holder = Some(routine);
        lock.waiters.retain(|w| *w != (routine, op));
        // The offer that was taken is gone already: mostly it was the only one.
        if !lock.waiters.is_empty() {
            self.view.cancel_entries(Which::Grants(p, name));
        }
        self.answer(p, routine, op, Answer::Unit);
    }

    fn unlock(&mut self, p: ProcId, lock: Name) {
        let state = self.view.slot_mut(p).lock_mut(lock);
        state.holder = None;
        let waiters = state.waiters.clone();
        let grant = |(routine, op): &(RoutineId, u32)| What::Grant {
            lock,
            routine: *routine,
            op: *op,
        };
        self.view.enqueue_all(p, waiters.iter().map(grant));
    }

    fn raise(&mut self, p: ProcId, signal: Signal) {
        let slot = self.view.slot_mut(p);
        if !slot.memory.raise(signal) {
            return;
        }
        let woken: Vec<_> = slot.waiting.extract_if(.., |w| w.0 == signal).collect();
        let wake = |(_, routine, op): &(Signal, RoutineId, u32)| What::Wake {
            routine: *routine,
            op: *op,
        };
        self.view.enqueue_all(p, woken.iter().map(wake));
    }

    pub(crate) fn arm(&mut self, p: ProcId, timer: Timer, after: Duration) {
        self.disarm(p, timer);
        let after = self.view.slot(p).clock.stretch(after);
        self.view.enqueue(after, p, What::Timer(timer));
    }

    pub(crate) fn disarm(&mut self, p: ProcId, timer: Timer) {
        self.view.cancel_entry(p, What::Timer(timer));
    }

    pub(crate) fn timers(
        &mut self,
        p: ProcId,
        tag: Name,
    ) -> impl Iterator<Item = (u64, Duration)> + '_ {
        let clock = self.view.slot(p).clock;
        let timers = self.view.timers(p, tag);
        timers.map(move |(number, left)| (number, clock.counted(left)))
    }

    pub(crate) fn remaining(&mut self, p: ProcId, timer: Timer) -> Option<Duration> {
        let left = self.view.remaining(p, timer)?;
        Some(self.view.slot(p).clock.counted(left))
    }

    /// Ends a routine's context: what it waits for on the network fails, and so does every later
    /// call. A lock, a sleep or a signal is not affected, as in Go.
    pub(super) fn cancel_context(&mut self, p: ProcId, id: RoutineId) {
        let slot = self.view.slot_mut(p);
        let Some(routine) = slot.routine_mut(id) else {
            return;
        };
        if std::mem::replace(&mut routine.cancelled, true) {
            return;
        }
        let steps = &routine.log.steps;
        let waits = |(step, op): &(&exchange::Step, u32)| {
            step.op == Op::Done
                && step.answer.is_none()
                && !steps.iter().any(|later| later.op == Op::Drop(*op))
        };
        let done: Vec<u32> = steps
            .iter()
            .zip(0..)
            .filter(waits)
            .map(|(_, op)| op)
            .collect();
        for op in done {
            self.answer(p, id, op, Answer::Unit);
        }
        let open: Vec<(u32, u32)> = self
            .view
            .slot(p)
            .calls
            .iter()
            .filter(|c| c.origin.routine == id && c.stream.is_none())
            .map(|c| (c.id, c.origin.op))
            .collect();
        for (call, op) in open {
            self.end_call(p, call);
            self.answer(p, id, op, Answer::Net(Err(NetError::Cancelled)));
        }
        let slot = self.view.slot_mut(p);
        let mut waiting = Vec::new();
        for stream in slot.calls.iter_mut().filter_map(|c| c.stream.as_mut()) {
            if stream.waiter.is_some_and(|w| w.routine == id) {
                waiting.extend(stream.waiter.take());
            }
        }
        for origin in waiting {
            let answer = Answer::Next(Err(NetError::Cancelled));
            self.answer(p, id, origin.op, answer);
        }
    }

    pub(crate) fn exit_later(&mut self, p: ProcId, again: bool) {
        if !self.scratch.exits.iter().any(|(exits, _)| *exits == p) {
            self.scratch.exits.push((p, again));
        }
    }

    /// The process is no more: its routines end where they are, its memory is gone. With `Down` its
    /// machine closes its connections, with `Off` nobody does.
    pub(super) fn end_process(&mut self, p: ProcId, status: Status) {
        let slot = self.view.slot_mut(p);
        slot.status = status;
        slot.stopping = false;
        slot.paused = false;
        slot.clear();
        if let Some(process) = slot.process.as_mut() {
            process.crash();
        }
        self.scratch.ready.retain(|(q, _, _)| *q != p);
        self.view.cancel_entries(Which::OwnOf(p));
        self.drop_ends(p, status == Status::Down);
        // Frames that were parked for a paused process now meet a closed port.
        self.view.unpark(After::Hold);
    }
}

fn a_choice(p: ProcId, routine: RoutineId, op: u32, domain: u64, apart: bool) -> What {
    let usual = match apart {
        true => p.index() as u64 % domain.max(1),
        false => 0,
    };
    What::Choose {
        routine,
        op,
        domain,
        usual,
    }
}
