//! How connections carry calls: opening, sending, delivery, loss. What a routine makes of the parts of
//! a stream is in `flow.rs`.

use std::time::Duration;

use triomphe::Arc;

use crate::conn::{
    Call, Caller, Conn, ConnId, Dir, Flight, Frame, Inbound, NetError, StreamState, Transport,
};
use crate::exchange::Answer;
use crate::memo::{Edit, Question};
use crate::message::Payload;
use crate::name::{Life, Origin, ProcId};
use crate::net::Sent;
use crate::queue::{ConnTimer, FrameHead, What, Which};
use crate::slot::Status;
use crate::time::Time;

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
        self.slot_mut(p).calls.push(Call {
            id: call,
            conn,
            origin,
            stream: stream.then(StreamState::default),
        });
        self.send(conn, Dir::Up, Frame::Request { call, origin, body });
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
        let client = self.slot(p).life(p);
        self.ask(Question::Connection(client, to, transport));
        match self.open_connection(client, to, transport) {
            Some(id) => id,
            None => self.dial(p, to, transport),
        }
    }

    pub(super) fn open_connection(
        &self,
        client: Life,
        to: ProcId,
        transport: &'static Transport,
    ) -> Option<ConnId> {
        let leads_there = |(_, c): &&(ConnId, Arc<Conn>)| {
            c.client == client
                && c.client_end
                && !c.draining
                && c.server == to
                && c.transport == transport
        };
        self.conns.iter().find(leads_there).map(|(id, _)| *id)
    }

    fn dial(&mut self, p: ProcId, to: ProcId, transport: &'static Transport) -> ConnId {
        self.ask(Question::NextConn);
        self.next_conn += 1;
        let id = ConnId(self.next_conn);
        self.ask(Question::Ends(id));
        let conn = Conn::new(id, self.slot(p).life(p), to, transport);
        self.conns.push((id, Arc::new(conn)));
        self.send(id, Dir::Up, Frame::Open);
        let limit = self.slot(p).clock.stretch(transport.dial_timeout);
        let timer = ConnTimer {
            conn: id,
            dial: true,
        };
        self.enqueue(self.now + limit, p, What::Conn(timer));
        id
    }

    /// Hands a frame to the connection; it leaves when the event is over.
    pub(super) fn send(&mut self, id: ConnId, dir: Dir, frame: Frame) {
        let Some(conn) = self.conn_mut(id) else {
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
            let Some((from, to)) = self.conn(id).map(|conn| conn.route(dir)) else {
                continue;
            };
            let delay = latency(Sent {
                from,
                to,
                nominal: self.nominal(from, to),
                slow: self.link(from, to).slow,
            });
            self.scratch.delays.push(crate::time::nanos(delay));
            let flight = Flight::new(self.now + delay, frame);
            let now = self.now;
            self.write_down(|| Edit::fly(id, dir, &flight, now));
            self.fly(id, dir, flight);
        }
        self.scratch.outbox = outbox;
    }

    /// A frame is on its way, behind those that are.
    pub(super) fn fly(&mut self, id: ConnId, dir: Dir, mut flight: Flight) {
        let conn = self.whole_conn_mut(id).expect("it can be sent on");
        let (_, to) = conn.route(dir);
        let flights = conn.flights_mut(dir);
        if let Some(last) = flights.back() {
            flight.at = flight.at.max(last.at);
        }
        let at = flight.at;
        flights.push_back(flight);
        if flights.len() == 1 {
            self.enter(at, to, What::Frame(FrameHead { conn: id, dir }));
        }
    }

    /// The head arrives; the next one becomes the head.
    pub(super) fn land(&mut self, head: FrameHead) -> Frame {
        let now = self.now;
        let conn = self.whole_conn_mut(head.conn);
        let conn = conn.expect("pending frames have one");
        let (_, to) = conn.route(head.dir);
        let flights = conn.flights_mut(head.dir);
        let frame = flights.pop_front().expect("the head").frame;
        if let Some(next) = flights.front() {
            let at = next.at.max(now);
            self.enter(at, to, What::Frame(head));
        }
        frame
    }

    /// The client has heard something now, or forgets when.
    pub(super) fn hear(&mut self, id: ConnId, heard: Option<Time>) {
        self.write_down(|| Edit::Hear(id, heard.is_some()));
        if let Some(conn) = self.whole_conn_mut(id) {
            conn.heard = heard;
        }
    }

    /// The head of a direction arrives.
    pub(super) fn deliver(&mut self, head: FrameHead) {
        let FrameHead { conn: id, dir } = head;
        let conn = self.conn(id).expect("pending frames have one");
        let (_, to) = conn.route(dir);
        self.write_down(|| Edit::Land(head));
        let frame = self.land(head);
        let machine = self.slot(to).status;
        match dir {
            _ if machine == Status::Off => {}
            Dir::Up => self.at_server(id, to, machine, frame),
            Dir::Down => self.at_client(id, to, frame),
        }
        self.forget_if_over(id);
    }

    fn at_server(&mut self, id: ConnId, me: ProcId, machine: Status, frame: Frame) {
        let conn = self.conn_mut(id).expect("delivered");
        if matches!(frame, Frame::Open) {
            let listening = machine == Status::Up && self.slot(me).process().accepting();
            let conn = self.conn_mut(id).expect("delivered");
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
        let Some(conn) = self.conn_mut(id) else {
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
        if self.slot(me).status != Status::Up {
            return;
        }
        let serving = |r: &&Arc<crate::routine::Routine>| r.serving == Some(caller);
        match self.slot(me).routines.iter().find(serving).map(|r| r.id) {
            Some(routine) => self.cancel_context(me, routine),
            None => self.callback(me, |process, cx| process.cancelled(cx, caller)),
        }
    }

    fn at_client(&mut self, id: ConnId, me: ProcId, frame: Frame) {
        let now = self.now;
        let conn = self.conn_mut(id).expect("delivered");
        if !conn.client_end {
            if conn.server_end && !matches!(frame, Frame::Close | Frame::Refuse) {
                self.send(id, Dir::Up, Frame::Close);
            }
            return;
        }
        self.hear(id, Some(now));
        let conn = self.conn_mut(id).expect("delivered");
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
        let slot = self.slot_mut(me);
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
        let Some(conn) = self.conn_mut(id) else {
            return;
        };
        conn.client_end = false;
        self.cancel_conn_timers(id);
        let slot = self.slot_mut(me);
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
        let slot = self.slot_mut(p);
        let Some(at) = slot.calls.iter().position(|c| c.id == id) else {
            return;
        };
        let call = slot.calls.remove(at);
        let over = call.stream.is_some_and(|s| s.end.is_some());
        if !over {
            let origin = call.origin;
            self.send(call.conn, Dir::Up, Frame::Cancel { call: id, origin });
        }
        self.close_if_drained(call.conn, p);
    }

    /// Sends an answer, or a part of one, if somebody still waits for it.
    pub(crate) fn reply(&mut self, _me: ProcId, to: Caller, body: Payload, last: bool) {
        let Some(conn) = self.conn_mut(to.conn) else {
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
        self.ask(Question::ConnsOf(me));
        let of_server = |(_, c): &&(ConnId, Arc<Conn>)| c.server == me;
        let ids: Vec<_> = self
            .conns
            .iter()
            .filter(of_server)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if self.conn(id).is_some_and(|conn| conn.server_end) {
                self.send(id, Dir::Down, Frame::GoAway);
            }
        }
    }

    fn close_if_drained(&mut self, id: ConnId, me: ProcId) {
        let Some(conn) = self.conn(id) else {
            return;
        };
        if conn.draining && conn.client_end && !self.slot(me).calls.iter().any(|c| c.conn == id) {
            self.send(id, Dir::Up, Frame::Close);
            self.client_end_gone(id, me, NetError::Reset);
        }
    }

    pub(super) fn conn_timer(&mut self, timer: ConnTimer) {
        let conn = self.conn_mut(timer.conn).expect("pending timers have one");
        let me = conn.client.process;
        if timer.dial {
            self.client_end_gone(timer.conn, me, NetError::DialTimeout);
            self.send(timer.conn, Dir::Up, Frame::Close);
            self.forget_if_over(timer.conn);
            return;
        }
        let keepalive = conn.transport.keepalive.expect("it has the timer");
        let pinging = std::mem::replace(&mut conn.pinging, false);
        self.ask(Question::Heard(timer.conn));
        let heard = self.peek_conn(timer.conn).and_then(|conn| conn.heard);
        self.hear(timer.conn, None);
        if pinging && heard.is_none() {
            // As grpc-go's keepalive and net/http2's health check: the transport is closed.
            self.client_end_gone(timer.conn, me, NetError::Reset);
            self.send(timer.conn, Dir::Up, Frame::Close);
            self.forget_if_over(timer.conn);
        } else if heard.is_none()
            && (keepalive.idle || self.slot(me).calls.iter().any(|c| c.conn == timer.conn))
        {
            self.conn_mut(timer.conn).expect("found above").pinging = true;
            self.send(timer.conn, Dir::Up, Frame::Ping);
            self.arm_keepalive(timer.conn, me, keepalive.limit);
        } else {
            // As grpc-go: so long after the last thing heard.
            let quiet = heard.map_or(Duration::ZERO, |at| self.now.since(at));
            self.arm_keepalive(timer.conn, me, keepalive.after.saturating_sub(quiet));
        }
    }

    fn arm_keepalive(&mut self, conn: ConnId, me: ProcId, after: Duration) {
        let at = self.now + self.slot(me).clock.stretch(after);
        self.enqueue(at, me, What::Conn(ConnTimer { conn, dial: false }));
    }

    fn cancel_conn_timers(&mut self, id: ConnId) {
        self.cancel_entries(Which::TimersOf(id));
    }

    /// Drops the ends that `p` had; `tell` says whether its machine tells the peers.
    pub(super) fn drop_ends(&mut self, p: ProcId, tell: bool) {
        self.ask(Question::ConnsOf(p));
        let own = |(_, c): &&(ConnId, Arc<Conn>)| c.client.process == p || c.server == p;
        let conns: Vec<_> = self.conns.iter().filter(own).cloned().collect();
        for (id, conn) in conns {
            if conn.client.process == p && conn.client_end {
                self.conn_mut(id).expect("exists").client_end = false;
                if tell {
                    self.send(id, Dir::Up, Frame::Close);
                }
            }
            if conn.server == p && conn.server_end {
                let conn = self.conn_mut(id).expect("exists");
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
        let Some(conn) = self.conn(id) else {
            return;
        };
        if conn.client_end || conn.server_end {
            return;
        }
        let is_known = conn.open || conn.dead;
        if !is_known {
            self.ask(Question::UnderWayUp(id));
        }
        let is_up_empty = self.peek_conn(id).is_some_and(|conn| conn.up.is_empty());
        let over = (is_known || is_up_empty)
            && !self
                .scratch
                .outbox
                .iter()
                .any(|(c, _, f)| *c == id && matches!(f, Frame::Open));
        if over {
            self.conns.retain(|(c, _)| *c != id);
            self.cancel_entries(Which::AllOf(id));
        }
    }

    /// Breaks a connection: what is under way down is lost; what is under way up is lost too if
    /// `both`. Each end learns of it after the link's latency.
    pub(super) fn reset(&mut self, id: ConnId, both: bool) {
        let conn = self.whole_conn_mut(id);
        let conn = conn.expect("chosen among those that exist");
        conn.down.clear();
        conn.ends_mut().backlog.clear();
        if both {
            conn.up.clear();
        }
        self.cancel_entries(match both {
            true => Which::FramesOf(id),
            false => Which::FramesDown(id),
        });
        self.send(id, Dir::Up, Frame::Close);
        self.send(id, Dir::Down, Frame::Close);
    }

    /// The connection is forgotten on the way.
    pub(super) fn blackhole(&mut self, id: ConnId) {
        let conn = self.whole_conn_mut(id);
        let conn = conn.expect("chosen among those that exist");
        conn.ends_mut().dead = true;
        conn.up.clear();
        conn.down.clear();
        self.cancel_entries(Which::FramesOf(id));
    }
}
