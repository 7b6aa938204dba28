//! What a routine calls: the etcd client that kube-apiserver uses (`client/v3`), as far as the
//! apiserver relies on it. `transport` has its connections, `balancer` says which member a call goes to where there are
//! several, `retry` when it is made again.

mod balancer;
mod endpoints;
mod retry;
mod transport;

use std::time::Duration;

use wavetank_engine::{NetError, Payload, Rx, Stream, Transport};

use crate::api::{
    EtcdError, LeaseId, Range, Ranged, Request, Response, Txn, TxnResponse, Value, WatchRequest,
    WatchStart,
};

pub use balancer::routine;
pub use endpoints::Endpoints;
use retry::{RetryPolicy, UNARY_MAX_RETRIES};
pub use transport::{Connections, ETCD, Purpose, transport_for};

/// grpc's back-off between attempts to connect: 1 s, × 1.6, up to 120 s (jitter left out).
const CONNECT_BACKOFF: Duration = Duration::from_secs(1);
const CONNECT_BACKOFF_LIMIT: Duration = Duration::from_secs(120);

/// A client of one etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// The members that it knows.
    pub endpoints: Endpoints,
    /// Are calls made again? kube-apiserver disabled the retry interceptor by accident until v1.23 (PR #105069).
    pub retries: bool,
    /// Has each purpose a client of its own, with a connection of its own?
    pub connections: Connections,
    transport: &'static Transport,
}

impl Client {
    /// A client whose calls are made again, over the connection that all share.
    pub fn new(endpoints: impl Into<Endpoints>) -> Client {
        Client {
            endpoints: endpoints.into(),
            retries: true,
            connections: Connections::Shared,
            transport: &ETCD,
        }
    }

    /// The same, whose calls are made once.
    #[must_use]
    pub fn without_retries(self) -> Client {
        let retries = false;
        Client { retries, ..self }
    }

    /// The same for this purpose (`newETCD3Client`): over a connection of its own, if clients have such.
    #[must_use]
    pub fn made_for(self, purpose: Purpose) -> Client {
        let transport = match self.connections {
            Connections::Shared => self.transport,
            Connections::PerClient => transport_for(purpose, true),
            Connections::PerClientUnchecked => transport_for(purpose, false),
        };
        Client { transport, ..self }
    }

    /// Reads keys.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn range<V: Value>(self, rx: Rx, range: Range) -> Result<Ranged<V>, EtcdError> {
        let request = Request::Range(range);
        match self
            .unary_client_interceptor(rx, request, RetryPolicy::Repeatable)
            .await?
        {
            Response::Range(ranged) => Ok(ranged),
            other => unreachable!("{other:?}"),
        }
    }

    /// Runs a transaction. It is not made again once a member may have taken it.
    ///
    /// # Errors
    /// [`EtcdError`]; the outcome may be unknown.
    pub async fn txn<V: Value>(self, rx: Rx, txn: Txn<V>) -> Result<TxnResponse<V>, EtcdError> {
        match self.call(rx, Request::Txn(txn)).await? {
            Response::Txn(response) => Ok(response),
            other => unreachable!("{other:?}"),
        }
    }

    /// A lease of `ttl` seconds.
    ///
    /// # Errors
    /// [`EtcdError`]. A grant that is made again may leave a lease that nobody knows.
    pub async fn lease_grant<V: Value>(self, rx: Rx, ttl: u64) -> Result<LeaseId, EtcdError> {
        let request = Request::<V>::LeaseGrant { id: None, ttl };
        match self
            .unary_client_interceptor(rx, request, RetryPolicy::Repeatable)
            .await?
        {
            Response::LeaseGrant { id, .. } => Ok(id),
            other => unreachable!("{other:?}"),
        }
    }

    /// Opens a stream with one watch, as kube-apiserver does: it ends without a leader
    /// (`WithRequireLeader`). The parts are [`WatchPart`](crate::WatchPart)s. Who knows several members picks one before.
    pub fn watch<V: Value>(self, rx: Rx, start: WatchStart) -> Stream {
        let stream = self.watch_stream::<V>(rx, true);
        rx.send(stream, Payload::new(WatchRequest::Create(start)));
        stream
    }

    /// Opens a watch stream. [`WatchRequest`]s go to it, [`WatchPart`](crate::WatchPart)s come.
    ///
    /// # Panics
    /// If several members are known, and none is picked ([`Client::pick`]).
    pub fn watch_stream<V: Value>(self, rx: Rx, require_leader: bool) -> Stream {
        let request = Request::<V>::Watch { require_leader };
        let member = self.endpoints.only().expect("one is picked");
        rx.open_stream(self.transport, member, Payload::new(request))
    }

    /// Sends one request, once.
    ///
    /// # Errors
    /// [`EtcdError`]; the outcome may be unknown.
    pub async fn once<V: Value>(
        self,
        rx: Rx,
        request: Request<V>,
    ) -> Result<Response<V>, EtcdError> {
        self.invoke(rx, &Payload::new(request)).await
    }

    /// Sends one request that writes.
    ///
    /// # Errors
    /// [`EtcdError`]; the outcome may be unknown.
    pub async fn call<V: Value>(
        self,
        rx: Rx,
        request: Request<V>,
    ) -> Result<Response<V>, EtcdError> {
        self.unary_client_interceptor(rx, request, RetryPolicy::NonRepeatable)
            .await
    }

    /// `unaryClientInterceptor`: one attempt after another, until an answer is final.
    async fn unary_client_interceptor<V: Value>(
        self,
        rx: Rx,
        request: Request<V>,
        policy: RetryPolicy,
    ) -> Result<Response<V>, EtcdError> {
        let request = Payload::new(request);
        let mut attempt = 0;
        loop {
            let wait = retry::round_robin_quorum_backoff(attempt, self.endpoints.all().len());
            if !wait.is_zero() {
                rx.sleep(wait).await;
            }
            attempt += 1;
            match self.invoke(rx, &request).await {
                Err(error)
                    if self.retries
                        && attempt < UNARY_MAX_RETRIES
                        && retry::is_safe_retry(error, policy) => {}
                result => return result,
            }
        }
    }

    /// One attempt. Calls wait for the connection to be ready (`WaitForReady`), so a refusal is
    /// never seen: only the caller's context bounds it.
    async fn invoke<V: Value>(self, rx: Rx, request: &Payload) -> Result<Response<V>, EtcdError> {
        let mut backoff = CONNECT_BACKOFF;
        loop {
            let picked = self.pick(rx).await.endpoints;
            let member = picked.only().expect("one is picked");
            match rx.call(self.transport, member, request.clone()).await {
                Ok(answer) => {
                    return match answer.expect::<Response<V>>() {
                        Response::Error(error) => Err(*error),
                        response => Ok(response.clone()),
                    };
                }
                Err(NetError::Reset) => return Err(EtcdError::Unavailable),
                Err(NetError::Cancelled) => return Err(EtcdError::Cancelled),
                // Another is ready, or becomes so.
                Err(error) if error.is_definite() && self.endpoints != picked => {}
                Err(NetError::Refused | NetError::DialTimeout) => {
                    rx.sleep(backoff).await;
                    backoff = (backoff * 8 / 5).min(CONNECT_BACKOFF_LIMIT);
                }
            }
        }
    }
}
