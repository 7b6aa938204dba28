//! Keeps APIServices as they should be (`kube-aggregator/pkg/controllers/autoregister`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use wavetank_api::discovery::{groups_of, priority};
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::API_SERVICES;
use wavetank_api::{Method, Reason, Request, Stored};
use wavetank_client::informer::{Lister, Notice};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cell, Name, Outcome, RoutineFuture, Rx, Task};

use super::{SCOPE, informers};
use crate::server::Config;

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "autoregister");
const WORK: Name = Name::new("autoregister");
const WORKERS: u32 = 5;
/// `AutoRegisterManagedLabel`
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
const ON_START: &str = "onstart";
const ALWAYS: &str = "true";

/// An APIService that should be there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Wanted {
    group: String,
    version: String,
    managed: &'static str,
}

/// `apiServicesToSync`, by name.
static TO_SYNC: Cell<BTreeMap<Item, Wanted>> = Cell::new("api-services-to-sync");
/// `syncedSuccessfully`
static SYNCED: Cell<BTreeSet<Item>> = Cell::new("api-services-synced");
/// `apiServicesAtStart`
static AT_START: Cell<BTreeSet<Item>> = Cell::new("api-services-at-start");

impl Wanted {
    /// As `AddAPIServiceToSync` wants it
    pub(super) fn always(group: &str, version: &str) -> Wanted {
        Wanted {
            group: group.to_owned(),
            version: version.to_owned(),
            managed: ALWAYS,
        }
    }

    fn name(&self) -> Item {
        format!("{}.{}", self.version, self.group).into()
    }

    fn spec(&self) -> Json {
        let (of_group, of_version) = priority(&self.group, &self.version);
        let mut spec = json!({
            "version": self.version,
            "groupPriorityMinimum": of_group,
            "versionPriority": of_version,
        });
        if !self.group.is_empty() {
            spec["group"] = self.group.as_str().into();
        }
        spec
    }

    fn object(&self) -> Json {
        json!({
            "apiVersion": API_SERVICES.api_version(),
            "kind": API_SERVICES.kind,
            "metadata": {"name": &*self.name(), "labels": {MANAGED: self.managed}},
            "spec": self.spec(),
        })
    }
}

/// Every change of an APIService.
pub(super) fn on_api_service(rx: Rx, _: u32, notice: &Notice) {
    QUEUE.add(rx, notice.key());
}

/// `addAPIServiceToSync`
pub(super) fn add_api_service_to_sync(rx: Rx, wanted: Wanted) {
    let name = wanted.name();
    rx.update(&TO_SYNC, |all| all.insert(name.clone(), wanted));
    QUEUE.add(rx, name);
}

/// `RemoveAPIServiceToSync`
pub(super) fn remove_api_service_to_sync(rx: Rx, name: &str) {
    rx.update(&TO_SYNC, |all| all.remove(name));
    QUEUE.add(rx, name.into());
}

/// `apiServicesToRegister`: the local groups, as a real server has them, once.
pub(super) fn api_services_to_register(rx: Rx, config: &Config) {
    // What serves the first two is not simulated, and they are local all the same.
    let mut local: BTreeSet<(String, String)> = [
        ("authentication.k8s.io", "v1"),
        ("authorization.k8s.io", "v1"),
        ("apiextensions.k8s.io", "v1"),
    ]
    .map(|(group, version)| (group.to_owned(), version.to_owned()))
    .into();
    for group in groups_of(&config.kinds, &[], config.release) {
        let versions = group.versions.into_iter();
        local.extend(versions.map(|version| (group.name.clone(), version.version)));
    }
    for (group, version) in local {
        // The aggregator's own group has none.
        if group != API_SERVICES.group {
            add_api_service_to_sync(
                rx,
                Wanted {
                    managed: ON_START,
                    ..Wanted::always(&group, &version)
                },
            );
        }
    }
}

/// `Run`
pub(super) fn run(rx: Rx, lister: Lister) {
    let present = lister.list(rx).into_iter();
    let present: BTreeSet<Item> = present.map(|of| of.object.name().into()).collect();
    rx.update(&AT_START, |all| *all = present);
    for worker in 0..WORKERS {
        rx.spawn(Task::new(WORK, worker));
    }
}

pub(super) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    if task.kind() != WORK {
        return None;
    }
    let worker = *task.args::<u32>();
    let (rest, lister) = (config.loopback(), informers(config).1);
    Some(Box::pin(process_next_work_item(
        Rx::new(),
        rest,
        lister,
        worker,
    )))
}

/// `processNextWorkItem`
async fn process_next_work_item(rx: Rx, rest: RestClient, lister: Lister, worker: u32) -> Outcome {
    let key = QUEUE.get(rx).await;
    match check_api_service(rx, &rest, lister, &key).await {
        Ok(()) => {
            rx.update(&SYNCED, |all| all.insert(key.clone()));
            QUEUE.forget(rx, &key);
        }
        Err(Failed) => QUEUE.add_rate_limited(rx, key.clone()),
    }
    QUEUE.done(rx, &key);
    Outcome::Become(Task::new(WORK, worker))
}

/// An APIService is looked at again.
struct Failed;

/// `checkAPIService`; the numbers are those of upstream's table.
async fn check_api_service(
    rx: Rx,
    rest: &RestClient,
    lister: Lister,
    name: &Item,
) -> Result<(), Failed> {
    let desired = rx.look(&TO_SYNC, |all| all.get(name).cloned());
    let curr = lister.get(rx, name);
    let has_synced = rx.look(&SYNCED, |all| all.contains(name));
    let on_start = desired.as_ref().is_some_and(|of| of.managed == ON_START);
    let label = |curr: &Stored| {
        let label = json::text(curr.object.json(), &["metadata", "labels", MANAGED]);
        label.to_owned()
    };
    let (curr, desired) = match (curr, desired) {
        // 2A
        (None, None) => return Ok(()),
        // "once" of 2B, 5B, 6B
        _ if on_start && has_synced => return Ok(()),
        // 2B, 2C
        (None, Some(desired)) => {
            let path = API_SERVICES.path("", "");
            let post = Request::new(Method::Post, path).with(desired.object());
            return sent(rx, rest, post, &[Reason::AlreadyExists]).await;
        }
        (Some(curr), desired) => (curr, desired),
    };
    let at_start = rx.look(&AT_START, |all| all.contains(name));
    match label(&curr).as_str() {
        // 4A, 4B, 4C, and "once" of 5A, 5B, 5C
        ON_START if !at_start || has_synced => return Ok(()),
        ON_START | ALWAYS => {}
        // 3A, 3B, 3C
        _ => return Ok(()),
    }
    const GONE_OR_CHANGED: [Reason; 2] = [Reason::NotFound, Reason::Conflict];
    let path = API_SERVICES.path("", name);
    let Some(desired) = desired else {
        // 5A, 6A
        let uid = json!({"uid": curr.object.uid()});
        let delete = Request::new(Method::Delete, path).with(json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": uid,
        }));
        return sent(rx, rest, delete, &GONE_OR_CHANGED).await;
    };
    let mut updated = curr.json();
    if updated["spec"] == desired.spec() {
        return Ok(());
    }
    // 5B, 5C, 6B, 6C
    json::set(&mut updated, &["spec"], desired.spec());
    let put = Request::new(Method::Put, path).with(updated);
    sent(rx, rest, put, &GONE_OR_CHANGED).await
}

/// Sends a request; after an answer for one of these reasons it will be asked again anyway.
async fn sent(rx: Rx, rest: &RestClient, request: Request, fine: &[Reason]) -> Result<(), Failed> {
    match rest.request(rx, request).await {
        Ok(_) => Ok(()),
        Err(error) if fine.iter().any(|reason| error.is(*reason)) => Ok(()),
        Err(Failure::Status(_) | Failure::Net(_)) => Err(Failed),
    }
}
