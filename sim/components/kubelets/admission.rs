//! Which pods a kubelet takes when it hears of them first (`canAdmitPod` of `pkg/kubelet/allocation`, v1.36.2), and what becomes
//! of the others: `Admit` of the eviction manager is asked first, then that of the node shutdown manager.

use std::collections::BTreeSet;

use serde_json::json;
use wavetank_api::kinds::pods::get_pod_qos;
use wavetank_api::{Object, json};
use wavetank_components::nodes::is_shutting_down;
use wavetank_engine::{Cell, Rx};

use crate::defects::KubeletDefect;
use crate::eviction::{self, is_under_memory_pressure};
use crate::kubelet::Kubelet;
use crate::nodeshutdown::{NOT_ADMITTED_MESSAGE, NOT_ADMITTED_REASON};
use crate::notes::Rejects;
use crate::pod::{self, is_critical_pod, is_static_pod};
use crate::runtime::cri::Uid;
use crate::{pod_manager, status_manager};

/// `TaintNodeMemoryPressure`
const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";

/// Static pods that were refused, for our proposal to k/k#116484.
static REFUSED: Cell<BTreeSet<Uid>> = Cell::new("refused-static-pods");

/// `PodAdmitResult`, if a pod is refused.
pub(crate) struct Refusal {
    pub reason: &'static str,
    pub message: String,
}

/// `TolerationsTolerateTaint` of the taint of memory pressure.
fn tolerates_memory_pressure(pod: &Object) -> bool {
    let all = json::list(pod.json(), &["spec", "tolerations"]);
    all.iter().any(|own| {
        let (key, effect) = (json::text(own, &["key"]), json::text(own, &["effect"]));
        let exists = json::text(own, &["operator"]) == "Exists";
        let is_key = key == MEMORY_PRESSURE || (key.is_empty() && exists);
        let has_value = exists || json::text(own, &["value"]).is_empty();
        is_key && has_value && matches!(effect, "" | "NoSchedule")
    })
}

impl Kubelet {
    /// Upstream's `Admit` of the node shutdown manager.
    fn admit_while_up(&self, rx: Rx) -> Result<(), Refusal> {
        let takes = !is_shutting_down(rx) || self.defects.has(KubeletDefect::PodsStartInShutdowns);
        match takes {
            true => Ok(()),
            false => Err(Refusal {
                reason: NOT_ADMITTED_REASON,
                message: NOT_ADMITTED_MESSAGE.to_owned(),
            }),
        }
    }

    /// Upstream's `Admit` of the eviction manager: pods that ask for memory, and those that tolerate that there is little.
    fn admit_under_pressure(&self, rx: Rx, pod: &Object) -> Result<(), Refusal> {
        let is_critical = || {
            let refuses = KubeletDefect::CriticalPodsAreRefused;
            is_critical_pod(pod) && !self.defects.has(refuses)
        };
        let takes = !is_under_memory_pressure(rx)
            || is_critical()
            || get_pod_qos(pod.json()) != "BestEffort"
            || tolerates_memory_pressure(pod);
        match takes {
            true => Ok(()),
            false => Err(Refusal {
                reason: eviction::REASON,
                message: eviction::NOT_ADMITTED_MESSAGE.to_owned(),
            }),
        }
    }

    /// `canAdmitPod`
    pub(crate) fn can_admit_pod(&self, rx: Rx, pod: &Object) -> Result<(), Refusal> {
        self.admit_under_pressure(rx, pod)?;
        self.admit_while_up(rx)
    }

    /// `rejectPod`
    pub(crate) fn reject_pod(&self, rx: Rx, pod: &Object, refusal: &Refusal) {
        rx.note(Rejects {
            pod: pod::pod_ref(pod),
            reason: refusal.reason,
        });
        let status = json!({
            "qosClass": get_pod_qos(pod.json()),
            "phase": "Failed",
            "reason": refusal.reason,
            "message": format!("Pod was rejected: {}", refusal.message),
        });
        status_manager::set_pod_status(self, rx, pod, status);
        let stays = KubeletDefect::RefusedStaticPodsStayRefused;
        if is_static_pod(pod) && !self.defects.has(stays) {
            rx.update(&REFUSED, |own| {
                own.insert(pod::uid(pod));
            });
        }
    }

    /// Our proposal to k/k#116484: static pods that were refused are tried again. Those that are taken now.
    pub(crate) fn try_refused_again(&self, rx: Rx) -> Vec<Object> {
        if rx.look(&REFUSED, BTreeSet::is_empty) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for uid in rx.read(&REFUSED) {
            let pod = pod_manager::get_pod_by_uid(rx, &uid);
            let is_refused = |pod: &Object| self.can_admit_pod(rx, pod).is_err();
            if pod.as_ref().is_some_and(is_refused) {
                continue;
            }
            rx.update(&REFUSED, |own| {
                own.remove(&uid);
            });
            if let Some(pod) = pod {
                status_manager::delete_pod_status(rx, &uid);
                taken.push(pod);
            }
        }
        taken
    }
}
