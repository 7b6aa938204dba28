//! Streams of parts and their flow control: what a routine takes, what it acknowledges to the
//! server, and what it sends on. How frames travel belongs to `wire.rs`.

use crate::conn::{Caller, Dir, Frame, NetError};
use crate::exchange::Answer;
use crate::message::Payload;
use crate::name::{Origin, ProcId};

use super::World;

impl World {
    /// The next part of a stream, now or when it comes.
    pub(super) fn take_part(&mut self, p: ProcId, origin: Origin, stream: u32) {
        let slot = self.view.slot_mut(p);
        let mut taken = false;
        let next = match slot.calls.iter().position(|c| c.id == stream) {
            None => Err(NetError::Reset),
            Some(at) => {
                let state = slot.calls[at].stream.as_mut().expect("opened as a stream");
                match (state.parts.pop_front(), state.end) {
                    (Some(part), _) => {
                        taken = true;
                        Ok(Some(part))
                    }
                    (None, Some(end)) => {
                        slot.calls.remove(at);
                        end.map(|()| None)
                    }
                    (None, None) => {
                        state.waiter = Some(origin);
                        return;
                    }
                }
            }
        };
        self.answer(p, origin.routine, origin.op, Answer::Next(next));
        if taken {
            self.taken(p, stream);
        }
    }

    /// A routine has taken one more part of a stream: a quarter of the window is acknowledged at a
    /// time, as grpc-go's flow control does (`internal/transport/flowcontrol.go` `onRead`).
    pub(super) fn taken(&mut self, p: ProcId, stream: u32) {
        let Some(call) = self.view.slot(p).calls.iter().find(|c| c.id == stream) else {
            return;
        };
        let Some(conn) = self.view.conn(call.conn) else {
            return;
        };
        let Some(window) = conn.transport.window else {
            return;
        };
        let calls = &mut self.view.slot_mut(p).calls;
        let call = calls.iter_mut().find(|c| c.id == stream);
        let call = call.expect("found above");
        let state = call.stream.as_mut().expect("opened as a stream");
        state.taken += 1;
        if state.taken >= (window / 4).max(1) {
            let frame = Frame::Window {
                call: stream,
                origin: call.origin,
                taken: std::mem::take(&mut state.taken),
            };
            let conn = call.conn;
            self.send(conn, Dir::Up, frame);
        }
    }

    pub(crate) fn unacknowledged(&mut self, to: Caller) -> u32 {
        let inbound = self.view.conn(to.conn).map(|conn| &conn.inbound);
        let found = inbound.and_then(|calls| calls.iter().find(|i| i.call == to.call));
        found.map_or(0, |i| i.unacknowledged)
    }

    /// A further message on a stream, if it still stands.
    pub(super) fn send_part(&mut self, p: ProcId, stream: u32, body: Payload) {
        let Some(call) = self.view.slot(p).calls.iter().find(|c| c.id == stream) else {
            return;
        };
        if call.stream.as_ref().is_some_and(|s| s.end.is_some()) {
            return;
        }
        let (conn, origin) = (call.conn, call.origin);
        let call = stream;
        self.send(conn, Dir::Up, Frame::Part { call, origin, body });
    }
}
