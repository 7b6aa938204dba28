//! `Delete`: at once, after a grace period, or once the finalizers are gone.

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::options::{DeleteOptions, Propagation};
use wavetank_api::strategy::{Context, Grace};
use wavetank_api::{Object, Stamp, Status, Stored};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::Key;

use crate::apiextensions::{CustomDefect, DEFECTS};
use crate::gates;
use crate::options::{Preconditions, StoreError};
use crate::registry::{DeletionDefect, Gone, Made, Registry};
use crate::storage::Updated;

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// What `BeforeDelete` decided.
enum Before {
    /// Not gracefully.
    Ungraceful,
    /// Gracefully: the tree carries the deletion timestamp, and there are so many seconds.
    Graceful(i64),
    /// It is on its way already.
    Pending,
}

/// What the update before a deletion comes to.
enum Marked {
    /// It is on its way already.
    AlreadyDeleting,
    /// There is nothing to wait for.
    DeleteNow,
    /// This is to be stored; with the seconds of its grace, if it has any.
    Update { object: Json, grace: Option<i64> },
}

/// What a deletion did.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Deletion {
    /// The Status, or the object.
    pub made: Made,
    /// Is it gone?
    pub deleted: bool,
    /// Was somebody else faster?
    pub late: bool,
}

impl Deletion {
    /// The object is on its way.
    pub(crate) fn pending(made: Made) -> Deletion {
        Deletion {
            made,
            deleted: false,
            late: false,
        }
    }

    /// It is gone.
    fn done(made: Made, late: bool) -> Deletion {
        Deletion {
            made,
            deleted: true,
            late,
        }
    }
}

impl Registry {
    /// `Delete`.
    ///
    /// # Errors
    /// A Status. The outcome of an error may be unknown.
    pub async fn delete(
        &self,
        rx: Rx,
        name: &str,
        mut options: DeleteOptions,
    ) -> Result<Deletion, Status> {
        let key = self.resource.key(&self.namespace, name);
        let found = self.storage.get(rx, key.clone(), 0).await;
        let found = found.map_err(|error| self.refusal(error, "delete", name))?;
        let mut object = found.json();
        let asked = options.clone();
        let before = self.before_delete(&self.context(rx), &mut object, &mut options)?;
        if let Before::Pending = before {
            return Ok(Deletion::pending(self.finalize_delete(Made::Stored(found))));
        }
        let graceful = matches!(before, Before::Graceful(_));
        let has_finalizers = !finalizers(&object).is_empty();
        let mut preconditions = preconditions(&options);
        let mut last_existing = None;
        if graceful
            || has_finalizers
                && !mutant!(
                    "finalizers-do-not-hold",
                    "an object with finalizers is deleted at once"
                )
            || self
                .deletion_finalizers_for_garbage_collection(&object, &options)
                .is_some()
        {
            let updated = self
                .update_for_graceful_deletion_and_finalizers(rx, name, &found, &mut options, &asked)
                .await?;
            if let Some(out) = &updated.out {
                if !updated.delete_now {
                    return Ok(Deletion::pending(out.clone()));
                }
                if self.dry_run {
                    return Ok(Deletion::done(out.clone(), false));
                }
                if let (Made::Stored(stored), true) =
                    (out, preconditions.resource_version.is_some())
                {
                    let version = stored.resource_version.to_string();
                    preconditions.resource_version = Some(version.into());
                }
            }
            last_existing = updated.last_existing;
        }
        let deleted = self
            .delete_judged(rx, key, &preconditions, &found.object)
            .await;
        let mut late = false;
        let gone = match deleted {
            Ok(gone) => Made::Stored(gone),
            // Somebody else was faster, after this one had announced it.
            Err(StoreError::NotFound)
                if last_existing.is_some()
                    && !mutant!(
                        "late-deletion-fails",
                        "who marks an object for deletion that another removes gets an error"
                    ) =>
            {
                late = true;
                last_existing.expect("it was just asked for")
            }
            Err(error) => return Err(self.refusal(error, "delete", name)),
        };
        self.after_delete(rx, &gone, Gone::Deleted, late).await;
        Ok(Deletion::done(self.finalize_delete(gone), late))
    }

    /// Deletes the object that was judged, and none that was made anew in its place.
    async fn delete_judged(
        &self,
        rx: Rx,
        key: Key,
        preconditions: &Preconditions,
        judged: &Object,
    ) -> Result<Stored, StoreError> {
        if self.dry_run {
            let found = self.storage.get(rx, key.clone(), 0).await?;
            preconditions.check_dry_run(&key, Some(&found))?;
            return Ok(found);
        }
        let takes_another = DeletionDefect::MadeAnewIsDeletedAtOnce;
        let may_go = |stored: &Stored| {
            stored.object.uid() == judged.uid() || self.storage.defects.deletion.has(takes_another)
        };
        self.delete_stored(rx, key, preconditions, may_go).await
    }

    /// Deletes what is stored, if it may go. Whoever has a cache begins with its object, and reads the stored one only if that is
    /// refused (`CacheDelegator.Delete`).
    async fn delete_stored(
        &self,
        rx: Rx,
        key: Key,
        preconditions: &Preconditions,
        may_go: impl Fn(&Stored) -> bool,
    ) -> Result<Stored, StoreError> {
        let begins_with_cache = self
            .storage
            .release
            .has(gates::DELETIONS_BEGIN_WITH_THE_CACHE);
        let cached = begins_with_cache.then(|| self.cached(rx, &key)).flatten();
        let is_it = |stored: &Stored| match may_go(stored) {
            true => Ok(()),
            false => Err(StoreError::NotFound),
        };
        self.storage
            .delete(rx, key, preconditions, is_it, cached)
            .await
    }

    /// `AfterDelete`. Upstream's runs also if somebody else was faster.
    async fn after_delete(&self, rx: Rx, object: &Made, gone: Gone, late: bool) {
        let after = self.rest.after_delete(rx, self, object, gone, late);
        after.await;
    }

    /// `deleteWithoutFinalizers`: an update took the last finalizer of an object that is being
    /// deleted. The client gets its object back.
    pub(super) async fn delete_without_finalizers(
        &self,
        rx: Rx,
        name: &str,
        object: Json,
        preconditions: &Preconditions,
    ) -> Result<Made, Status> {
        let key = self.resource.key(&self.namespace, name);
        let deleted = if self.dry_run {
            self.storage.get(rx, key, 0).await
        } else {
            let goes_by_uid = DeletionDefect::FixEmptiedObjectsGoByUid;
            let uid = json::text(&object, &["metadata", "uid"]);
            let may_go = |stored: &Stored| {
                stored.object.uid() == uid || !self.storage.defects.deletion.has(goes_by_uid)
            };
            self.delete_stored(rx, key, preconditions, may_go).await
        };
        let object = Made::Unsaved(Arc::new(object));
        let (gone, late) = match deleted {
            Ok(gone) => (Made::Stored(gone), false),
            // Somebody else was faster.
            Err(StoreError::NotFound) => (object.clone(), true),
            Err(error) => return Err(self.refusal(error, "delete", name)),
        };
        self.after_delete(rx, &gone, Gone::Emptied, late).await;
        // `finalizeDelete` decorates what was deleted: the object of the answer only if there was nothing else.
        Ok(match late {
            true => self.decorate_made(object),
            false => object,
        })
    }

    /// `finalizeDelete`: kinds that return the deleted object do, others a Status.
    fn finalize_delete(&self, made: Made) -> Made {
        if self.resource.strategy.returns_deleted_object() {
            return self.decorate_made(made);
        }
        let (name, uid) = match &made {
            Made::Stored(stored) => (stored.object.name(), stored.object.uid()),
            Made::Unsaved(tree) => (
                json::text(tree, &["metadata", "name"]),
                json::text(tree, &["metadata", "uid"]),
            ),
            Made::Status(_) => return made,
        };
        Made::Status(Status::deleted(self.resource, name, uid))
    }

    /// `BeforeDelete`.
    fn before_delete(
        &self,
        cx: &Context,
        object: &mut Json,
        options: &mut DeleteOptions,
    ) -> Result<Before, Status> {
        self.check_early(object, &preconditions(options))?;
        if options.grace.is_some_and(|grace| grace < 0) {
            options.grace = Some(1);
        }
        const GRACE: [&str; 2] = ["metadata", "deletionGracePeriodSeconds"];
        const DELETION: [&str; 2] = ["metadata", "deletionTimestamp"];
        if json::number(object, &GRACE).is_some_and(|grace| grace < 0) {
            json::set(object, &GRACE, 1);
        }
        let Grace::Seconds(default) = self
            .resource
            .strategy
            .check_graceful_delete(object, options.grace)
        else {
            return Ok(Before::Ungraceful);
        };
        if let Some(at) = json::at(object, &DELETION) {
            let left = json::number(object, &GRACE).unwrap_or(0);
            if left == 0 {
                return Ok(Before::Ungraceful);
            }
            let Some(mut asked) = options.grace.filter(|asked| *asked < left) else {
                return Ok(Before::Pending);
            };
            // Shorter than before, but never in the past.
            let at = at.as_str().and_then(Stamp::parse).unwrap_or(cx.now);
            let mut until = at.plus_seconds(asked - left);
            if until < cx.now {
                until = cx.now;
                if asked != 0 {
                    asked = 1;
                }
            }
            json::set(object, &DELETION, until.seconds());
            json::set(object, &GRACE, asked);
            return Ok(Before::Graceful(asked));
        }
        options.grace = Some(default);
        json::set(object, &DELETION, cx.now.plus_seconds(default).seconds());
        json::set(object, &GRACE, default);
        count_generation(object);
        Ok(Before::Graceful(default))
    }

    /// The preconditions, before anything is done; storage looks again.
    fn check_early(&self, object: &Json, asked: &Preconditions) -> Result<(), Status> {
        let conflict = |why: &str| {
            let name = json::text(object, &["metadata", "name"]);
            let mut status = Status::new_conflict(self.resource, name, why);
            // Upstream puts the kind where the resource belongs.
            let kind = self.resource.kind;
            if let Some(details) = &mut status.details {
                details.kind = kind.to_owned();
            }
            let (plural, qualified) = (self.resource.qualified(), qualified_kind(self.resource));
            status.message = status.message.replacen(&plural, &qualified, 1);
            status
        };
        let uid = json::text(object, &["metadata", "uid"]);
        let other = asked.uid.as_deref().filter(|asked| *asked != uid);
        if let Some(asked) = other.filter(|_| {
            !mutant!(
                "early-uid-is-not-checked",
                "a deletion does not compare uids with what it reads first"
            )
        }) {
            return Err(conflict(&format!(
                "the UID in the precondition ({asked}) does not match the UID in record ({uid}). \
                 The object might have been deleted and then recreated"
            )));
        }
        let version = json::text(object, &["metadata", "resourceVersion"]);
        let differs = asked
            .resource_version
            .as_deref()
            .filter(|asked| *asked != version);
        if let Some(asked) = differs {
            return Err(conflict(&format!(
                "the ResourceVersion in the precondition ({asked}) does not match the \
                 ResourceVersion in record ({version}). The object might have been modified"
            )));
        }
        Ok(())
    }

    /// `deletionFinalizersForGarbageCollection`: the finalizers that the propagation policy asks
    /// for, if they differ from those that there are.
    fn deletion_finalizers_for_garbage_collection(
        &self,
        object: &Json,
        options: &DeleteOptions,
    ) -> Option<Vec<Json>> {
        let now = finalizers(object);
        let has = |name: &str| now.iter().any(|finalizer| finalizer == name);
        let (orphan, foreground) = match (options.orphan, options.propagation) {
            (Some(orphan), _) => (orphan, false),
            (None, Some(policy)) => (
                policy == Propagation::Orphan,
                policy == Propagation::Foreground,
            ),
            // What stands in the object decides; the first of the two, should both.
            (None, None) => {
                let first = now.iter().find(|f| *f == ORPHAN || *f == FOREGROUND);
                (
                    first.is_some_and(|first| first == ORPHAN),
                    first.is_some_and(|first| first == FOREGROUND),
                )
            }
        };
        if has(ORPHAN) == orphan && has(FOREGROUND) == foreground {
            return None;
        }
        let others = now.iter().filter(|f| *f != ORPHAN && *f != FOREGROUND);
        let mut wanted: Vec<Json> = others.cloned().collect();
        if orphan
            && !mutant!(
                "orphan-is-not-kept",
                "a deletion that orphans does not say so in finalizers"
            )
        {
            wanted.push(ORPHAN.into());
        }
        if foreground {
            wanted.push(FOREGROUND.into());
        }
        Some(wanted)
    }

    /// `updateForGracefulDeletionAndFinalizers`. What it decides of one form of the object stays in the options, for the next one.
    async fn update_for_graceful_deletion_and_finalizers(
        &self,
        rx: Rx,
        name: &str,
        found: &Stored,
        options: &mut DeleteOptions,
        asked: &DeleteOptions,
    ) -> Result<ForDeletion, Status> {
        let key = self.resource.key(&self.namespace, name);
        let preconditions = preconditions(options);
        let cached = self.cached(rx, &key);
        let begun = self
            .storage
            .begin_update(rx, key, false, &preconditions, cached);
        let mut update = begun
            .await
            .map_err(|error| self.refusal(error, "update", name))?;
        loop {
            let next = match update.current() {
                Err(refusal) => Err(refusal),
                Ok(stored) => {
                    let tree = stored.map(Stored::json).unwrap_or_default();
                    let strategy = self.resource.strategy;
                    let grace = |seconds| strategy.check_graceful_delete(&tree, seconds);
                    let anew = DeletionDefect::FixDecideGraceAnew;
                    if grace(options.grace) != grace(asked.grace)
                        && self.storage.defects.deletion.has(anew)
                    {
                        options.grace = asked.grace;
                    }
                    self.next_for_deletion(&self.context(rx), tree, options, rx)
                        .map_err(StoreError::from)
                }
            };
            // Upstream returns these two as errors, so that a cached object does not decide on them.
            if matches!(next, Ok(Marked::AlreadyDeleting | Marked::DeleteNow)) {
                let is_final = update.is_final(rx).await;
                if !is_final.map_err(|error| self.refusal(error, "update", name))? {
                    continue;
                }
            }
            let (next, wanted) = match next {
                Ok(Marked::AlreadyDeleting) => {
                    return Ok(ForDeletion {
                        out: Some(self.finalize_delete(Made::Stored(found.clone()))),
                        delete_now: false,
                        last_existing: None,
                    });
                }
                Ok(Marked::DeleteNow) => {
                    return Ok(ForDeletion {
                        out: None,
                        delete_now: true,
                        last_existing: None,
                    });
                }
                Ok(Marked::Update { object, grace }) => {
                    let wanted = Updated::of(Object::new(object.clone()));
                    (Some((object, grace)), Ok(wanted))
                }
                Err(refusal) => (None, Err(refusal)),
            };
            let out = match (&next, self.dry_run) {
                (Some((object, _)), true) => Some(Made::Unsaved(Arc::new(object.clone()))),
                _ => {
                    let offered = update.offer(rx, wanted).await;
                    let stored = offered.map_err(|error| self.refusal(error, "update", name))?;
                    stored.map(Made::Stored)
                }
            };
            if let (Some(out), Some((object, grace))) = (out, next) {
                let has_finalizers = !finalizers(&object).is_empty();
                return Ok(ForDeletion {
                    out: Some(out),
                    delete_now: !has_finalizers && grace.unwrap_or(0) == 0,
                    last_existing: grace.map(|_| Made::Unsaved(Arc::new(object))),
                });
            }
        }
    }

    /// What the update before a deletion makes of the object.
    fn next_for_deletion(
        &self,
        cx: &Context,
        mut object: Json,
        options: &mut DeleteOptions,
        rx: Rx,
    ) -> Result<Marked, Status> {
        let before = self.before_delete(cx, &mut object, options)?;
        if let Before::Pending = before {
            return Ok(Marked::AlreadyDeleting);
        }
        if let Some(finalizers) = self.deletion_finalizers_for_garbage_collection(&object, options)
        {
            json::set(&mut object, &["metadata", "finalizers"], finalizers);
        }
        let has_finalizers = !finalizers(&object).is_empty();
        if !has_finalizers {
            json::remove(&mut object, &["metadata", "finalizers"]);
        }
        match before {
            Before::Graceful(seconds) => Ok(Marked::Update {
                object,
                grace: Some(seconds),
            }),
            _ if has_finalizers => {
                let moves = || {
                    self.resource.is_custom()
                        && rx.read(&DEFECTS).has(CustomDefect::DeletionIsDatedAgain)
                };
                mark_as_deleting(&mut object, cx.now, moves);
                Ok(Marked::Update {
                    object,
                    grace: None,
                })
            }
            _ => Ok(Marked::DeleteNow),
        }
    }
}

/// What a storage does whose first DELETE marks the object: it asks the preconditions of what it has read, and holds a
/// delete of any object of this name to that one.
pub(crate) fn hold_to(
    registry: &Registry,
    name: &str,
    object: &Json,
    options: &mut DeleteOptions,
) -> Result<(), Status> {
    let failed = |what: &str, asked: &str, is: &str| {
        let why = format!(
            "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {is}"
        );
        Err(Status::new_conflict(registry.resource, name, &why))
    };
    let uid = json::text(object, &["metadata", "uid"]);
    match options.uid.as_deref() {
        Some(asked) if asked != uid => return failed("UID", asked, uid),
        Some(_) => {}
        None => options.uid = Some(uid.into()),
    }
    let version = json::text(object, &["metadata", "resourceVersion"]);
    match options.resource_version.as_deref() {
        Some(asked) if asked != version => failed("ResourceVersion", asked, version),
        _ => Ok(()),
    }
}

pub(crate) fn preconditions(options: &DeleteOptions) -> Preconditions {
    Preconditions {
        uid: options.uid.clone(),
        resource_version: options.resource_version.clone(),
    }
}

fn finalizers(object: &Json) -> &[Json] {
    json::list(object, &["metadata", "finalizers"])
}

struct ForDeletion {
    out: Option<Made>,
    delete_now: bool,
    last_existing: Option<Made>,
}

fn qualified_kind(resource: &wavetank_api::Resource) -> String {
    match resource.group {
        "" => resource.kind.to_owned(),
        group => format!("{}.{group}", resource.kind),
    }
}

/// `markAsDeleting`; `moves` says whether a time that there is moves on to the present.
fn mark_as_deleting(object: &mut Json, now: Stamp, moves: impl FnOnce() -> bool) {
    let path = ["metadata", "deletionTimestamp"];
    let at = json::at(object, &path)
        .and_then(Json::as_str)
        .and_then(Stamp::parse);
    if at.is_none() {
        count_generation(object);
    }
    if at.is_none_or(|at| at > now || (at < now && moves())) {
        json::set(object, &path, now.seconds());
    }
    json::set(object, &["metadata", "deletionGracePeriodSeconds"], 0);
}

/// Deletion counts as a change of the object, if its kind counts them.
fn count_generation(object: &mut Json) {
    let path = ["metadata", "generation"];
    if let Some(generation) = json::number(object, &path).filter(|generation| *generation > 0)
        && !mutant!(
            "deletion-is-no-generation",
            "a deletion does not count as a generation"
        )
    {
        json::set(object, &path, generation + 1);
    }
}
