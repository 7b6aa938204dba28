//! What a routine calls: the etcd client that kube-apiserver uses (`client/v3`), as far as the
//! apiserver relies on it.

use std::time::Duration;

use wavetank_engine::{Keepalive, Name, NetError, Payload, ProcId, Rx, Stream, Transport};

use crate::api::{
    EtcdError, LeaseId, Range, Ranged, Request, Response, Txn, TxnResponse, Value, WatchRequest,
    WatchStart,
};

/// kube-apiserver's connection to etcd: keep-alive 30 s with a limit of 10 s, dialling 20 s
/// (`apiserver/pkg/storage/storagebackend/factory/etcd3.go`).
pub static ETCD: Transport = Transport {
    name: Name::new("etcd"),
    dial_timeout: Duration::from_secs(20),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(30),
        limit: Duration::from_secs(10),
        idle: false,
    }),
    window: Some(64),
};

/// grpc's back-off between attempts to connect: 1 s, × 1.6, up to 120 s (jitter left out).
const CONNECT_BACKOFF: Duration = Duration::from_secs(1);
const CONNECT_BACKOFF_LIMIT: Duration = Duration::from_secs(120);
/// `client/v3/options.go` `defaultUnaryMaxRetries`, `defaultBackoffWaitBetween`.
const RETRIES: u32 = 100;
const RETRY_WAIT: Duration = Duration::from_millis(25);

/// A client of one etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Client {
    /// The member it talks to.
    pub server: ProcId,
    /// Are repeatable requests retried? kube-apiserver disabled the retry interceptor by accident
    /// until v1.23 (PR #105069).
    pub retries: bool,
}

impl Client {
    /// Reads keys.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn range<V: Value>(self, rx: Rx, range: Range) -> Result<Ranged<V>, EtcdError> {
        match self.repeatable(rx, Request::Range(range)).await? {
            Response::Range(ranged) => Ok(ranged),
            other => unreachable!("{other:?}"),
        }
    }

    /// Runs a transaction. It is not retried once it was sent.
    ///
    /// # Errors
    /// [`EtcdError`]; the outcome may be unknown.
    pub async fn txn<V: Value>(self, rx: Rx, txn: Txn<V>) -> Result<TxnResponse<V>, EtcdError> {
        match self.once(rx, Request::Txn(txn)).await? {
            Response::Txn(response) => Ok(response),
            other => unreachable!("{other:?}"),
        }
    }

    /// A lease of `ttl` seconds.
    ///
    /// # Errors
    /// [`EtcdError`]. A grant that is retried may leave a lease that nobody knows.
    pub async fn lease_grant<V: Value>(self, rx: Rx, ttl: u64) -> Result<LeaseId, EtcdError> {
        let request = Request::LeaseGrant { id: None, ttl };
        match self.repeatable::<V>(rx, request).await? {
            Response::LeaseGrant { id, .. } => Ok(id),
            other => unreachable!("{other:?}"),
        }
    }

    /// Opens a stream with one watch, as kube-apiserver does: it ends without a leader
    /// (`WithRequireLeader`). The parts are [`WatchPart`](crate::WatchPart)s.
    pub fn watch<V: Value>(self, rx: Rx, start: WatchStart) -> Stream {
        let stream = self.watch_stream::<V>(rx, true);
        rx.send(stream, Payload::new(WatchRequest::Create(start)));
        stream
    }

    /// Opens a watch stream. [`WatchRequest`]s go to it, [`WatchPart`](crate::WatchPart)s come.
    pub fn watch_stream<V: Value>(self, rx: Rx, require_leader: bool) -> Stream {
        let request = Request::<V>::Watch { require_leader };
        rx.open_stream(&ETCD, self.server, Payload::new(request))
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
        self.attempt(rx, &Payload::new(request)).await
    }

    async fn repeatable<V: Value>(
        self,
        rx: Rx,
        request: Request<V>,
    ) -> Result<Response<V>, EtcdError> {
        let request = Payload::new(request);
        for _ in 1..RETRIES {
            match self.attempt(rx, &request).await {
                Err(EtcdError::Unavailable) if self.retries => rx.sleep(RETRY_WAIT).await,
                result => return result,
            }
        }
        self.attempt(rx, &request).await
    }

    /// One attempt. Calls wait for the connection to be ready (`WaitForReady`), so a refusal is
    /// never seen: only the caller's context bounds it.
    async fn attempt<V: Value>(self, rx: Rx, request: &Payload) -> Result<Response<V>, EtcdError> {
        let mut backoff = CONNECT_BACKOFF;
        loop {
            match rx.call(&ETCD, self.server, request.clone()).await {
                Ok(answer) => {
                    return match answer.expect::<Response<V>>() {
                        Response::Error(error) => Err(*error),
                        response => Ok(response.clone()),
                    };
                }
                Err(NetError::Reset) => return Err(EtcdError::Unavailable),
                Err(NetError::Cancelled) => return Err(EtcdError::Cancelled),
                Err(NetError::Refused | NetError::DialTimeout) => {
                    rx.sleep(backoff).await;
                    backoff = (backoff * 8 / 5).min(CONNECT_BACKOFF_LIMIT);
                }
            }
        }
    }
}
