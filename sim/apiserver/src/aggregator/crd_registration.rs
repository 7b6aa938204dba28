//! An APIService for each version that definitions serve (`controlplane/controller/crdregistration`).

use std::sync::Arc;

use wavetank_api::json::{self, Json};
use wavetank_client::informer::{Lister, Notice};
use wavetank_client::workqueue::WorkQueue;
use wavetank_engine::{Name, Outcome, RoutineFuture, Rx, Task};

use super::SCOPE;
use super::autoregister::{self, Wanted};
use crate::apiextensions::{definitions, group_versions};
use crate::server::Config;

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "crd_autoregistration_controller");
const WORK: Name = Name::new("crd-autoregister");

/// Each version of a definition, as it was and as it is.
pub(crate) fn on_definition(rx: Rx, _: u32, notice: &Notice) {
    for group_version in group_versions(notice) {
        QUEUE.add(rx, group_version);
    }
}

/// Each of them once.
pub(super) fn sync_all(rx: Rx, crds: Lister) {
    for crd in crds.list(rx) {
        for group_version in crate::apiextensions::versions_of(crd.object.json()) {
            handle_version_update(rx, crds, &group_version);
        }
    }
}

/// Upstream has five workers. They wait for nothing, so one does the same.
pub(super) fn start(rx: Rx) {
    rx.spawn(Task::new(WORK, ()));
}

pub(super) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    (task.kind() == WORK).then(|| {
        let work: RoutineFuture = Box::pin(process_next_work_item(Rx::new(), config.clone()));
        work
    })
}

/// `processNextWorkItem`
async fn process_next_work_item(rx: Rx, config: Arc<Config>) -> Outcome {
    let key = QUEUE.get(rx).await;
    handle_version_update(rx, definitions(&config), &key);
    QUEUE.forget(rx, &key);
    QUEUE.done(rx, &key);
    Outcome::Become(Task::new(WORK, ()))
}

/// `handleVersionUpdate`, of `GROUP/VERSION`.
fn handle_version_update(rx: Rx, crds: Lister, group_version: &str) {
    let Some((group, version)) = group_version.split_once('/') else {
        return;
    };
    let serves = |crd: &Json| {
        let mut versions = json::list(crd, &["spec", "versions"]).iter();
        json::text(crd, &["spec", "group"]) == group
            && versions.any(|own| own["name"] == version && own["served"] == true)
    };
    let all = crds.list(rx);
    if all.iter().any(|crd| serves(crd.object.json())) {
        autoregister::add_api_service_to_sync(rx, Wanted::always(group, version));
    } else {
        autoregister::remove_api_service_to_sync(rx, &format!("{version}.{group}"));
    }
}
