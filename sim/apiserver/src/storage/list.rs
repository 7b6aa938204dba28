//! `GetList`: one object, or all under a prefix, a page at a time.

use wavetank_api::{Object, Resource, Status, Stored};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::{EtcdError, Key, Keys, Range, Revision};

use crate::options::{ListOptions, Listed, Match, StoreError};
use crate::storage::{Storage, continues, validate_minimum_resource_version};

/// `maxLimit`: the most that is asked of etcd at a time once a selector drops much.
const MAX_LIMIT: u64 = 10_000;

const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const INCONSISTENT: &str = "The provided continue parameter is too old \
    to display a consistent list result. You can start a new list without \
    the continue parameter, or use the continue token in this response to \
    retrieve the remainder of the results. Continuing with the provided \
    token results in an inconsistent list - objects that were created, \
    modified, or deleted between the time the first chunk was returned \
    and now may show up in the list.";

/// From where on, and at which revision (0: the newest).
struct Place {
    revision: Revision,
    from: Option<String>,
}

/// `storage.ValidateListOptions`.
fn validate_list_options(options: &ListOptions) -> Result<Place, Status> {
    let asked = options.resource_version.unwrap_or(0);
    if let (Some(token), false) = (&options.continues, options.one) {
        let token = continues::decode_continue(token)?;
        if asked > 0 {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Status::new_bad_request(why));
        }
        return Ok(Place {
            revision: token.revision.unwrap_or(0),
            from: Some(token.start),
        });
    }
    let exactly = match options.resource_version_match {
        Some(Match::Exact) => true,
        Some(Match::NotOlderThan) => false,
        None => !options.one && options.limit > 0,
    };
    Ok(Place {
        revision: if exactly { asked } else { 0 },
        from: None,
    })
}

impl Storage {
    /// `GetList` of what is under `key`: one object, or (with a slash at its end) all of a prefix.
    /// Pages are read until `limit` objects match.
    ///
    /// # Errors
    /// [`StoreError`]; 410 if the revision is compacted, 504 if it has not come yet.
    pub async fn get_list(
        self,
        rx: Rx,
        key: Key,
        options: &ListOptions,
        resource: &Resource,
    ) -> Result<Listed, StoreError> {
        let Place { mut revision, from } = validate_list_options(options)?;
        let paging = options.limit > 0;
        let mut limit = options.limit;
        let mut from = from.map(|start| format!("{key}{start}"));
        let mut items: Vec<Stored> = Vec::new();
        loop {
            let keys = match &from {
                _ if options.one => Keys::One(key.clone()),
                None => Keys::Prefix(key.clone()),
                Some(from) => Keys::Between(from.as_str().into(), get_prefix_range_end(&key)),
            };
            let range = Range {
                revision,
                limit,
                ..Range::of(keys)
            };
            let ranged = match self.etcd.range::<Object>(rx, range).await {
                Ok(ranged) => ranged,
                Err(error) => {
                    let from = options.continues.as_ref().and(from.as_deref());
                    return Err(self
                        .interpret_list_error(rx, error, &key, revision, from)
                        .await);
                }
            };
            if !matches!(options.resource_version_match, Some(Match::Exact)) {
                validate_minimum_resource_version(
                    options.resource_version.unwrap_or(0),
                    ranged.revision,
                )?;
            }
            let got = ranged.kvs.len() as u64;
            let mut more = got < ranged.count
                && !mutant!(
                    "list-ends-early",
                    "a list that was cut off has no continue token"
                );
            if revision == 0 {
                revision = ranged.revision;
            }
            let mut last = None;
            for kv in ranged.kvs {
                if paging && items.len() as u64 >= options.limit {
                    more = true;
                    break;
                }
                last = Some(kv.key.clone());
                let stored = self.codec.stored(rx, kv).await?;
                if options.predicate.matches(resource, stored.object.json()) {
                    items.push(stored);
                }
            }
            let full = items.len() as u64 >= options.limit;
            if !more || !paging || full {
                let next = last.filter(|_| more).map(|last| {
                    let start = last.strip_prefix(&*key).unwrap_or(&last);
                    continues::encode_continue(&format!("{start}\0"), Some(revision)).into()
                });
                let remaining = (more && options.predicate.is_everything())
                    .then(|| ranged.count.saturating_sub(options.limit));
                return Ok(Listed {
                    items,
                    revision,
                    continues: next,
                    remaining,
                });
            }
            // A selector dropped some: larger pages, fewer calls.
            limit = (limit * 2).min(MAX_LIMIT);
            let again = mutant!(
                "filtered-page-is-read-again",
                "a page whose objects are filtered out is followed by a page that begins with its last"
            );
            from = last.map(|last| {
                if again {
                    last.to_string()
                } else {
                    format!("{last}\0")
                }
            });
        }
    }

    /// `interpretListError`, and the answer for a revision that has not come yet.
    async fn interpret_list_error(
        self,
        rx: Rx,
        error: EtcdError,
        key: &Key,
        asked: Revision,
        from: Option<&str>,
    ) -> StoreError {
        match error {
            EtcdError::FutureRevision => {
                let current = self
                    .get_current_resource_version(rx, key.clone())
                    .await
                    .unwrap_or(0);
                Status::new_too_large_resource_version_error(asked, current, 0).into()
            }
            EtcdError::Compacted => match from {
                None => Status::new_resource_expired(EXPIRED).into(),
                Some(from) => {
                    let start = from.strip_prefix(&**key).unwrap_or(from);
                    let mut status = Status::new_resource_expired(INCONSISTENT);
                    status.continues = Some(continues::encode_continue(start, None));
                    status.into()
                }
            },
            error => error.into(),
        }
    }
}

/// `clientv3.GetPrefixRangeEnd`.
fn get_prefix_range_end(prefix: &str) -> Key {
    let mut end = prefix.to_owned();
    let last = end.pop().expect("a prefix ends with a slash");
    end.push(char::from_u32(last as u32 + 1).unwrap_or(last));
    end.into()
}
