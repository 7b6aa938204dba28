//! Elections. The real etcd serves them with its own client (`server/etcdserver/api/v3election/election.go` over
//! `client/v3/concurrency/election.go`, v3.6); the simulated one has no such service, so that algorithm runs here, over
//! transactions and watches. Whoever created the oldest key below the election's name leads.

use super::kv::{GetOptions, KeyValue, PutOptions};
use super::txn::{Compare, CompareOp, Txn, TxnOp};
use super::watch::{EventType, WatchClient, WatchOptions, WatchStream};
use super::{Channel, Error, ResponseHeader, Result};

/// A client for elections.
#[derive(Clone)]
pub struct ElectionClient {
    channel: Channel,
}

impl ElectionClient {
    pub(super) fn new(channel: Channel) -> ElectionClient {
        ElectionClient { channel }
    }

    /// Waits until it leads (`Election.Campaign`).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn campaign(
        &mut self,
        name: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
        lease: i64,
    ) -> Result<CampaignResponse> {
        let (name, value) = (name.into(), value.into());
        let mut kv = self.channel.clone().kv();
        let key = [&prefix(&name)[..], format!("{lease:x}").as_bytes()].concat();
        let put = TxnOp::put(
            key.clone(),
            value.clone(),
            Some(PutOptions::new().with_lease(lease)),
        );
        let txn = Txn::new()
            .when([Compare::create_revision(key.clone(), CompareOp::Equal, 0)])
            .and_then([put])
            .or_else([TxnOp::get(key.clone(), None)]);
        let done = kv.txn(txn).await?;
        let mut leader = LeaderKey {
            name: name.clone(),
            key: key.clone(),
            rev: done.header().map_or(0, ResponseHeader::revision),
            lease,
        };
        if !done.succeeded() {
            // It was there before, of this very lease.
            let found = kv.get(key, None).await?;
            let own = found.kvs().first().ok_or_else(not_leader)?;
            leader.rev = own.create_revision();
            if own.value() != value {
                self.proclaim(
                    value,
                    Some(ProclaimOptions::new().with_leader(leader.clone())),
                )
                .await?;
            }
        }
        self.wait_deletes(&name, leader.rev).await?;
        let header = self.channel.clone().kv().newest().await?;
        Ok(CampaignResponse { header, leader })
    }

    /// Waits until no key is left that is older (`waitDeletes`).
    async fn wait_deletes(&mut self, name: &[u8], revision: i64) -> Result<()> {
        loop {
            let all = Some(GetOptions::new().with_prefix());
            let found = self.channel.clone().kv().get(prefix(name), all).await?;
            let older = found
                .kvs()
                .iter()
                .filter(|kv| kv.create_revision() < revision);
            let Some(last) = older.max_by_key(|kv| kv.create_revision()) else {
                return Ok(());
            };
            let since = found.header().map_or(0, ResponseHeader::revision) + 1;
            let options = WatchOptions::new().with_start_revision(since);
            let mut client = WatchClient::new(self.channel.clone());
            let (_watcher, mut stream) = client.watch(last.key(), Some(options)).await?;
            'watch: while let Some(message) = stream.message().await? {
                for event in message.events() {
                    if event.event_type() == EventType::Delete {
                        break 'watch;
                    }
                }
            }
        }
    }

    /// Changes the value of the leader (`Election.Proclaim`).
    ///
    /// # Errors
    /// [`Error`]; one that it leads no more.
    pub async fn proclaim(
        &mut self,
        value: impl Into<Vec<u8>>,
        options: Option<ProclaimOptions>,
    ) -> Result<ProclaimResponse> {
        let leader = options
            .and_then(|options| options.leader)
            .ok_or_else(no_key)?;
        let options = PutOptions::new().with_lease(leader.lease);
        let txn = Txn::new().when([leader.stands()]).and_then([TxnOp::put(
            leader.key,
            value,
            Some(options),
        )]);
        let done = self.channel.clone().kv().txn(txn).await?;
        match (done.succeeded(), done.header()) {
            (true, Some(header)) => Ok(ProclaimResponse {
                header: header.clone(),
            }),
            _ => Err(not_leader()),
        }
    }

    /// Who leads (`Election.Leader`).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn leader(&mut self, name: impl Into<Vec<u8>>) -> Result<LeaderResponse> {
        let all = Some(GetOptions::new().with_prefix());
        let found = self
            .channel
            .clone()
            .kv()
            .get(prefix(&name.into()), all)
            .await?;
        let oldest = found.kvs().iter().min_by_key(|kv| kv.create_revision());
        let header = found.header().cloned();
        Ok(LeaderResponse {
            header: header.ok_or_else(not_leader)?,
            kv: oldest.cloned(),
        })
    }

    /// Who leads, and whoever will (`Election.Observe`).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn observe(&mut self, name: impl Into<Vec<u8>>) -> Result<ObserveStream> {
        let name = name.into();
        let now = self.leader(name.clone()).await?;
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(now.header.revision() + 1);
        let mut client = WatchClient::new(self.channel.clone());
        let (_, watch) = client.watch(prefix(&name), Some(options)).await?;
        Ok(ObserveStream {
            election: self.clone(),
            name,
            first: now.kv.is_some().then_some(now),
            last: None,
            watch,
        })
    }

    /// Leads no more (`Election.Resign`).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn resign(&mut self, options: Option<ResignOptions>) -> Result<ResignResponse> {
        let leader = options
            .and_then(|options| options.leader)
            .ok_or_else(no_key)?;
        let txn = Txn::new()
            .when([leader.stands()])
            .and_then([TxnOp::delete(leader.key, None)]);
        let done = self.channel.clone().kv().txn(txn).await?;
        let header = done.header().cloned();
        Ok(ResignResponse {
            header: header.ok_or_else(not_leader)?,
        })
    }
}

fn prefix(name: &[u8]) -> Vec<u8> {
    [name, b"/"].concat()
}

fn not_leader() -> Error {
    Error::ElectError("election: not leader".to_owned())
}

fn no_key() -> Error {
    Error::InvalidArgs("no leader key".to_owned())
}

/// The key by which somebody leads.
#[derive(Clone, Debug, Default)]
pub struct LeaderKey {
    name: Vec<u8>,
    key: Vec<u8>,
    rev: i64,
    lease: i64,
}

impl LeaderKey {
    /// Whoever has it leads as long as it is there.
    fn stands(&self) -> Compare {
        Compare::create_revision(self.key.clone(), CompareOp::Equal, self.rev)
    }

    /// The name of the election.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The revision that created it.
    pub const fn rev(&self) -> i64 {
        self.rev
    }

    /// Its lease.
    pub const fn lease(&self) -> i64 {
        self.lease
    }
}

/// It leads.
#[derive(Clone, Debug)]
pub struct CampaignResponse {
    header: ResponseHeader,
    leader: LeaderKey,
}

impl CampaignResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// By this key.
    pub fn leader(&self) -> Option<&LeaderKey> {
        Some(&self.leader)
    }
}

/// Whose value is changed.
#[derive(Clone, Debug, Default)]
pub struct ProclaimOptions {
    leader: Option<LeaderKey>,
}

impl ProclaimOptions {
    /// Nobody's yet.
    pub const fn new() -> ProclaimOptions {
        ProclaimOptions { leader: None }
    }

    /// This leader's.
    #[must_use]
    pub fn with_leader(mut self, leader: LeaderKey) -> ProclaimOptions {
        self.leader = Some(leader);
        self
    }
}

/// The value is changed.
#[derive(Clone, Debug)]
pub struct ProclaimResponse {
    header: ResponseHeader,
}

impl ProclaimResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }
}

/// Who leads.
#[derive(Clone, Debug)]
pub struct LeaderResponse {
    header: ResponseHeader,
    kv: Option<KeyValue>,
}

impl LeaderResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// The leader's key with its value; `None` if nobody leads.
    pub fn kv(&self) -> Option<&KeyValue> {
        self.kv.as_ref()
    }
}

/// One leader after the other.
pub struct ObserveStream {
    election: ElectionClient,
    name: Vec<u8>,
    first: Option<LeaderResponse>,
    last: Option<KeyValue>,
    watch: WatchStream,
}

impl ObserveStream {
    /// The next leader, or the next value of one; `None` when the watch has ended.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn message(&mut self) -> Result<Option<LeaderResponse>> {
        if let Some(first) = self.first.take() {
            self.last = first.kv.clone();
            return Ok(Some(first));
        }
        while let Some(message) = self.watch.message().await? {
            if message.events().is_empty() {
                continue;
            }
            let now = self.election.leader(self.name.clone()).await?;
            if now.kv.is_some() && now.kv != self.last {
                self.last = now.kv.clone();
                return Ok(Some(now));
            }
        }
        Ok(None)
    }
}

/// Who resigns.
#[derive(Clone, Debug, Default)]
pub struct ResignOptions {
    leader: Option<LeaderKey>,
}

impl ResignOptions {
    /// Nobody yet.
    pub const fn new() -> ResignOptions {
        ResignOptions { leader: None }
    }

    /// This leader.
    #[must_use]
    pub fn with_leader(mut self, leader: LeaderKey) -> ResignOptions {
        self.leader = Some(leader);
        self
    }
}

/// It leads no more.
#[derive(Clone, Debug)]
pub struct ResignResponse {
    header: ResponseHeader,
}

impl ResignResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }
}
