//! Which reads are answered from the cache, and which go to etcd (`delegator.go`, until v1.20 in
//! `cacher.go`).
//!
//! | asked for | v1.16, v1.20 | v1.36 |
//! |---|---|---|
//! | get without a revision | etcd | etcd |
//! | list without a revision | etcd | the cache, at the revision of a read of etcd |
//! | list at exactly R, page of R, limit and R | etcd | a snapshot, if there is one; else etcd |
//! | list with limit at 0 | the cache, without a limit | the cache, without a limit |
//! | while the cache fills: get, list at 0 | etcd | get: etcd; list with a limit: etcd, else 429 |
//! | while the cache fills: get, list at R | waits | get: etcd; list with a limit: etcd, else 429 |

use wavetank_api::status::Reason;
use wavetank_api::{Status, Stored};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::{Key, Revision};

use super::Cacher;
use super::event::covers;
use super::fresh::is_too_large_resource_version;
use super::state::{Cache, Store};
use crate::cacher::gates;
use crate::options::{ListOptions, Listed, Match, StoreError};
use crate::storage::continues;

/// What a list from the cache is of.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Wanted {
    /// The newest, at least of this revision.
    Latest(Revision),
    /// The newest there is, from this key on.
    Consistent(Option<String>),
    /// This revision, from this key on.
    Exactly(Revision, Option<String>),
}

/// Some objects by key, and the revision that they are of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Found {
    items: Vec<(Key, Stored)>,
    revision: Revision,
}

impl Cacher {
    /// What the cache has under a key, however old: what an update begins with.
    pub fn cached(self, rx: Rx, key: &Key) -> Option<Stored> {
        rx.look(&self.cell(), |cache| cache.store.get(key).cloned())
    }

    /// All that the cache has, however old: what the lister of an informer shows.
    pub fn all(self, rx: Rx) -> Vec<Stored> {
        rx.look(&self.cell(), |cache| {
            cache.store.values().cloned().collect()
        })
    }

    /// `Get`; `resource_version` as it was asked for.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn get(
        self,
        rx: Rx,
        key: Key,
        resource_version: Option<Revision>,
    ) -> Result<Stored, StoreError> {
        let at_least = resource_version.unwrap_or(0);
        let resilient = self.config.release.has(gates::RESILIENT_INITIALISATION);
        let lenient = resilient || at_least == 0;
        let unset = resource_version.is_none()
            && !mutant!(
                "unset-revision-from-cache",
                "a read without a revision is answered from the cache"
            );
        if unset || lenient && !self.is_ready(rx) {
            return self.storage().get(rx, key, at_least).await;
        }
        self.generation(rx).await?;
        if !mutant!(
            "get-does-not-wait",
            "a read is answered from a cache that is older than asked for"
        ) {
            self.wait_until_fresh_and_block(rx, at_least, true).await?;
        }
        self.cached(rx, &key).ok_or(StoreError::NotFound)
    }

    /// `GetList` of what is under `under`: one key, or a prefix with a slash at its end.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn get_list(
        self,
        rx: Rx,
        under: Key,
        options: &ListOptions,
    ) -> Result<Listed, StoreError> {
        if self.config.release.has(gates::CONSISTENT_LISTS) {
            return self.list_now(rx, under, options).await;
        }
        let asked = options.resource_version;
        let limited = options.limit > 0 && asked != Some(0);
        let exactly = options.resource_version_match == Some(Match::Exact);
        let (Some(at_least), false) = (asked, options.continues.is_some() || limited || exactly)
        else {
            return self.list_etcd_for(rx, under, options).await;
        };
        if at_least == 0 && !self.is_ready(rx) {
            return self.list_etcd_for(rx, under, options).await;
        }
        self.generation(rx).await?;
        self.wait_until_fresh_and_block(rx, at_least, true).await?;
        let found = rx.look(&self.cell(), |cache| cache.newest(&under, None));
        Ok(self.pick(&under, options, found, 0))
    }

    pub(super) async fn list_etcd_for(
        self,
        rx: Rx,
        under: Key,
        options: &ListOptions,
    ) -> Result<Listed, StoreError> {
        self.storage()
            .get_list(rx, under, options, self.resource)
            .await
    }

    /// v1.36.
    async fn list_now(
        self,
        rx: Rx,
        under: Key,
        options: &ListOptions,
    ) -> Result<Listed, StoreError> {
        let Some(wanted) = self.should_delegate_list(rx, options)? else {
            return self.list_etcd_for(rx, under, options).await;
        };
        let plain = options.predicate.is_everything() && options.limit > 0;
        if plain && !self.is_ready(rx) {
            return self.list_etcd_for(rx, under, options).await;
        }
        let consistent = matches!(wanted, Wanted::Consistent(_));
        match self.list_cache(rx, &under, options, wanted).await {
            Err(StoreError::Status(status))
                if status.is(Reason::Expired)
                    || consistent && is_too_large_resource_version(&status) =>
            {
                self.list_etcd_for(rx, under, options).await
            }
            listed => listed,
        }
    }

    /// `ShouldDelegateList`; `None`: etcd.
    fn should_delegate_list(
        self,
        rx: Rx,
        options: &ListOptions,
    ) -> Result<Option<Wanted>, StoreError> {
        let asked = options.resource_version;
        let can_ask = self.asks_for_progress();
        let exactly = |revision, from| {
            let (behind, kept) = rx.look(&self.cell(), |cache| {
                let kept = cache.snapshots.at(revision).is_some();
                (cache.revision < revision, kept)
            });
            let served = !options.one && if behind { can_ask } else { kept };
            served.then_some(Wanted::Exactly(revision, from))
        };
        let consistent = |from| can_ask.then_some(Wanted::Consistent(from));
        match options.resource_version_match {
            Some(Match::Exact) => return Ok(exactly(asked.unwrap_or(0), None)),
            Some(Match::NotOlderThan) => return Ok(Some(Wanted::Latest(asked.unwrap_or(0)))),
            None => {}
        }
        if let Some(token) = &options.continues {
            // What is wrong with the request is said by storage.
            if options.one || asked.is_some_and(|revision| revision > 0) {
                return Ok(None);
            }
            let page = continues::decode_continue(token)?;
            return Ok(match page.revision {
                Some(revision) => exactly(revision, Some(page.start)),
                None => consistent(Some(page.start)),
            });
        }
        Ok(match asked {
            Some(revision) if revision > 0 && options.limit > 0 => exactly(revision, None),
            Some(revision) => Some(Wanted::Latest(revision)),
            None => consistent(None),
        })
    }

    async fn list_cache(
        self,
        rx: Rx,
        under: &Key,
        options: &ListOptions,
        wanted: Wanted,
    ) -> Result<Listed, StoreError> {
        self.check_ready(rx)?;
        let at_least = match &wanted {
            Wanted::Latest(revision) | Wanted::Exactly(revision, _) => *revision,
            Wanted::Consistent(_)
                if mutant!(
                    "consistent-list-does-not-ask",
                    "a consistent list from the cache does not ask etcd for the revision"
                ) =>
            {
                0
            }
            Wanted::Consistent(_) => {
                self.storage()
                    .get_current_resource_version(rx, self.prefix())
                    .await?
            }
        };
        self.wait_until_fresh_and_block(rx, at_least, true).await?;
        let found = rx.look(&self.cell(), |cache| match &wanted {
            Wanted::Latest(_) => Some(cache.newest(under, None)),
            Wanted::Consistent(from) => Some(cache.newest(under, from.as_deref())),
            Wanted::Exactly(revision, from) => cache.at(*revision, under, from.as_deref()),
        });
        let Some(found) = found else {
            let why = format!("too old resource version: {at_least}");
            return Err(Status::new_resource_expired(why).into());
        };
        // A list at 0 has no limit.
        let limit = match options.resource_version {
            Some(0) => 0,
            _ => options.limit,
        };
        Ok(self.pick(under, options, found, limit))
    }

    /// What matches, up to a limit (0: none).
    fn pick(self, under: &str, options: &ListOptions, found: Found, limit: u64) -> Listed {
        let all = found.items.len();
        let mut listed = Listed {
            revision: found.revision,
            ..Listed::default()
        };
        for (at, (key, stored)) in found.items.into_iter().enumerate() {
            let json = stored.object.json();
            if !options.predicate.matches(self.resource, json) {
                continue;
            }
            listed.items.push(stored);
            if limit > 0 && listed.items.len() as u64 == limit {
                if at + 1 < all {
                    let last = key.strip_prefix(under).unwrap_or(&key);
                    // Unlike that of a list from etcd it begins with the slash of the prefix.
                    let skips = mutant!(
                        "page-skips-one",
                        "a page that a cache answers is followed by one that skips an object"
                    );
                    let from = if skips {
                        format!("/{last}~")
                    } else {
                        format!("/{last}\0")
                    };
                    let next = continues::encode_continue(&from, Some(found.revision));
                    listed.continues = Some(next.into());
                    let everything = options.predicate.is_everything();
                    listed.remaining = everything.then(|| all as u64 - limit);
                }
                break;
            }
        }
        listed
    }
}

impl Cache {
    fn newest(&self, under: &str, from: Option<&str>) -> Found {
        Found {
            items: under_prefix(&self.store, under, from),
            revision: self.revision,
        }
    }

    fn at(&self, revision: Revision, under: &str, from: Option<&str>) -> Option<Found> {
        Some(Found {
            items: match mutant!(
                "exact-list-is-of-now",
                "a list at an exact revision is answered from the present"
            ) {
                true => under_prefix(&self.store, under, from),
                false => under_prefix(self.snapshots.at(revision)?, under, from),
            },
            revision,
        })
    }
}

fn under_prefix(store: &Store, under: &str, from: Option<&str>) -> Vec<(Key, Stored)> {
    let first: Key = format!("{under}{}", from.unwrap_or_default()).into();
    let all = store.range(first..);
    let inside = all.take_while(|(key, _)| key.starts_with(under));
    inside
        .filter(|(key, _)| covers(under, key))
        .map(|(key, stored)| (key.clone(), stored.clone()))
        .collect()
}
