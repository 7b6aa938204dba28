//! The clients of etcd that a server makes (`storagebackend/factory/etcd3.go`): one for each resource, and one each for
//! the compactor, for the checks of its health, and for what lies in etcd and is no resource. What they call is in
//! `storage` and in `cacher`.

use wavetank_api::Resource;
use wavetank_api::kinds::EVENTS;
use wavetank_etcd::{Client, Connections, Purpose};
use wavetank_version::Defect;

use crate::CacheDefect;
use crate::gates;
use crate::server::Config;
use crate::server::MinCompatibility;
use crate::storage::{Codec, Storage, StorageVersions};

pub(crate) const ETCD_CONNECTION_IS_NOT_CHECKED: Defect = Defect::known(
    "etcd-connection-is-not-checked",
    "k/k#46964, k/k#66312, PR #58008 (1.10)",
    "clients of etcd send no pings: a connection that is half open is taken for a quiet one for ever",
)
.until(gates::ETCD_CONNECTIONS_ARE_CHECKED)
.needs("etcd-connections", &["per-resource"]);

/// What the client under the storage of a resource is made for.
pub(crate) fn purpose_of(resource: &Resource) -> Purpose {
    Purpose::resource(resource.plural, resource.group)
}

impl Config {
    /// Of its clients; each is made for something.
    pub(crate) fn etcd(&self) -> Client {
        let apart = self.etcd_connections == Connections::PerClient && self.watch_cache.is_some();
        let defects = self.defects.cache;
        let connections = match apart && defects.has(CacheDefect::EtcdConnectionIsNotChecked) {
            true => Connections::PerClientUnchecked,
            false => self.etcd_connections,
        };
        let mut client = Client::new(self.etcd);
        client.retries = self.release.has(gates::ETCD_READS_ARE_RETRIED);
        client.connections = connections;
        client
    }

    /// `newETCD3Client`
    pub(crate) fn new_etcd3_client(&self, purpose: Purpose) -> Client {
        self.etcd().made_for(purpose)
    }

    /// The storage of something that is no resource (`storagefactory.Create`).
    pub fn storage_for(&self, purpose: Purpose) -> Storage {
        Storage {
            etcd: self.new_etcd3_client(purpose),
            release: self.release,
            defects: self.defects,
            codec: Codec::PLAIN,
        }
    }

    /// How objects of a resource are written and read.
    pub(crate) fn codec_of(&self, resource: &'static Resource) -> Codec {
        Codec::of(resource, self.storage_versions())
    }

    /// In which versions objects are stored, if there are servers of several releases.
    pub(crate) fn storage_versions(&self) -> Option<StorageVersions> {
        let MinCompatibility(oldest) = self.min_compatibility;
        oldest.map(|min_compatibility| StorageVersions {
            release: self.release,
            min_compatibility,
            defects: self.defects.server,
        })
    }

    /// The storage of a resource (`newETCD3Storage`).
    pub fn storage_of(&self, resource: &'static Resource) -> Storage {
        let mut storage = self.storage_for(purpose_of(resource));
        storage.codec = self.codec_of(resource);
        if let Some(apart) = self.events_etcd.filter(|_| *resource == EVENTS) {
            storage.etcd.endpoints = apart.into();
        }
        storage
    }
}
