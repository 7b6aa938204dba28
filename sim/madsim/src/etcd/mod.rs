//! A client of the simulated etcd, for services on madsim: the interface of `madsim-etcd-client` (and so of
//! `etcd-client`) as far as that goes, and its watch. A service whose calls go to `etcd_client::…` imports this instead.
//!
//! An endpoint is `http://NAME:2379` or `NAME`, with the name of a member as the scenario has it (`etcd`, or `e1`, `e2`,
//! `e3`), or the address of its node ([`address`]).

mod election;
mod kv;
mod lease;
mod txn;
mod value;
mod watch;

use std::io;
use std::str::Utf8Error;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::{NetError, Payload, ProcId};
use wavetank_etcd::{Code, ETCD, EtcdError, Request, Response, Revision};

use crate::address;
use crate::cluster::Cluster;
use crate::guest::{Asked, Visit};

pub use election::{
    CampaignResponse, ElectionClient, LeaderKey, LeaderResponse, ProclaimOptions, ProclaimResponse,
    ResignOptions, ResignResponse,
};
pub use kv::{
    CompactionOptions, CompactionResponse, DeleteOptions, DeleteResponse, GetOptions, GetResponse,
    KeyValue, KvClient, PutOptions, PutResponse,
};
pub use lease::{
    LeaseClient, LeaseGrantOptions, LeaseGrantResponse, LeaseKeepAliveResponse,
    LeaseKeepAliveStream, LeaseKeeper, LeaseLeasesResponse, LeaseRevokeResponse, LeaseStatus,
    LeaseTimeToLiveOptions, LeaseTimeToLiveResponse,
};
pub use txn::{Compare, CompareOp, Txn, TxnOp, TxnOpResponse, TxnResponse};
pub use watch::{Event, EventType, WatchClient, WatchOptions, WatchResponse, WatchStream, Watcher};

/// What a call comes to.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument is none that etcd takes.
    #[error("invalid arguments: {0}")]
    InvalidArgs(String),
    /// The connection failed.
    #[error("io error: {0}")]
    IoError(#[from] io::Error),
    /// etcd answered with an error.
    #[error("grpc request error: {0}")]
    GRpcStatus(Status),
    /// A watch was refused.
    #[error("watch error: {0}")]
    WatchError(String),
    /// Something is no text.
    #[error("utf8 error: {0}")]
    Utf8Error(#[from] Utf8Error),
    /// A lease is not kept alive.
    #[error("lease keep alive error: {0}")]
    LeaseKeepAliveError(String),
    /// An election failed.
    #[error("election error: {0}")]
    ElectError(String),
    /// There is no such member.
    #[error("endpoint error: {0}")]
    EndpointError(String),
}

/// A status of gRPC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("status: {code:?}, message: {message:?}")]
pub struct Status {
    /// The code.
    pub code: Code,
    /// The text of etcd.
    pub message: &'static str,
}

impl From<EtcdError> for Error {
    fn from(error: EtcdError) -> Error {
        Error::GRpcStatus(Status {
            code: error.code(),
            message: error.message(),
        })
    }
}

impl From<NetError> for Error {
    fn from(error: NetError) -> Error {
        let kind = match error {
            NetError::Refused => io::ErrorKind::ConnectionRefused,
            NetError::DialTimeout => io::ErrorKind::TimedOut,
            NetError::Reset => io::ErrorKind::ConnectionReset,
            NetError::Cancelled => io::ErrorKind::Interrupted,
        };
        Error::IoError(io::Error::new(kind, error))
    }
}

/// How to connect. The simulated etcd asks for no user, and the connection has the keep-alive of kube-apiserver's.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    user: Option<(String, String)>,
    keep_alive: Option<(Duration, Duration)>,
}

impl ConnectOptions {
    /// As it comes.
    pub const fn new() -> ConnectOptions {
        ConnectOptions {
            user: None,
            keep_alive: None,
        }
    }

    /// Names a user: it is let in like any other.
    #[must_use]
    pub fn with_user(
        mut self,
        name: impl Into<String>,
        password: impl Into<String>,
    ) -> ConnectOptions {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// Wishes for a keep-alive: it has that of kube-apiserver's client all the same.
    #[must_use]
    pub fn with_keep_alive(mut self, interval: Duration, timeout: Duration) -> ConnectOptions {
        self.keep_alive = Some((interval, timeout));
        self
    }
}

/// The header of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHeader {
    revision: i64,
}

impl ResponseHeader {
    fn at(revision: Revision) -> ResponseHeader {
        ResponseHeader {
            revision: revision as i64,
        }
    }

    /// The revision of the store at that time.
    pub const fn revision(&self) -> i64 {
        self.revision
    }
}

/// A client of an etcd. Copies share its connections.
#[derive(Clone)]
pub struct Client {
    channel: Channel,
}

/// Members, and the way to them.
#[derive(Clone)]
struct Channel {
    visit: Arc<Visit>,
    members: Arc<[ProcId]>,
}

impl Client {
    /// A client of the members at `endpoints`, of the cluster that runs on this madsim. Connections are made when the first
    /// call needs one.
    ///
    /// # Errors
    /// An endpoint that is no process of the cluster.
    pub async fn connect<E: AsRef<str>, S: AsRef<[E]>>(
        endpoints: S,
        _options: Option<ConnectOptions>,
    ) -> Result<Client> {
        let cluster = Cluster::current();
        let all = endpoints.as_ref().iter();
        let members: Result<Vec<ProcId>> =
            all.map(|endpoint| cluster.at(endpoint.as_ref())).collect();
        let members = members?;
        if members.is_empty() {
            return Err(Error::EndpointError("no endpoint is given".to_owned()));
        }
        let channel = Channel {
            visit: Arc::new(Visit::new(&cluster)),
            members: members.into(),
        };
        Ok(Client { channel })
    }

    /// For keys.
    pub fn kv_client(&self) -> KvClient {
        KvClient::new(self.channel.clone())
    }

    /// For leases.
    pub fn lease_client(&self) -> LeaseClient {
        LeaseClient::new(self.channel.clone())
    }

    /// For elections.
    pub fn election_client(&self) -> ElectionClient {
        ElectionClient::new(self.channel.clone())
    }

    /// For watches, which `madsim-etcd-client` does not have.
    pub fn watch_client(&self) -> WatchClient {
        WatchClient::new(self.channel.clone())
    }

    /// For the state of the server.
    pub fn maintenance_client(&self) -> MaintenanceClient {
        MaintenanceClient {
            channel: self.channel.clone(),
        }
    }
}

/// Asks for the state of the server.
#[derive(Clone)]
pub struct MaintenanceClient {
    channel: Channel,
}

impl MaintenanceClient {
    /// How far the store is.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn status(&mut self) -> Result<StatusResponse> {
        let header = self.channel.clone().kv().newest().await?;
        Ok(StatusResponse { header })
    }
}

/// The state of the server.
#[derive(Clone, Debug)]
pub struct StatusResponse {
    header: ResponseHeader,
}

impl StatusResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }
}

impl Channel {
    fn kv(self) -> KvClient {
        KvClient::new(self)
    }

    /// A call of the first member that takes it. Where the outcome of one is unknown no other is asked.
    async fn call(&self, request: Request<Object>) -> Result<Response<Object>> {
        let body = Payload::new(request);
        let mut failed = NetError::Refused;
        for to in self.members.iter() {
            let asked = Asked {
                to: *to,
                transport: &ETCD,
                body: body.clone(),
            };
            match self.visit.call(asked).await {
                Ok(answer) => {
                    return match answer.expect::<Response<Object>>() {
                        Response::Error(error) => Err((*error).into()),
                        other => Ok(other.clone()),
                    };
                }
                Err(error) if error.is_definite() => failed = error,
                Err(error) => return Err(error.into()),
            }
        }
        Err(failed.into())
    }
}

impl Cluster {
    /// The process at an endpoint: by its name, or by its address.
    fn at(&self, endpoint: &str) -> Result<ProcId> {
        let bare = endpoint
            .trim_start_matches("http://")
            .trim_start_matches("https://");
        let host = bare.rsplit_once(':').map_or(bare, |(host, _)| host);
        let found = self.look(|world| {
            let by_address = |own: &ProcId| address(*own).ip().to_string() == host;
            world
                .find(host)
                .or_else(|| world.processes().find(by_address))
        });
        found.ok_or_else(|| {
            Error::EndpointError(format!("no process of the cluster is at `{endpoint}`"))
        })
    }
}
