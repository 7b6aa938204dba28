//! What becomes of the pods of a set (`updateStatefulSet`, `processReplica`, `processCondemned` and `slowStartBatch` of
//! `pkg/controller/statefulset/stateful_set_control.go`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wavetank_api::Stored;
use wavetank_api::json::{self, Json};
use wavetank_client::wait::{Member, wait_group};
use wavetank_engine::Rx;

use super::control::{Revisions, StatefulSetControl};
use super::controller::{LOOK_AGAIN, QUEUE};
use super::defects::StatefulSetDefect;
use super::notes::{MakesPod, UpdatesSet, Why};
use super::pod_control::key;
use super::status::SetStatus;
use super::util::{
    Availability, Versioned, allows_burst, apply_revision, claim_names, get_ordinal,
    get_pod_revision, get_start_ordinal, has_ended, identity_matches, is_created, is_pending,
    is_running_and_ready, is_terminating, name, namespace, new_versioned_stateful_set_pod, of_spec,
    partition, pod_in_ordinal_range, storage_matches, uid,
};
use crate::controller_utils::SyncError;

/// `MaxBatchSize`
const MAX_BATCH_SIZE: usize = 500;

/// The pods of one update of a set.
struct Round<'a> {
    set: &'a Json,
    update_set: Json,
    update_revision: &'a str,
    available: Availability,
    monotonic: bool,
    /// Those that there are to be, by their numbers; some are not made yet.
    replicas: Vec<Json>,
    /// Those that are to go, the highest number first.
    condemned: Vec<Json>,
    /// The name of the first that is not available.
    first_unavailable: Option<String>,
    /// The claims of so many replicas were compared with the policy of the set.
    compared: AtomicUsize,
}

impl<'a> Round<'a> {
    /// Sorts pods into those that stay and those that go, and adds those that are missing.
    fn new(
        set: &'a Json,
        pods: &[Stored],
        revisions: &'a Revisions,
        available: Availability,
        waits: impl Fn() -> bool,
    ) -> Round<'a> {
        let current_set = apply_revision(set, &revisions.current);
        let update_set = apply_revision(set, &revisions.update);
        let start = get_start_ordinal(set);
        let count = usize::try_from(of_spec(set, "replicas")).unwrap_or(0);
        let mut replicas: Vec<Option<Json>> = vec![None; count];
        let mut condemned = Vec::new();
        for pod in pods.iter().map(Stored::json) {
            let Some(ordinal) = get_ordinal(&pod) else {
                continue;
            };
            match pod_in_ordinal_range(&pod, set) {
                true => replicas[(ordinal - start) as usize] = Some(pod),
                false => condemned.push(pod),
            }
        }
        let current = Versioned {
            set: &current_set,
            revision: name(&revisions.current),
        };
        let update = Versioned {
            set: &update_set,
            revision: name(&revisions.update),
        };
        // What our proposal makes in the place of a broken pod is of the newest revision, also where a strategy without
        // `rollingUpdate` counts those of the current one: it would be broken again.
        let counts = json::at(set, &["spec", "updateStrategy", "rollingUpdate"]).is_none();
        let current = match counts && current.revision != update.revision && !waits() {
            true => update,
            false => current,
        };
        let all = replicas.into_iter().zip(start..);
        let all = all.map(|(pod, ordinal)| {
            pod.unwrap_or_else(|| new_versioned_stateful_set_pod(current, update, ordinal))
        });
        let replicas: Vec<Json> = all.collect();
        condemned.sort_by_key(|pod| std::cmp::Reverse(get_ordinal(pod)));
        let mut in_order = replicas.iter().chain(condemned.iter().rev());
        let first_unavailable = in_order.find(|pod| available.is_unavailable(pod));
        let first_unavailable = first_unavailable.map(|pod| name(pod).to_owned());
        Round {
            set,
            update_revision: name(&revisions.update),
            available,
            monotonic: !allows_burst(set),
            first_unavailable,
            compared: AtomicUsize::new(0),
            replicas,
            condemned,
            update_set,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Json> {
        self.replicas.iter().chain(&self.condemned)
    }

    /// Is the pod at this place updated? From upstream's `updateMin` on.
    fn is_updated(&self, at: usize) -> bool {
        i64::try_from(at).is_ok_and(|at| at >= partition(self.set))
    }

    /// Is it of another revision than it is to be, so that it is replaced?
    fn is_outdated(&self, pod: &Json) -> bool {
        get_pod_revision(pod) != self.update_revision && !is_terminating(pod)
    }

    fn rolls(&self) -> bool {
        self.set["spec"]["updateStrategy"]["type"] != "OnDelete"
    }
}

/// `runForAll`: must the caller stop here?
async fn run_for_all<'a>(
    monotonic: bool,
    count: usize,
    one: impl Fn(usize) -> Member<'a, Result<bool, SyncError>>,
) -> Result<bool, SyncError> {
    if !monotonic {
        return slow_start_batch(count, one).await.map(|()| false);
    }
    for at in 0..count {
        if one(at).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `slowStartBatch`: batches, each twice as large as the one before; after one with an error there is no other.
async fn slow_start_batch<'a>(
    count: usize,
    one: impl Fn(usize) -> Member<'a, Result<bool, SyncError>>,
) -> Result<(), SyncError> {
    let (mut at, mut size) = (0, 1);
    while at < count {
        let end = count.min(at + size);
        let done = wait_group((at..end).map(&one).collect()).await;
        if let Some(error) = done.into_iter().find_map(Result::err) {
            return Err(error);
        }
        at = end;
        size = MAX_BATCH_SIZE.min(2 * size);
    }
    Ok(())
}

impl StatefulSetControl {
    /// Upstream's `updateStatefulSet`: the status to write, whatever came of it.
    pub(super) async fn update_pods(
        &self,
        rx: Rx,
        set: &Json,
        pods: &[Stored],
        revisions: &Revisions,
        available: Availability,
    ) -> (SetStatus, Result<(), SyncError>) {
        let uids = pods.iter().map(|pod| Arc::from(pod.object.uid()));
        rx.note(UpdatesSet {
            set: key(set),
            uid: uid(set).into(),
            pods: uids.collect(),
        });
        let (current, update) = (name(&revisions.current), name(&revisions.update));
        let mut status = SetStatus::new(set, current, update, revisions.collisions);
        let waits = || self.defects.has(StatefulSetDefect::WaitsForBrokenPod);
        let round = Round::new(set, pods, revisions, available, waits);
        if is_terminating(set) {
            let trees: Vec<Json> = pods.iter().map(Stored::json).collect();
            status.count(trees.iter(), available);
            return (status, Ok(()));
        }
        let processed = self.process(rx, &round).await;
        let names = pods.iter().map(|pod| pod.object.name());
        let left = self.delete_left_claims(rx, set, names).await;
        let processed = processed.and_then(|stops| left.map(|()| stops));
        status.count(round.all(), available);
        let updated = match processed {
            Ok(false) if round.rolls() => self.update_outdated(rx, &round, &mut status).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        (status, updated)
    }

    /// Makes what is missing, and deletes what is too much: was it stopped on the way?
    async fn process(&self, rx: Rx, round: &Round<'_>) -> Result<bool, SyncError> {
        let monotonic = round.monotonic;
        let replica = |at| Box::pin(self.process_replica(rx, round, at)) as Member<'_, _>;
        let stops = run_for_all(monotonic, round.replicas.len(), replica).await;
        if !matches!(stops, Ok(false)) {
            let fixed = self.fix_claims_at_once(rx, round).await;
            return stops.and_then(|stops| fixed.map(|()| stops));
        }
        let claim = |at| Box::pin(self.fix_pod_claim(rx, round, at)) as Member<'_, _>;
        if run_for_all(monotonic, round.condemned.len(), claim).await? {
            return Ok(true);
        }
        let condemned = |at| Box::pin(self.process_condemned(rx, round, at)) as Member<'_, _>;
        run_for_all(monotonic, round.condemned.len(), condemned).await
    }

    /// `processReplica`
    async fn process_replica(
        &self,
        rx: Rx,
        round: &Round<'_>,
        at: usize,
    ) -> Result<bool, SyncError> {
        let (set, pod) = (round.set, &round.replicas[at]);
        let control = &self.pod_control;
        if has_ended(pod) {
            if !is_terminating(pod) {
                self.delete(rx, round, pod, Why::Ended).await?;
            }
            return Ok(true);
        }
        if !is_created(pod) {
            if control.pod_claim_is_stale(rx, set, pod) {
                // Upstream is not told when it is gone.
                if self.defects.has(StatefulSetDefect::FixLookAgainForClaims) {
                    QUEUE.add_after(rx, key(set), LOOK_AGAIN);
                }
                return Ok(true);
            }
            let makes = makes(round, at);
            control.create_stateful_pod(rx, set, pod, makes).await?;
            if round.monotonic {
                return Ok(true);
            }
        }
        if is_pending(pod) {
            let made = control.create_missing_persistent_volume_claims(rx, set, pod);
            made.await?;
        }
        if round.monotonic && self.is_broken(round, at) {
            self.delete(rx, round, pod, Why::Update).await?;
            return Ok(true);
        }
        let waits = is_terminating(pod)
            || !is_running_and_ready(pod)
            || !round.available.is_running_and_available(pod);
        if round.monotonic && waits && !self.defects.has(StatefulSetDefect::PodsDoNotWait) {
            return Ok(true);
        }
        round.compared.fetch_max(at + 1, Ordering::Relaxed);
        let matches = control.claims_match_retention_policy(rx, &round.update_set, pod);
        if identity_matches(set, pod) && storage_matches(set, pod) && matches {
            return Ok(false);
        }
        control
            .update_stateful_pod(rx, &round.update_set, pod.clone())
            .await?;
        Ok(false)
    }

    /// Our proposal: a pod that is not ready and is to be replaced anyway is not waited for.
    fn is_broken(&self, round: &Round<'_>, at: usize) -> bool {
        let pod = &round.replicas[at];
        is_created(pod)
            && !is_running_and_ready(pod)
            && round.is_outdated(pod)
            && round.is_updated(at)
            && round.rolls()
            && !self.defects.has(StatefulSetDefect::WaitsForBrokenPod)
    }

    /// Our proposal: what becomes of claims waits for no pod. Those of earlier pods were compared, and perhaps written, before.
    async fn fix_claims_at_once(&self, rx: Rx, round: &Round<'_>) -> Result<(), SyncError> {
        let (set, control) = (&round.update_set, &self.pod_control);
        let mut fixed = Ok(());
        let left = round.all().skip(round.compared.load(Ordering::Relaxed));
        for pod in left.filter(|pod| is_created(pod)) {
            let differs = !control.claims_match_retention_policy(rx, set, pod);
            if differs && self.defects.has(StatefulSetDefect::FixClaimsFollowAtOnce) {
                let update = control.update_pod_claim_for_retention_policy(rx, set, pod);
                fixed = fixed.and(update.await);
            }
        }
        fixed
    }

    async fn fix_pod_claim(&self, rx: Rx, round: &Round<'_>, at: usize) -> Result<bool, SyncError> {
        let (set, pod) = (&round.update_set, &round.condemned[at]);
        let control = &self.pod_control;
        if !control.claims_match_retention_policy(rx, set, pod) {
            control
                .update_pod_claim_for_retention_policy(rx, set, pod)
                .await?;
        }
        Ok(false)
    }

    /// `processCondemned`
    async fn process_condemned(
        &self,
        rx: Rx,
        round: &Round<'_>,
        at: usize,
    ) -> Result<bool, SyncError> {
        let pod = &round.condemned[at];
        if is_terminating(pod) {
            return Ok(round.monotonic);
        }
        let is_first = round.first_unavailable.as_deref() == Some(name(pod));
        let is_well = is_running_and_ready(pod) && round.available.is_running_and_available(pod);
        if round.monotonic && !is_well && !is_first {
            return Ok(true);
        }
        self.delete(rx, round, pod, Why::ScaledDown).await?;
        Ok(true)
    }

    /// The highest pod that is not of the revision that it is to be of is replaced, once those above it are available.
    async fn update_outdated(
        &self,
        rx: Rx,
        round: &Round<'_>,
        status: &mut SetStatus,
    ) -> Result<(), SyncError> {
        for (at, pod) in round.replicas.iter().enumerate().rev() {
            if !round.is_updated(at) {
                break;
            }
            if round.is_outdated(pod) {
                self.delete(rx, round, pod, Why::Update).await?;
                let is_counted = get_pod_revision(pod) == status.current_revision();
                if is_counted || !self.defects.has(StatefulSetDefect::FixCountCurrentPods) {
                    status.lower_current();
                }
                break;
            }
            if round.available.is_unavailable(pod) {
                break;
            }
        }
        Ok(())
    }

    async fn delete(
        &self,
        rx: Rx,
        round: &Round<'_>,
        pod: &Json,
        why: Why,
    ) -> Result<(), SyncError> {
        self.pod_control
            .delete_stateful_pod(rx, pod, why, round.update_revision)
            .await
    }
}

/// A pod is about to be made.
fn makes(round: &Round<'_>, at: usize) -> MakesPod {
    let pod = &round.replicas[at];
    let before = round.replicas[..at].iter().map(|own| Arc::from(uid(own)));
    let before = round.monotonic.then(|| before.collect());
    let names = claim_names(round.set, get_ordinal(pod).unwrap_or(-1));
    let claim = |claim: &String| format!("{}/{claim}", namespace(pod)).into();
    MakesPod {
        set: key(round.set),
        pod: key(pod),
        before,
        claims: names.iter().map(|(name, _)| claim(name)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// So many, of which the one at this place fails, and the one at that place stops: which are tried.
    fn tried(monotonic: bool, count: usize, fails: usize, stops: usize) -> (u64, bool) {
        thread_local!(static TRIED: Cell<u64> = const { Cell::new(0) });
        TRIED.set(0);
        let one = |at| {
            TRIED.set(TRIED.get() | 1_u64 << at);
            let why = SyncError::Worded("no".to_owned());
            let done = if at == fails {
                Err(why)
            } else {
                Ok(at == stops)
            };
            Box::pin(std::future::ready(done)) as Member<'_, _>
        };
        let mut all = pin!(run_for_all(monotonic, count, one));
        match all.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => (TRIED.get(), done.is_err() || done == Ok(true)),
            Poll::Pending => unreachable!("nothing waits"),
        }
    }

    #[test]
    fn an_ordered_set_stops_at_the_first_and_another_doubles_its_batches() {
        assert_eq!(tried(true, 4, 9, 1), (0b11, true));
        assert_eq!(tried(true, 4, 9, 9), (0b1111, false));
        assert_eq!(tried(false, 7, 9, 1), (0b111_1111, false));
        assert_eq!(tried(false, 8, 1, 9), (0b111, true));
    }
}
