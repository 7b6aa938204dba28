//! The loop of a pod worker: whether it may begin, what it does in each state, and what follows.

use super::*;

/// One turn of `podWorkerLoop`.
pub(crate) async fn pod_worker_loop(
    kubelet: Arc<Kubelet>,
    rx: Rx,
    uid: Uid,
    worker: u64,
) -> Outcome {
    if rx.recv(channel(worker)).await.is_none() {
        return Outcome::Done;
    }
    let again = Outcome::Become(Task::new(WORKER, (uid.clone(), worker)));
    if let Some(pod) = has(rx, |own| own.begins_static_pod(&uid))
        && !kubelet
            .defects
            .has(KubeletDefect::StaticPodsDoNotWaitForOrphans)
        && kubelet.may_run_under_other_uid(rx, &pod).await
    {
        wait_in_line(rx, pod, worker).await;
        return again;
    }
    let defects = kubelet.defects;
    let (work, update) = match rx.update(&WORKERS, |own| own.start_pod_sync(&uid, defects)) {
        Started::Work(work, update) => (work, update),
        Started::Idle => return again,
        Started::Later => {
            if let Some(pod) = has(rx, |own| own.begins_static_pod(&uid)) {
                wait_in_line(rx, pod, worker).await;
            }
            return again;
        }
        Started::Never(updates) => {
            if let Some(number) = updates {
                rx.close(channel(number));
            }
            return Outcome::Done;
        }
    };
    let done = sync(&kubelet, rx, &uid, work, &update).await;
    pleg::synced(rx, &uid);
    if done == Ok(Synced::Acted) {
        pleg::request_relist(rx, uid.clone());
    }
    let done = match (done, work) {
        (Ok(_), WorkerState::Terminated) => {
            complete_terminated(rx, &uid);
            return Outcome::Done;
        }
        (Ok(_), WorkerState::Terminating) if update.pod.is_none() => {
            complete_terminating_runtime_pod(rx, &uid);
            return Outcome::Done;
        }
        (Ok(_), WorkerState::Terminating) => {
            complete_terminating(rx, &uid);
            Ok(true)
        }
        (Ok(Synced::IsTerminal), WorkerState::Syncing) => {
            complete_sync(rx, &uid);
            Ok(true)
        }
        (done, _) => done.map(|_| false),
    };
    complete_work(rx, &uid, worker, done).await;
    again
}

/// What a worker does with an update.
async fn sync(
    kubelet: &Kubelet,
    rx: Rx,
    uid: &Uid,
    work: WorkerState,
    update: &Update,
) -> Result<Synced, SyncError> {
    let Some(pod) = &update.pod else {
        acknowledge_terminating(rx, uid);
        let running = update.running.as_ref().expect("one of both");
        kubelet.sync_terminating_runtime_pod(rx, running).await?;
        return Ok(Synced::Idle);
    };
    let status = pleg::get_newer_than(rx, uid).await?;
    match work {
        WorkerState::Terminated => kubelet
            .sync_terminated_pod(rx, pod, &status)
            .map(|()| Synced::Idle),
        WorkerState::Terminating => {
            let after = acknowledge_terminating(rx, uid);
            let grace = update.grace.map_or(Grace::OfPod, Grace::Override);
            kubelet
                .sync_terminating_pod(rx, pod, &status, grace, after.as_ref())
                .await?;
            Ok(Synced::Idle)
        }
        WorkerState::Syncing => {
            let mirror = update.mirror.as_ref();
            kubelet.sync_pod(rx, pod, mirror, &status).await
        }
    }
}

/// It is looked at again later.
async fn wait_in_line(rx: Rx, pod: PodRef, worker: u64) {
    rx.note(WaitsInLine(pod));
    let after = jitter(BACK_OFF_PERIOD, JITTER_FACTOR, rx.choose(JITTER).await);
    rx.arm(Timer::new(DUE, worker), after);
}

impl Kubelet {
    /// Does a container run, or may it, of a pod of this name that is another one? It is left of a kubelet before this one.
    async fn may_run_under_other_uid(&self, rx: Rx, pod: &PodRef) -> bool {
        let Ok(Answer::Pods(_, containers)) = self.ask_runtime(rx, Ask::ListPods).await else {
            return true;
        };
        let is_other = |own: &PodRef| {
            own.name == pod.name && own.namespace == pod.namespace && own.uid != pod.uid
        };
        let mut running = containers.iter().filter(|own| own.is_running());
        running.any(|own| is_other(&own.pod))
    }
}
