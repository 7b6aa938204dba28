//! `Update`, for PUT and PATCH: they differ in how the new object is made of the old one.

use std::pin::Pin;
use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::managedfields::ignore_managed_fields_timestamps_transformer;
use wavetank_api::validation::{Bad, ErrorList};
use wavetank_api::{Object, Status, Stored, options};
use wavetank_engine::{Rx, mutant};

use crate::options::{Preconditions, StoreError};
use crate::registry::{Begun, MODIFIED, Made, Registry, Warnings};
use crate::storage::Updated;

/// How a request makes the new object of the stored one.
pub trait Change: Sync {
    /// The new object; `None` is stored if the kind may be created by an update. It is called again
    /// whenever another writer was faster.
    fn change<'a>(
        &'a self,
        rx: Rx,
        old: Option<&'a Json>,
        warnings: &'a mut Warnings,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Status>> + Send + 'a>>;

    /// `forceAllowCreate`: does it create what is not there, whatever the kind says?
    fn force_allow_create(&self) -> bool {
        false
    }
}

/// What an update did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// The object.
    pub made: Made,
    /// Was it created?
    pub created: bool,
}

/// How a try ended.
enum Tried {
    Stored(Stored),
    Unsaved(Json),
    /// The last finalizer of an object that is being deleted is gone (`errEmptiedFinalizers`).
    Emptied(Json),
}

/// What a try comes to.
enum Next<'a> {
    /// This is to be stored; with what its hook has begun, if that is to end with the write.
    Store(Json, Begun<'a>),
    /// Nothing is: its last finalizer is gone.
    Emptied(Json),
}

impl Registry {
    /// `Update`.
    ///
    /// # Errors
    /// A Status. The outcome of an error may be unknown.
    pub async fn update(
        &self,
        rx: Rx,
        name: &str,
        preconditions: &Preconditions,
        change: &dyn Change,
        warnings: &mut Warnings,
    ) -> Result<Update, Status> {
        let mut created = false;
        let tried = self.try_until_stored(rx, name, preconditions, change, warnings, &mut created);
        let tried = tried.await.map_err(|error| {
            let verb = if created { "create" } else { "update" };
            self.refusal(error, verb, name)
        })?;
        let made = match tried {
            Tried::Stored(stored) => Made::Stored(stored),
            Tried::Unsaved(tree) => Made::Unsaved(Arc::new(tree)),
            // Shown as it would have been stored: `Update` returns before it comes to the decorator.
            Tried::Emptied(object) => {
                let delete = self.delete_without_finalizers(rx, name, object, preconditions);
                return Ok(Update {
                    made: delete.await?,
                    created: false,
                });
            }
        };
        let made = self.decorate_made(made);
        Ok(Update { made, created })
    }

    /// An update of an object that must exist, past the strategy: of a subresource that is no part
    /// of the object.
    ///
    /// # Errors
    /// What `change` returned, or a Status.
    pub async fn update_with(
        &self,
        rx: Rx,
        name: &str,
        mut change: impl FnMut(Option<&Stored>) -> Result<Updated, StoreError>,
    ) -> Result<(), Status> {
        let key = self.resource.key(&self.namespace, name);
        let always = Preconditions::default();
        let result = if self.dry_run {
            let found = self.storage.get(rx, key, 0).await;
            found.and_then(|stored| change(Some(&stored))).map(|_| ())
        } else {
            let update = self
                .storage
                .guaranteed_update(rx, key, false, &always, change);
            update.await.map(|_| ())
        };
        result.map_err(|error| self.refusal(error, "update", name))
    }

    /// Runs `BeforeUpdate` alone, for a storage that does something between it and the update.
    ///
    /// # Errors
    /// A Status.
    pub fn revise(
        &self,
        rx: Rx,
        object: &mut Json,
        old: &Json,
        warnings: &mut Warnings,
    ) -> Result<(), Status> {
        self.before_update(&self.context(rx), object, old, warnings)
    }

    async fn try_until_stored(
        &self,
        rx: Rx,
        name: &str,
        preconditions: &Preconditions,
        change: &dyn Change,
        warnings: &mut Warnings,
        created: &mut bool,
    ) -> Result<Tried, StoreError> {
        let key = self.resource.key(&self.namespace, name);
        let create = self.resource.strategy.allow_create_on_update() || change.force_allow_create();
        let cached = self.cached(rx, &key);
        let update = self
            .storage
            .begin_update(rx, key, create, preconditions, cached);
        let mut update = update.await?;
        loop {
            let mut begun = None;
            let current = match self.dry_run {
                true => update.current_in_dry_run(),
                false => update.current(),
            };
            let wanted = match current {
                Err(refusal) => Err(refusal),
                Ok(stored) => {
                    *created = stored.is_none();
                    let old = stored.map(Stored::json);
                    match self.next(rx, name, old, change, warnings).await {
                        // An error upstream, so that a cached object does not decide on it.
                        Ok(Next::Emptied(new)) => {
                            if self.dry_run || update.is_final(rx).await? {
                                return Ok(Tried::Emptied(new));
                            }
                            continue;
                        }
                        Ok(Next::Store(new, open)) => {
                            begun = open;
                            Ok(new)
                        }
                        Err(refusal) => Err(refusal),
                    }
                }
            };
            // `DryRunnableStorage.GuaranteedUpdate`: one try, and nothing is stored.
            if self.dry_run {
                let copied = self.storage.copy_into(rx, wanted?).await;
                return copied.map(Tried::Unsaved);
            }
            let wanted = wanted.map(|new| Updated {
                object: Object::new(new),
                ttl: self.resource.strategy.ttl(),
            });
            let offered = update.offer(rx, wanted).await;
            if let Some(begun) = begun {
                match &offered {
                    Ok(stored) => begun.finish_func(rx, stored.is_some()).await,
                    Err(error) => {
                        let failed = self.refusal(error.clone(), "update", name);
                        begun.conclude(rx, Some(&failed)).await;
                    }
                }
            }
            if let Some(stored) = offered? {
                return Ok(Tried::Stored(stored));
            }
        }
    }

    /// One try: the new object, ready to be stored, with its resourceVersion. Upstream's hooks finish
    /// before it is.
    async fn next(
        &self,
        rx: Rx,
        name: &str,
        old: Option<Json>,
        change: &dyn Change,
        warnings: &mut Warnings,
    ) -> Result<Next<'_>, StoreError> {
        warnings.clear();
        let mut new = change.change(rx, old.as_ref(), warnings).await?;
        let cx = self.context(rx);
        let Some(mut old) = old else {
            self.fill_object_meta_system_fields(rx, &mut new);
            let begun = self.rest.begin_create(rx, self, &mut new).await?;
            let mut checked = self.before_create(&cx, &mut new, warnings);
            if checked.is_ok() {
                checked = self.admit(rx, &new, None).await;
            }
            if let Some(begun) = begun {
                begun.finish_func(rx, checked.is_ok()).await;
            }
            checked?;
            return Ok(Next::Store(new, None));
        };
        let version = ["metadata", "resourceVersion"];
        let asked = json::text(&new, &version).to_owned();
        let is = json::text(&old, &version);
        if !asked.is_empty() {
            options::parse_uint(&asked).map_err(Status::untyped)?;
        }
        if asked.is_empty() || asked == "0" {
            if !self.resource.strategy.allow_unconditional_update() {
                return Err(self.version_required(name).into());
            }
            json::set(&mut new, &version, is);
        } else if asked != is
            && !mutant!(
                "stale-update-is-stored",
                "an update of an old revision is stored"
            )
        {
            return Err(Status::new_conflict(self.resource, name, MODIFIED).into());
        }
        let begun = self.rest.begin_update(rx, self, &mut new, &mut old).await?;
        let mut checked = self.before_update(&cx, &mut new, &old, warnings);
        ignore_managed_fields_timestamps_transformer(&mut new, &old);
        if checked.is_ok() {
            checked = self.admit(rx, &new, Some(&old)).await;
        }
        let held = self.resource.strategy.is_held(&new);
        let emptied = checked.is_ok() && !held && should_delete_during_update(&new, &old);
        let stores = checked.is_ok() && !emptied;
        let writes = stores && !self.dry_run;
        let mut open = None;
        match begun {
            Some(begun) if writes && begun.waits_for_write() => open = Some(begun),
            Some(begun) => begun.finish_func(rx, stores).await,
            None => {}
        }
        checked?;
        Ok(match emptied {
            true => Next::Emptied(new),
            false => Next::Store(new, open),
        })
    }

    fn version_required(&self, name: &str) -> Status {
        let mut errors = ErrorList::default();
        let field = "metadata.resourceVersion";
        let why = "must be specified for an update";
        errors.invalid(field, Bad::from(0), why);
        Status::new_invalid(self.resource.plural, self.resource.group, name, &errors)
    }
}

/// `ShouldDeleteDuringUpdate`: it is being deleted without grace, and no finalizer is left.
fn should_delete_during_update(new: &Json, old: &Json) -> bool {
    json::list(new, &["metadata", "finalizers"]).is_empty()
        && !mutant!(
            "last-finalizer-leaves-object",
            "an object that goes stays when its last finalizer is taken away"
        )
        && json::at(old, &["metadata", "deletionTimestamp"]).is_some()
        && json::number(old, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) == 0
}
