//! What is to be done about init containers (`computeInitContainerActions` and what is beside it in
//! `pkg/kubelet/kuberuntime/kuberuntime_container.go`, v1.36.2). Those that are restartable are sidecars: they go on, and the next
//! one begins once they have started up.

use std::collections::BTreeMap;

use wavetank_api::Object;
use wavetank_engine::Rx;

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::kuberuntime::Actions;
use crate::pleg::Cached;
use crate::pod::{self, Spec};
use crate::prober::{self, Found};
use crate::runtime::cri::{Ask, Container, ProbeType, State};

/// `HasAnyRegularContainerCreated`
pub(crate) fn has_any_regular_container_created(pod: &Object, status: &Cached) -> bool {
    let specs = pod::containers(pod);
    specs.iter().any(|own| status.find(&own.name).is_some())
}

/// `HasAnyActiveRegularContainerStarted`: one that is in the newest sandbox, if that is ready.
pub(crate) fn has_any_active_regular_container_started(pod: &Object, status: &Cached) -> bool {
    let specs = pod::containers(pod);
    let is_regular = |own: &&Container| specs.iter().any(|spec| spec.name == own.name);
    let mut active = status.active().filter(is_regular);
    active.next().is_some()
}

impl Kubelet {
    /// Does a regular container tell that the pod has been initialized?
    fn shows_initialized(&self, pod: &Object, status: &Cached) -> bool {
        if self.defects.has(KubeletDefect::InitContainersRunAgain) {
            return false;
        }
        let of_any_sandbox = self
            .defects
            .has(KubeletDefect::OldContainersTellInitialized);
        let specs = pod::containers(pod);
        let mut all = specs.iter().filter_map(|spec| match of_any_sandbox {
            true => status.find(&spec.name),
            false => status.active().find(|own| own.name == spec.name),
        });
        all.any(|own| matches!(own.state, State::Created | State::Running(_)))
    }

    /// `computeInitContainerActions`: has the pod been initialized?
    pub(crate) fn compute_init_container_actions(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Cached,
        actions: &mut Actions,
    ) -> bool {
        let specs = pod::init_containers(pod);
        if specs.is_empty() {
            return true;
        }
        let mut has_initialized = self.shows_initialized(pod, status);
        let mut was_initialized = has_initialized;
        let last = specs.len() - 1;
        // One of a sandbox before this one that could not be removed: is it found as well?
        let of_any_sandbox = self.defects.has(KubeletDefect::OldInitContainersTellDone);
        // The last one first: of those before it nothing may be left.
        for (at, spec) in specs.iter().enumerate().rev() {
            let found = match of_any_sandbox {
                true => status.find(&spec.name),
                false => status.active().find(|own| own.name == spec.name),
            };
            let Some(own) = found else {
                if was_initialized && spec.is_restartable {
                    actions.start_init.push(at);
                }
                continue;
            };
            if was_initialized && !spec.is_restartable {
                continue;
            }
            let is_done = match own.state {
                State::Created => {
                    actions.start_init.push(at);
                    false
                }
                State::Running(_) if spec.is_restartable => {
                    sidecar_has_started(rx, spec, own, at, actions)
                }
                State::Running(_) => false,
                State::Exited { .. } if spec.is_restartable => {
                    actions.start_init.push(at);
                    false
                }
                State::Exited { code, .. } if code != 0 => {
                    if pod.is_being_deleted() || !spec.should_restart(pod, code) {
                        actions.kill_pod = true;
                        actions.start_init.clear();
                        return false;
                    }
                    actions.start_init.push(at);
                    false
                }
                State::Exited { .. } => true,
            };
            if is_done && at == last {
                has_initialized = true;
            } else if is_done && !was_initialized {
                actions.start_init.push(at + 1);
            }
            if spec.is_restartable && is_done {
                restart_if_unwell(rx, spec, own, at, actions);
            }
            was_initialized = true;
        }
        if !was_initialized {
            actions.start_init.push(0);
        }
        actions.start_init.reverse();
        has_initialized
    }

    /// `pruneInitContainersBeforeStart`: of each the newest that has ended stays.
    pub(crate) async fn prune_init_containers_before_start(
        &self,
        rx: Rx,
        pod: &Object,
        status: &Cached,
    ) {
        let specs = pod::init_containers(pod);
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for own in &status.status.containers {
            let is_init = specs.iter().any(|spec| spec.name == own.name);
            if !is_init || !matches!(own.state, State::Exited { .. }) {
                continue;
            }
            let count = seen.entry(&own.name).or_default();
            *count += 1;
            if *count > 1 {
                let _ = self
                    .ask_runtime(rx, Ask::RemoveContainer(own.id.clone()))
                    .await;
            }
        }
    }

    /// `purgeInitContainers`: none stays. What cannot be removed is left, and no more is said of it.
    pub(crate) async fn purge_init_containers(&self, rx: Rx, pod: &Object, status: &Cached) {
        let specs = pod::init_containers(pod);
        for own in &status.status.containers {
            if specs.iter().any(|spec| spec.name == own.name) {
                let _ = self
                    .ask_runtime(rx, Ask::RemoveContainer(own.id.clone()))
                    .await;
            }
        }
    }
}

fn kill(spec: &Spec, own: &Container, at: usize, failed: ProbeType, actions: &mut Actions) {
    actions
        .kill
        .push((own.id.clone(), spec.name.clone(), failed));
    actions.start_init.push(at);
}

/// A sidecar that runs: has it started up?
fn sidecar_has_started(
    rx: Rx,
    spec: &Spec,
    own: &Container,
    at: usize,
    actions: &mut Actions,
) -> bool {
    if spec.startup.is_none() {
        return true;
    }
    match prober::result(rx, ProbeType::Startup, &own.id) {
        Some(Found::Success) => true,
        Some(Found::Failure) => {
            kill(spec, own, at, ProbeType::Startup, actions);
            false
        }
        Some(Found::Unknown) | None => false,
    }
}

/// Its liveness has nothing to do with when the next one starts.
fn restart_if_unwell(rx: Rx, spec: &Spec, own: &Container, at: usize, actions: &mut Actions) {
    let result = prober::result(rx, ProbeType::Liveness, &own.id);
    if spec.liveness.is_some() && result == Some(Found::Failure) {
        kill(spec, own, at, ProbeType::Liveness, actions);
    }
}
