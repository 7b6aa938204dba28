//! What serves the objects of a definition (`customresource_handler.go`, `crdInfo`): made when it is first asked for, and
//! torn down when the definition changes or goes, as soon as no request uses it any more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::apiextensions::Definition;
use wavetank_api::apiextensions::conditions::is_crd_condition_true;
use wavetank_api::{Object, Resource, Stored};
use wavetank_client::informer::Notice;
use wavetank_engine::{Cell, Condition, Lock, Name, Outcome, RoutineFuture, Rx, Task, mutant};

use super::defects::{CustomDefect, DEFECTS};
use super::{APISERVER_COUNT, controllers, informers};
use crate::cacher::Cacher;
use crate::endpoints::REQUEST_TIMEOUT;
use crate::server::Config;

const TEAR_DOWN: Name = Name::new("crd-tear-down");
/// `tearDown`: requests that have just found a storage get so long to say that they use it.
const IN_FLIGHT: Duration = Duration::from_secs(1);
/// `NewCustomResourceDefinitionHandler`: how long a new definition waits where there are several servers.
const HA_DELAY: Duration = Duration::from_secs(5);

/// `crdInfo`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct CrdInfo {
    /// `spec` and `status.acceptedNames`, out of which it was made.
    pub made_of: Object,
    /// The versions that it serves or stores.
    pub definition: Definition,
    /// The number of the watch cache of each of them.
    builds: Vec<u32>,
    /// Its own number in this life of the server.
    pub number: u32,
}

/// `customStorage`: by uid.
static CUSTOM_STORAGE: Cell<BTreeMap<Arc<str>, CrdInfo>> = Cell::new("crd-storage");
/// `customStorageLock`. Nobody waits while holding it.
const CUSTOM_STORAGE_LOCK: Lock = Lock::new("crd-storage");
/// How many infos and caches were made in this life.
static MADE: Cell<(u32, u32)> = Cell::new("crd-storage-made");

/// Upstream's `waitGroup`: how many requests use an info.
fn requests(number: u32) -> Cell<u64> {
    Cell::numbered("crd-requests", number)
}

fn drained(number: u32) -> Condition {
    Condition::new("crd-requests-drained", u64::from(number))
}

/// A request uses it (`WithWaitGroup`).
pub(super) fn begin(rx: Rx, number: u32) {
    rx.update(&requests(number), |count| *count += 1);
}

/// It does not any more.
pub(super) fn end(rx: Rx, number: u32) {
    let left = rx.update(&requests(number), |count| {
        *count -= 1;
        *count
    });
    if left == 0 {
        rx.broadcast(drained(number));
    }
}

impl CrdInfo {
    /// The number of the watch cache of a version.
    pub(super) fn build(&self, version: &str) -> u32 {
        let mut all = self.definition.versions.iter().zip(&self.builds);
        let found = all.find(|((own, _), _)| **own == *version);
        *found.expect("the version is served").1
    }

    fn caches(&self, config: &Config) -> Vec<Cacher> {
        let Some(caches) = config.caches() else {
            return Vec::new();
        };
        let all = self.definition.versions.iter().zip(&self.builds);
        let of = |((_, resource), build): (&(Arc<str>, &'static Resource), &u32)| {
            Cacher::of_build(caches, resource, *build)
        };
        all.map(of).collect()
    }
}

/// What of a definition decides how its objects are served.
fn made_of(crd: &Stored) -> Object {
    let crd = crd.object.json();
    Object::new(json!({"spec": crd["spec"], "acceptedNames": crd["status"]["acceptedNames"]}))
}

/// `getOrCreateServingInfoFor`
///
/// # Errors
/// `None` if the definition is gone, or why it cannot be served.
pub(super) async fn get_or_create_serving_info_for(
    rx: Rx,
    config: &Config,
    uid: &str,
    name: &str,
) -> Result<CrdInfo, Option<String>> {
    let known = |uid: &str| rx.look(&CUSTOM_STORAGE, |all| all.get(uid).cloned());
    if let Some(known) = known(uid) {
        return Ok(known);
    }
    let _storage = rx.lock(CUSTOM_STORAGE_LOCK).await;
    let (_, lister) = informers(config);
    let crd = lister.get(rx, name).ok_or(None)?;
    let uid: Arc<str> = crd.object.uid().into();
    if let Some(known) = known(&uid) {
        return Ok(known);
    }
    let definition = Definition::of(crd.object.json()).map_err(Some)?;
    let count = definition.versions.len() as u32;
    let (number, first) = rx.update(&MADE, |(infos, caches)| {
        let at = (*infos, *caches);
        *infos += 1;
        *caches += count;
        at
    });
    let info = CrdInfo {
        made_of: made_of(&crd),
        definition,
        builds: (first..first + count).collect(),
        number,
    };
    for cache in info.caches(config) {
        cache.start_in(rx);
    }
    rx.update(&CUSTOM_STORAGE, |all| all.insert(uid, info.clone()));
    Ok(info)
}

/// Upstream's `createCustomResourceDefinition`, `updateCustomResourceDefinition` and, of a deletion, `removeDeadStorage`.
/// They hold the lock; nothing here waits, so nobody could see it free.
pub(super) fn on_definition(rx: Rx, _: u32, notice: &Notice) {
    match notice {
        Notice::Added { new, .. } => remove_changed_storage(rx, new),
        Notice::Updated { old, new } => {
            let crd = new.object.json();
            if !is_crd_condition_true(crd, "Established")
                && is_crd_condition_true(crd, "NamesAccepted")
            {
                let delay = match rx.read(&APISERVER_COUNT) {
                    0 | 1 => Duration::ZERO,
                    _ if rx.read(&DEFECTS).has(CustomDefect::EstablishedAtOnce) => Duration::ZERO,
                    _ => HA_DELAY,
                };
                controllers::establishing::queue_crd(rx, notice.key(), delay);
            }
            if old.object.uid() != new.object.uid() {
                remove_storage(rx, old.object.uid());
            }
            remove_changed_storage(rx, new);
        }
        Notice::Deleted(_)
            if mutant!(
                "deleted-definition-is-kept",
                "what serves a definition outlives it"
            ) => {}
        Notice::Deleted(gone) => {
            if let Some(last) = &gone.last {
                remove_storage(rx, last.object.uid());
            }
        }
    }
}

/// Takes away a storage that was made of something else.
fn remove_changed_storage(rx: Rx, crd: &Stored) {
    let uid = crd.object.uid();
    let made_of = made_of(crd);
    let changed = rx.look(&CUSTOM_STORAGE, |all| {
        all.get(uid).is_some_and(|info| info.made_of != made_of)
    });
    if changed
        && !mutant!(
            "old-schema-is-served",
            "a definition that changes is served as it was"
        )
    {
        remove_storage(rx, uid);
    }
}

/// Upstream's `removeStorage_locked`
fn remove_storage(rx: Rx, uid: &str) {
    if let Some(info) = rx.update(&CUSTOM_STORAGE, |all| all.remove(uid)) {
        rx.spawn(Task::new(TEAR_DOWN, info));
    }
}

/// The future of a task, if it is one of these.
pub(super) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    if task.kind() != TEAR_DOWN {
        return None;
    }
    let info = task.args::<CrdInfo>().clone();
    Some(Box::pin(tear_down(Rx::new(), config.clone(), info)))
}

/// `tearDown`: waits for requests, destroys the storage.
async fn tear_down(rx: Rx, config: Arc<Config>, info: CrdInfo) -> Outcome {
    let number = info.number;
    let idle = async {
        rx.sleep(IN_FLIGHT).await;
        while rx.read(&requests(number)) > 0 {
            rx.changed(drained(number)).await;
        }
    };
    rx.timeout(REQUEST_TIMEOUT * 2, idle).await;
    for cache in info.caches(&config) {
        cache.stop(rx);
    }
    Outcome::Done
}
