//! The front door, typed: a request is a verb on a resource, an answer a code with an object, a
//! list or a Status. And the loopback client, by which the server's own controllers come in.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Name, NetError, Payload, ProcId, Rx, Transport};
use wavetank_etcd::Revision;

use crate::object::{Object, Stored};

/// A kind of object that the server serves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resource {
    /// v1 endpoints
    Endpoints,
    /// discovery.k8s.io endpointslices
    EndpointSlices,
}

impl Resource {
    /// The name in paths and messages.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Endpoints => "endpoints",
            Resource::EndpointSlices => "endpointslices.discovery.k8s.io",
        }
    }

    /// Where its objects are stored (`/registry/services/endpoints`, `/registry/endpointslices`).
    pub fn registry(self) -> &'static str {
        match self {
            Resource::Endpoints => "/registry/services/endpoints",
            Resource::EndpointSlices => "/registry/endpointslices",
        }
    }
}

/// What is to be done with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Verb {
    /// Reads one.
    Get,
    /// Reads all of the namespace.
    List,
    /// Creates one.
    Create(Object),
    /// Replaces one, if its resourceVersion is still this; unconditionally if none is given.
    Update(Object, Option<Revision>),
    /// Deletes one.
    Delete,
    /// Follows one from after a resourceVersion on. The answer is a stream of [`Reply`]s.
    Watch(Revision),
}

/// A health check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Probe {
    /// `/healthz`
    Healthz,
    /// `/readyz`
    Readyz,
}

/// A request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Of a health check.
    Probe(Probe),
    /// Of an API object.
    Api {
        /// What.
        verb: Verb,
        /// Of which kind.
        resource: Resource,
        /// Where.
        namespace: Arc<str>,
        /// Its name; empty for a list.
        name: Arc<str>,
    },
}

/// An HTTP status code.
pub type Code = u16;

/// The machine-readable reason of a Status (`metav1.StatusReason`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// 404
    NotFound,
    /// 409
    AlreadyExists,
    /// 409
    Conflict,
    /// 410
    Expired,
    /// 500
    InternalError,
    /// 504
    Timeout,
}

impl Reason {
    /// Its HTTP status code.
    pub fn code(self) -> Code {
        match self {
            Reason::NotFound => 404,
            Reason::AlreadyExists | Reason::Conflict => 409,
            Reason::Expired => 410,
            Reason::InternalError => 500,
            Reason::Timeout => 504,
        }
    }
}

/// A `metav1.Status` that says no.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// The reason.
    pub reason: Reason,
    /// The message.
    pub message: String,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.reason.code())
    }
}

/// What a request that succeeded returns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// A health check passed.
    Ok,
    /// One object.
    One(Stored),
    /// A list, at a resourceVersion.
    List(Vec<Stored>, Revision),
    /// A part of a watch: the object as it is now, or `None` if it was deleted.
    Event(Option<Stored>, Revision),
}

/// An answer of the server.
pub type Reply = Result<Answer, Status>;

/// The loopback client of a server: HTTP/2 to its own listener, without a timeout of its own
/// (`apiserver/pkg/server/config_selfclient.go`). Its health check is left
/// out: on the loopback interface nothing is ever lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Loopback {
    /// The server itself.
    pub me: ProcId,
}

static LOOPBACK: Transport = Transport {
    name: Name::new("loopback"),
    dial_timeout: Duration::from_secs(30),
    keepalive: None,
    window: None,
};

/// `client-go/rest/request.go`: a GET is tried again after a reset, 10 times, with 1 s between.
const GET_RETRIES: u32 = 10;
const GET_RETRY_WAIT: Duration = Duration::from_secs(1);

/// Why a loopback request failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LoopbackError {
    /// The server said no.
    Status(Status),
    /// The server was not reached.
    Net(NetError),
}

impl Loopback {
    /// Sends a request through the front door.
    ///
    /// # Errors
    /// [`LoopbackError`].
    pub async fn request(self, rx: Rx, request: Request) -> Result<Answer, LoopbackError> {
        let repeatable = matches!(
            request,
            Request::Probe(_)
                | Request::Api {
                    verb: Verb::Get,
                    ..
                }
        );
        let body = Payload::new(request);
        let mut tries = 0;
        loop {
            match rx.call(&LOOPBACK, self.me, body.clone()).await {
                Ok(answer) => {
                    let reply = answer.expect::<Reply>().clone();
                    return reply.map_err(LoopbackError::Status);
                }
                Err(NetError::Reset) if repeatable && tries < GET_RETRIES => {
                    tries += 1;
                    rx.sleep(GET_RETRY_WAIT).await;
                }
                Err(error) => return Err(LoopbackError::Net(error)),
            }
        }
    }
}

impl LoopbackError {
    /// Did the server answer with this reason?
    pub fn is(&self, reason: Reason) -> bool {
        matches!(self, LoopbackError::Status(status) if status.reason == reason)
    }

    /// Is the environment to blame: etcd or the network behind the server, or the server's time
    /// limit? A refused loopback connection is the server's own doing.
    pub fn is_unavailable(&self) -> bool {
        match self {
            LoopbackError::Status(s) => matches!(s.reason, Reason::InternalError | Reason::Timeout),
            LoopbackError::Net(error) => *error != NetError::Refused,
        }
    }
}

impl fmt::Display for LoopbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoopbackError::Status(status) => status.fmt(f),
            LoopbackError::Net(error) => error.fmt(f),
        }
    }
}
