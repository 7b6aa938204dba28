//! The status of a set (`updateDaemonSetStatus`, `storeDaemonSetStatus` of `pkg/controller/daemon/daemon_controller.go`).

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::DAEMON_SETS;
use wavetank_api::{Method, Request, Stamp, Stored};
use wavetank_engine::Rx;

use super::controller::{DaemonSetsController, QUEUE, Synced};
use super::defects::DaemonSetDefect;
use super::nodes::node_should_run_daemon_pod;
use super::notes::WritesStatus;
use super::util::{of_spec, of_status, sort_by_creation_timestamp_and_phase};
use crate::controller_utils::{SyncError, is_pod_available, is_pod_ready};

/// `StatusUpdateRetries`
const STATUS_UPDATE_RETRIES: u32 = 1;
/// How often the controller with `daemon-status-is-rewritten` looks at a set: that stands for the resync of informers.
const RESYNC_PERIOD: Duration = Duration::from_secs(30);

/// The counts of a status, and how each is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Counts {
    desired: i64,
    current: i64,
    misscheduled: i64,
    ready: i64,
    updated: i64,
    available: i64,
}

impl Counts {
    /// By their fields. The first four are written even if they are 0.
    fn fields(self) -> [(&'static str, i64); 7] {
        [
            ("currentNumberScheduled", self.current),
            ("numberMisscheduled", self.misscheduled),
            ("desiredNumberScheduled", self.desired),
            ("numberReady", self.ready),
            ("updatedNumberScheduled", self.updated),
            ("numberAvailable", self.available),
            ("numberUnavailable", self.desired - self.available),
        ]
    }
}

fn generation(set: &Json) -> i64 {
    json::number(set, &["metadata", "generation"]).unwrap_or(0)
}

impl DaemonSetsController {
    /// `updateDaemonSetStatus`
    pub(super) async fn update_daemon_set_status(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        update_observed_generation: bool,
    ) -> Result<(), SyncError> {
        let mut pods = self.get_nodes_to_daemon_pods(rx, synced, false).await?;
        let min_ready = of_spec(synced.json(), "minReadySeconds");
        // Nobody asks for the time where nothing depends on it.
        let now = (min_ready > 0).then(|| Stamp::of(rx.clock()));
        let mut counts = Counts::default();
        for node in synced.nodes {
            let node = &node.object;
            let own = pods.get_mut(node.name()).filter(|own| !own.is_empty());
            let verdict = node_should_run_daemon_pod(node.json(), synced.json());
            if !verdict.should_run {
                counts.misscheduled += i64::from(own.is_some());
                continue;
            }
            counts.desired += 1;
            let Some(own) = own else {
                continue;
            };
            counts.current += 1;
            sort_by_creation_timestamp_and_phase(own);
            let pod = own[0].object.json();
            if is_pod_ready(pod).is_some() {
                counts.ready += 1;
                counts.available += i64::from(is_pod_available(pod, min_ready, now));
            }
            counts.updated += i64::from(synced.is_updated(pod));
        }
        let stored = self.store_daemon_set_status(rx, synced, counts, update_observed_generation);
        let stored = stored.await.map_err(|error| {
            SyncError::Worded(format!("error storing status for daemon set: {error}"))
        })?;
        if let Some(stored) = stored {
            let (uid, revision) = (stored.object.uid(), stored.resource_version);
            self.consistency
                .wrote_at(rx, synced.key, uid, &DAEMON_SETS, revision);
        }
        if min_ready > 0 && counts.ready != counts.available {
            let after = Duration::from_secs(min_ready.unsigned_abs());
            QUEUE.add_after(rx, synced.key.clone(), after);
        }
        Ok(())
    }

    /// `storeDaemonSetStatus`: what was written, if anything was.
    async fn store_daemon_set_status(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        counts: Counts,
        update_observed_generation: bool,
    ) -> Result<Option<Stored>, SyncError> {
        let set = synced.json();
        let rewrites = self.defects.has(DaemonSetDefect::DaemonStatusIsRewritten);
        if rewrites {
            QUEUE.add_after(rx, synced.key.clone(), RESYNC_PERIOD);
        }
        let mut fields = counts.fields().into_iter();
        if !rewrites
            && fields.all(|(field, count)| of_status(set, field) == count)
            && of_status(set, "observedGeneration") >= generation(set)
        {
            return Ok(None);
        }
        rx.note(WritesStatus {
            set: synced.key.clone(),
        });
        let path = DAEMON_SETS.path(synced.set.namespace(), synced.set.name());
        let mut updated = set.clone();
        for tried in 0.. {
            let status = json::map_mut(&mut updated, &["status"]);
            if update_observed_generation {
                status.insert("observedGeneration".to_owned(), generation(set).into());
            }
            for (at, (field, count)) in counts.fields().into_iter().enumerate() {
                match count == 0 && at > 3 {
                    true => drop(status.remove(field)),
                    false => drop(status.insert(field.to_owned(), count.into())),
                }
            }
            let put = Request::new(Method::Put, format!("{path}/status")).with(updated);
            let error = match self.rest.object(rx, put).await {
                Ok(stored) => return Ok(Some(stored)),
                Err(error) => error,
            };
            if tried >= STATUS_UPDATE_RETRIES {
                return Err(error.into());
            }
            let get = Request::new(Method::Get, path.clone());
            updated = self.rest.object(rx, get).await?.json();
        }
        unreachable!("numbers do not end")
    }
}
