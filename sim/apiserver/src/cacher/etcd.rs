//! What the delegator needs of storage, until storage is here.

use wavetank_api::{Object, Resource, Status, Stored};
use wavetank_engine::Rx;
use wavetank_etcd::{Client, EtcdError, Key, Keys, Range, Revision};

use super::Cacher;
use crate::options::{ListOptions, Listed, Match, StoreError};

#[derive(Clone, Copy)]
pub(super) struct Storage {
    etcd: Client,
}

impl Cacher {
    pub(super) fn storage(self) -> Storage {
        Storage {
            etcd: self.config.etcd,
        }
    }
}

/// The revision (`None`: the newest) and the place of the page that is asked for.
pub(super) fn page(
    options: &ListOptions,
) -> Result<Option<(Option<Revision>, String)>, StoreError> {
    let page = options.continues.as_ref();
    Ok(page.map(|page| {
        let revision = Some(page.revision).filter(|revision| *revision > 0);
        (revision, page.start.to_string())
    }))
}

pub(super) fn token(start: &str, revision: Revision) -> String {
    format!("{revision} {start}")
}

impl Storage {
    pub async fn get(self, rx: Rx, key: Key, _: Revision) -> Result<Stored, StoreError> {
        let range = Range::of(Keys::One(key));
        let ranged = self.etcd.range::<Object>(rx, range).await?;
        let kv = ranged.kvs.into_iter().next().ok_or(StoreError::NotFound)?;
        Ok(Stored {
            object: kv.value,
            resource_version: kv.mod_revision,
        })
    }

    pub async fn get_list(
        self,
        rx: Rx,
        key: Key,
        options: &ListOptions,
        resource: &Resource,
    ) -> Result<Listed, StoreError> {
        let exactly = matches!(options.resource_version_match, Some(Match::Exact));
        let range = Range {
            revision: options.resource_version.filter(|_| exactly).unwrap_or(0),
            ..Range::of(Keys::Prefix(key))
        };
        let ranged = match self.etcd.range::<Object>(rx, range.clone()).await {
            Err(EtcdError::Compacted) => return Err(Status::expired("too old").into()),
            ranged => ranged?,
        };
        let mut items = Vec::new();
        for kv in ranged.kvs {
            if options.predicate.matches(resource, kv.value.json()) {
                items.push(Stored {
                    object: kv.value,
                    resource_version: kv.mod_revision,
                });
            }
        }
        Ok(Listed {
            items,
            revision: match range.revision {
                0 => ranged.revision,
                exactly => exactly,
            },
            ..Listed::default()
        })
    }

    pub async fn current_revision(self, rx: Rx, key: Key) -> Result<Revision, StoreError> {
        let range = Range {
            limit: 1,
            count_only: true,
            ..Range::of(Keys::One(key))
        };
        Ok(self.etcd.range::<Object>(rx, range).await?.revision)
    }
}
