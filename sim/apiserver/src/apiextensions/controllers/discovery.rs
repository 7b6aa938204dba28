//! What discovery lists of definitions (`customresource_discovery_controller.go`).

use wavetank_api::apiextensions::{discovered_resources, discovered_versions};
use wavetank_api::discovery::GroupVersion;
use wavetank_api::json;
use wavetank_client::informer::{Lister, Notice};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::Rx;

use super::group_versions;
use crate::apiextensions::SCOPE;
use crate::endpoints::discovery::{add_group_version, remove_group_version};

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "DiscoveryController");

/// Each version of a definition, as it is and as it was.
pub(in crate::apiextensions) fn on_definition(rx: Rx, _: u32, notice: &Notice) {
    for group_version in group_versions(notice) {
        QUEUE.add(rx, group_version);
    }
}

/// `sync`, of `GROUP/VERSION`. It waits for nothing.
pub(super) fn sync(lister: Lister, rx: Rx, group_version: &Item) {
    let Some((group, version)) = group_version.split_once('/') else {
        return;
    };
    let mut found = None;
    for crd in lister.list(rx) {
        let crd = crd.object.json();
        let is_served = discovered_versions(crd).any(|served| served == version);
        if json::text(crd, &["spec", "group"]) == group && is_served {
            let resources: &mut Vec<_> = found.get_or_insert_default();
            resources.extend(discovered_resources(crd, version));
        }
    }
    match found {
        None => remove_group_version(rx, group, version),
        Some(resources) => {
            let version = GroupVersion {
                version: version.to_owned(),
                // `SetGroupVersionPriority`
                priority: 100,
                resources,
            };
            add_group_version(rx, group, version);
        }
    }
}
