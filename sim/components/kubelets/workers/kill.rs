//! Who kills a pod and waits for its end: `killPodNow`, for the eviction manager and the node shutdown manager.

use wavetank_api::json::{self, Json};
use wavetank_engine::Channel;

use super::*;
use crate::conditions::{disruption_target, replace_or_append_pod_condition};

/// The least time that is waited for the end of a pod, in seconds.
const MIN_TIMEOUT: i64 = 10;

/// How often somebody has killed a pod in this life.
static KILLS: Cell<u64> = Cell::new("kills-of-pods");

/// What `PodStatusFunc` makes of the status of a pod that is killed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StatusAfter {
    pub reason: &'static str,
    pub message: Arc<str>,
    /// Is it the same for pods that have succeeded?
    pub fails_what_succeeded: bool,
    /// Does it change the phase at all?
    pub has_phase: bool,
    /// Does the pod get the condition `DisruptionTarget`?
    pub has_condition: bool,
}

impl StatusAfter {
    pub(crate) fn apply(&self, pod: &Object, status: &mut Json) {
        let spared = !self.fails_what_succeeded && pod::phase(status) == "Succeeded";
        if self.has_phase && !spared {
            status["phase"] = "Failed".into();
        }
        status["message"] = (*self.message).into();
        status["reason"] = self.reason.into();
        if self.has_condition {
            let mut all = json::list(status, &["conditions"]).to_vec();
            replace_or_append_pod_condition(&mut all, disruption_target(pod, &self.message));
            status["conditions"] = all.into();
        }
    }
}

fn channel_of(number: u64) -> Channel {
    Channel::new("pod-was-killed", number)
}

/// Those who wait for the end of a pod hear of it.
pub(super) fn completes(rx: Rx, all: impl IntoIterator<Item = u64>) {
    for number in all {
        rx.close(channel_of(number));
    }
}

/// For how many seconds the end of a pod is waited for that has this grace period.
pub(crate) fn timeout_of_kill(grace: i64) -> i64 {
    (grace + grace / 2).max(MIN_TIMEOUT)
}

/// `killPodNow`: has the pod ended in time?
pub(crate) async fn kill_pod_now(
    kubelet: &Kubelet,
    rx: Rx,
    pod: &Object,
    grace: i64,
    status: StatusAfter,
) -> bool {
    let completed = rx.update(&KILLS, |own| {
        *own += 1;
        *own
    });
    rx.make(channel_of(completed), 1);
    let kill = Kill { completed, status };
    let update = Update {
        grace: Some(grace),
        kill: Some(kill),
        ..Update::of(UpdateType::Kill, pod)
    };
    update_pod(kubelet, rx, update);
    let limit = Duration::from_secs(timeout_of_kill(grace).unsigned_abs());
    rx.timeout(limit, rx.recv(channel_of(completed)))
        .await
        .is_some()
}
