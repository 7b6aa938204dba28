//! Graceful shutdown of a node (`pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go`, v1.36.2): the kubelet holds a lock of
//! logind, and when the machine is about to go off it kills its pods, those of the lowest priority first (`kill_pods`), before
//! it lets go of the lock.

mod kill_pods;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_components::nodes::{is_shutting_down, set_shutting_down};
use wavetank_engine::{Name, Outcome, Payload, Rx, Stream, Task};

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::{BeginsShutdown, EndsShutdown, IsTold};
use crate::pod::{self, is_pod_phase_terminal, is_static_pod, phase};
use crate::runtime::cri::{Answer, Ask, CRI};
use crate::{pod_manager, workers};

pub(crate) use kill_pods::{Period, REASON, migrate_config};

pub(crate) const WATCH: Name = Name::new("node-shutdown-manager");
pub(crate) const SYNC_NODE_STATUS: Name = Name::new("sync-node-status-now");
/// `dbusReconnectPeriod`
const DBUS_RECONNECT_PERIOD: Duration = Duration::from_secs(1);
/// `backoff` of the poll for the new delay: its first step, its factor, and how often it is looked.
const FIRST_STEP: Duration = Duration::from_millis(100);
const FACTOR: u32 = 2;
const STEPS: u32 = 5;
/// How often it is looked whether the API knows of the end of pods.
const POLL: Duration = Duration::from_millis(100);

/// `NodeShutdownNotAdmittedReason` and `nodeShutdownNotAdmittedMessage`
pub(crate) const NOT_ADMITTED_REASON: &str = "NodeShutdown";
pub(crate) const NOT_ADMITTED_MESSAGE: &str = "Pod was rejected as the node is shutting down.";

impl Kubelet {
    /// `CurrentInhibitDelay`
    async fn current_inhibit_delay(&self, rx: Rx) -> Result<Duration, ()> {
        match self.ask_runtime(rx, Ask::CurrentInhibitDelay).await? {
            Answer::Delay(delay) => Ok(delay),
            _ => Err(()),
        }
    }

    /// `InhibitShutdown`
    async fn inhibit_shutdown(&self, rx: Rx) -> Result<Stream, ()> {
        let lock = rx.open_stream(&CRI, self.runtime, Payload::new(Ask::InhibitShutdown));
        match rx.next(lock).await {
            Ok(Some(given)) if *given.expect::<Answer>() == Answer::Done => Ok(lock),
            _ => {
                rx.close_stream(lock);
                Err(())
            }
        }
    }

    /// Upstream's `start` of the manager: the lock that it holds, and the signals.
    async fn watch_shutdowns(&self, rx: Rx) -> Result<(Stream, Stream), ()> {
        let requested = kill_pods::period_requested(&self.shutdown);
        if requested > self.current_inhibit_delay(rx).await? {
            let ask = Ask::OverrideInhibitDelay(requested);
            self.ask_runtime(rx, ask).await?;
            self.ask_runtime(rx, Ask::ReloadLogindConf).await?;
            self.wait_for_inhibit_delay(rx, requested).await?;
        }
        let lock = self.inhibit_shutdown(rx).await?;
        let signals = rx.open_stream(&CRI, self.runtime, Payload::new(Ask::MonitorShutdown));
        Ok((lock, signals))
    }

    /// Upstream's `ExponentialBackoff` until logind has read its configuration.
    async fn wait_for_inhibit_delay(&self, rx: Rx, requested: Duration) -> Result<(), ()> {
        let mut step = FIRST_STEP;
        for number in 1..=STEPS {
            if requested <= self.current_inhibit_delay(rx).await? {
                return Ok(());
            }
            if number < STEPS {
                rx.sleep(step).await;
                step *= FACTOR;
            }
        }
        Err(())
    }

    /// `GetActivePods`
    pub(crate) fn get_active_pods(&self, rx: Rx) -> Vec<Object> {
        let mut all = pod_manager::get_pods(rx);
        all.retain(|pod| !self.is_pod_inactive(rx, pod));
        all
    }

    /// Our proposal to k/k#124448: until the API knows of the end of all these pods, mirror pods aside.
    async fn wait_until_told(&self, rx: Rx, pods: &[Object]) {
        let is_told = |pod: &Object| {
            let known = pod_manager::get_pod_by_uid(rx, pod.uid());
            known.is_none_or(|own| is_pod_phase_terminal(phase(pod::status(&own))))
        };
        let regular: Vec<&Object> = pods.iter().filter(|pod| !is_static_pod(pod)).collect();
        while !regular.iter().all(|pod| is_told(pod)) {
            rx.sleep(POLL).await;
        }
    }

    /// Our proposal: static pods that a shutdown has killed start anew when it is cancelled.
    fn bring_static_pods_back(&self, rx: Rx) {
        let all = pod_manager::get_pods(rx);
        let those = all.iter().filter(|pod| is_static_pod(pod));
        workers::request_restart(rx, &those.map(pod::uid).collect());
    }

    /// `processShutdownEvent`, without the lock.
    async fn process_shutdown_event(&self, rx: Rx) {
        let active_pods = self.get_active_pods(rx);
        rx.note(BeginsShutdown);
        let limit = kill_pods::period_requested(&self.shutdown);
        let waits = !self
            .defects
            .has(KubeletDefect::ShutdownsDoNotWaitForStatuses);
        let work = async {
            self.kill_pods(rx, &active_pods).await;
            if waits {
                self.wait_until_told(rx, &active_pods).await;
            }
        };
        let is_in_time = rx.timeout(limit, work).await.is_some();
        let regular = active_pods.iter().filter(|pod| !is_static_pod(pod));
        rx.note(EndsShutdown {
            pods: regular.map(pod::pod_ref).collect(),
            is_in_time,
        });
    }

    /// Our proposal: what no signal has told, since nobody listened. Is a shutdown under way that this kubelet does not know of, or
    /// is none any more?
    async fn missed_signal(&self, rx: Rx) -> Option<bool> {
        if !self.defects.has(KubeletDefect::FixLookForShutdowns) {
            return None;
        }
        match self.ask_runtime(rx, Ask::PreparingForShutdown).await {
            Ok(Answer::PrepareForShutdown(comes)) => {
                Some(comes).filter(|comes| *comes != is_shutting_down(rx))
            }
            _ => None,
        }
    }
}

async fn next_signal(rx: Rx, signals: Stream) -> Option<bool> {
    match *rx.next(signals).await.ok()??.expect::<Answer>() {
        Answer::PrepareForShutdown(comes) => Some(comes),
        _ => None,
    }
}

/// What `Start` starts: it watches for signals, and begins anew when they end. Who cannot begin at first never tries again.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx, is_first: bool) -> Outcome {
    if !is_first {
        rx.sleep(DBUS_RECONNECT_PERIOD).await;
    }
    let Ok((mut lock, signals)) = kubelet.watch_shutdowns(rx).await else {
        let missed = kubelet.missed_signal(rx).await;
        if let Some(comes) = missed {
            set_shutting_down(rx, comes);
            rx.note(IsTold(comes));
        }
        return match is_first && missed.is_none() {
            true => Outcome::Done,
            false => Outcome::Become(Task::new(WATCH, false)),
        };
    };
    let mut missed = kubelet.missed_signal(rx).await;
    while let Some(comes) = match missed.take() {
        None => next_signal(rx, signals).await,
        missed => missed,
    } {
        set_shutting_down(rx, comes);
        rx.note(IsTold(comes));
        if comes {
            if !kubelet.defects.has(KubeletDefect::ShutdownsAreNotTold) {
                rx.spawn(Task::new(SYNC_NODE_STATUS, ()));
            }
            kubelet.process_shutdown_event(rx).await;
            rx.close_stream(lock);
            continue;
        }
        if kubelet.defects.has(KubeletDefect::FixStaticPodsComeBack) {
            kubelet.bring_static_pods_back(rx);
        }
        if let Ok(new) = kubelet.inhibit_shutdown(rx).await {
            rx.close_stream(lock);
            lock = new;
        }
    }
    let ends = KubeletDefect::ShutdownsAreWatchedOnce;
    match kubelet.defects.has(ends) {
        true => Outcome::Done,
        false => Outcome::Become(Task::new(WATCH, false)),
    }
}
