//! What a worker does with a pod in each of its states (`pkg/kubelet/kubelet.go`, v1.36.2).

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::Rx;

use crate::kubelet::Kubelet;
use crate::notes::{StopsOrphan, Terminated, Terminates};
use crate::pleg::Cached;
use crate::pod::{self, is_pod_phase_terminal};
use crate::runtime::cri::{Answer, Ask, PodRef};
use crate::workers::{self, StatusAfter};
use crate::{prober, status_manager};

/// Why a sync is tried again, and when.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SyncError {
    /// A container is to be started again after that time.
    BackOff(Duration),
    /// Something failed.
    Other(&'static str),
}

/// Upstream's `MinBackoffExpiration` of all errors: a back-off counts before all else, and that which ends first.
pub(crate) fn both(
    one: Result<(), SyncError>,
    other: Result<(), SyncError>,
) -> Result<(), SyncError> {
    use SyncError::BackOff;
    match (one, other) {
        (Err(BackOff(one)), Err(BackOff(other))) => Err(BackOff(one.min(other))),
        (Err(own @ BackOff(_)), _) | (_, Err(own @ BackOff(_))) => Err(own),
        (one, other) => one.and(other),
    }
}

/// What came of a sync.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Synced {
    /// The pod is terminal.
    IsTerminal,
    /// Something was started or stopped.
    Acted,
    /// Nothing was to be done.
    Idle,
}

/// The grace period with which containers are stopped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Grace {
    OfPod,
    Override(i64),
}

impl Kubelet {
    /// `SyncPod`
    pub(crate) async fn sync_pod(
        &self,
        rx: Rx,
        pod: &Object,
        mirror: Option<&Object>,
        status: &Arc<Cached>,
    ) -> Result<Synced, SyncError> {
        let shown = self.generate_api_pod_status(rx, pod, status, false);
        let is_terminal = is_pod_phase_terminal(pod::phase(&shown));
        status_manager::set_pod_status(self, rx, pod, shown);
        if is_terminal {
            return Ok(Synced::IsTerminal);
        }
        self.try_reconcile_mirror_pods(rx, pod, mirror).await;
        prober::add_pod(rx, pod);
        let acts = self.sync_containers(rx, pod, status).await?;
        Ok(if acts { Synced::Acted } else { Synced::Idle })
    }

    /// `SyncTerminatingPod`
    pub(crate) async fn sync_terminating_pod(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Arc<Cached>,
        grace: Grace,
        after: Option<&StatusAfter>,
    ) -> Result<(), SyncError> {
        let mut shown = self.generate_api_pod_status(rx, pod, status, false);
        match after {
            Some(after) => {
                after.apply(pod, &mut shown);
                status_manager::set_status_of_killed(self, rx, pod, shown);
            }
            None => status_manager::set_pod_status(self, rx, pod, shown),
        }
        rx.note(Terminates {
            pod: pod::pod_ref(pod),
            grace: match grace {
                Grace::Override(grace) => grace,
                Grace::OfPod => pod::grace_period(pod).unwrap_or(0),
            },
        });
        prober::stop_liveness_and_startup(rx, pod);
        self.kill_pod(rx, Some(pod), &status.status, grace).await?;
        prober::remove_pod(rx, pod.uid());
        let Ok(Answer::Status(stopped)) = self.ask_runtime(rx, Ask::PodStatus(pod::uid(pod))).await
        else {
            return Err(SyncError::Other(
                "unable to read pod status prior to final pod termination",
            ));
        };
        if stopped.containers.iter().any(|own| own.is_running()) {
            return Err(SyncError::Other(
                "detected running containers after a successful KillPod",
            ));
        }
        let stopped = Arc::new(Cached::of(stopped, Some(status)));
        let shown = self.generate_api_pod_status(rx, pod, &stopped, true);
        status_manager::set_pod_status(self, rx, pod, shown);
        rx.note(Terminated(pod::pod_ref(pod)));
        Ok(())
    }

    /// `SyncTerminatingRuntimePod`
    pub(crate) async fn sync_terminating_runtime_pod(
        &self,
        rx: Rx,
        running: &PodRef,
    ) -> Result<(), SyncError> {
        rx.note(StopsOrphan(running.clone()));
        let Ok(Answer::Status(status)) = self
            .ask_runtime(rx, Ask::PodStatus(running.uid.clone()))
            .await
        else {
            return Err(SyncError::Other("unable to read what runs of an orphan"));
        };
        self.kill_pod(rx, None, &status, Grace::Override(1)).await
    }

    /// `SyncTerminatedPod`
    pub(crate) fn sync_terminated_pod(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Arc<Cached>,
    ) -> Result<(), SyncError> {
        let shown = self.generate_api_pod_status(rx, pod, status, true);
        status_manager::set_pod_status(self, rx, pod, shown);
        status_manager::terminate_pod(self, rx, pod);
        Ok(())
    }

    /// `PodCouldHaveRunningContainers`
    pub(crate) fn pod_could_have_running_containers(&self, rx: Rx, uid: &str) -> bool {
        workers::could_have_running_containers(rx, uid)
    }
}
