//! The loopback client, by which the server's own controllers come in through the front door.

use std::fmt;
use std::time::Duration;

use wavetank_api::{Content, Method, Reason, Request, Response, Status, Stored};
use wavetank_engine::{Name, NetError, Payload, ProcId, Rx, Transport};

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

/// `client-go/rest/request.go`: a request whose answer says when to come back is sent again then
/// (`checkWait`), and a GET after a reset, with 1 s between; 10 times in all.
const RETRIES: u32 = 10;
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
    pub async fn request(self, rx: Rx, request: Request) -> Result<Response, LoopbackError> {
        let repeatable = request.method == Method::Get;
        let body = Payload::new(request);
        let mut tries = 0;
        loop {
            match rx.call(&LOOPBACK, self.me, body.clone()).await {
                Ok(answer) => {
                    let response = answer.expect::<Response>();
                    let busy = response.code == 429 || response.code >= 500;
                    if let Some(after) = response.retry_after.filter(|_| busy)
                        && tries < RETRIES
                    {
                        tries += 1;
                        rx.sleep(Duration::from_secs(after.into())).await;
                        continue;
                    }
                    return match &response.content {
                        Content::Status(status) if !status.success => {
                            Err(LoopbackError::Status(status.clone()))
                        }
                        _ => Ok(response.clone()),
                    };
                }
                Err(NetError::Reset) if repeatable && tries < RETRIES => {
                    tries += 1;
                    rx.sleep(GET_RETRY_WAIT).await;
                }
                Err(error) => return Err(LoopbackError::Net(error)),
            }
        }
    }

    /// A request whose answer is an object.
    ///
    /// # Errors
    /// [`LoopbackError`].
    pub async fn object(self, rx: Rx, request: Request) -> Result<Stored, LoopbackError> {
        match self.request(rx, request).await?.content {
            Content::One(stored) => Ok(stored),
            other => unreachable!("{other:?}"),
        }
    }
}

impl LoopbackError {
    /// Did the server answer with this reason?
    pub fn is(&self, reason: Reason) -> bool {
        matches!(self, LoopbackError::Status(status) if status.is(reason))
    }

    /// Is the environment to blame: etcd or the network behind the server, or the server's time
    /// limit? A refused loopback connection is the server's own doing.
    pub fn is_unavailable(&self) -> bool {
        match self {
            LoopbackError::Status(status) => status.code >= 500,
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
