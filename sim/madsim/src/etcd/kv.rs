//! Reads and writes of keys.

use std::str;

use wavetank_api::Object;
use wavetank_etcd::{
    DeleteRange, DeletedRange, Keys, LeaseId, Put, PutDone, Range, Ranged, Request, Response,
    Revision,
};

use super::txn::{Txn, TxnResponse};
use super::{Channel, ResponseHeader, Result, value};

/// A client for keys.
#[derive(Clone)]
pub struct KvClient {
    channel: Channel,
}

impl KvClient {
    pub(super) fn new(channel: Channel) -> KvClient {
        KvClient { channel }
    }

    /// Writes a key.
    ///
    /// # Errors
    /// [`Error`](super::Error).
    pub async fn put(
        &mut self,
        key: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
        options: Option<PutOptions>,
    ) -> Result<PutResponse> {
        let put = options.unwrap_or_default().put(key.into(), &value.into())?;
        match self.channel.call(Request::Put(put)).await? {
            Response::Put(done) => Ok(done.into()),
            other => unreachable!("{other:?}"),
        }
    }

    /// Reads a key, or all with a prefix.
    ///
    /// # Errors
    /// [`Error`](super::Error).
    pub async fn get(
        &mut self,
        key: impl Into<Vec<u8>>,
        options: Option<GetOptions>,
    ) -> Result<GetResponse> {
        let range = options.unwrap_or_default().range(key.into())?;
        match self.channel.call(Request::Range(range)).await? {
            Response::Range(ranged) => Ok(ranged.into()),
            other => unreachable!("{other:?}"),
        }
    }

    /// Deletes a key, or all with a prefix.
    ///
    /// # Errors
    /// [`Error`](super::Error).
    pub async fn delete(
        &mut self,
        key: impl Into<Vec<u8>>,
        options: Option<DeleteOptions>,
    ) -> Result<DeleteResponse> {
        let delete = options.unwrap_or_default().delete(key.into())?;
        match self.channel.call(Request::DeleteRange(delete)).await? {
            Response::DeleteRange(done) => Ok(done.into()),
            other => unreachable!("{other:?}"),
        }
    }

    /// Forgets what was before a revision.
    ///
    /// # Errors
    /// [`Error`](super::Error).
    pub async fn compact(
        &mut self,
        revision: i64,
        options: Option<CompactionOptions>,
    ) -> Result<CompactionResponse> {
        let physical = options.unwrap_or_default().physical;
        let revision = revision as Revision;
        match self
            .channel
            .call(Request::Compact { revision, physical })
            .await?
        {
            Response::Compact(revision) => Ok(CompactionResponse {
                header: ResponseHeader::at(revision),
            }),
            other => unreachable!("{other:?}"),
        }
    }

    /// Does several operations at once, or others if a condition does not hold.
    ///
    /// # Errors
    /// [`Error`](super::Error).
    pub async fn txn(&mut self, txn: Txn) -> Result<TxnResponse> {
        match self.channel.call(Request::Txn(txn.into_request()?)).await? {
            Response::Txn(done) => Ok(done.into()),
            other => unreachable!("{other:?}"),
        }
    }

    /// The header of a read that reads nothing.
    pub(super) async fn newest(&mut self) -> Result<ResponseHeader> {
        let range = Range {
            count_only: true,
            ..Range::of(Keys::one("\0"))
        };
        match self.channel.call(Request::Range(range)).await? {
            Response::Range(ranged) => Ok(ResponseHeader::at(ranged.revision)),
            other => unreachable!("{other:?}"),
        }
    }
}

/// Options of a write.
#[derive(Clone, Debug, Default)]
pub struct PutOptions {
    lease: i64,
    prev_kv: bool,
}

impl PutOptions {
    /// As it comes.
    pub const fn new() -> PutOptions {
        PutOptions {
            lease: 0,
            prev_kv: false,
        }
    }

    /// Under a lease; 0 is none.
    #[must_use]
    pub const fn with_lease(mut self, lease: i64) -> PutOptions {
        self.lease = lease;
        self
    }

    /// Tells what the key was before.
    #[must_use]
    pub const fn with_prev_key(mut self) -> PutOptions {
        self.prev_kv = true;
        self
    }

    pub(super) fn put(self, key: Vec<u8>, bytes: &[u8]) -> Result<Put<Object>> {
        Ok(Put {
            lease: lease(self.lease),
            prev_kv: self.prev_kv,
            ..Put::new(value::key(key)?, value::object(bytes))
        })
    }
}

pub(super) fn lease(id: i64) -> Option<LeaseId> {
    (id != 0).then_some(LeaseId(id as u64))
}

/// Options of a read.
#[derive(Clone, Debug, Default)]
pub struct GetOptions {
    revision: i64,
    limit: i64,
    prefix: bool,
}

impl GetOptions {
    /// As it comes.
    pub const fn new() -> GetOptions {
        GetOptions {
            revision: 0,
            limit: 0,
            prefix: false,
        }
    }

    /// As of a revision.
    #[must_use]
    pub const fn with_revision(mut self, revision: i64) -> GetOptions {
        self.revision = revision;
        self
    }

    /// All keys that begin so.
    #[must_use]
    pub const fn with_prefix(mut self) -> GetOptions {
        self.prefix = true;
        self
    }

    /// At most so many; 0 is all.
    #[must_use]
    pub const fn with_limit(mut self, limit: i64) -> GetOptions {
        self.limit = limit;
        self
    }

    pub(super) fn range(self, key: Vec<u8>) -> Result<Range> {
        Ok(Range {
            revision: self.revision.max(0) as Revision,
            limit: self.limit.max(0) as u64,
            ..Range::of(value::keys(key, self.prefix)?)
        })
    }
}

/// Options of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    prefix: bool,
    prev_kv: bool,
}

impl DeleteOptions {
    /// As it comes.
    pub const fn new() -> DeleteOptions {
        DeleteOptions {
            prefix: false,
            prev_kv: false,
        }
    }

    /// All keys that begin so.
    #[must_use]
    pub const fn with_prefix(mut self) -> DeleteOptions {
        self.prefix = true;
        self
    }

    /// Tells what the keys were before.
    #[must_use]
    pub const fn with_prev_key(mut self) -> DeleteOptions {
        self.prev_kv = true;
        self
    }

    pub(super) fn delete(self, key: Vec<u8>) -> Result<DeleteRange> {
        Ok(DeleteRange {
            keys: value::keys(key, self.prefix)?,
            prev_kv: self.prev_kv,
        })
    }
}

/// Options of a compaction.
#[derive(Clone, Debug, Default)]
pub struct CompactionOptions {
    physical: bool,
}

impl CompactionOptions {
    /// As it comes.
    pub const fn new() -> CompactionOptions {
        CompactionOptions { physical: false }
    }

    /// Answers only when the space is free.
    #[must_use]
    pub const fn with_physical(mut self) -> CompactionOptions {
        self.physical = true;
        self
    }
}

/// A key with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyValue {
    key: Vec<u8>,
    value: Vec<u8>,
    lease: i64,
    create_revision: i64,
    mod_revision: i64,
    version: i64,
}

impl From<&wavetank_etcd::KeyValue<Object>> for KeyValue {
    fn from(kv: &wavetank_etcd::KeyValue<Object>) -> KeyValue {
        KeyValue {
            key: kv.key.as_bytes().to_vec(),
            value: value::bytes(&kv.value),
            lease: kv.lease.map_or(0, |lease| lease.0 as i64),
            create_revision: kv.create_revision as i64,
            mod_revision: kv.mod_revision as i64,
            version: kv.version as i64,
        }
    }
}

impl KeyValue {
    /// What a deletion tells of a key.
    pub(super) fn deleted(key: &str, revision: Revision) -> KeyValue {
        KeyValue {
            key: key.as_bytes().to_vec(),
            mod_revision: revision as i64,
            ..KeyValue::default()
        }
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The key as text.
    ///
    /// # Errors
    /// If it is none.
    pub fn key_str(&self) -> Result<&str> {
        Ok(str::from_utf8(&self.key)?)
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// The value as text.
    ///
    /// # Errors
    /// If it is none.
    pub fn value_str(&self) -> Result<&str> {
        Ok(str::from_utf8(&self.value)?)
    }

    /// Its lease; 0 is none.
    pub const fn lease(&self) -> i64 {
        self.lease
    }

    /// The revision that created it.
    pub const fn create_revision(&self) -> i64 {
        self.create_revision
    }

    /// The revision that wrote it last.
    pub const fn mod_revision(&self) -> i64 {
        self.mod_revision
    }

    /// How often it was written since it was created.
    pub const fn version(&self) -> i64 {
        self.version
    }
}

/// What a write did.
#[derive(Clone, Debug)]
pub struct PutResponse {
    header: ResponseHeader,
    prev_kv: Option<KeyValue>,
}

impl From<PutDone<Object>> for PutResponse {
    fn from(done: PutDone<Object>) -> PutResponse {
        PutResponse {
            header: ResponseHeader::at(done.revision),
            prev_kv: done.prev.as_ref().map(KeyValue::from),
        }
    }
}

impl PutResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// What was there before, if that was asked for.
    pub fn prev_key(&self) -> Option<&KeyValue> {
        self.prev_kv.as_ref()
    }
}

/// What a read found.
#[derive(Clone, Debug)]
pub struct GetResponse {
    header: ResponseHeader,
    kvs: Vec<KeyValue>,
    count: i64,
    more: bool,
}

impl From<Ranged<Object>> for GetResponse {
    fn from(ranged: Ranged<Object>) -> GetResponse {
        GetResponse {
            header: ResponseHeader::at(ranged.revision),
            kvs: ranged.kvs.iter().map(KeyValue::from).collect(),
            count: ranged.count as i64,
            more: ranged.more,
        }
    }
}

impl GetResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// The keys.
    pub fn kvs(&self) -> &[KeyValue] {
        &self.kvs
    }

    /// How many there are without the limit.
    pub const fn count(&self) -> i64 {
        self.count
    }

    /// Did the limit cut some off?
    pub const fn more(&self) -> bool {
        self.more
    }
}

/// What a deletion did.
#[derive(Clone, Debug)]
pub struct DeleteResponse {
    header: ResponseHeader,
    deleted: i64,
    prev_kvs: Vec<KeyValue>,
}

impl From<DeletedRange<Object>> for DeleteResponse {
    fn from(done: DeletedRange<Object>) -> DeleteResponse {
        DeleteResponse {
            header: ResponseHeader::at(done.revision),
            deleted: done.deleted as i64,
            prev_kvs: done.prev.iter().map(KeyValue::from).collect(),
        }
    }
}

impl DeleteResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }

    /// How many keys.
    pub const fn deleted(&self) -> i64 {
        self.deleted
    }

    /// What they were, if that was asked for.
    pub fn prev_kvs(&self) -> &[KeyValue] {
        &self.prev_kvs
    }
}

/// What a compaction did.
#[derive(Clone, Debug)]
pub struct CompactionResponse {
    header: ResponseHeader,
}

impl CompactionResponse {
    /// The header.
    pub fn header(&self) -> Option<&ResponseHeader> {
        Some(&self.header)
    }
}
