//! What wakes the controller up (`pkg/controller/resourcequota/resource_quota_monitor.go`): an object that is gone, or uses
//! less. Informers begin with the controllers here; one becomes a monitor once discovery lists its resource.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stamp;
use wavetank_api::quota::Evaluator;
use wavetank_client::informer::{HandlerSpec, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Turn};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, NotState, Rx};

use super::controller::{QUEUE, QuotaController, SCOPE};
use crate::controller_utils::discovery::server_preferred_resources;
use crate::controller_utils::pod_key;
use wavetank_components::elected::DRAIN;

pub(super) const RESOURCE_CHANGES: WorkQueue =
    WorkQueue::new(SCOPE, "resource_quota_controller_resource_changes");
/// How often discovery is asked (`startResourceQuotaController`).
const PERIOD: Duration = Duration::from_secs(30);
/// `GetQuotableResources`
const VERBS: [&str; 4] = ["create", "list", "watch", "delete"];

/// `monitors`: the numbers of informers that are.
static MONITORS: Cell<BTreeSet<u32>> = Cell::new("quota-monitors");
/// How many changes there were: each is an item of its own.
static CHANGES: Cell<u32> = Cell::new("quota-changes");

/// The handler of the informer with this number (`controllerFor`).
pub(super) fn handler(number: u32, evaluator: Evaluator) -> HandlerSpec {
    let on = move |rx: Rx, _: u32, notice: &Notice| {
        let gone = match notice {
            Notice::Added { .. } => None,
            Notice::Updated { old, new } => {
                let now = Stamp::of(rx.clock());
                let (old, new_json) = (old.object.json(), new.object.json());
                let concerns = evaluator.update_filter(old, new_json, now);
                concerns.then_some(new)
            }
            Notice::Deleted(gone) => gone.last.as_ref(),
        };
        let is_monitor = rx.look(&MONITORS, |monitors| monitors.contains(&number));
        if let Some(object) = gone.filter(|_| is_monitor) {
            let count = rx.update(&CHANGES, |count| {
                *count += 1;
                *count
            });
            let namespace = object.object.namespace();
            RESOURCE_CHANGES.add(rx, format!("{number}/{count}/{namespace}").into());
        }
    };
    HandlerSpec {
        on: NotState(Arc::new(on)),
        ..HandlerSpec::new("resource-quota-monitor")
    }
}

impl QuotaController {
    /// `IsSynced`
    pub(super) fn is_synced(&self, rx: Rx) -> bool {
        let monitors = rx.read(&MONITORS);
        let mut all = monitors.iter();
        !monitors.is_empty() && all.all(|number| self.counted[*number as usize].1.has_synced(rx))
    }

    /// A turn of `Sync`; upstream's constructor asks discovery once before, as the first turn does here.
    pub(super) async fn sync(&self, rx: Rx, leading: &Leading) -> Turn {
        let leadership = leading.leadership();
        let turn = Every::period(PERIOD).sliding(rx, &DRAIN, async {
            rx.select(leadership.closed(rx), self.sync_monitors(rx))
                .await;
            match leadership.is_closed(rx) {
                true => Turn::Over,
                false => Turn::Again,
            }
        });
        turn.await
    }

    /// `SyncMonitors`, with what `GetQuotableResources` finds.
    async fn sync_monitors(&self, rx: Rx) {
        let mut listed = server_preferred_resources(rx, &self.rest).await;
        listed.retain(|mapping| mapping.namespaced && mapping.supports_all_verbs(&VERBS));
        if listed.is_empty() {
            return;
        }
        let numbered = (0..).zip(&self.counted);
        let current = numbered.filter(|(_, (of, _))| {
            let mut listed = listed.iter();
            listed.any(|mapping| mapping.is_of(of.resource()))
        });
        let current: BTreeSet<u32> = current.map(|(number, _)| number).collect();
        rx.update(&MONITORS, |monitors| *monitors = current);
    }

    /// `processResourceChanges`
    pub(super) fn process_resource_changes(&self, rx: Rx, change: &Item) {
        let mut parts = change.splitn(3, '/');
        let number = parts.next().and_then(|number| number.parse::<usize>().ok());
        let namespace = parts.nth(1);
        let (Some(number), Some(namespace)) = (number, namespace) else {
            unreachable!("each change is named after its informer and its namespace: {change}");
        };
        self.replenish_quota(rx, &self.counted[number].0, namespace);
    }

    /// `replenishQuota`
    fn replenish_quota(&self, rx: Rx, evaluator: &Evaluator, namespace: &str) {
        for quota in self.quotas_in(rx, namespace) {
            let hard =
                wavetank_api::quota::ResourceList::of(quota.object.json(), &["status", "hard"]);
            if !evaluator.matching_resources(&hard.names()).is_empty() {
                QUEUE.add(rx, pod_key(&quota.object));
            }
        }
    }
}
