//! Connections: ordered, reliable while up, able to stall, to be reset and to be half open. A call
//! is one request on a connection with one answer, or with a stream of them.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::digest::{Digest, StableHasher, pair};
use crate::message::Payload;
use crate::name::{Life, Name, Origin, ProcId};
use crate::time::Time;

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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NetError {
    /// Nobody listens: the request was not sent.
    Refused,
    /// No connection within the transport's time: the request was not sent.
    DialTimeout,
    /// The connection broke after the request was sent: the outcome is unknown.
    Reset,
    /// The caller's own context ended: the outcome is unknown if the request was sent.
    Cancelled,
}

impl NetError {
    /// Is it certain that the server never saw the request?
    pub fn is_definite(self) -> bool {
        matches!(self, NetError::Refused | NetError::DialTimeout)
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NetError::Refused => "connection refused",
            NetError::DialTimeout => "connect timed out",
            NetError::Reset => "connection reset",
            NetError::Cancelled => "context cancelled",
        })
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
    pub frame: Frame,
}

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Dir {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

#[derive(Clone, Debug)]
pub(crate) struct Conn {
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
    pub up: VecDeque<Flight>,
    pub down: VecDeque<Flight>,
    /// Frames that wait for the server to accept.
    pub backlog: Vec<Frame>,
    /// Calls that the server has not answered in full.
    pub inbound: Vec<Inbound>,
    /// When anything was last heard since the last keep-alive tick. A ping is under way?
    pub heard: Option<Time>,
    pub pinging: bool,
    /// The fingerprint of all but the instants, if it is known.
    pub digest: Option<Digest>,
}

impl Conn {
    pub fn flights(&self, dir: Dir) -> &VecDeque<Flight> {
        match dir {
            Dir::Up => &self.up,
            Dir::Down => &self.down,
        }
    }

    pub fn flights_mut(&mut self, dir: Dir) -> &mut VecDeque<Flight> {
        match dir {
            Dir::Up => &mut self.up,
            Dir::Down => &mut self.down,
        }
    }

    /// Sender and receiver of a direction.
    pub fn route(&self, dir: Dir) -> (ProcId, ProcId) {
        match dir {
            Dir::Up => (self.client.process, self.server),
            Dir::Down => (self.server, self.client.process),
        }
    }

    /// The instants that it knows: arrivals, and when it last heard something.
    pub fn instants(&self) -> impl Iterator<Item = Time> + '_ {
        let flights = self.up.iter().chain(&self.down).map(|flight| flight.at);
        flights.chain(self.heard)
    }

    /// The fingerprint with its instants: `digest` is that of all the rest.
    pub fn digest_at(&self, digest: Digest, now: Time) -> Digest {
        let with = |digest, at: Time| pair(digest, at.nanos().wrapping_sub(now.nanos()));
        let mut whole = digest;
        for flights in [&self.up, &self.down] {
            if !flights.is_empty() {
                whole = flights.iter().fold(whole, |d, flight| with(d, flight.at));
            }
        }
        self.heard.map_or(whole, |at| with(whole, at))
    }

    /// The fingerprint without its instants, from the cache if it is there.
    pub fn cached_digest(&self) -> Digest {
        self.digest.unwrap_or_else(|| self.compute_digest())
    }

    /// Equal but for instants, which the world compares relative to its own time.
    pub fn same(&self, other: &Conn) -> bool {
        let frames = |a: &VecDeque<Flight>, b: &VecDeque<Flight>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.frame == b.frame)
        };
        self.id == other.id
            && self.client == other.client
            && self.server == other.server
            && self.transport == other.transport
            && (self.open, self.client_end, self.server_end, self.dead)
                == (other.open, other.client_end, other.server_end, other.dead)
            && (self.draining, self.heard.is_some(), self.pinging)
                == (other.draining, other.heard.is_some(), other.pinging)
            && self.backlog == other.backlog
            && self.inbound == other.inbound
            && frames(&self.up, &other.up)
            && frames(&self.down, &other.down)
    }

    /// The fingerprint of all but the instants.
    pub fn compute_digest(&self) -> Digest {
        let mut state = StableHasher::new();
        self.hash_into(&mut state);
        state.finish()
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
        self.client.hash(state);
        self.server.hash(state);
        self.transport.hash(state);
        let flags = [
            self.open,
            self.client_end,
            self.server_end,
            self.dead,
            self.draining,
            self.heard.is_some(),
            self.pinging,
        ];
        state.write_u64(
            flags
                .iter()
                .fold(0, |bits, flag| bits << 1 | u64::from(*flag)),
        );
        self.backlog.hash(state);
        self.inbound.hash(state);
        for flights in [&self.up, &self.down] {
            state.write_usize(flights.len());
            flights.iter().for_each(|flight| flight.frame.hash(state));
        }
    }
}

/// A call, seen from the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Inbound {
    pub call: u32,
    pub origin: Origin,
    /// Parts that were sent and not acknowledged.
    pub unacknowledged: u32,
}

/// A call, seen from the client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Call {
    pub id: u32,
    pub conn: ConnId,
    pub origin: Origin,
    /// `None` for a call with one answer.
    pub stream: Option<StreamState>,
}

/// The client's side of a stream of answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
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
