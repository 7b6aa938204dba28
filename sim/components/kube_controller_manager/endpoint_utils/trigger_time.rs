//! Since when a change of endpoints is to be seen (`endpointslice/util/trigger_time_tracker.go`): the earliest change of the
//! pods and the Service that the last sync did not know.

use std::collections::BTreeMap;

use wavetank_api::Stored;
use wavetank_api::json::{self, Json};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Name, Rx};

/// The states of all trackers of a process.
static STATES: Cell<BTreeMap<(Name, Item), ServiceState>> = Cell::new("trigger-times");

/// Times are whole seconds and of one form, so that their texts compare as they do.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct ServiceState {
    service: String,
    pods: BTreeMap<String, String>,
}

/// `TriggerTimeTracker` of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TriggerTimeTracker(pub Name);

impl TriggerTimeTracker {
    /// `ComputeEndpointLastChangeTriggerTime`: the time to tell, if any is.
    pub fn compute_endpoint_last_change_trigger_time(
        self,
        rx: Rx,
        key: &Item,
        service: &Json,
        pods: &[Stored],
    ) -> Option<String> {
        // `getServiceTriggerTime`
        let created = json::text(service, &["metadata", "creationTimestamp"]).to_owned();
        let times = pods.iter().filter_map(|pod| {
            let time = get_pod_trigger_time(pod.object.json())?;
            Some((pod.object.name().to_owned(), time))
        });
        let now = ServiceState {
            service: created.clone(),
            pods: times.collect(),
        };
        rx.update(&STATES, |all| {
            let known = all.insert((self.0, key.clone()), now.clone());
            let Some(known) = known else {
                return Some(created);
            };
            let changed = now
                .pods
                .iter()
                .filter(|(name, time)| known.pods.get(*name).is_none_or(|before| *time > before));
            let of_pods = changed.map(|(_, time)| time.clone());
            let of_service = (created > known.service).then_some(created);
            of_pods.chain(of_service).min()
        })
    }

    /// `DeleteService`
    pub fn delete_service(self, rx: Rx, key: &Item) {
        rx.update(&STATES, |all| drop(all.remove(&(self.0, key.clone()))));
    }
}

/// `getPodTriggerTime`
fn get_pod_trigger_time(pod: &Json) -> Option<String> {
    let conditions = json::list(pod, &["status", "conditions"]);
    let ready = conditions.iter().find(|own| own["type"] == "Ready")?;
    let time = json::text(ready, &["lastTransitionTime"]);
    (!time.is_empty()).then(|| time.to_owned())
}
