//! What a kubelet has its runtime do for a pod (`pkg/kubelet/kuberuntime/kuberuntime_manager.go` and `kuberuntime_container.go`,
//! v1.36.2).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_client::wait::{Member, wait_group};
use wavetank_engine::{Cell, Rx};

use crate::back_off;
use crate::defects::KubeletDefect;
use crate::init_containers::has_any_regular_container_created;
use crate::kubelet::Kubelet;
use crate::notes::{BacksOff, KillsContainer, StopsAll};
use crate::pleg::Cached;
use crate::pod::{self, Spec};
use crate::prober;
use crate::runtime::cri::{Answer, Ask, Container, Id, PodStatus, ProbeType, State, Uid};
use crate::sync_pod::{Grace, SyncError, both};
use crate::termination_order::TerminationOrdering;
use crate::workers;

/// `minimumGracePeriodInSeconds`
const MINIMUM_GRACE_PERIOD: i64 = 2;

/// By pod and container.
type Reasons = BTreeMap<(Uid, Arc<str>), Arc<str>>;

/// `reasonCache`: why a container was not started.
static REASONS: Cell<Reasons> = Cell::new("reason-cache");

/// `podActions`
#[derive(Debug, Default)]
pub(crate) struct Actions {
    pub kill_pod: bool,
    create_sandbox: bool,
    sandbox: Option<Id>,
    attempt: u32,
    /// Indexes of init containers.
    pub start_init: Vec<usize>,
    start: Vec<Spec>,
    pub kill: Vec<(Id, Arc<str>, ProbeType)>,
}

/// Why a container was not started, as its status says.
pub(crate) fn reason(rx: Rx, uid: &Uid, name: &Arc<str>) -> Option<Arc<str>> {
    rx.look(&REASONS, |own| {
        own.get(&(uid.clone(), name.clone())).cloned()
    })
}

/// Nobody asks for the reasons of this pod any more.
pub(crate) fn forget_reasons(rx: Rx, keep: impl Fn(&str) -> bool) {
    let any = rx.look(&REASONS, |own| own.keys().any(|(uid, _)| !keep(uid)));
    if any {
        rx.update(&REASONS, |own| own.retain(|(uid, _), _| keep(uid)));
    }
}

/// `PodSandboxChanged`: is a new sandbox needed, its attempt, and the sandbox that there is.
pub(crate) fn pod_sandbox_changed(status: &PodStatus) -> (bool, u32, Option<Id>) {
    let Some(newest) = status.sandboxes.first() else {
        return (true, 0, None);
    };
    let ready = status.sandboxes.iter().filter(|own| own.is_ready).count();
    let changed = ready > 1 || !newest.is_ready;
    let attempt = newest.attempt + u32::from(changed);
    (changed, attempt, Some(newest.id.clone()))
}

/// `ShouldContainerBeRestarted`
pub(crate) fn should_container_be_restarted(pod: &Object, status: &Cached, spec: &Spec) -> bool {
    if pod.is_being_deleted() {
        return false;
    }
    match status.find(&spec.name).map(|own| own.state) {
        None | Some(State::Created) => true,
        Some(State::Running(_)) => false,
        Some(State::Exited { code, .. }) => spec.should_restart(pod, code),
    }
}

/// `containerSucceeded`
fn container_succeeded(status: &Cached, name: &str) -> bool {
    let state = status.find(name).map(|own| own.state);
    matches!(state, Some(State::Exited { code: 0, .. }))
}

/// Has a regular container been started? One that was made only has not.
fn has_run(pod: &Object, status: &Cached) -> bool {
    let specs = pod::containers(pod);
    let mut all = specs.iter().filter_map(|spec| status.find(&spec.name));
    all.any(|own| own.state != State::Created)
}

impl Kubelet {
    /// `computePodActions`
    fn compute_pod_actions(&self, rx: Rx, pod: &Object, status: &Cached) -> Actions {
        let (create_sandbox, attempt, sandbox) = pod_sandbox_changed(&status.status);
        let mut actions = Actions {
            kill_pod: create_sandbox,
            create_sandbox,
            sandbox,
            attempt,
            ..Actions::default()
        };
        let specs = pod::containers(pod);
        if create_sandbox {
            let stays = self.defects.has(KubeletDefect::UnstartedPodsStayPending);
            let was_there = match stays {
                true => !status.status.containers.is_empty(),
                false => has_run(pod, status),
            };
            if pod::restart_policy(pod) == "Never" && attempt != 0 && was_there {
                actions.create_sandbox = false;
                return actions;
            }
            let runs_once = pod::restart_policy(pod) == "OnFailure";
            let mut start = specs;
            start.retain(|own| !(runs_once && container_succeeded(status, &own.name)));
            if start.is_empty() && has_any_regular_container_created(pod, status) {
                actions.create_sandbox = false;
                return actions;
            }
            match pod::init_containers(pod).is_empty() {
                true => actions.start = start,
                false => actions.start_init = vec![0],
            }
            return actions;
        }
        let has_initialized = self.compute_init_container_actions(rx, pod, status, &mut actions);
        if actions.kill_pod || !has_initialized {
            return actions;
        }
        let mut kept = 0;
        for spec in specs {
            let own = status.find(&spec.name);
            let Some(own) = own.filter(|own| own.is_running()) else {
                if should_container_be_restarted(pod, status, &spec) {
                    actions.start.push(spec);
                }
                continue;
            };
            let Some(failed) = prober::failed(rx, &own.id) else {
                kept += 1;
                continue;
            };
            actions
                .kill
                .push((own.id.clone(), spec.name.clone(), failed));
            if pod::restart_policy(pod) != "Never" {
                actions.start.push(spec);
            }
        }
        if kept == 0 && actions.start.is_empty() {
            actions.kill_pod = true;
            // Sidecars do not keep a pod alive.
            actions.start_init.clear();
        }
        actions
    }

    /// Upstream's `SyncPod` of the runtime manager: starts what is to run, and stops what is not. Did it do anything?
    pub(crate) async fn sync_containers(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Cached,
    ) -> Result<bool, SyncError> {
        let actions = self.compute_pod_actions(rx, pod, status);
        let starts = !actions.start.is_empty() || !actions.start_init.is_empty();
        let acts = actions.kill_pod || !actions.kill.is_empty() || starts;
        self.kill_what_is_not_to_run(rx, pod, status, &actions)
            .await?;
        self.prune_init_containers_before_start(rx, pod, status)
            .await;
        let mut sandbox = actions.sandbox;
        if actions.create_sandbox {
            let ask = Ask::RunPodSandbox(pod::pod_ref(pod), actions.attempt);
            sandbox = match self.ask_runtime(rx, ask).await {
                Ok(Answer::Made(id)) => Some(id),
                // Its pod is about to be stopped, which may be why.
                _ if workers::is_pod_termination_requested(rx, pod.uid()) => return Ok(true),
                _ => return Err(SyncError::Other("CreatePodSandbox failed")),
            };
        }
        let Some(sandbox) = sandbox else {
            return Ok(acts);
        };
        let mut worst = Ok(());
        let init = pod::init_containers(pod);
        for spec in actions.start_init.iter().map(|at| &init[*at]) {
            let started = self.start(rx, pod, status, &sandbox, spec).await;
            worst = both(worst, started.clone());
            if started.is_err() && !spec.is_restartable {
                return worst.map(|()| acts);
            }
        }
        for spec in &actions.start {
            let started = self.start(rx, pod, status, &sandbox, spec).await;
            worst = both(worst, started);
        }
        worst.map(|()| acts)
    }

    /// Its steps 2 and 3.
    async fn kill_what_is_not_to_run(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Cached,
        actions: &Actions,
    ) -> Result<(), SyncError> {
        if actions.kill_pod {
            if status.status.containers.iter().any(Container::is_running) {
                rx.note(StopsAll {
                    pod: pod::pod_ref(pod),
                    grace: pod::grace_period(pod).unwrap_or(MINIMUM_GRACE_PERIOD),
                });
            }
            self.kill_pod(rx, Some(pod), &status.status, Grace::OfPod)
                .await?;
            if actions.create_sandbox {
                self.purge_init_containers(rx, pod, status).await;
            }
            return Ok(());
        }
        for (id, name, failed) in &actions.kill {
            rx.note(KillsContainer {
                container: id.clone(),
                pod: pod::pod_ref(pod),
                name: name.clone(),
                failed: failed.name(),
            });
            self.kill_container(rx, Some(pod), (id, name), Grace::OfPod, None)
                .await?;
        }
        Ok(())
    }

    /// Upstream's `start` in there, and what becomes of it in the cache of reasons.
    async fn start(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Cached,
        sandbox: &Id,
        spec: &Spec,
    ) -> Result<(), SyncError> {
        let started = self.try_start(rx, pod, status, sandbox, spec).await;
        let key = (pod::uid(pod), spec.name.clone());
        let reason: Option<Arc<str>> = match &started {
            Ok(()) => None,
            Err(SyncError::BackOff(_)) => Some("CrashLoopBackOff".into()),
            Err(SyncError::Other(reason)) => Some((*reason).into()),
        };
        rx.update(&REASONS, |own| {
            match reason {
                Some(reason) => own.insert(key, reason),
                None => own.remove(&key),
            };
        });
        started
    }

    /// A container, unless it has to wait.
    async fn try_start(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Cached,
        sandbox: &Id,
        spec: &Spec,
    ) -> Result<(), SyncError> {
        if let Some(wait) = self.do_back_off(rx, pod, status, spec) {
            return Err(SyncError::BackOff(wait));
        }
        self.start_container(rx, status, sandbox, spec).await
    }

    /// `doBackOff`: how long the container has to wait.
    fn do_back_off(&self, rx: Rx, pod: &Object, status: &Cached, spec: &Spec) -> Option<Duration> {
        if self.defects.has(KubeletDefect::CrashLoopsAreNotBackedOff) {
            return None;
        }
        let mut exited = status
            .status
            .containers
            .iter()
            .filter_map(|own| match own.state {
                State::Exited { finished, .. } if own.name == spec.name => Some(finished),
                _ => None,
            });
        let finished = exited.next()?;
        let key = (pod::uid(pod), spec.name.clone());
        let now = rx.clock();
        let wait = back_off::is_in_back_off_since(rx, &key, finished, now);
        match wait {
            Some(wait) => {
                rx.note(BacksOff {
                    pod: pod::pod_ref(pod),
                    name: spec.name.clone(),
                    seconds: back_off::since(finished, now).as_secs(),
                });
                Some(wait)
            }
            None => {
                back_off::next(rx, key, finished, now);
                None
            }
        }
    }

    /// `startContainer`
    async fn start_container(
        &self,
        rx: Rx,
        status: &Cached,
        sandbox: &Id,
        spec: &Spec,
    ) -> Result<(), SyncError> {
        let pull = Ask::PullImage(spec.image.clone());
        self.ask_runtime(rx, pull)
            .await
            .map_err(|_| SyncError::Other("ErrImagePull"))?;
        let create = Ask::CreateContainer {
            sandbox: sandbox.clone(),
            name: spec.name.clone(),
            image: spec.image.clone(),
            restarts: status.find(&spec.name).map_or(0, |own| own.restarts + 1),
        };
        let Ok(Answer::Made(id)) = self.ask_runtime(rx, create).await else {
            return Err(SyncError::Other("CreateContainerError"));
        };
        match self.ask_runtime(rx, Ask::StartContainer(id)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(SyncError::Other("RunContainerError")),
        }
    }

    /// Upstream's `killPodWithSyncResult` of what runs of a pod.
    pub(crate) async fn kill_pod(
        &self,
        rx: Rx,
        pod: Option<&Object>,
        status: &PodStatus,
        grace: Grace,
    ) -> Result<(), SyncError> {
        let running = status.containers.iter().filter(|own| own.is_running());
        let names = running.clone().map(|own| own.name.clone()).collect();
        let ordering = pod.and_then(|pod| TerminationOrdering::new(pod, names));
        let is_unordered = || self.defects.has(KubeletDefect::SidecarsStopAtOnce);
        let ordering = ordering.filter(|_| !is_unordered());
        let all = running.map(|own| {
            let container = (&own.id, &own.name);
            let one = self.kill_container(rx, pod, container, grace, ordering.as_ref());
            Box::pin(one) as Member<'_, Result<(), SyncError>>
        });
        let mut done = wait_group(all.collect())
            .await
            .into_iter()
            .fold(Ok(()), Result::and);
        for sandbox in &status.sandboxes {
            let stopped = self
                .ask_runtime(rx, Ask::StopPodSandbox(sandbox.id.clone()))
                .await;
            done = done.and(
                stopped
                    .map(drop)
                    .map_err(|_| SyncError::Other("failed to stop sandbox")),
            );
        }
        done
    }

    /// `killContainer`, whose period is that of `setTerminationGracePeriod`.
    async fn kill_container(
        &self,
        rx: Rx,
        pod: Option<&Object>,
        (id, name): (&Id, &Arc<str>),
        grace: Grace,
        ordering: Option<&TerminationOrdering>,
    ) -> Result<(), SyncError> {
        let own = pod.and_then(pod::grace_period);
        let mut seconds = match grace {
            Grace::Override(seconds) => seconds,
            Grace::OfPod => own.unwrap_or(MINIMUM_GRACE_PERIOD),
        };
        if let Some(ordering) = ordering.filter(|_| seconds > 0) {
            seconds -= ordering.wait_for_turn(rx, name, seconds).await;
        }
        let ask = Ask::StopContainer(id.clone(), seconds.max(MINIMUM_GRACE_PERIOD));
        let stopped = self.ask_runtime(rx, ask).await;
        if let Some(ordering) = ordering.filter(|_| stopped.is_ok()) {
            ordering.container_terminated(rx, name);
        }
        stopped
            .map(drop)
            .map_err(|_| SyncError::Other("error killing container"))
    }
}
