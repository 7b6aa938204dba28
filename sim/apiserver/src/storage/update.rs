//! `GuaranteedUpdate`: read, unless there is a cached object; check, change, compare and swap; on a
//! conflict again from what the transaction found, without a limit.

use wavetank_api::{Object, Stored};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::{Key, KeyValue, Put, Revision, TxnOp};
use wavetank_version::Defect;

use crate::CacheDefect;
use crate::apiextensions::{CustomDefect, DEFECTS};
use crate::gates;
use crate::options::{Preconditions, StoreError};
use crate::storage::{Storage, found};

/// What an update wants to be stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Updated {
    /// The object.
    pub object: Object,
    /// The TTL of its key, in seconds.
    pub ttl: Option<u64>,
}

impl Updated {
    /// Without a TTL.
    pub fn of(object: Object) -> Updated {
        Updated { object, ttl: None }
    }
}

/// An update in progress. The caller makes the new object of [`current`](Self::current) and
/// [`offer`](Self::offer)s it, until it is stored: what upstream passes in as a function stands in
/// the caller's loop, where it may await.
#[derive(Clone, Debug)]
pub struct GuaranteedUpdate<'a> {
    storage: Storage,
    key: Key,
    ignore_not_found: bool,
    preconditions: &'a Preconditions,
    original: Option<Stored>,
    /// `origState.data`: the original as it is written.
    written: Option<Object>,
    /// Is `original` fresh, and not a cached object?
    is_current: bool,
    /// What was offered before.
    computed: Option<Object>,
}

impl Storage {
    /// Begins an update: a read, unless there is a cached object.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_update<'a>(
        self,
        rx: Rx,
        key: Key,
        ignore_not_found: bool,
        preconditions: &'a Preconditions,
        cached: Option<Stored>,
    ) -> Result<GuaranteedUpdate<'a>, StoreError> {
        let mut update = GuaranteedUpdate {
            storage: self,
            key,
            ignore_not_found,
            preconditions,
            computed: None,
            is_current: cached.is_none(),
            written: match &cached {
                Some(cached) => Some(self.codec.encode(rx, cached.object.clone()).await?),
                None => None,
            },
            original: cached,
        };
        if update.is_current {
            update.refresh(rx).await?;
        }
        Ok(update)
    }

    /// `GuaranteedUpdate` with a function that need not wait. It gets what is stored, `None` only
    /// if that is all right.
    ///
    /// # Errors
    /// What `change` returned, or [`StoreError`]; the outcome may be unknown.
    pub async fn guaranteed_update(
        self,
        rx: Rx,
        key: Key,
        ignore_not_found: bool,
        preconditions: &Preconditions,
        mut change: impl FnMut(Option<&Stored>) -> Result<Updated, StoreError>,
    ) -> Result<Stored, StoreError> {
        let update = self.begin_update(rx, key, ignore_not_found, preconditions, None);
        let mut update = update.await?;
        loop {
            let wanted = update.current().and_then(&mut change);
            if let Some(stored) = update.offer(rx, wanted).await? {
                return Ok(stored);
            }
        }
    }
}

pub(crate) const STALE_REFUSAL_IS_FINAL: Defect = Defect::known(
    "stale-refusal-is-final",
    "k/k#82130, PR #82303 (1.16)",
    "what a cached object makes an apiserver refuse is refused, without a look at etcd",
)
.until(gates::REFUSALS_ARE_OF_CURRENT_DATA);

impl GuaranteedUpdate<'_> {
    /// What is stored, as far as is known.
    ///
    /// # Errors
    /// [`StoreError::Precondition`], to be offered like any other error.
    pub fn current(&self) -> Result<Option<&Stored>, StoreError> {
        let original = self.original.as_ref();
        let is_retry = self.computed.is_some();
        if !(is_retry
            && mutant!(
                "preconditions-skipped-on-retry",
                "an update that was overtaken does not check preconditions again"
            ))
        {
            self.preconditions.check(&self.key, original)?;
        }
        Ok(original)
    }

    /// The same for an update that is not stored.
    ///
    /// # Errors
    /// [`StoreError::Precondition`].
    pub fn current_in_dry_run(&self) -> Result<Option<&Stored>, StoreError> {
        let original = self.original.as_ref();
        self.preconditions.check_dry_run(&self.key, original)?;
        Ok(original)
    }

    /// Stores it, if nothing has changed since; `None` to try again. Bytes equal to the stored ones
    /// are not written. An error on a cached object is tried again on a fresh one.
    ///
    /// # Errors
    /// The error that was offered, or [`StoreError`]; the outcome may be unknown.
    pub async fn offer(
        &mut self,
        rx: Rx,
        wanted: Result<Updated, StoreError>,
    ) -> Result<Option<Stored>, StoreError> {
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(refusal) if self.is_final(rx).await? => return Err(refusal),
            Err(_) => return Ok(None),
        };
        let overtaken = self.computed.take();
        let object = match overtaken {
            Some(before) if self.is_kept(rx) => before,
            _ => wanted.object,
        };
        self.computed = Some(object.clone());
        let new = self.storage.codec.encode(rx, object).await?;
        if is_as(&new, self.written.as_ref()) {
            if !self.is_current
                && !mutant!(
                    "cached-no-op-is-believed",
                    "an update that changes nothing of a cached object is not looked up in etcd"
                )
            {
                self.refresh(rx).await?;
                if !is_as(&new, self.written.as_ref()) {
                    return Ok(None);
                }
            }
            return Ok(self.original.clone());
        }
        let lease = self.storage.get_lease(rx, wanted.ttl).await?;
        let put = TxnOp::Put(Put {
            lease,
            ..Put::new(self.key.clone(), new.clone())
        });
        let revision = self.revision();
        let definition = match revision {
            0 => self.storage.of_definition(rx, new.name()).await?,
            _ => None,
        };
        let unchanged = self
            .storage
            .if_unchanged(rx, &self.key, revision, definition, put);
        let response = unchanged.await?;
        if response.succeeded {
            return Ok(Some(Stored {
                object: self.storage.codec.decode(rx, new).await?,
                resource_version: response.revision,
            }));
        }
        self.found(rx, found(response)).await?;
        Ok(None)
    }

    /// Is it final what was decided on [`current`](Self::current), an error or to change nothing? What was decided on a
    /// cached object is so only if that is what is stored; if not, it is to be decided again.
    ///
    /// # Errors
    /// [`StoreError`], of the read.
    pub async fn is_final(&mut self, rx: Rx) -> Result<bool, StoreError> {
        let is_believed = self.is_current
            || self
                .storage
                .defects
                .cache
                .has(CacheDefect::StaleRefusalIsFinal)
            || mutant!(
                "stale-conflict-is-final",
                "what a cached object makes a server refuse is not looked up in etcd (k/k#41892)"
            );
        if is_believed {
            return Ok(true);
        }
        let seen = self.revision();
        self.refresh(rx).await?;
        Ok(self.revision() == seen)
    }

    /// Is what was computed before a conflict offered again?
    fn is_kept(&self, rx: Rx) -> bool {
        self.storage.codec.custom_resource().is_some()
            && rx
                .read(&DEFECTS)
                .has(CustomDefect::ChangeIsNotComputedAgain)
    }

    fn revision(&self) -> Revision {
        let original = self.original.as_ref();
        original.map_or(0, |stored| stored.resource_version)
    }

    async fn refresh(&mut self, rx: Rx) -> Result<(), StoreError> {
        let read = self.storage.read(rx, self.key.clone()).await?;
        self.found(rx, read).await
    }

    async fn found(&mut self, rx: Rx, found: Option<KeyValue<Object>>) -> Result<(), StoreError> {
        if found.is_none() && !self.ignore_not_found {
            return Err(StoreError::NotFound);
        }
        self.written = found.as_ref().map(|kv| kv.value.clone());
        let codec = self.storage.codec;
        self.original = match found {
            Some(kv) => Some(codec.stored(rx, kv).await?),
            None => None,
        };
        self.is_current = true;
        Ok(())
    }
}

fn is_as(wanted: &Object, written: Option<&Object>) -> bool {
    written.is_some_and(|written| written.is_written_alike(wanted))
}
