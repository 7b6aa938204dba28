//! How channels and conditions move routines: who waits is offered an event as soon as it can go
//! on. The default order is first come, first served; a driver may let another go first.

use std::time::Duration;

use crate::channel::{Channel, Condition, Waiters};
use crate::exchange::{Answer, Op};
use crate::message::Payload;
use crate::name::{ProcId, RoutineId};
use crate::observe::Passed;
use crate::queue::{What, Which};

use super::World;

impl World {
    /// A routine waits to receive.
    pub(super) fn wait_to_receive(&mut self, p: ProcId, c: Channel, routine: RoutineId, op: u32) {
        let waiters = self.view.slot_mut(p).waiters_mut(c);
        waiters.receivers.push((routine, op));
        match waiters.receiving {
            true => self.view.enqueue(
                Duration::ZERO,
                p,
                What::Recv {
                    channel: c,
                    routine,
                    op,
                },
            ),
            false => self.rebalance(p, c),
        }
    }

    /// A routine waits to send.
    pub(super) fn wait_to_send(&mut self, p: ProcId, c: Channel, routine: RoutineId, op: u32) {
        let waiters = self.view.slot_mut(p).waiters_mut(c);
        waiters.senders.push((routine, op));
        match waiters.sending {
            true => self.view.enqueue(
                Duration::ZERO,
                p,
                What::Send {
                    channel: c,
                    routine,
                    op,
                },
            ),
            false => self.rebalance(p, c),
        }
    }

    /// A receiver goes on, with what is there.
    pub(super) fn receive_now(&mut self, p: ProcId, c: Channel, routine: RoutineId, op: u32) {
        let slot = self.view.slot_mut(p);
        let waiters = slot.waiters_mut(c);
        waiters.receivers.retain(|w| *w != (routine, op));
        let item = slot.memory.buffers_mut().take(c);
        if item.is_some() {
            self.observer
                .see(|seen| seen.passed.push((p, c, Passed::Out)));
        }
        self.answer(p, routine, op, item.map_or(Answer::Unit, Answer::Value));
        self.rebalance(p, c);
    }

    /// A sender goes on: there is room, or the channel is closed.
    pub(super) fn send_now(&mut self, p: ProcId, c: Channel, routine: RoutineId, op: u32) {
        let slot = self.view.slot_mut(p);
        let waiters = slot.waiters_mut(c);
        waiters.senders.retain(|w| *w != (routine, op));
        let sender = slot.routine(routine);
        let step = sender.map(|r| &r.log.steps[op as usize].op);
        let Some(Op::SendTo(_, item)) = step else {
            unreachable!("{step:?} does not send");
        };
        let item = item.clone();
        let sent = slot.memory.buffers_mut().put(c, item);
        if sent {
            self.observer
                .see(|seen| seen.passed.push((p, c, Passed::In)));
        }
        self.answer(p, routine, op, Answer::Number(sent.into()));
        self.rebalance(p, c);
    }

    /// A routine no longer waits to receive. What it was given and never saw goes back.
    pub(super) fn leave_receivers(
        &mut self,
        p: ProcId,
        c: Channel,
        waiter: (RoutineId, u32),
        given: Option<Payload>,
    ) {
        let (routine, op) = waiter;
        let slot = self.view.slot_mut(p);
        slot.waiters_mut(c).receivers.retain(|w| *w != waiter);
        if let Some(item) = given {
            slot.memory.buffers_mut().put_back(c, item);
            self.observer
                .see(|seen| seen.passed.push((p, c, Passed::Back)));
        }
        let gone = What::Recv {
            channel: c,
            routine,
            op,
        };
        self.view.cancel_entry(p, gone);
        self.rebalance(p, c);
    }

    /// A routine no longer waits to send.
    pub(super) fn leave_senders(&mut self, p: ProcId, c: Channel, waiter: (RoutineId, u32)) {
        let (routine, op) = waiter;
        let waiters = self.view.slot_mut(p).waiters_mut(c);
        waiters.senders.retain(|w| *w != waiter);
        let gone = What::Send {
            channel: c,
            routine,
            op,
        };
        self.view.cancel_entry(p, gone);
        self.rebalance(p, c);
    }

    /// Offers to those who wait at a channel what has become possible, and takes back what no
    /// longer is.
    pub(crate) fn rebalance(&mut self, p: ProcId, c: Channel) {
        let Some(at) = self
            .view
            .slot(p)
            .channels
            .iter()
            .position(|w| w.channel == c)
        else {
            return;
        };
        let slot = self.view.slot_mut(p);
        let waiters = &mut slot.channels[at];
        let receive = !waiters.receivers.is_empty() && slot.memory.buffers().can_receive(c);
        let send = !waiters.senders.is_empty() && slot.memory.buffers().can_send(c);
        let was = (waiters.receiving, waiters.sending);
        (waiters.receiving, waiters.sending) = (receive, send);
        let Waiters {
            receivers, senders, ..
        } = match (receive, send) == was {
            true => Waiters::new(c), // nothing changes for anyone
            false => waiters.clone(),
        };
        if waiters.receivers.is_empty() && waiters.senders.is_empty() {
            slot.channels.remove(at);
        }
        let recv = |(routine, op): &(RoutineId, u32)| What::Recv {
            channel: c,
            routine: *routine,
            op: *op,
        };
        let send_to = |(routine, op): &(RoutineId, u32)| What::Send {
            channel: c,
            routine: *routine,
            op: *op,
        };
        if receive && !was.0 {
            self.view.enqueue_all(p, receivers.iter().map(recv));
        } else if was.0 && !receive && !receivers.is_empty() {
            self.view.cancel_entries(Which::Receives(p, c));
        }
        if send && !was.1 {
            self.view.enqueue_all(p, senders.iter().map(send_to));
        } else if was.1 && !send && !senders.is_empty() {
            self.view.cancel_entries(Which::Sends(p, c));
        }
    }

    /// Wakes all who wait for a condition now.
    pub(crate) fn broadcast(&mut self, p: ProcId, condition: Condition) {
        if self.view.slot(p).changes.iter().all(|w| w.0 != condition) {
            return;
        }
        let changes = &mut self.view.slot_mut(p).changes;
        let woken: Vec<_> = changes.extract_if(.., |w| w.0 == condition).collect();
        let wake = |(_, routine, op): &(Condition, RoutineId, u32)| What::Wake {
            routine: *routine,
            op: *op,
        };
        self.view.enqueue_all(p, woken.iter().map(wake));
    }
}
