//! The REST client (`client-go/rest/request.go`, `with_retry.go`): one request of a reflector or for one object,
//! with the repetitions that it makes by itself. What is done with an answer does not belong here.

use std::fmt;
use std::time::Duration;

use wavetank_api::http::{Content, List, Method, WatchPart};
use wavetank_api::{Request, Response, Status, Stored};
use wavetank_engine::{Keepalive, Name, NetError, Payload, ProcId, Rx, Stream, Transport};
use wavetank_version::Version;

use crate::gates;
use crate::load_balancer::LoadBalancer;

/// A request that may be repeated is, so often.
const REPETITIONS: u32 = 10;
/// After a connection that broke.
const AFTER_BREAK: Duration = Duration::from_secs(1);
/// Events of a stream that may be under way: Go's client lets 4 MB come (`transportDefaultStreamFlow`).
const WINDOW: u32 = 1024;

/// HTTP/2 with a health check, from v1.20 on (`apimachinery/pkg/util/net/http.go`).
static HTTP2: Transport = Transport {
    name: Name::new("https"),
    dial_timeout: Duration::from_secs(30),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(30),
        limit: Duration::from_secs(15),
        idle: true,
    }),
    window: Some(WINDOW),
};

/// Before, there was only TCP's: a probe every 30 s, nine without an answer. A probe that is answered does
/// not count, so it is only the last that is sent here.
static HTTP2_UNCHECKED: Transport = Transport {
    name: Name::new("https"),
    dial_timeout: Duration::from_secs(30),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(270),
        limit: Duration::from_secs(30),
        idle: true,
    }),
    window: Some(WINDOW),
};

/// How a process reaches apiservers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rest {
    /// The release of the client.
    pub release: Version,
    /// What is in front of the servers.
    pub balancer: LoadBalancer,
}

/// Why there is no answer to use.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// The server said no.
    Status(Status),
    /// There was none.
    Net(NetError),
    /// An empty watch stands for the answer (`watch.NewEmptyWatch`).
    Empty,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => status.fmt(f),
            Failure::Net(error) => error.fmt(f),
            Failure::Empty => f.write_str("the watch is empty"),
        }
    }
}

impl Rest {
    fn transport(&self) -> &'static Transport {
        match self.release.has(gates::HTTP2_IS_CHECKED) {
            true => &HTTP2,
            false => &HTTP2_UNCHECKED,
        }
    }

    /// A GET that answers a list.
    ///
    /// # Errors
    /// Once all repetitions have failed.
    pub async fn list(&self, rx: Rx, request: Request) -> Result<List, Failure> {
        let answer = self.repeated(rx, request).await?;
        Ok(list_in(answer.expect()))
    }

    /// A request for one object, which may take as long as the client allows (`Config.Timeout`). Only a GET is
    /// repeated when its connection broke: others would be done twice.
    ///
    /// # Errors
    /// Once all repetitions have failed, or with [`NetError::Cancelled`] when the time is over.
    pub async fn one(&self, rx: Rx, request: Request, limit: Duration) -> Result<Stored, Failure> {
        let done = rx.timeout(limit, self.repeated(rx, request)).await;
        let answer = done.unwrap_or(Err(Failure::Net(NetError::Cancelled)))?;
        Ok(object_in(answer.expect()))
    }

    /// The answer to a request that was not refused.
    async fn repeated(&self, rx: Rx, request: Request) -> Result<Payload, Failure> {
        for repetitions in 0.. {
            let server = self.balancer.server(rx).await;
            let body = Payload::new(request.clone());
            let may_repeat = repetitions < REPETITIONS;
            let wait = match rx.call(self.transport(), server, body).await {
                Ok(answer) => match refused(answer.expect()) {
                    None => return Ok(answer),
                    Some((status, after)) => match after.filter(|_| may_repeat) {
                        Some(wait) => wait,
                        None => return Err(Failure::Status(status)),
                    },
                },
                Err(error) => {
                    self.balancer.broke(rx, server);
                    let again = error == NetError::Reset && request.method == Method::Get;
                    if !again || !may_repeat {
                        return Err(Failure::Net(error));
                    }
                    AFTER_BREAK
                }
            };
            rx.sleep(wait).await;
        }
        unreachable!("repetitions end")
    }

    /// A watch: its stream and its server, once it is accepted. Only v1.36 repeats it.
    ///
    /// # Errors
    /// If it was not accepted; the stream is closed then.
    pub async fn watch(self: &Rest, rx: Rx, request: Request) -> Result<(Stream, ProcId), Failure> {
        for repetitions in 0.. {
            let server = self.balancer.server(rx).await;
            let stream = rx.open_stream(self.transport(), server, Payload::new(request.clone()));
            let repeats = self.release.has(gates::WATCHES_ARE_REPEATED);
            let may_repeat = repeats && repetitions < REPETITIONS;
            let wait = match rx.next(stream).await {
                Ok(Some(part)) => match part.expect::<WatchPart>() {
                    WatchPart::Accepted => return Ok((stream, server)),
                    other @ (WatchPart::Event(_) | WatchPart::Closed) => {
                        unreachable!("before it was accepted: {other:?}")
                    }
                    WatchPart::Refused(response) => {
                        rx.close_stream(stream);
                        let (status, after) = refused(response).expect("it says so");
                        match after.filter(|_| may_repeat) {
                            Some(wait) => wait,
                            None => return Err(Failure::Status(status)),
                        }
                    }
                },
                other => {
                    rx.close_stream(stream);
                    let error = other.err();
                    if error.is_some() {
                        self.balancer.broke(rx, server);
                    }
                    match error {
                        Some(error @ (NetError::Refused | NetError::Cancelled)) => {
                            return Err(Failure::Net(error));
                        }
                        _ if !may_repeat => return Err(Failure::Empty),
                        _ => AFTER_BREAK,
                    }
                }
            };
            rx.sleep(wait).await;
        }
        unreachable!("repetitions end")
    }
}

/// The Status of a refusal, and how long to wait before it is asked again (`checkWait`).
fn refused(response: &Response) -> Option<(Status, Option<Duration>)> {
    let Content::Status(status) = &response.content else {
        return None;
    };
    let again = response.code == 429 || response.code >= 500;
    let after = response.retry_after.filter(|_| again);
    Some((status.clone(), after.map(|s| Duration::from_secs(s.into()))))
}

fn object_in(response: &Response) -> Stored {
    match &response.content {
        Content::One(stored) => stored.clone(),
        other => unreachable!("an object was asked for: {other:?}"),
    }
}

fn list_in(response: &Response) -> List {
    match &response.content {
        Content::List(list) => list.clone(),
        other => unreachable!("a list was asked for: {other:?}"),
    }
}
