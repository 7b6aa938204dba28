//! How routines of one process talk: bounded channels and conditions, as Go has them. Both are
//! volatile. A wait on either ends with an event, so that other routines may run in between; looking,
//! closing and a try happen in place.

use std::collections::VecDeque;

use crate::context::Cx;
use crate::exchange::{self, Answer, Exchange, Op};
use crate::message::{Message, Payload};
use crate::mutant::hashed_by_parts;
use crate::name::{Name, RoutineId};
use crate::routine::{Pending, Rx};

/// A channel of the process: what it is for, and a number that tells apart those with one name.
/// It begins with [`Rx::make`]. One that was never made is the same as one that is closed and empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Channel {
    name: Name,
    number: u64,
}

impl Channel {
    /// The channel `name`, number `number`.
    pub const fn new(name: &'static str, number: u64) -> Channel {
        Channel {
            name: Name::new(name),
            number,
        }
    }
}

/// A condition of the process: those who wait for its change are woken, nothing is remembered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Condition {
    name: Name,
    number: u64,
}

impl Condition {
    /// The condition `name`, number `number`.
    pub const fn new(name: &'static str, number: u64) -> Condition {
        Condition {
            name: Name::new(name),
            number,
        }
    }
}

/// What a channel holds.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Buffer {
    capacity: u32,
    closed: bool,
    items: VecDeque<Payload>,
}
hashed_by_parts!(Buffer {
    capacity,
    closed,
    items
});

/// The channels of a process that are open or hold something, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Buffers(Vec<(Channel, Buffer)>);

impl Buffers {
    fn get(&self, channel: Channel) -> Option<&Buffer> {
        let at = self.0.binary_search_by_key(&channel, |(c, _)| *c).ok()?;
        Some(&self.0[at].1)
    }

    fn get_mut(&mut self, channel: Channel) -> Option<&mut Buffer> {
        let at = self.0.binary_search_by_key(&channel, |(c, _)| *c).ok()?;
        Some(&mut self.0[at].1)
    }

    pub fn make(&mut self, channel: Channel, capacity: u32) {
        assert!(
            capacity > 0,
            "{channel:?} without a buffer: one is the least"
        );
        let at = self.0.partition_point(|(c, _)| *c < channel);
        let taken = self.0.get(at).is_some_and(|(c, _)| *c == channel);
        assert!(!taken, "{channel:?} is made twice");
        let buffer = Buffer {
            capacity,
            closed: false,
            items: VecDeque::new(),
        };
        self.0.insert(at, (channel, buffer));
    }

    /// Has a receiver nothing to wait for?
    pub fn can_receive(&self, channel: Channel) -> bool {
        self.get(channel)
            .is_none_or(|b| b.closed || !b.items.is_empty())
    }

    /// Has a sender nothing to wait for?
    pub fn can_send(&self, channel: Channel) -> bool {
        self.get(channel)
            .is_none_or(|b| b.closed || b.items.len() < b.capacity as usize)
    }

    /// The oldest item; `None` also if there is none yet.
    pub fn take(&mut self, channel: Channel) -> Option<Payload> {
        let item = self.get_mut(channel)?.items.pop_front();
        self.forget(channel);
        item
    }

    /// Back to where it was taken from.
    pub fn put_back(&mut self, channel: Channel, item: Payload) {
        match self.get_mut(channel) {
            Some(buffer) => buffer.items.push_front(item),
            // It was the last of a closed channel.
            None => {
                self.make(channel, 1);
                let buffer = self.get_mut(channel).expect("just made");
                buffer.closed = true;
                buffer.items.push_front(item);
            }
        }
    }

    /// False if it is full, closed or was never made.
    pub fn put(&mut self, channel: Channel, item: Payload) -> bool {
        match self.get_mut(channel) {
            Some(b) if !b.closed && b.items.len() < b.capacity as usize => {
                b.items.push_back(item);
                true
            }
            _ => false,
        }
    }

    pub fn close(&mut self, channel: Channel) {
        if let Some(buffer) = self.get_mut(channel) {
            buffer.closed = true;
            self.forget(channel);
        }
    }

    pub fn len(&self, channel: Channel) -> usize {
        self.get(channel).map_or(0, |b| b.items.len())
    }

    pub fn is_closed(&self, channel: Channel) -> bool {
        self.get(channel).is_none_or(|b| b.closed)
    }

    /// Closed and empty: the same as never made.
    fn forget(&mut self, channel: Channel) {
        self.0
            .retain(|(c, b)| *c != channel || !b.closed || !b.items.is_empty());
    }
}

/// Who waits at a channel, with the operations that wait, in order of arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Waiters {
    pub channel: Channel,
    pub receivers: Vec<(RoutineId, u32)>,
    pub senders: Vec<(RoutineId, u32)>,
    /// Do all receivers have an event pending that lets them go on?
    pub receiving: bool,
    /// The same of the senders.
    pub sending: bool,
}
hashed_by_parts!(Waiters {
    channel,
    receivers,
    senders,
    receiving,
    sending
});

impl Waiters {
    pub fn new(channel: Channel) -> Waiters {
        Waiters {
            channel,
            receivers: Vec::new(),
            senders: Vec::new(),
            receiving: false,
            sending: false,
        }
    }
}

/// Works on the channels in place.
fn in_place(op: Op, work: impl FnOnce(&mut Buffers) -> u64) -> u64 {
    let work = |exchange: &mut Exchange| Answer::Number(work(exchange.memory.buffers_mut()));
    match exchange::with(|exchange| exchange.in_place(op, work)) {
        Answer::Number(number) => number,
        other => unreachable!("{other:?}"),
    }
}

/// Channels and conditions of a routine's process.
impl Rx {
    /// Makes a channel that holds up to `capacity` items, at least one.
    pub fn make(self, channel: Channel, capacity: u32) {
        in_place(Op::MakeChannel(channel, capacity), |buffers| {
            buffers.make(channel, capacity);
            0
        });
    }

    /// The next item; `None` if the channel is closed and empty. An await even when there is one:
    /// another receiver may be faster. Dropping the future cancels the wait.
    pub async fn recv(self, channel: Channel) -> Option<Payload> {
        match Pending::new(Op::Recv(channel)).await {
            Answer::Value(item) => Some(item),
            Answer::Unit => None,
            other => unreachable!("{other:?}"),
        }
    }

    /// Sends as soon as there is room. An await even when there is: another sender may be faster.
    /// False if the channel is closed. Dropping the future cancels the wait, and nothing is sent.
    pub async fn send_to(self, channel: Channel, item: Payload) -> bool {
        match Pending::new(Op::SendTo(channel, item)).await {
            Answer::Number(sent) => sent != 0,
            other => unreachable!("{other:?}"),
        }
    }

    /// Sends if there is room right now. In place: no other routine runs in between.
    pub fn try_send(self, channel: Channel, item: Payload) -> bool {
        let op = Op::TrySend(channel, item.clone());
        in_place(op, |buffers| buffers.put(channel, item).into()) != 0
    }

    /// Takes no more items; those inside can still be received. Closing twice is no mistake.
    pub fn close(self, channel: Channel) {
        in_place(Op::Close(channel), |buffers| {
            buffers.close(channel);
            0
        });
    }

    /// How many items a channel holds.
    pub fn len(self, channel: Channel) -> usize {
        in_place(Op::Look(channel), |buffers| buffers.len(channel) as u64) as usize
    }

    /// Does a channel take no more items?
    pub fn is_closed(self, channel: Channel) -> bool {
        in_place(Op::Look(channel), |buffers| {
            buffers.is_closed(channel).into()
        }) != 0
    }

    /// Waits for the next [`Rx::broadcast`] of a condition. Between a look at what is waited for
    /// and this no other routine runs, unless there is an await in between: no wake-up is lost.
    pub async fn changed(self, condition: Condition) {
        Pending::new(Op::Changed(condition)).await;
    }

    /// Wakes all who wait for the condition now.
    pub fn broadcast(self, condition: Condition) {
        exchange::with(|exchange| {
            exchange.issue(Op::Broadcast(condition));
        });
    }
}

/// The same for callbacks.
impl Cx<'_> {
    fn buffers(&mut self) -> &mut Buffers {
        self.world.memory_mut(self.me).buffers_mut()
    }

    /// Makes a channel: see [`Rx::make`].
    pub fn make(&mut self, channel: Channel, capacity: u32) {
        self.buffers().make(channel, capacity);
        self.world.rebalance(self.me, channel);
    }

    /// Sends if there is room: see [`Rx::try_send`].
    pub fn try_send<T: Message + Eq + std::hash::Hash>(&mut self, to: Channel, item: T) -> bool {
        let sent = self.buffers().put(to, Payload::new(item));
        self.world.rebalance(self.me, to);
        sent
    }

    /// Takes no more items: see [`Rx::close`].
    pub fn close(&mut self, channel: Channel) {
        self.buffers().close(channel);
        self.world.rebalance(self.me, channel);
    }

    /// Wakes all who wait for the condition now.
    pub fn broadcast(&mut self, condition: Condition) {
        self.world.broadcast(self.me, condition);
    }
}
