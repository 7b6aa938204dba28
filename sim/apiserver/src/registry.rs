//! The generic registry (`apiserver/pkg/registry/generic/registry/store.go`): what create, get,
//! list, update and delete do to any kind, around the rules of its strategy. Every call of storage
//! is an await. What a resource adds comes in through `RestStorage`: nothing here names one. How requests are read and
//! answers are written belongs to the handlers in `endpoints`.

mod before;
mod collection;
mod create;
mod defects;
pub(crate) mod delete;
mod rest_storage;
pub(crate) mod update;
mod validate;

use std::sync::Arc;

use wavetank_api::json::Json;
use wavetank_api::strategy::{Context, Part};
use wavetank_api::{Object, Resource, Stamp, Status, Stored, WatchEvent};
use wavetank_engine::{Cell, Rx};
use wavetank_etcd::{EtcdError, Key, Revision};

use crate::cacher::Cacher;
use crate::options::{ListOptions, Listed, StoreError};
use crate::storage::Storage;

pub use before::{
    ensure_object_namespace_matches_request_namespace, warn, wipe_object_meta_system_fields,
};
pub(crate) use create::generate_name;
pub use create::is_generated;
pub use defects::DeletionDefect;
pub use delete::Deletion;
pub use rest_storage::{Begun, Finish, Generic, Gone, Hooked, Reading, RestStorage};
pub use update::{Change, Update};
pub use validate::ValidateObject;

/// What went into the uids of this life of the server: its life, and how many there were in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Uids {
    /// Counts the starts of the process.
    pub life: u16,
    /// Counts the uids of this life.
    pub count: u64,
}

/// Upstream draws uids; these are counted, so that they are unique and no draw is spent on them.
pub static UIDS: Cell<Uids> = Cell::new("uids");

/// The registry of a resource, for the time of one request.
#[derive(Clone, Debug)]
pub struct Registry {
    /// The resource.
    pub resource: &'static Resource,
    /// The resource of the request, which is another version of it or itself: its rules hold.
    pub served: &'static Resource,
    /// Its storage.
    pub storage: Storage,
    /// Its watch cache, if there are any.
    pub cacher: Option<Cacher>,
    /// The part of the object that is served.
    pub part: Part,
    /// The namespace of the request; empty for all, or for a resource without.
    pub namespace: Arc<str>,
    /// What the resource adds.
    pub rest: Arc<dyn RestStorage>,
    /// What admits objects once they are as they would be stored.
    pub validation: Option<Arc<dyn ValidateObject>>,
    /// Is nothing to be stored (`dryRun=All`)?
    pub dry_run: bool,
    /// The server itself: goes into uids.
    pub me: u32,
}

/// What a request left behind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Made {
    /// An object, as it is stored or was last stored.
    Stored(Stored),
    /// An object that is stored nowhere: the answer to a dry run.
    Unsaved(Arc<Json>),
    /// A Status: the object is gone.
    Status(Status),
}

/// Warnings for the client, in the order in which they came up.
pub type Warnings = Vec<Arc<str>>;

impl Registry {
    /// `Get`, at least at this resourceVersion.
    ///
    /// # Errors
    /// A Status.
    pub async fn get(
        &self,
        rx: Rx,
        name: &str,
        at_least: Option<Revision>,
    ) -> Result<Stored, Status> {
        let key = self.resource.key(&self.namespace, name);
        let found = match self.cacher {
            Some(cacher) => cacher.get(rx, key, at_least).await,
            None => self.storage.get(rx, key, at_least.unwrap_or(0)).await,
        };
        let found = found.map_err(|error| self.refusal(error, "get", name))?;
        Ok(self.decorate(found, Reading::One))
    }

    /// `Decorator`: an object as it is shown. A deletion that has to wait shows it as it is stored.
    fn decorate(&self, stored: Stored, reading: Reading) -> Stored {
        if !self.rest.decorates(self.part, reading) {
            return stored;
        }
        let mut tree = stored.object.json().clone();
        self.rest.decorator(&mut tree);
        match tree == *stored.object.json() {
            true => stored,
            false => Stored {
                object: Object::new(tree),
                ..stored
            },
        }
    }

    fn decorate_made(&self, made: Made) -> Made {
        match made {
            Made::Stored(stored) => Made::Stored(self.decorate(stored, Reading::One)),
            Made::Unsaved(mut tree) if self.rest.decorates(self.part, Reading::One) => {
                self.rest.decorator(Arc::make_mut(&mut tree));
                Made::Unsaved(tree)
            }
            made => made,
        }
    }

    /// Upstream's `decoratedWatcher`: an event as it is shown, if its object is the watch's own.
    pub fn decorate_event(&self, event: WatchEvent) -> WatchEvent {
        match event {
            WatchEvent::Object(kind, stored) => {
                WatchEvent::Object(kind, self.decorate(stored, Reading::Watch))
            }
            other => other,
        }
    }

    /// `ListPredicate`.
    ///
    /// # Errors
    /// A Status.
    pub async fn list_predicate(&self, rx: Rx, options: &ListOptions) -> Result<Listed, Status> {
        let (under, options) = self.under(options);
        let listed = match self.cacher {
            Some(cacher) => cacher.get_list(rx, under, &options).await,
            None => {
                let list = self.storage.get_list(rx, under, &options, self.resource);
                list.await
            }
        };
        let mut listed = listed.map_err(|error| self.refusal(error, "list", ""))?;
        if self.rest.decorates(self.part, Reading::List) {
            let items = std::mem::take(&mut listed.items).into_iter();
            let items = items.map(|item| self.decorate(item, Reading::List));
            listed.items = items.collect();
        }
        Ok(listed)
    }

    /// The key or prefix that a list or watch is of: a selector that names one object, or one
    /// namespace, narrows it.
    pub fn under(&self, options: &ListOptions) -> (Key, ListOptions) {
        let mut options = options.clone();
        let fields = &options.predicate.fields;
        let selected = fields.exactly("metadata.namespace");
        let selected =
            selected.filter(|name| self.resource.namespaced && is_valid_path_segment_name(name));
        let namespace: Arc<str> = match selected {
            Some(name) if self.namespace.is_empty() => name.into(),
            _ => self.namespace.clone(),
        };
        let named = fields.exactly("metadata.name");
        let reachable = !self.resource.namespaced || !namespace.is_empty();
        let named = named.filter(|name| reachable && is_valid_path_segment_name(name));
        let under = self.resource.key(&namespace, named.unwrap_or_default());
        options.one = named.is_some();
        (under, options)
    }

    /// What an update begins with: an object of the cache, stale or not.
    fn cached(&self, rx: Rx, key: &Key) -> Option<Stored> {
        self.cacher?.cached(rx, key)
    }

    pub(crate) fn context(&self, rx: Rx) -> Context {
        let mut cx = Context::new(self.storage.release, Stamp::of(rx.clock()));
        self.rest.complete(&mut cx);
        cx
    }

    fn new_uid(&self, rx: Rx) -> String {
        let uids = rx.update(&UIDS, |uids| {
            uids.count += 1;
            *uids
        });
        format!(
            "{:08x}-{:04x}-4000-8000-{:012x}",
            self.me, uids.life, uids.count
        )
    }

    /// `storeerr.Interpret…Error`: what storage said, in the words of the API.
    pub(crate) fn refusal(&self, error: StoreError, verb: &str, name: &str) -> Status {
        let resource = self.resource;
        match error {
            StoreError::Status(status) => *status,
            StoreError::NotFound => Status::new_not_found(resource, name),
            StoreError::Exists if verb == "create" => Status::new_already_exists(resource, name),
            StoreError::Exists => Status::new_conflict(resource, name, "the key exists"),
            StoreError::Conflict => Status::new_conflict(resource, name, MODIFIED),
            StoreError::Precondition(why) => Status::new_conflict(resource, name, &why),
            StoreError::Etcd(EtcdError::Cancelled) => {
                let late = "The request timed out before the server could complete it";
                Status::of(wavetank_api::Reason::Timeout, late)
            }
            StoreError::Etcd(error) => Status::untyped(error.to_string()),
        }
    }
}

/// `OptimisticLockErrorMsg`
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest \
                        version and try again";

/// `path.IsValidPathSegmentName`.
fn is_valid_path_segment_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%'])
}
