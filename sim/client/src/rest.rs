//! The REST client (`client-go/rest/request.go`, `with_retry.go`): requests with the repetitions that it makes by
//! itself, to the server of its own process (loopback) or to any of several behind a load balancer. What is done with
//! an answer does not belong here.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use wavetank_api::http::{Content, Header, List, Method, WatchPart};
use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Reason, Request, Response, Status, Stored};
use wavetank_engine::{NetError, NotState, Payload, ProcId, Rx, Stream, Transport, mutant};
use wavetank_version::Version;

use crate::cut_off;
use crate::gates;
use crate::load_balancer::LoadBalancer;
use crate::transport;

/// A request that may be repeated is, so often.
const REPETITIONS: u32 = 10;
/// After a connection that broke.
const AFTER_BREAK: Duration = Duration::from_secs(1);

/// How a process reaches apiservers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RestClient {
    /// The release of the client.
    pub release: Version,
    /// Which servers it reaches.
    pub servers: Servers,
    /// What it calls itself, if its requests do not say (`UserAgent`).
    pub user_agent: Header,
    /// Is each of its writes told, and may one be its last?
    watched: NotState<bool>,
}

/// The servers of a client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Servers {
    /// The server of the process itself.
    Loopback(ProcId),
    /// Those behind a load balancer.
    Balanced(LoadBalancer),
}

impl Servers {
    /// The server for the next request.
    async fn next(&self, rx: Rx) -> ProcId {
        match self {
            Servers::Loopback(me) => *me,
            Servers::Balanced(balancer) => balancer.server(rx).await,
        }
    }

    /// The connection to this server is gone.
    pub(crate) fn broke(&self, rx: Rx, server: ProcId) {
        if let Servers::Balanced(balancer) = self {
            balancer.broke(rx, server);
        }
    }
}

/// Why there is no answer to use.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Error)]
pub enum Failure {
    /// The server said no.
    #[error("{0}")]
    Status(Status),
    /// The server was not reached, or has not answered.
    #[error("{0}")]
    Net(NetError),
}

impl Failure {
    /// Did the server answer with this reason?
    pub fn is(&self, reason: Reason) -> bool {
        matches!(self, Failure::Status(status) if status.is(reason))
    }

    /// Is the environment to blame: etcd or the network behind the server, or the server's time
    /// limit? A refused connection is the server's own doing.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Failure::Status(status) => status.code >= 500,
            Failure::Net(error) => *error != NetError::Refused,
        }
    }
}

impl RestClient {
    /// A client of this release that reaches these servers.
    pub fn new(release: Version, servers: Servers) -> RestClient {
        RestClient {
            release,
            servers,
            user_agent: Header::default(),
            watched: NotState(false),
        }
    }

    /// The same, watched as [`cut_off`] says.
    #[must_use]
    pub fn watched(self) -> RestClient {
        RestClient {
            watched: NotState(true),
            ..self
        }
    }

    /// The same with a name (`AddUserAgent`).
    #[must_use]
    pub fn named(&self, user_agent: impl Into<Arc<str>>) -> RestClient {
        RestClient {
            user_agent: Header(Some(user_agent.into())),
            ..self.clone()
        }
    }

    /// A request as it is sent.
    fn signed(&self, mut request: Request) -> Request {
        if let Some(name) = &self.user_agent.0 {
            request.user_agent = name.clone();
        }
        request
    }

    fn transport(&self) -> &'static Transport {
        match &self.servers {
            Servers::Loopback(_) => &transport::LOOPBACK,
            Servers::Balanced(balancer) => transport::of_release(self.release, balancer.window),
        }
    }

    /// A request, repeated where that may be done.
    ///
    /// # Errors
    /// Once all repetitions have failed.
    pub async fn request(&self, rx: Rx, request: Request) -> Result<Response, Failure> {
        let answer = self.repeated(rx, request).await?;
        Ok(answer.expect::<Response>().clone())
    }

    /// A request that is answered with an object.
    ///
    /// # Errors
    /// Once all repetitions have failed.
    pub async fn object(&self, rx: Rx, request: Request) -> Result<Stored, Failure> {
        let answer = self.repeated(rx, request).await?;
        Ok(object_in(answer.expect()))
    }

    /// A GET that answers a list.
    ///
    /// # Errors
    /// Once all repetitions have failed.
    pub async fn list(&self, rx: Rx, request: Request) -> Result<List, Failure> {
        let answer = self.repeated(rx, request).await?;
        Ok(list_in(answer.expect()))
    }

    /// The same, which may take as long as the client allows (`Config.Timeout`).
    ///
    /// # Errors
    /// Once all repetitions have failed, or with [`NetError::Cancelled`] when the time is over.
    pub async fn object_within(
        &self,
        rx: Rx,
        request: Request,
        limit: Duration,
    ) -> Result<Stored, Failure> {
        let done = rx.timeout(limit, self.object(rx, request)).await;
        done.unwrap_or(Err(Failure::Net(NetError::Cancelled)))
    }

    /// The answer to a request that was not refused. Only a GET is repeated when its connection broke: others would
    /// be done twice.
    async fn repeated(&self, rx: Rx, request: Request) -> Result<Payload, Failure> {
        let request = self.signed(request);
        let is_watched = *self.watched && cut_off::counts(&request);
        for repetitions in 0.. {
            let server = self.servers.next(rx).await;
            let body = Payload::new(request.clone());
            if is_watched {
                cut_off::tell(rx, &request);
            }
            let may_repeat = repetitions < REPETITIONS;
            let wait = match rx.call(self.transport(), server, body).await {
                Ok(answer) => match refused(answer.expect()) {
                    None => {
                        if is_watched {
                            cut_off::done(rx, &request).await;
                        }
                        return Ok(answer);
                    }
                    Some((status, after)) => match after.filter(|_| may_repeat) {
                        Some(wait) => wait,
                        None => return Err(Failure::Status(status)),
                    },
                },
                Err(error) => {
                    self.servers.broke(rx, server);
                    let again = error == NetError::Reset
                        && (request.method == Method::Get
                            || mutant!(
                                "writes-are-sent-again",
                                "a request that writes is sent again after a reset"
                            ));
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

    /// A watch: its stream and its server, once it is accepted; none where an empty watch stands for one that broke
    /// (`watch.NewEmptyWatch`). Only v1.36 repeats it.
    ///
    /// # Errors
    /// If it was not accepted; the stream is closed then.
    pub async fn watch(
        &self,
        rx: Rx,
        request: Request,
    ) -> Result<Option<(Stream, ProcId)>, Failure> {
        let request = self.signed(request);
        for repetitions in 0.. {
            let server = self.servers.next(rx).await;
            let stream = rx.open_stream(self.transport(), server, Payload::new(request.clone()));
            let repeats = self.release.has(gates::WATCHES_ARE_REPEATED);
            let may_repeat = repeats && repetitions < REPETITIONS;
            let wait = match rx.next(stream).await {
                Ok(Some(part)) => match part.expect::<WatchPart>() {
                    WatchPart::Accepted => return Ok(Some((stream, server))),
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
                        self.servers.broke(rx, server);
                    }
                    match error {
                        Some(error @ (NetError::Refused | NetError::Cancelled)) => {
                            return Err(Failure::Net(error));
                        }
                        _ if !may_repeat => return Ok(None),
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
    let status = match &response.content {
        Content::Status(status) if !status.success => status.clone(),
        Content::Text(text) if response.code >= 400 => {
            new_generic_server_response(response.code, text)
        }
        _ => return None,
    };
    let again = response.code == 429 || response.code >= 500;
    let after = response.retry_after.filter(|_| again);
    Some((status, after.map(|s| Duration::from_secs(s.into()))))
}

/// `NewGenericServerResponse`: what a client makes of a failure that is no Status.
fn new_generic_server_response(code: u16, text: &str) -> Status {
    match code {
        404 => {
            let message = "the server could not find the requested resource";
            Status::of(Reason::NotFound, message)
        }
        _ => Status::new_internal_error(text),
    }
}

fn object_in(response: &Response) -> Stored {
    match &response.content {
        Content::One(stored) => stored.clone(),
        Content::Tree(tree) => unstored(tree),
        other => unreachable!("an object was asked for: {other:?}"),
    }
}

/// An object that is not stored, as its reader has it: an update that ended its object answers with what it was last.
fn unstored(tree: &Json) -> Stored {
    let revision = json::text(tree, &["metadata", "resourceVersion"]);
    Stored {
        resource_version: revision.parse().unwrap_or(0),
        object: Object::new(tree.clone()),
    }
}

fn list_in(response: &Response) -> List {
    match &response.content {
        Content::List(list) => list.clone(),
        other => unreachable!("a list was asked for: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_update_ended_is_an_object_still() {
        let last = json!({"metadata": {"name": "a", "resourceVersion": "7"}});
        let answer = Response::of(200, Content::Tree(last.into()));
        let read = object_in(&answer);
        assert_eq!((read.object.name(), read.resource_version), ("a", 7));
    }
}
