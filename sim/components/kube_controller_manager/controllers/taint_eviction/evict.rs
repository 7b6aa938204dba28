//! How a pod goes (`deletePodHandler`, `addConditionAndDeletePod`): when its time has come, it is told why, and deleted.
//!
//! Upstream does not look again, whatever has happened since it was decided (`evictions-are-not-reconsidered`), and gives up
//! after five tries (`evictions-are-not-retried`).

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Method, Reason, Request, Stamp, Stored};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::scheduling::tolerates_taint;
use wavetank_engine::{Instant, Name, Rx, Time};
use wavetank_version::Set;

use super::controller::{
    CONTROLLER, POD_UPDATE_QUEUE, STATE, identity, node_name, pod_update_item,
};
use super::defects::TaintEvictionDefect;
use super::notes::{Asks, Evicts, IsDone};
use super::timed_workers::{Ticket, TimedWorker};
use super::tolerations::{get_no_execute_taints, tolerations};
use crate::controller::{Controller, Work};
use crate::controller_utils::{prepare_patch_bytes_for_pod_status, taints, update_pod_condition};
use wavetank_components::elected::process_next_work_item;

/// Evictions whose time has come. Upstream each has a goroutine.
const DUE_QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "due-evictions");
/// So many go at once.
const WORKERS: u32 = 10;
/// `retries`, and how long it waits between two.
const RETRIES: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(10);
/// How long one that failed waits, where it is tried again: at first and at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// What was decided otherwise is looked at again after so long: the cache may have been right by then.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// What evicts.
#[derive(Debug)]
pub(super) struct Evictions {
    pub rest: RestClient,
    pub defects: Set<TaintEvictionDefect>,
}

/// What is to become of a pod whose time has come.
#[derive(Debug)]
enum Decision {
    /// It goes: the one with this UID, or whichever has its name.
    Evict(Option<Item>),
    /// It stays for so long.
    Wait(Duration, TimedWorker),
    /// It stays.
    Stay,
}

impl Evictions {
    /// `AddWork`: the pod goes after so long.
    pub fn add_work(&self, rx: Rx, pod: &Item, uid: Item, after: Duration) {
        let worker = rx.update_at(&STATE, |_, now| TimedWorker {
            created_at: Instant(now),
            fire_at: Instant(now),
            uid,
            failures: 0,
        });
        self.add(rx, pod, worker, after);
    }

    /// What no release does: the pod goes after so long, if it was to go later.
    pub fn advance(&self, rx: Rx, pod: &Item, worker: TimedWorker, after: Duration) {
        let is_later = rx.update_at(&STATE, |_, now| worker.fire_at.0 > now + after);
        if is_later
            && self
                .defects
                .has(TaintEvictionDefect::FixShorterTolerationsCount)
        {
            rx.update(&STATE, |state| state.taint_eviction_queue.cancel_work(pod));
            self.add(rx, pod, worker, after);
        }
    }

    fn add(&self, rx: Rx, pod: &Item, worker: TimedWorker, after: Duration) {
        let added = rx.update_at(&STATE, |state, now| {
            let fire_at = Instant(now + after);
            let worker = TimedWorker { fire_at, ..worker };
            let queue = &mut state.taint_eviction_queue;
            queue.add_work(pod, worker, after.is_zero())
        });
        if let Some(ticket) = added {
            DUE_QUEUE.add_after(rx, format!("{ticket} {pod}").into(), after);
        }
    }

    /// Upstream's `getWrappedWorkerFunc`
    async fn fire(&self, rx: Rx, item: &Item) {
        let (ticket, pod) = item.split_once(' ').unwrap_or_default();
        let (ticket, pod): (Ticket, Item) = (ticket.parse().unwrap_or_default(), pod.into());
        let worker = rx.look(&STATE, |state| state.taint_eviction_queue.fires(ticket));
        let Some(worker) = worker else {
            return;
        };
        let has = |defect| self.defects.has(defect);
        let decided = match has(TaintEvictionDefect::EvictionsAreNotReconsidered) {
            true => Ok(Decision::Evict(None)),
            false => self.reconsider(rx, &pod, ticket, &worker).await,
        };
        let (done, again) = match decided {
            Ok(Decision::Evict(uid)) => {
                let done = self
                    .delete_pod_handler(rx, &pod, ticket, uid.as_ref())
                    .await;
                (done, None)
            }
            Ok(Decision::Wait(left, worker)) => (Ok(()), Some((left, worker))),
            Ok(Decision::Stay) => (Ok(()), None),
            Err(error) => (Err(error), None),
        };
        rx.update(&STATE, |state| {
            state.taint_eviction_queue.finished(&pod, ticket);
        });
        rx.note(IsDone(ticket));
        if let Some((left, worker)) = again {
            self.add(rx, &pod, worker, left);
        }
        let gives_up = has(TaintEvictionDefect::EvictionsAreNotRetried);
        match done {
            Err(error) if !gives_up && !error.is(Reason::NotFound) => {
                let failures = worker.failures + 1;
                let wait = FIRST_RETRY * 2_u32.saturating_pow(worker.failures.min(10));
                let worker = TimedWorker { failures, ..worker };
                self.add(rx, &pod, worker, wait.min(LONGEST_RETRY));
            }
            _ => {}
        }
    }

    /// What no release does: looks at the pod and its node once more, as they are stored.
    async fn reconsider(
        &self,
        rx: Rx,
        key: &Item,
        ticket: Ticket,
        worker: &TimedWorker,
    ) -> Result<Decision, Failure> {
        rx.note(Asks {
            pod: key.clone(),
            worker: ticket,
        });
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let get = Request::new(Method::Get, PODS.path(namespace, name));
        let pod = match self.rest.object(rx, get).await {
            Err(error) if error.is(Reason::NotFound) => return Ok(Decision::Stay),
            read => read?,
        };
        if pod.object.is_being_deleted() {
            return Ok(Decision::Stay);
        }
        let get = Request::new(Method::Get, NODES.path("", node_name(&pod.object)));
        let node = match self.rest.object(rx, get).await {
            Err(error) if error.is(Reason::NotFound) => return Ok(Decision::Stay),
            read => read?,
        };
        let decision = decide(rx, &pod, &node, worker);
        if matches!(decision, Decision::Stay) {
            POD_UPDATE_QUEUE.add_after(rx, pod_update_item(&pod.object), LOOK_AGAIN);
        }
        Ok(decision)
    }

    /// `deletePodHandler`
    async fn delete_pod_handler(
        &self,
        rx: Rx,
        pod: &Item,
        ticket: Ticket,
        uid: Option<&Item>,
    ) -> Result<(), Failure> {
        let mut done = Ok(());
        for _ in 0..RETRIES {
            done = self
                .add_condition_and_delete_pod(rx, pod, ticket, uid)
                .await;
            if done.is_ok() {
                break;
            }
            rx.sleep(BETWEEN).await;
        }
        done
    }

    /// `addConditionAndDeletePod`
    async fn add_condition_and_delete_pod(
        &self,
        rx: Rx,
        key: &Item,
        ticket: Ticket,
        uid: Option<&Item>,
    ) -> Result<(), Failure> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let path = PODS.path(namespace, name);
        let get = Request::new(Method::Get, path.clone());
        let pod = self.rest.object(rx, get).await?;
        let own = pod.object.uid();
        let by_name = self.defects.has(TaintEvictionDefect::EvictsPodsByName);
        if !by_name && uid.is_some_and(|uid| **uid != *own) {
            return Ok(());
        }
        self.tell(rx, &pod).await?;
        rx.note(Evicts {
            pod: key.clone(),
            uid: own.into(),
            worker: ticket,
        });
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if !by_name {
            options["preconditions"] = json!({"uid": own});
        }
        let delete = Request::new(Method::Delete, path).with(options);
        self.rest.request(rx, delete).await.map(drop)
    }

    /// The pod gets a condition that says why.
    async fn tell(&self, rx: Rx, pod: &Stored) -> Result<(), Failure> {
        let json = pod.object.json();
        let old = &json["status"];
        let mut new = old.clone();
        let condition = json!({
            "type": "DisruptionTarget",
            "observedGeneration": json::number(json, &["metadata", "generation"]).unwrap_or(0),
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        });
        update_pod_condition(&mut new, condition, &Stamp::of(rx.clock()).seconds());
        let patch = prepare_patch_bytes_for_pod_status(pod.object.uid(), old, &new);
        if patch["status"].as_object().is_none_or(json::Map::is_empty) {
            return Ok(());
        }
        let path = PODS.path(pod.object.namespace(), pod.object.name());
        let mut request = Request::new(Method::Patch, format!("{path}/status")).with(patch);
        request.content_type = Some(STRATEGIC_MERGE_PATCH.into());
        self.rest.object(rx, request).await.map(drop)
    }
}

/// What these say: each taint counts from when it was seen first, or from when the pod was.
fn decide(rx: Rx, pod: &Stored, node: &Stored, worker: &TimedWorker) -> Decision {
    let all = get_no_execute_taints(taints(node.object.json()));
    let tolerated = tolerations(pod.object.json()).to_vec();
    let (uid, name): (Item, Item) = (pod.object.uid().into(), node.object.name().into());
    let is_same = uid == worker.uid;
    let (created_at, left) = rx.update_at(&STATE, |state, now| {
        let created = match is_same {
            true => worker.created_at.0,
            false => now,
        };
        let seen = |taint: &Json| {
            let key = (name.clone(), identity(taint));
            state.seen.get(&key).map_or(now, |seen| seen.0)
        };
        let left = all.iter().filter_map(|taint| {
            let own = tolerated.iter().find(|own| tolerates_taint(own, taint));
            left(own, seen(taint).max(created), now)
        });
        (Instant(created), left.min())
    });
    match left {
        None => Decision::Stay,
        Some(left) if left.is_zero() => Decision::Evict(Some(uid)),
        Some(left) => {
            let worker = TimedWorker {
                created_at,
                uid,
                ..worker.clone()
            };
            Decision::Wait(left, worker)
        }
    }
}

/// How long a taint that has been there since is tolerated still; nothing if it is for ever.
fn left(toleration: Option<&Json>, since: Time, now: Time) -> Option<Duration> {
    let seconds = match toleration {
        None => 0,
        Some(toleration) => json::number(toleration, &["tolerationSeconds"])?,
    };
    let seconds = Duration::from_secs(seconds.max(0).unsigned_abs());
    Some(seconds.saturating_sub(now.since(since)))
}

impl Controller for Evictions {
    fn name(&self) -> &'static str {
        "taint-evictions"
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![DUE_QUEUE]
    }

    fn workers(&self) -> u32 {
        WORKERS
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            let fire = |item: Item| async move {
                self.fire(rx, &item).await;
                Ok::<(), ()>(())
            };
            process_next_work_item(rx, leading, DUE_QUEUE, fire).await
        })
    }
}
