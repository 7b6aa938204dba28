//! Leases.

use wavetank_etcd::{LeaseId, Request, Response};

use super::kv::lease;
use super::{Channel, Error, ResponseHeader, Result};

/// A client for leases.
#[derive(Clone)]
pub struct LeaseClient {
    channel: Channel,
}

impl LeaseClient {
    pub(super) fn new(channel: Channel) -> LeaseClient {
        LeaseClient { channel }
    }

    /// Begins a lease of so many seconds.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn grant(
        &mut self,
        ttl: i64,
        options: Option<LeaseGrantOptions>,
    ) -> Result<LeaseGrantResponse> {
        let id = lease(options.unwrap_or_default().id);
        let ttl = ttl.max(0) as u64;
        match self.channel.call(Request::LeaseGrant { id, ttl }).await? {
            Response::LeaseGrant { revision, id, ttl } => Ok(LeaseGrantResponse {
                header: ResponseHeader::at(revision),
                id: id.0 as i64,
                ttl: ttl as i64,
            }),
            other => unreachable!("{other:?}"),
        }
    }

    /// Ends a lease, and deletes its keys.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn revoke(&mut self, id: i64) -> Result<LeaseRevokeResponse> {
        match self
            .channel
            .call(Request::LeaseRevoke(LeaseId(id as u64)))
            .await?
        {
            Response::LeaseRevoke(revision) => Ok(LeaseRevokeResponse {
                header: ResponseHeader::at(revision),
            }),
            other => unreachable!("{other:?}"),
        }
    }

    /// Who keeps a lease alive, and what comes of it. The first round is made at once.
    ///
    /// # Errors
    /// [`Error`]; one that the lease is not found.
    pub async fn keep_alive(&mut self, id: i64) -> Result<(LeaseKeeper, LeaseKeepAliveStream)> {
        let (rounds, answers) = tokio::sync::mpsc::unbounded_channel();
        let mut keeper = LeaseKeeper {
            channel: self.channel.clone(),
            id,
            rounds,
        };
        keeper.keep_alive().await?;
        Ok((keeper, LeaseKeepAliveStream { answers }))
    }

    /// How long a lease has.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn time_to_live(
        &mut self,
        id: i64,
        options: Option<LeaseTimeToLiveOptions>,
    ) -> Result<LeaseTimeToLiveResponse> {
        let request = Request::LeaseTimeToLive {
            id: LeaseId(id as u64),
            keys: options.unwrap_or_default().keys,
        };
        match self.channel.call(request).await? {
            Response::LeaseTimeToLive(left) => Ok(LeaseTimeToLiveResponse {
                header: ResponseHeader::at(left.revision),
                id,
                ttl: left.ttl,
                granted_ttl: left.granted as i64,
                keys: left
                    .keys
                    .iter()
                    .map(|key| key.as_bytes().to_vec())
                    .collect(),
            }),
            other => unreachable!("{other:?}"),
        }
    }

    /// All leases.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn leases(&mut self) -> Result<LeaseLeasesResponse> {
        match self.channel.call(Request::Leases).await? {
            Response::Leases { revision, leases } => Ok(LeaseLeasesResponse {
                header: ResponseHeader::at(revision),
                leases: leases
                    .iter()
                    .map(|lease| LeaseStatus { id: lease.0 as i64 })
                    .collect(),
            }),
            other => unreachable!("{other:?}"),
        }
    }
}

/// Options of a new lease.
#[derive(Clone, Debug, Default)]
pub struct LeaseGrantOptions {
    id: i64,
}

impl LeaseGrantOptions {
    /// As it comes.
    pub const fn new() -> LeaseGrantOptions {
        LeaseGrantOptions { id: 0 }
    }

    /// With this number; 0 lets etcd choose.
    #[must_use]
    pub const fn with_id(mut self, id: i64) -> LeaseGrantOptions {
        self.id = id;
        self
    }
}

/// A new lease.
#[derive(Clone, Debug)]
pub struct LeaseGrantResponse {
    header: ResponseHeader,
    id: i64,
    ttl: i64,
}

impl LeaseGrantResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// In seconds.
    pub const fn ttl(&self) -> i64 {
        self.ttl
    }

    /// Its number.
    pub const fn id(&self) -> i64 {
        self.id
    }
}

/// A lease has ended.
#[derive(Clone, Debug)]
pub struct LeaseRevokeResponse {
    header: ResponseHeader,
}

impl LeaseRevokeResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }
}

/// Keeps a lease alive, a round at a time.
pub struct LeaseKeeper {
    channel: Channel,
    id: i64,
    rounds: tokio::sync::mpsc::UnboundedSender<LeaseKeepAliveResponse>,
}

impl LeaseKeeper {
    /// The lease.
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// Gives the lease its whole time again.
    ///
    /// # Errors
    /// [`Error`]; one that the lease is not found.
    pub async fn keep_alive(&mut self) -> Result<()> {
        let request = Request::LeaseKeepAlive(LeaseId(self.id as u64));
        match self.channel.call(request).await? {
            Response::LeaseKeepAlive { ttl: 0, .. } => {
                Err(Error::LeaseKeepAliveError("lease not found".to_owned()))
            }
            Response::LeaseKeepAlive { revision, ttl } => {
                // Whoever has dropped the stream does not want to know.
                let _ = self.rounds.send(LeaseKeepAliveResponse {
                    header: ResponseHeader::at(revision),
                    id: self.id,
                    ttl: ttl as i64,
                });
                Ok(())
            }
            other => unreachable!("{other:?}"),
        }
    }
}

/// What comes of the rounds.
pub struct LeaseKeepAliveStream {
    answers: tokio::sync::mpsc::UnboundedReceiver<LeaseKeepAliveResponse>,
}

impl LeaseKeepAliveStream {
    /// The answer to the next round; `None` when the keeper is gone.
    ///
    /// # Errors
    /// None: a round that fails says so itself.
    pub async fn message(&mut self) -> Result<Option<LeaseKeepAliveResponse>> {
        Ok(self.answers.recv().await)
    }
}

/// A lease has its whole time again.
#[derive(Clone, Debug)]
pub struct LeaseKeepAliveResponse {
    header: ResponseHeader,
    id: i64,
    ttl: i64,
}

impl LeaseKeepAliveResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// In seconds.
    pub const fn ttl(&self) -> i64 {
        self.ttl
    }

    /// Its number.
    pub const fn id(&self) -> i64 {
        self.id
    }
}

/// Options of a question for the time of a lease.
#[derive(Clone, Debug, Default)]
pub struct LeaseTimeToLiveOptions {
    keys: bool,
}

impl LeaseTimeToLiveOptions {
    /// As it comes.
    pub const fn new() -> LeaseTimeToLiveOptions {
        LeaseTimeToLiveOptions { keys: false }
    }

    /// Tells its keys as well.
    #[must_use]
    pub const fn with_keys(mut self) -> LeaseTimeToLiveOptions {
        self.keys = true;
        self
    }
}

/// How long a lease has.
#[derive(Clone, Debug)]
pub struct LeaseTimeToLiveResponse {
    header: ResponseHeader,
    id: i64,
    ttl: i64,
    granted_ttl: i64,
    keys: Vec<Vec<u8>>,
}

impl LeaseTimeToLiveResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// Its number.
    pub const fn id(&self) -> i64 {
        self.id
    }

    /// The seconds that are left; -1 if there is no such lease.
    pub const fn ttl(&self) -> i64 {
        self.ttl
    }

    /// The seconds that it was granted.
    pub const fn granted_ttl(&self) -> i64 {
        self.granted_ttl
    }

    /// Its keys, if they were asked for.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }
}

/// One of all leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseStatus {
    id: i64,
}

impl LeaseStatus {
    /// Its number.
    pub const fn id(&self) -> i64 {
        self.id
    }
}

/// All leases.
#[derive(Clone, Debug)]
pub struct LeaseLeasesResponse {
    header: ResponseHeader,
    leases: Vec<LeaseStatus>,
}

impl LeaseLeasesResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// They.
    pub fn leases(&self) -> &[LeaseStatus] {
        &self.leases
    }
}
