//! Connections: ordered, reliable while up, able to stall, to be reset and to be half open. A call
//! is one request on a connection with one answer, or with a stream of them. How frames travel is in
//! `world/wire.rs`.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::time::Duration;

use thiserror::Error;
use triomphe::Arc;

use crate::digest::{Cached, Digest, DigestKind, pair};
use crate::message::Payload;
use crate::mutant::{self, hashed_by_parts};
use crate::name::{Life, Name, Origin, ProcId};
use crate::time::{Time, grains};

/// How a client keeps its connection to a server. One connection a client, server and transport;
/// it is opened when the first call needs it.
#[derive(Debug)]
pub struct Transport {
    /// Tells apart connections between the same two processes.
    pub name: Name,
    /// How long an attempt to connect may take before its calls fail with
    /// [`NetError::DialTimeout`].
    pub dial_timeout: Duration,
    /// How a dead connection is noticed. Without it, it never is.
    pub keepalive: Option<Keepalive>,
    /// Flow control of streams: the client acknowledges the parts that its routine has taken, a
    /// quarter of so many at a time, and the server can ask how many are not acknowledged
    /// ([`Cx::unacknowledged`](crate::Cx::unacknowledged)). Without it nothing is acknowledged.
    pub window: Option<u32>,
}

/// Pings on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// Ping after so long without hearing anything.
    pub after: Duration,
    /// Give the connection up after so long without an answer.
    pub limit: Duration,
    /// Also while no call is open?
    pub idle: bool,
}

impl PartialEq for Transport {
    fn eq(&self, other: &Transport) -> bool {
        self.name == other.name
    }
}
impl Eq for Transport {}
impl Hash for Transport {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Why a call has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum NetError {
    /// Nobody listens: the request was not sent.
    #[error("connection refused")]
    Refused,
    /// No connection within the transport's time: the request was not sent.
    #[error("connect timed out")]
    DialTimeout,
    /// The connection broke after the request was sent: the outcome is unknown.
    #[error("connection reset")]
    Reset,
    /// The caller's own context ended: the outcome is unknown if the request was sent.
    #[error("context cancelled")]
    Cancelled,
}

impl NetError {
    /// Is it certain that the server never saw the request?
    pub fn is_definite(self) -> bool {
        matches!(self, NetError::Refused | NetError::DialTimeout)
    }
}

/// A connection, numbered in the order in which the world opened them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ConnId(pub u32);

/// Whom to answer: one call, seen from the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    pub(crate) conn: ConnId,
    pub(crate) call: u32,
    pub(crate) client: Life,
}

impl Caller {
    /// The process that called.
    pub fn process(&self) -> ProcId {
        self.client.process
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Frame {
    Open,
    Accept,
    Refuse,
    Request {
        call: u32,
        origin: Origin,
        body: Payload,
    },
    Response {
        call: u32,
        origin: Origin,
        body: Payload,
        last: bool,
    },
    Cancel {
        call: u32,
        origin: Origin,
    },
    /// A further message of the client on a stream.
    Part {
        call: u32,
        origin: Origin,
        body: Payload,
    },
    /// The client's routine has taken so many parts of a stream.
    Window {
        call: u32,
        origin: Origin,
        taken: u32,
    },
    /// A message that wants no answer.
    Cast(Payload),
    GoAway,
    Close,
    Ping,
    Pong,
}

impl Frame {
    pub fn verb(&self) -> &'static str {
        match self {
            Frame::Open => "open",
            Frame::Accept => "accept",
            Frame::Refuse => "refuse",
            Frame::Request { .. } => "request",
            Frame::Response { last: true, .. } => "answer",
            Frame::Response { last: false, .. } => "push",
            Frame::Cancel { .. } => "cancel",
            Frame::Part { .. } => "part",
            Frame::Window { .. } => "window",
            Frame::Cast(_) => "cast",
            Frame::GoAway => "go-away",
            Frame::Close => "close",
            Frame::Ping => "ping",
            Frame::Pong => "pong",
        }
    }

    /// What is in it, if anything is.
    pub fn body(&self) -> Option<&Payload> {
        match self {
            Frame::Request { body, .. }
            | Frame::Response { body, .. }
            | Frame::Part { body, .. }
            | Frame::Cast(body) => Some(body),
            _ => None,
        }
    }

    pub fn origin(&self) -> Option<Origin> {
        match self {
            Frame::Request { origin, .. }
            | Frame::Response { origin, .. }
            | Frame::Part { origin, .. }
            | Frame::Window { origin, .. }
            | Frame::Cancel { origin, .. } => Some(*origin),
            _ => None,
        }
    }
}

/// A frame under way, with its arrival.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub at: Time,
    pub frame: Cached<Frame>,
}

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Dir {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

/// A connection: what its ends know, and what is under way between them.
#[derive(Clone, Debug)]
pub(crate) struct Conn {
    pub ends: Arc<Cached<Ends>>,
    pub up: VecDeque<Flight>,
    pub down: VecDeque<Flight>,
    /// When the client heard anything last since the last keep-alive tick.
    pub heard: Option<Time>,
}

/// What the ends of a connection know of it. No instant is here.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Ends {
    pub id: ConnId,
    pub client: Life,
    pub server: ProcId,
    pub transport: &'static Transport,
    /// Accepted by the server.
    pub open: bool,
    /// Does the client still know of it? The server?
    pub client_end: bool,
    pub server_end: bool,
    /// A box in the middle has forgotten it: frames vanish.
    pub dead: bool,
    /// The server wants no new calls on it.
    pub draining: bool,
    /// Frames that wait for the server to accept.
    pub backlog: Vec<Frame>,
    /// Calls that the server has not answered in full.
    pub inbound: Vec<Inbound>,
    /// A ping is under way.
    pub pinging: bool,
}
hashed_by_parts!(Ends {
    id,
    client,
    server,
    transport,
    open,
    client_end,
    server_end,
    dead,
    draining,
    backlog,
    inbound,
    pinging
});

impl Deref for Conn {
    type Target = Ends;
    fn deref(&self) -> &Ends {
        &self.ends
    }
}

impl Conn {
    /// A connection that a client opens.
    pub fn new(id: ConnId, client: Life, server: ProcId, transport: &'static Transport) -> Conn {
        Conn::of(Arc::new(Cached::new(Ends {
            id,
            client,
            server,
            transport,
            open: false,
            client_end: true,
            server_end: false,
            dead: false,
            draining: false,
            backlog: Vec::new(),
            inbound: Vec::new(),
            pinging: false,
        })))
    }

    /// One on which nothing is under way.
    pub fn of(ends: Arc<Cached<Ends>>) -> Conn {
        Conn {
            ends,
            up: VecDeque::new(),
            down: VecDeque::new(),
            heard: None,
        }
    }

    /// What its ends know is about to change.
    pub fn ends_mut(&mut self) -> &mut Ends {
        let ends: &mut Cached<Ends> = Arc::make_mut(&mut self.ends);
        ends
    }

    pub fn flights(&self, dir: Dir) -> &VecDeque<Flight> {
        match dir {
            Dir::Up => &self.up,
            Dir::Down => &self.down,
        }
    }

    /// How many frames it carries, or will once it is open.
    pub fn frames(&self) -> usize {
        let flying = [Dir::Up, Dir::Down].map(|dir| self.flights(dir).len());
        flying.into_iter().sum::<usize>() + self.backlog.len()
    }

    pub fn flights_mut(&mut self, dir: Dir) -> &mut VecDeque<Flight> {
        match dir {
            Dir::Up => &mut self.up,
            Dir::Down => &mut self.down,
        }
    }

    /// Changes the instants that it knows.
    pub fn move_instants(&mut self, to: impl Fn(Time) -> Time) {
        for flight in self.up.iter_mut().chain(&mut self.down) {
            flight.at = to(flight.at);
        }
        self.heard = self.heard.map(to);
    }

    /// The fingerprint, its instants counted from `now`.
    #[inline]
    pub fn digest_at(&self, sight: DigestKind, now: Time) -> Digest {
        let instant = |at: Time| at.ahead_of(now);
        self.combine(sight, instant, instant)
    }

    /// The fingerprint of all but exact instants: of those of frames, how many whole `grain`s it is until
    /// then. Only the first frame of a direction is among what is pending.
    pub fn coarse_digest_at(&self, sight: DigestKind, now: Time, grain: Duration) -> Digest {
        self.combine(sight, |at| grains(at.since(now), grain), |_| 0)
    }

    #[inline]
    fn combine(
        &self,
        sight: DigestKind,
        arrival: impl Fn(Time) -> u64,
        heard: impl Fn(Time) -> u64,
    ) -> Digest {
        let Conn {
            ends,
            up,
            down,
            heard: last_heard,
        } = self;
        let mut whole = ends.digest(sight);
        for flights in [up, down] {
            whole = pair(whole, flights.len() as u64);
            if flights.is_empty() {
                continue; // by far the most
            }
            for Flight { at, frame } in flights {
                let (mut what, mut when) = (frame.digest(sight), arrival(*at));
                if mutant::is("digest: frames") {
                    what = 0;
                }
                if mutant::is("digest: arrivals") {
                    when = 0;
                }
                whole = pair(whole, pair(what, when));
            }
        }
        match last_heard {
            Some(_) if mutant::is("digest: heard") => whole,
            Some(at) => pair(whole, heard(*at)),
            None => whole,
        }
    }

    /// Are all its fingerprints known?
    pub fn is_known(&self, sight: DigestKind) -> bool {
        // Frames become known in their order.
        let known = |flights: &VecDeque<Flight>| {
            let last = flights.back();
            last.is_none_or(|flight| flight.frame.is_known(sight))
        };
        self.ends.is_known(sight) && known(&self.up) && known(&self.down)
    }

    pub fn cache_digests(&mut self, sight: DigestKind) {
        if !self.ends.is_known(sight) {
            Arc::make_mut(&mut self.ends).cache(sight);
        }
        for flight in self.up.iter_mut().chain(&mut self.down) {
            flight.frame.cache(sight);
        }
    }

    /// Is it equal, if each counts from its own time?
    pub fn same(&self, now: Time, other: &Conn, other_now: Time) -> bool {
        let Conn {
            ends,
            up,
            down,
            heard,
        } = self;
        let instants = |a: Time, b: Time| a.ahead_of(now) == b.ahead_of(other_now);
        let frames = |a: &VecDeque<Flight>, b: &VecDeque<Flight>| {
            let same = |(a, b): (&Flight, &Flight)| instants(a.at, b.at) && a.frame == b.frame;
            a.len() == b.len() && a.iter().zip(b).all(same)
        };
        let heards = match (*heard, other.heard) {
            (Some(a), Some(b)) => instants(a, b),
            (a, b) => a == b,
        };
        heards && *ends == other.ends && frames(up, &other.up) && frames(down, &other.down)
    }
}

impl Ends {
    /// Sender and receiver of a direction.
    pub fn route(&self, dir: Dir) -> (ProcId, ProcId) {
        match dir {
            Dir::Up => (self.client.process, self.server),
            Dir::Down => (self.server, self.client.process),
        }
    }
}

/// A call, seen from the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Inbound {
    pub call: u32,
    pub origin: Origin,
    /// Parts that were sent and not acknowledged.
    pub unacknowledged: u32,
}
hashed_by_parts!(Inbound {
    call,
    origin,
    unacknowledged
});

/// A call, seen from the client.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct Call {
    pub id: u32,
    pub conn: ConnId,
    pub origin: Origin,
    /// `None` for a call with one answer.
    pub stream: Option<StreamState>,
}
hashed_by_parts!(Call {
    id,
    conn,
    origin,
    stream
});

/// Marks the number of a stream that is about its connection.
const OF_CONNECTION: u32 = 1 << 31;

/// The number of a stream that is about its connection.
pub(crate) fn of_connection(number: u32) -> u32 {
    number | OF_CONNECTION
}

impl Call {
    /// Is it about its connection, and nothing that the server knows of?
    pub fn is_of_connection(&self) -> bool {
        self.id & OF_CONNECTION != 0
    }

    /// Is it a call on this connection?
    pub fn is_on(&self, conn: ConnId) -> bool {
        self.conn == conn && !self.is_of_connection()
    }
}

/// The client's side of a stream of answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(not(feature = "mutants"), derive(Hash))]
pub(crate) struct StreamState {
    /// Parts that no routine has taken.
    pub parts: VecDeque<Payload>,
    /// The routine and operation that wait for the next part.
    pub waiter: Option<Origin>,
    /// Parts that were taken since the server was told.
    pub taken: u32,
    /// How it ended, once it has.
    pub end: Option<Result<(), NetError>>,
}
hashed_by_parts!(StreamState {
    parts,
    waiter,
    taken,
    end
});
