//! What is known of each pod, and how that changes: what upstream does under `podLock`. Pure.

use super::*;

/// `SyncPodType`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum UpdateType {
    Sync,
    Update,
    Create,
    Kill,
}

/// `PodWorkerState`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WorkerState {
    Syncing,
    Terminating,
    Terminated,
}

/// `UpdatePodOptions`, with what is used of `KillPodOptions`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Update {
    pub kind: UpdateType,
    pub pod: Option<Object>,
    /// What the API shows of a static pod.
    pub mirror: Option<Object>,
    /// What runs of a pod of which no configuration is known.
    pub running: Option<PodRef>,
    pub grace: Option<i64>,
    /// `CompletedCh` and `PodStatusFunc`, of whoever kills it.
    pub kill: Option<Kill>,
}

/// What whoever kills a pod wants besides: to hear of its end, on the channel of this number, and what its status says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kill {
    pub completed: u64,
    pub status: StatusAfter,
}

impl Update {
    pub(crate) fn of(kind: UpdateType, pod: &Object) -> Update {
        Update {
            kind,
            pod: Some(pod.clone()),
            mirror: None,
            running: None,
            grace: None,
            kill: None,
        }
    }
}

/// `podSyncStatus`, whose instants are whether they are set.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct PodSyncStatus {
    /// `podUpdates`: closed when the worker is to end.
    pub(super) updates: Option<u64>,
    pub(super) working: bool,
    pub(super) pending: Option<Update>,
    pub(super) active: Option<Update>,
    pub(super) started: bool,
    pub(super) terminating: bool,
    pub(super) terminated: bool,
    pub(super) grace_period: i64,
    pub(super) started_terminating: bool,
    pub(super) deleted: bool,
    pub(super) finished: bool,
    pub(super) restart_requested: bool,
    pub(super) observed_runtime: bool,
    /// `notifyPostTerminating`: numbers of the channels of those who wait.
    pub(super) notify_post_terminating: Vec<u64>,
    /// `statusPostTerminating`
    pub(super) status_post_terminating: Vec<StatusAfter>,
    /// `fullname`, of static pods.
    pub(super) full_name: Option<Arc<str>>,
}

/// `podWorkers`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct PodWorkers {
    pub(super) pods_synced: bool,
    pub(super) statuses: BTreeMap<Uid, PodSyncStatus>,
    pub(super) workers: u64,
    /// Of static pods, by full name: that which has started, and those that are to start after it.
    pub(super) line: Line,
}

impl PodSyncStatus {
    pub(super) fn work_type(&self) -> WorkerState {
        match (self.terminated, self.terminating) {
            (true, _) => WorkerState::Terminated,
            (_, true) => WorkerState::Terminating,
            _ => WorkerState::Syncing,
        }
    }

    /// `mergeLastUpdate`
    fn merge_last_update(&mut self, other: &Update) {
        let own = self.active.get_or_insert_with(|| Update {
            pod: None,
            kill: None,
            ..other.clone()
        });
        if own.pod.is_none() || other.running.is_none() {
            own.pod = other.pod.clone();
        }
        own.running = other.running.clone();
        if other.mirror.is_some() {
            own.mirror = other.mirror.clone();
        }
        if other.grace.is_some() {
            own.grace = other.grace;
        }
    }

    /// `requeueLastPodUpdate`: the channel to tell, if any.
    pub(super) fn requeue_last_pod_update(&mut self) -> Option<u64> {
        if self.pending.is_some() || self.active.is_none() {
            return None;
        }
        self.pending = self.active.clone();
        self.working = true;
        self.updates
    }
}

/// `calculateEffectiveGracePeriod`: the period, and whether it was shortened.
fn calculate_effective_grace_period(own: i64, pod: &Object, asked: Option<i64>) -> (i64, bool) {
    let mut grace = own;
    let mut overridden = false;
    for other in [pod::deletion_grace_period(pod), asked]
        .into_iter()
        .flatten()
    {
        if grace == 0 || other < grace {
            grace = other;
            overridden = true;
        }
    }
    if let Some(spec) = pod::termination_grace_period(pod)
        && !overridden
        && grace == 0
    {
        grace = spec;
    }
    let grace = grace.max(1);
    (grace, own != 0 && own != grace)
}

/// What `UpdatePod` leads to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Told {
    Nothing,
    Pending {
        updates: u64,
        is_new: bool,
        /// The channel of who killed it, if nobody is to wait.
        completed: Option<u64>,
    },
}

/// What a worker is to do next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Started {
    Idle,
    /// The pod may not start yet.
    Later,
    /// It never may: the channel to close.
    Never(Option<u64>),
    Work(WorkerState, Update),
}

/// `canStart` and `canEverStart`
pub(super) enum Start {
    Now,
    Later,
    Never,
}

impl PodWorkers {
    pub(super) fn update_pod(
        &mut self,
        uid: &Uid,
        mut update: Update,
        is_over: bool,
        finished_at_start: bool,
    ) -> Told {
        let is_runtime_pod = update.pod.is_none();
        let first_time = !self.statuses.contains_key(uid);
        if first_time {
            // Terminal for the API and for the runtime: its end was seen before, maybe by a kubelet before this one.
            let status = PodSyncStatus {
                terminating: is_over,
                terminated: is_over,
                started_terminating: is_over,
                finished: is_over && finished_at_start,
                full_name: update
                    .pod
                    .as_ref()
                    .filter(|pod| is_static_pod(pod))
                    .map(full_name),
                ..PodSyncStatus::default()
            };
            self.statuses.insert(uid.clone(), status);
        }
        let status = self.statuses.get_mut(uid).expect("just there");
        if is_runtime_pod {
            status.observed_runtime = true;
            let known = [&status.pending, &status.active].into_iter().flatten();
            if let Some(known) = known.filter_map(|own| own.pod.clone()).next() {
                update.pod = Some(known);
                update.running = None;
            }
        }
        if !first_time && status.terminating && update.kind == UpdateType::Create {
            status.restart_requested = true;
            return Told::Nothing;
        }
        if status.finished {
            return Told::Nothing;
        }
        if !status.terminating {
            let own = update.pod.as_ref();
            let is_deleted = own.is_some_and(Object::is_being_deleted);
            let phase = own.map_or("", |own| pod::phase(pod::status(own)));
            if is_runtime_pod || is_deleted {
                status.deleted = true;
                status.terminating = true;
            } else if pod::is_pod_phase_terminal(phase) || update.kind == UpdateType::Kill {
                status.terminating = true;
            }
        }
        let kill = update.kill.take();
        let mut completed = None;
        if status.terminated {
            if is_runtime_pod {
                return Told::Nothing;
            }
            completed = kill.map(|own| own.completed);
            update.grace = None;
        } else if status.terminating {
            if let Some(kill) = kill {
                status.notify_post_terminating.push(kill.completed);
                status.status_post_terminating.push(kill.status);
            }
            let grace = match &update.pod {
                Some(pod) => {
                    calculate_effective_grace_period(status.grace_period, pod, update.grace).0
                }
                None => update.grace.unwrap_or(1),
            };
            status.grace_period = grace;
            update.grace = Some(grace);
        } else {
            completed = kill.map(|own| own.completed);
            update.grace = None;
        }
        let is_new = status.updates.is_none();
        if is_new {
            self.workers += 1;
            status.updates = Some(self.workers);
            if let Some(name) = &status.full_name {
                self.line.joins(name, uid);
            }
        }
        status.pending = Some(update);
        status.working = true;
        let updates = status.updates.expect("just made");
        Told::Pending {
            updates,
            is_new,
            completed,
        }
    }

    /// `startPodSync`
    pub(super) fn start_pod_sync(&mut self, uid: &Uid, defects: Set<KubeletDefect>) -> Started {
        let Some(status) = self.statuses.get_mut(uid) else {
            return Started::Idle;
        };
        let Some(update) = status.pending.take() else {
            status.working = false;
            return Started::Idle;
        };
        if !status.started && update.pod.is_some() {
            match self.allow_pod_start(uid, defects) {
                Start::Now => {}
                Start::Later => {
                    let status = self.statuses.get_mut(uid).expect("just there");
                    status.pending = Some(update);
                    status.working = false;
                    return Started::Later;
                }
                Start::Never => return Started::Never(self.cleanup_unstarted_pod(uid)),
            }
        }
        let status = self.statuses.get_mut(uid).expect("just there");
        status.started |= update.pod.is_some();
        status.merge_last_update(&update);
        Started::Work(status.work_type(), update)
    }

    /// `allowPodStart`
    fn allow_pod_start(&mut self, uid: &Uid, defects: Set<KubeletDefect>) -> Start {
        let status = &self.statuses[uid];
        let Some(name) = status.full_name.clone() else {
            return Start::Now;
        };
        if status.terminating {
            return Start::Never;
        }
        let statuses = &self.statuses;
        let is_over = |own: &Uid| statuses.get(own).is_none_or(|own| own.terminating);
        let keeps_places = defects.has(KubeletDefect::EndedStaticPodsStayInLine);
        let may = self
            .line
            .allow_static_pod_start(&name, uid, |own| is_over(own) && !keeps_places);
        match may || defects.has(KubeletDefect::StaticPodsDoNotWait) {
            true => Start::Now,
            false => Start::Later,
        }
    }

    /// `cleanupUnstartedPod`: the channel to close.
    fn cleanup_unstarted_pod(&mut self, uid: &Uid) -> Option<u64> {
        let status = self.statuses.get_mut(uid)?;
        status.finished = true;
        status.working = false;
        status.terminated = true;
        let name = status.full_name.clone();
        let updates = status.updates;
        self.line.leaves(name.as_ref(), uid);
        updates
    }

    /// Is it a static pod that has not started yet, but is to?
    pub(super) fn begins_static_pod(&self, uid: &str) -> Option<PodRef> {
        let status = self.statuses.get(uid)?;
        let pod = status.pending.as_ref()?.pod.as_ref()?;
        let begins = !status.started && !status.terminating && status.full_name.is_some();
        begins.then(|| pod::pod_ref(pod))
    }

    /// `removeTerminatedWorker`: was it removed? And the channel to tell, and the one to close.
    pub(super) fn remove_terminated_worker(
        &mut self,
        uid: &Uid,
        is_orphan: bool,
    ) -> (bool, Option<u64>, Option<u64>) {
        let status = self.statuses.get_mut(uid).expect("it is known");
        if !status.finished {
            if !is_orphan {
                return (false, None, None);
            }
            status.deleted = true;
            let never_started = !status.started && !status.observed_runtime;
            if !never_started {
                if !status.terminating {
                    status.terminating = true;
                    let active = status.active.as_ref().and_then(|own| own.pod.as_ref());
                    status.grace_period = active.map_or(1, |pod| {
                        calculate_effective_grace_period(status.grace_period, pod, None).0
                    });
                }
                return (false, status.requeue_last_pod_update(), None);
            }
        }
        let gone = self.statuses.remove(uid).expect("it is known");
        self.line.leaves(gone.full_name.as_ref(), uid);
        (true, None, gone.updates)
    }
}
