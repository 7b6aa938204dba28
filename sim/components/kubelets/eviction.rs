//! Eviction of pods from a node that runs out of memory (`pkg/kubelet/eviction/eviction_manager.go`, v1.36.2): it looks every
//! 10 s how much there is, tells pressure, and kills one pod after another while a threshold is met. `thresholds` says which are
//! met and for how long there is pressure, `rank` whose turn it is.

mod rank;
mod thresholds;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_components::nodes::set_pressures;
use wavetank_engine::{Cell, Instant, Name, Outcome, Rx, Task};

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::{Evicts, KillsPod, PressureEnds, SeesPressure};
use crate::pod::{self, is_critical_pod};
use crate::runtime::cri::{Answer, Ask, Stats};
use crate::workers::{StatusAfter, kill_pod_now, should_pod_be_finished, timeout_of_kill};
use rank::{eviction_message, rank_memory_pressure};

pub(crate) use thresholds::{Config, Threshold};

pub(crate) const MANAGE: Name = Name::new("eviction-manager");
/// `evictionMonitoringPeriod`
const MONITORING_PERIOD: Duration = Duration::from_secs(10);
/// `podCleanupTimeout` and `podCleanupPollFreq`
const POD_CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);
const POD_CLEANUP_POLL_FREQ: Duration = Duration::from_secs(1);
/// `immediateEvictionGracePeriodSeconds`
pub(crate) const IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS: i64 = 1;
/// `Reason`
pub(crate) const REASON: &str = "Evicted";

/// What `managerImpl` remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct State {
    /// `nodeConditions`: is there pressure of memory?
    is_pressed: bool,
    /// `nodeConditionsLastObservedAt`
    last_observed_at: Option<Instant>,
    /// `thresholdsFirstObservedAt`
    first_observed_at: Vec<(Threshold, Instant)>,
    /// `thresholdsMet`
    met: Vec<Threshold>,
}

static STATE: Cell<State> = Cell::new("eviction-manager");

/// `IsUnderMemoryPressure`
pub(crate) fn is_under_memory_pressure(rx: Rx) -> bool {
    rx.look(&STATE, |own| own.is_pressed)
}

/// `nodeConditionMessageFmt`
pub(crate) const NOT_ADMITTED_MESSAGE: &str = "The node had condition: [MemoryPressure]. ";

impl Kubelet {
    /// Upstream's `summaryProvider.Get`
    async fn stats(&self, rx: Rx) -> Option<Stats> {
        match self.ask_runtime(rx, Ask::Stats).await {
            Ok(Answer::Stats(stats)) => Some(stats),
            _ => None,
        }
    }

    /// `synchronize`: the pod that was killed, if any.
    async fn synchronize(&self, rx: Rx) -> Option<Object> {
        let active_pods = self.get_active_pods(rx);
        let stats = self.stats(rx).await?;
        let config = self.eviction;
        let ends = KubeletDefect::PressureEndsAtOnce;
        let holds_on = !(is_under_memory_pressure(rx) && self.defects.has(ends));
        let was_pressed = is_under_memory_pressure(rx);
        let (observed, is_pressed, met) = rx.update_at(&STATE, |own, now| {
            let observed = thresholds::observe(own, &config, stats.available, now, holds_on);
            (observed, own.is_pressed, own.met.clone())
        });
        if observed {
            rx.note(SeesPressure);
        }
        if was_pressed && !is_pressed {
            rx.note(PressureEnds);
        }
        set_pressures(rx, [is_pressed, false, false]);
        let threshold = self.threshold_to_reclaim(rx, met).await?;
        // `reclaimNodeLevelResources`: nothing of a node gives memory back.
        let ranked = rank_memory_pressure(active_pods, &stats);
        for pod in ranked {
            let grace = match threshold.is_hard() {
                true => IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS,
                false => {
                    let own = pod::termination_grace_period(&pod);
                    let most = config.max_pod_grace_period_seconds;
                    own.map_or(most, |own| own.min(most))
                }
            };
            let message = eviction_message(&pod, threshold, &stats);
            let available = stats.available;
            if self.evict_pod(rx, &pod, grace, available, message).await {
                return Some(pod);
            }
        }
        None
    }

    /// Which of those whose grace periods are over is acted upon: `getReclaimableThreshold` takes the first. Go's map has no order,
    /// and to `byEvictionPriority` each of two thresholds of memory comes before the other.
    async fn threshold_to_reclaim(&self, rx: Rx, met: Vec<Threshold>) -> Option<Threshold> {
        let hard = met.iter().position(|own| own.is_hard());
        let fix = KubeletDefect::FixHardThresholdsComeFirst;
        let at = match hard {
            Some(hard) if met.len() > 1 && !self.defects.has(fix) => {
                // The first choice is the hard one, as with the fix.
                let drawn = rx.choose(met.len() as u64).await as usize;
                (hard + drawn) % met.len()
            }
            hard => hard.unwrap_or(0),
        };
        met.get(at).copied()
    }

    /// `evictPod`: was it tried?
    async fn evict_pod(
        &self,
        rx: Rx,
        pod: &Object,
        grace: i64,
        available: i64,
        message: String,
    ) -> bool {
        if is_critical_pod(pod) && !self.defects.has(KubeletDefect::CriticalPodsAreEvicted) {
            return false;
        }
        rx.note(Evicts {
            pod: pod::pod_ref(pod),
            available,
            grace,
        });
        rx.note(KillsPod {
            pod: pod::pod_ref(pod),
            reason: REASON,
            group: 0,
            seconds: timeout_of_kill(grace),
        });
        let status = StatusAfter {
            reason: REASON,
            message: message.into(),
            fails_what_succeeded: true,
            has_phase: true,
            has_condition: true,
        };
        kill_pod_now(self, rx, pod, grace, status).await;
        true
    }
}

/// `waitForPodsCleanup`
async fn wait_for_pods_cleanup(rx: Rx, pod: &Object) {
    let cleaned = async {
        loop {
            rx.sleep(POD_CLEANUP_POLL_FREQ).await;
            if should_pod_be_finished(rx, pod.uid()) {
                return;
            }
        }
    };
    let _ = rx.timeout(POD_CLEANUP_TIMEOUT, cleaned).await;
}

/// One turn of what `Start` starts. At first nothing has been measured.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx, is_first: bool) -> Outcome {
    if is_first {
        rx.sleep(MONITORING_PERIOD).await;
    }
    match kubelet.synchronize(rx).await {
        Some(pod) => wait_for_pods_cleanup(rx, &pod).await,
        None => rx.sleep(MONITORING_PERIOD).await,
    }
    Outcome::Become(Task::new(MANAGE, false))
}
