//! How connections carry calls: opening, sending, delivery, loss. What a routine makes of the parts of
//! a stream is in `flow.rs`.

use std::time::Duration;

use triomphe::Arc;

use crate::conn::{Call, Caller, ConnId, Dir, Frame, Inbound, NetError, StreamState, Transport};
use crate::digest::Cached;
use crate::exchange::Answer;
use crate::message::Payload;
use crate::name::{Origin, ProcId};
use crate::net::Sent;
use crate::observe::Left;
use crate::queue::{ConnTimer, FrameHead, What, Which};
use crate::routine::Routine;
use crate::slot::Status;

use super::World;

impl World {
    #[expect(clippy::too_many_arguments, reason = "the parts of one call")]
    pub(super) fn begin_call(
        &mut self,
        p: ProcId,
        origin: Origin,
        call: u32,
        to: ProcId,
        transport: &'static Transport,
        body: Payload,
        stream: bool,
    ) {
        let conn = self.connection(p, to, transport);
        self.view.slot_mut(p).calls.push(Call {
            id: call,
            conn,
            origin,
            stream: stream.then(StreamState::default),
        });
        self.send(conn, Dir::Up, Frame::Request { call, origin, body });
    }

    /// A stream about the connection to a server: its part comes when that is open.
    pub(super) fn begin_connection(
        &mut self,
        p: ProcId,
        origin: Origin,
        call: u32,
        to: ProcId,
        transport: &'static Transport,
    ) {
        let conn = self.connection(p, to, transport);
        self.view.slot_mut(p).calls.push(Call {
            id: call,
            conn,
            origin,
            stream: Some(StreamState::default()),
        });
        if self.view.conn(conn).is_some_and(|conn| conn.open) {
            self.receive(p, call, Payload::new(()), false);
        }
    }

    pub(crate) fn cast(
        &mut self,
        p: ProcId,
        to: ProcId,
        transport: &'static Transport,
        body: Payload,
    ) {
        let conn = self.connection(p, to, transport);
        self.send(conn, Dir::Up, Frame::Cast(body));
    }

    /// The open connection of a client to a server, or a new one.
    fn connection(&mut self, p: ProcId, to: ProcId, transport: &'static Transport) -> ConnId {
        let slot = self.view.slot(p);
        let (client, limit) = (slot.life(p), slot.clock.stretch(transport.dial_timeout));
        let (id, is_new) = self.view.connection(client, to, transport);
        if is_new {
            self.send(id, Dir::Up, Frame::Open);
            let timer = ConnTimer {
                conn: id,
                dial: true,
            };
            self.view.enqueue(limit, p, What::Conn(timer));
        }
        id
    }

    /// Hands a frame to the connection; it leaves when the event is over.
    pub(super) fn send(&mut self, id: ConnId, dir: Dir, frame: Frame) {
        let Some(conn) = self.view.conn_mut(id) else {
            return;
        };
        if dir == Dir::Up && !conn.open && !matches!(frame, Frame::Open | Frame::Close) {
            match frame {
                Frame::Cancel { call, .. } => conn.backlog.retain(|f| match f {
                    Frame::Request { call: c, .. } | Frame::Part { call: c, .. } => *c != call,
                    _ => true,
                }),
                frame => conn.backlog.push(frame),
            }
            return;
        }
        if !conn.dead {
            self.scratch.outbox.push((id, dir, frame));
        }
    }

    /// Puts what was sent on its way.
    pub(super) fn flush(&mut self, latency: &mut dyn FnMut(Sent) -> Duration) {
        let mut outbox = std::mem::take(&mut self.scratch.outbox);
        for (id, dir, frame) in outbox.drain(..) {
            let Some((from, to)) = self.view.conn(id).map(|conn| conn.route(dir)) else {
                continue;
            };
            let wire = FrameHead { conn: id, dir };
            let slow = self.view.link(from, to).slow;
            let delay = latency(Sent {
                from,
                to,
                nominal: self.view.nominal(from, to),
                slow,
                wire,
            });
            self.report.delays.push(crate::time::nanos(delay));
            self.observer.see(|seen| {
                seen.left.push(Left {
                    wire,
                    from,
                    to,
                    is_slowed: slow > 1,
                });
            });
            self.view.fly(id, dir, frame, delay);
        }
        self.scratch.outbox = outbox;
    }

    /// The head of a direction arrives.
    pub(super) fn deliver(&mut self, head: FrameHead) {
        let FrameHead { conn: id, dir } = head;
        let conn = self.view.conn(id).expect("pending frames have one");
        let (_, to) = conn.route(dir);
        let frame = self.view.land(head);
        self.observer.see(|seen| {
            seen.landed = Some(head);
            seen.body = frame.body().cloned();
        });
        let machine = self.view.slot(to).status;
        match dir {
            _ if machine == Status::Off => {}
            Dir::Up => self.at_server(id, to, machine, frame),
            Dir::Down => self.at_client(id, to, frame),
        }
        self.forget_if_over(id);
    }

    fn at_server(&mut self, id: ConnId, me: ProcId, machine: Status, frame: Frame) {
        let conn = self.view.conn_mut(id).expect("delivered");
        if matches!(frame, Frame::Open) {
            let listening = machine == Status::Up && self.view.slot(me).process().accepting();
            let conn = self.view.conn_mut(id).expect("delivered");
            conn.server_end = listening;
            let answer = match listening {
                true => Frame::Accept,
                false => Frame::Refuse,
            };
            return self.send(id, Dir::Down, answer);
        }
        if !conn.server_end {
            if !matches!(frame, Frame::Close) {
                self.send(id, Dir::Down, Frame::Close);
            }
            return;
        }
        let client = conn.client;
        match frame {
            Frame::Request { call, origin, body } => {
                conn.inbound.push(Inbound {
                    call,
                    origin,
                    unacknowledged: 0,
                });
                let conn = id;
                let caller = Caller { conn, call, client };
                self.callback(me, |process, cx| process.request(cx, caller, &body));
            }
            Frame::Cancel { call, .. } => {
                if let Some(at) = conn.inbound.iter().position(|i| i.call == call) {
                    conn.inbound.remove(at);
                    let conn = id;
                    self.abandon(me, Caller { conn, call, client });
                }
            }
            Frame::Part { call, body, .. } => {
                if conn.inbound.iter().any(|i| i.call == call) {
                    let conn = id;
                    let caller = Caller { conn, call, client };
                    self.callback(me, |process, cx| process.part(cx, caller, &body));
                }
            }
            Frame::Window { call, taken, .. } => {
                if let Some(inbound) = conn.inbound.iter_mut().find(|i| i.call == call) {
                    inbound.unacknowledged -= taken;
                    let conn = id;
                    let caller = Caller { conn, call, client };
                    self.callback(me, |process, cx| process.acknowledged(cx, caller));
                }
            }
            Frame::Cast(body) => {
                self.callback(me, |process, cx| process.cast(cx, client.process, &body));
            }
            Frame::Close => self.server_end_gone(id, me),
            Frame::Ping => self.send(id, Dir::Down, Frame::Pong),
            other => unreachable!("{other:?} does not go to a server"),
        }
    }

    /// The server's end of a connection is gone: nobody waits for its answers.
    fn server_end_gone(&mut self, id: ConnId, me: ProcId) {
        let Some(conn) = self.view.conn_mut(id) else {
            return;
        };
        conn.server_end = false;
        let client = conn.client;
        for Inbound { call, .. } in std::mem::take(&mut conn.inbound) {
            let conn = id;
            self.abandon(me, Caller { conn, call, client });
        }
    }

    /// Nobody waits for the answer to `caller`: the routine that serves it loses its context.
    fn abandon(&mut self, me: ProcId, caller: Caller) {
        if self.view.slot(me).status != Status::Up {
            return;
        }
        let serving = |r: &&Arc<Cached<Routine>>| r.serving == Some(caller);
        match self
            .view
            .slot(me)
            .routines
            .iter()
            .find(serving)
            .map(|r| r.id)
        {
            Some(routine) => self.cancel_context(me, routine),
            None => self.callback(me, |process, cx| process.cancelled(cx, caller)),
        }
    }

    fn at_client(&mut self, id: ConnId, me: ProcId, frame: Frame) {
        let conn = self.view.conn_mut(id).expect("delivered");
        if !conn.client_end {
            if conn.server_end && !matches!(frame, Frame::Close | Frame::Refuse) {
                self.send(id, Dir::Up, Frame::Close);
            }
            return;
        }
        self.view.hear(id, true);
        let conn = self.view.conn_mut(id).expect("delivered");
        match frame {
            Frame::Accept => {
                conn.open = true;
                let backlog = std::mem::take(&mut conn.backlog);
                let keepalive = conn.transport.keepalive;
                self.cancel_conn_timers(id);
                for frame in backlog {
                    self.send(id, Dir::Up, frame);
                }
                if let Some(keepalive) = keepalive {
                    self.arm_keepalive(id, me, keepalive.after);
                }
                let calls = self.view.slot(me).calls.iter();
                let about = calls.filter(|call| call.conn == id && call.is_of_connection());
                let about: Vec<u32> = about.map(|call| call.id).collect();
                for call in about {
                    self.receive(me, call, Payload::new(()), false);
                }
            }
            Frame::Refuse => self.client_end_gone(id, me, NetError::Refused),
            Frame::Close => self.client_end_gone(id, me, NetError::Reset),
            Frame::Pong => {}
            Frame::GoAway => {
                conn.draining = true;
                self.close_if_drained(id, me);
            }
            Frame::Response {
                call, body, last, ..
            } => self.receive(me, call, body, last),
            other => unreachable!("{other:?} does not go to a client"),
        }
    }

    fn receive(&mut self, me: ProcId, id: u32, body: Payload, last: bool) {
        let slot = self.view.slot_mut(me);
        let Some(at) = slot.calls.iter().position(|c| c.id == id) else {
            return; // given up in the meantime
        };
        let call = &mut slot.calls[at];
        let Origin { routine, op, .. } = call.origin;
        match &mut call.stream {
            None => {
                let conn = slot.calls.remove(at).conn;
                self.answer(me, routine, op, Answer::Net(Ok(body)));
                self.close_if_drained(conn, me);
            }
            Some(stream) => {
                if last {
                    stream.end = Some(Ok(()));
                }
                match stream.waiter.take() {
                    Some(waiter) => {
                        let answer = Answer::Next(Ok(Some(body)));
                        self.answer(me, waiter.routine, waiter.op, answer);
                        self.taken(me, id);
                    }
                    None => stream.parts.push_back(body),
                }
            }
        }
    }

    /// The client's end of a connection is gone: its calls fail.
    fn client_end_gone(&mut self, id: ConnId, me: ProcId, error: NetError) {
        let Some(conn) = self.view.conn_mut(id) else {
            return;
        };
        conn.client_end = false;
        self.cancel_conn_timers(id);
        let slot = self.view.slot_mut(me);
        let mut failed: Vec<(Origin, Answer)> = Vec::new();
        slot.calls.retain_mut(|call| {
            if call.conn != id {
                return true;
            }
            match &mut call.stream {
                None => {
                    failed.push((call.origin, Answer::Net(Err(error))));
                    false
                }
                Some(stream) => {
                    let end = *stream.end.get_or_insert(Err(error));
                    match stream.waiter.take() {
                        None => true,
                        Some(waiter) => {
                            failed.push((waiter, Answer::Next(end.map(|()| None))));
                            false
                        }
                    }
                }
            }
        });
        for (origin, answer) in failed {
            self.answer(me, origin.routine, origin.op, answer);
        }
    }

    /// The client gives a call up.
    pub(super) fn end_call(&mut self, p: ProcId, id: u32) {
        let slot = self.view.slot_mut(p);
        let Some(at) = slot.calls.iter().position(|c| c.id == id) else {
            return;
        };
        let call = slot.calls.remove(at);
        let tells_nobody = call.is_of_connection();
        let over = call.stream.is_some_and(|s| s.end.is_some());
        if !over && !tells_nobody {
            let origin = call.origin;
            self.send(call.conn, Dir::Up, Frame::Cancel { call: id, origin });
        }
        self.close_if_drained(call.conn, p);
    }

    /// Sends an answer, or a part of one, if somebody still waits for it.
    pub(crate) fn reply(&mut self, _me: ProcId, to: Caller, body: Payload, last: bool) {
        let Some(conn) = self.view.conn_mut(to.conn) else {
            return;
        };
        let Some(at) = conn.inbound.iter().position(|i| i.call == to.call) else {
            return;
        };
        let Inbound { call, origin, .. } = conn.inbound[at];
        if last {
            conn.inbound.remove(at);
        } else if conn.transport.window.is_some() {
            conn.inbound[at].unacknowledged += 1;
        }
        self.send(
            to.conn,
            Dir::Down,
            Frame::Response {
                call,
                origin,
                body,
                last,
            },
        );
    }

    /// Tells all clients to open no new calls on their connections (HTTP/2 GOAWAY).
    pub(crate) fn go_away(&mut self, me: ProcId) {
        for id in self.view.conns_to(me) {
            if self.view.conn(id).is_some_and(|conn| conn.server_end) {
                self.send(id, Dir::Down, Frame::GoAway);
            }
        }
    }

    fn close_if_drained(&mut self, id: ConnId, me: ProcId) {
        let Some(conn) = self.view.conn(id) else {
            return;
        };
        if conn.draining && conn.client_end && !self.view.slot(me).calls.iter().any(|c| c.is_on(id))
        {
            self.send(id, Dir::Up, Frame::Close);
            self.client_end_gone(id, me, NetError::Reset);
        }
    }

    pub(super) fn conn_timer(&mut self, timer: ConnTimer) {
        let conn = self
            .view
            .conn_mut(timer.conn)
            .expect("pending timers have one");
        let me = conn.client.process;
        if timer.dial {
            self.client_end_gone(timer.conn, me, NetError::DialTimeout);
            self.send(timer.conn, Dir::Up, Frame::Close);
            self.forget_if_over(timer.conn);
            return;
        }
        let keepalive = conn.transport.keepalive.expect("it has the timer");
        let pinging = std::mem::replace(&mut conn.pinging, false);
        let heard = self.view.heard(timer.conn);
        self.view.hear(timer.conn, false);
        if pinging && heard.is_none() {
            // As grpc-go's keepalive and net/http2's health check: the transport is closed.
            self.client_end_gone(timer.conn, me, NetError::Reset);
            self.send(timer.conn, Dir::Up, Frame::Close);
            self.forget_if_over(timer.conn);
        } else if heard.is_none()
            && (keepalive.idle || self.view.slot(me).calls.iter().any(|c| c.is_on(timer.conn)))
        {
            self.view.conn_mut(timer.conn).expect("found above").pinging = true;
            self.send(timer.conn, Dir::Up, Frame::Ping);
            self.arm_keepalive(timer.conn, me, keepalive.limit);
        } else {
            // As grpc-go: so long after the last thing heard.
            let quiet = heard.unwrap_or(Duration::ZERO);
            self.arm_keepalive(timer.conn, me, keepalive.after.saturating_sub(quiet));
        }
    }

    fn arm_keepalive(&mut self, conn: ConnId, me: ProcId, after: Duration) {
        let after = self.view.slot(me).clock.stretch(after);
        self.view
            .enqueue(after, me, What::Conn(ConnTimer { conn, dial: false }));
    }

    fn cancel_conn_timers(&mut self, id: ConnId) {
        self.view.cancel_entries(Which::TimersOf(id));
    }

    /// Drops the ends that `p` had; `tell` says whether its machine tells the peers.
    pub(super) fn drop_ends(&mut self, p: ProcId, tell: bool) {
        for id in self.view.conns_of(p) {
            let conn = self.view.conn(id).expect("exists");
            let (is_client, is_server) = (
                conn.client.process == p && conn.client_end,
                conn.server == p && conn.server_end,
            );
            if is_client {
                self.view.conn_mut(id).expect("exists").client_end = false;
                if tell {
                    self.send(id, Dir::Up, Frame::Close);
                }
            }
            if is_server {
                let conn = self.view.conn_mut(id).expect("exists");
                conn.server_end = false;
                conn.inbound.clear();
                if tell {
                    self.send(id, Dir::Down, Frame::Close);
                }
            }
            self.forget_if_over(id);
        }
    }

    /// Forgets a connection that neither end knows, once nothing is under way on it.
    pub(super) fn forget_if_over(&mut self, id: ConnId) {
        let Some(conn) = self.view.conn(id) else {
            return;
        };
        if conn.client_end || conn.server_end {
            return;
        }
        let is_known = conn.open || conn.dead;
        let is_opening =
            |(c, _, frame): &(ConnId, Dir, Frame)| *c == id && matches!(frame, Frame::Open);
        if (is_known || !self.view.is_under_way_up(id))
            && !self.scratch.outbox.iter().any(is_opening)
        {
            self.view.forget(id);
        }
    }

    /// Breaks a connection: what is under way down is lost; what is under way up is lost too if
    /// `both`. Each end learns of it after the link's latency.
    pub(super) fn reset(&mut self, id: ConnId, both: bool) {
        let conn = self.view.state_mut().conn_mut(id);
        let conn = conn.expect("chosen among those that exist");
        conn.down.clear();
        conn.ends_mut().backlog.clear();
        if both {
            conn.up.clear();
        }
        self.view.cancel_entries(match both {
            true => Which::FramesOf(id),
            false => Which::FramesDown(id),
        });
        self.send(id, Dir::Up, Frame::Close);
        self.send(id, Dir::Down, Frame::Close);
    }

    /// The connection is forgotten on the way.
    pub(super) fn blackhole(&mut self, id: ConnId) {
        let conn = self.view.state_mut().conn_mut(id);
        let conn = conn.expect("chosen among those that exist");
        conn.ends_mut().dead = true;
        conn.up.clear();
        conn.down.clear();
        self.view.cancel_entries(Which::FramesOf(id));
    }
}
