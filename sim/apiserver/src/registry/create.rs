//! `Create`.

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_api::{Object, Reason, Status};
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::Key;

use crate::gates;
use crate::options::StoreError;
use crate::registry::{Made, Registry, Warnings};

/// `apiserver/pkg/storage/names/generate.go`: the letters of a suffix, how many, and how long a name
/// may be before it.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: u32 = 5;
const LONGEST_BASE: usize = 63 - SUFFIX as usize;

/// `maxNameGenerationCreateAttempts`
const MAX_NAME_GENERATION_CREATE_ATTEMPTS: u64 = 8;

/// `SimpleNameGenerator.GenerateName`.
pub(crate) async fn generate_name(rx: Rx, base: &str) -> String {
    generate_another_name(rx, base, 0).await
}

/// Does the name of which this is the rest have a suffix that a server has made?
pub fn is_generated(rest: &str) -> bool {
    rest.len() == SUFFIX as usize && rest.bytes().all(|letter| LETTERS.contains(&letter))
}

/// The same, after so many attempts. In the default order, and in a search, each draws alike: what they have drawn goes
/// on from there, so that the names differ all the same.
async fn generate_another_name(rx: Rx, base: &str, attempt: u64) -> String {
    let all = (LETTERS.len() as u64).pow(SUFFIX);
    let mut drawn = (rx.choose(all).await + attempt) % all;
    let end = base
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| *at >= LONGEST_BASE);
    let mut name = base[..end.unwrap_or(base.len())].to_owned();
    for _ in 0..SUFFIX {
        name.push(LETTERS[(drawn % LETTERS.len() as u64) as usize] as char);
        drawn /= LETTERS.len() as u64;
    }
    name
}

/// `needsNameGeneration`
fn needs_name_generation(object: &Json) -> bool {
    let has = |name: &str| !json::text(object, &["metadata", name]).is_empty();
    has("generateName") && !has("name")
}

impl Registry {
    /// `FillObjectMetaSystemFields`.
    pub(super) fn fill_object_meta_system_fields(&self, rx: Rx, object: &mut Json) {
        let now = self.context(rx).now.seconds();
        json::set(object, &["metadata", "creationTimestamp"], now);
        json::set(object, &["metadata", "uid"], self.new_uid(rx));
    }

    /// `Create`. The outcome of an error may be unknown.
    ///
    /// # Errors
    /// A Status.
    pub async fn create(
        &self,
        rx: Rx,
        object: Json,
        warnings: &mut Warnings,
    ) -> Result<Made, Status> {
        let retries = gates::GENERATED_NAMES_ARE_TRIED_AGAIN;
        match needs_name_generation(&object) && self.storage.release.has(retries) {
            true => {
                self.create_with_generate_name_retry(rx, object, warnings)
                    .await
            }
            false => self.create_once(rx, object, 0, warnings).await,
        }
    }

    /// `createWithGenerateNameRetry`
    async fn create_with_generate_name_retry(
        &self,
        rx: Rx,
        object: Json,
        warnings: &mut Warnings,
    ) -> Result<Made, Status> {
        let mut attempt = 0;
        let before = warnings.len();
        loop {
            // What has been warned of is not said twice.
            warnings.truncate(before);
            let made = self
                .create_once(rx, object.clone(), attempt, warnings)
                .await;
            attempt += 1;
            let is_taken = |status: &Status| status.reason == Reason::AlreadyExists;
            if attempt == MAX_NAME_GENERATION_CREATE_ATTEMPTS || !made.as_ref().is_err_and(is_taken)
            {
                return made;
            }
        }
    }

    /// Upstream's `Store.create`.
    async fn create_once(
        &self,
        rx: Rx,
        mut object: Json,
        attempt: u64,
        warnings: &mut Warnings,
    ) -> Result<Made, Status> {
        self.name_and_fill(rx, &mut object, attempt).await;
        let begun = self.rest.begin_create(rx, self, &mut object).await?;
        let created = self.create_begun(rx, object, warnings).await;
        if let Some(begun) = begun {
            begun.conclude(rx, created.as_ref().err()).await;
        }
        created.map(|made| self.decorate_made(made))
    }

    /// What is done to an object before the hooks see it: system fields, and a name.
    async fn name_and_fill(&self, rx: Rx, object: &mut Json, attempt: u64) {
        self.fill_object_meta_system_fields(rx, object);
        if needs_name_generation(object) {
            let base = json::text(object, &["metadata", "generateName"]).to_owned();
            let name = generate_another_name(rx, &base, attempt).await;
            json::set(object, &["metadata", "name"], name);
        }
    }

    /// Runs `BeforeCreate` alone, for a storage that does something between it and the creation.
    ///
    /// # Errors
    /// A Status.
    pub async fn prepare(
        &self,
        rx: Rx,
        object: &mut Json,
        warnings: &mut Warnings,
    ) -> Result<(), Status> {
        self.name_and_fill(rx, object, 0).await;
        self.before_create(&self.context(rx), object, warnings)
    }

    async fn create_begun(
        &self,
        rx: Rx,
        mut object: Json,
        warnings: &mut Warnings,
    ) -> Result<Made, Status> {
        let base = json::text(&object, &["metadata", "generateName"]).to_owned();
        self.before_create(&self.context(rx), &mut object, warnings)?;
        self.admit(rx, &object, None).await?;
        let name = json::text(&object, &["metadata", "name"]).to_owned();
        let key = self.resource.key(&self.namespace, &name);
        if self.dry_run {
            return match self.storage.get(rx, key.clone(), 0).await {
                Ok(_) => Err(self.already_exists(rx, key, &name, &base).await),
                Err(_) => {
                    let copied = self.storage.copy_into(rx, object).await;
                    let copied = copied.map_err(|error| self.refusal(error, "create", &name))?;
                    Ok(Made::Unsaved(Arc::new(copied)))
                }
            };
        }
        if !json::text(&object, &["metadata", "resourceVersion"]).is_empty()
            && !mutant!(
                "create-takes-revision",
                "an object that has a revision can be created"
            )
        {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::untyped(why));
        }
        let new = Object::new(object);
        let ttl = self.resource.strategy.ttl();
        match self.storage.create(rx, key.clone(), new, ttl).await {
            Ok(stored) => Ok(Made::Stored(stored)),
            Err(StoreError::Exists) => Err(self.already_exists(rx, key, &name, &base).await),
            Err(error) => Err(self.refusal(error, "create", &name)),
        }
    }

    /// Another object has its name: one more read tells whether that one is going.
    async fn already_exists(&self, rx: Rx, key: Key, name: &str, base: &str) -> Status {
        let mut status = self.check_generated_name_error(name, base);
        if let Ok(other) = self.storage.get(rx, key, 0).await
            && other.object.is_being_deleted()
        {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    }

    /// `CheckGeneratedNameError`.
    fn check_generated_name_error(&self, name: &str, base: &str) -> Status {
        if base.is_empty() {
            Status::new_already_exists(self.resource, name)
        } else {
            Status::new_generate_name_conflict(self.resource, name)
        }
    }
}
