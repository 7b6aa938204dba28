//! Templates that a set had (`constructHistory` and what it calls, of `pkg/controller/daemon/update.go`).

use std::collections::BTreeSet;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONTROLLER_REVISIONS, DAEMON_SETS};
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Method, Object, Reason, Request, Stored};
use wavetank_engine::Rx;

use super::controller::{DaemonSetsController, Synced, controller_ref};
use super::defects::DaemonSetDefect;
use super::util::{HASH_LABEL, hash_of, of_spec};
use crate::controller_utils::{Claimed, SyncError, compute_hash, get_patch};

const MERGE_PATCH: &str = "application/merge-patch+json";

fn revision(of: &Json) -> i64 {
    json::number(of, &["revision"]).unwrap_or(0)
}

fn name(of: &Json) -> &str {
    json::text(of, &["metadata", "name"])
}

/// Upstream's `Match`
fn matches(set: &Json, history: &Json) -> bool {
    history.get("data") == Some(&get_patch(set))
}

impl DaemonSetsController {
    /// `constructHistory`: the revision of the newest template, and all others.
    pub(super) async fn construct_history(
        &self,
        rx: Rx,
        set: &Object,
        selector: &LabelSelector,
    ) -> Result<(Json, Vec<Json>), SyncError> {
        let (mut current, mut old) = (Vec::new(), Vec::new());
        for history in self.controlled_histories(rx, set, selector).await? {
            let mut history = history.json();
            if hash_of(&history).is_empty() {
                let own = name(&history).to_owned();
                json::set(&mut history, &["metadata", "labels", HASH_LABEL], own);
                history = self.put_revision(rx, set, history).await?;
            }
            match matches(set.json(), &history) {
                true => current.push(history),
                false => old.push(history),
            }
        }
        let number = old.iter().map(revision).max().unwrap_or(0) + 1;
        if current.is_empty() {
            return Ok((self.snapshot(rx, set, number).await?, old));
        }
        let current = self.dedup_cur_histories(rx, set, selector, current).await?;
        if revision(&current) < number {
            let mut updated = current.clone();
            json::set(&mut updated, &["revision"], number);
            self.put_revision(rx, set, updated).await?;
        }
        Ok((current, old))
    }

    async fn put_revision(&self, rx: Rx, set: &Object, revision: Json) -> Result<Json, SyncError> {
        let path = CONTROLLER_REVISIONS.path(set.namespace(), name(&revision));
        let put = Request::new(Method::Put, path).with(revision);
        Ok(self.rest.object(rx, put).await?.json())
    }

    async fn delete_revision(&self, rx: Rx, set: &Object, name: &str) -> Result<(), SyncError> {
        let path = CONTROLLER_REVISIONS.path(set.namespace(), name);
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let delete = Request::new(Method::Delete, path).with(options);
        self.rest.request(rx, delete).await?;
        Ok(())
    }

    /// `controlledHistories`
    async fn controlled_histories(
        &self,
        rx: Rx,
        set: &Object,
        selector: &LabelSelector,
    ) -> Result<Vec<Stored>, SyncError> {
        let mut all = self.revisions.list(rx);
        all.retain(|own| own.object.namespace() == set.namespace());
        let claimed = Claimed::ControllerRevisions(&self.rest);
        self.ref_manager(set, selector, claimed)
            .claim(rx, all)
            .await
    }

    /// `dedupCurHistories`
    async fn dedup_cur_histories(
        &self,
        rx: Rx,
        set: &Object,
        selector: &LabelSelector,
        all: Vec<Json>,
    ) -> Result<Json, SyncError> {
        // Of equal ones the last.
        let kept = all.iter().max_by_key(|own| revision(own)).cloned();
        let kept = kept.expect("there is one");
        if all.len() == 1 {
            return Ok(kept);
        }
        for pod in self.get_daemon_pods(rx, set, selector).await? {
            if hash_of(pod.object.json()) == hash_of(&kept) {
                continue;
            }
            let patch = json!({"metadata": {"labels": {HASH_LABEL: hash_of(&kept)}}});
            let path = wavetank_api::kinds::PODS.path(pod.object.namespace(), pod.object.name());
            let mut request = Request::new(Method::Patch, path).with(patch);
            request.content_type = Some(MERGE_PATCH.into());
            self.rest.object(rx, request).await?;
        }
        for other in all.iter().filter(|own| name(own) != name(&kept)) {
            self.delete_revision(rx, set, name(other)).await?;
        }
        Ok(kept)
    }

    /// `snapshot`: makes the revision of the newest template, or finds it there.
    async fn snapshot(&self, rx: Rx, set: &Object, number: i64) -> Result<Json, SyncError> {
        let field = |path: &[&str]| json::at(set.json(), path).cloned().unwrap_or_default();
        let collisions = json::number(set.json(), &["status", "collisionCount"]);
        let hash = compute_hash(&field(&["spec", "template"]), collisions);
        let name = format!("{}-{hash}", set.name());
        let mut history = json!({
            "apiVersion": CONTROLLER_REVISIONS.api_version(),
            "kind": CONTROLLER_REVISIONS.kind,
            "metadata": {
                "name": name,
                "namespace": set.namespace(),
                "labels": field(&["spec", "template", "metadata", "labels"]),
                "ownerReferences": [controller_ref(set).json()],
            },
            "data": get_patch(set.json()),
            "revision": number,
        });
        json::set(&mut history, &["metadata", "labels", HASH_LABEL], hash);
        let annotations = field(&["metadata", "annotations"]);
        if annotations.is_object() {
            json::set(&mut history, &["metadata", "annotations"], annotations);
        }
        let post = Request::new(Method::Post, CONTROLLER_REVISIONS.path(set.namespace(), ""));
        let made = self.rest.object(rx, post.with(history)).await;
        let error = match made {
            Err(error) if error.is(Reason::AlreadyExists) => error,
            made => return Ok(made?.json()),
        };
        let get = |path| Request::new(Method::Get, path);
        let path = CONTROLLER_REVISIONS.path(set.namespace(), &name);
        let there = self.rest.object(rx, get(path)).await?.json();
        if matches(set.json(), &there) {
            return Ok(there);
        }
        let path = DAEMON_SETS.path(set.namespace(), set.name());
        let mut fresh = self.rest.object(rx, get(path.clone())).await?.json();
        let counted = json::number(&fresh, &["status", "collisionCount"]);
        if counted != collisions {
            let why = format!(
                "found a stale collision count of DaemonSet \"{}\"",
                set.name()
            );
            return Err(SyncError::Worded(why));
        }
        let more = counted.unwrap_or(0) + 1;
        json::set(&mut fresh, &["status", "collisionCount"], more);
        let put = Request::new(Method::Put, format!("{path}/status")).with(fresh);
        self.rest.object(rx, put).await?;
        Err(error.into())
    }

    /// `cleanupHistory`
    pub(super) async fn cleanup_history(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        old: &[Json],
    ) -> Result<(), SyncError> {
        let pods = self.get_nodes_to_daemon_pods(rx, synced, true).await?;
        let kept = usize::try_from(of_spec(synced.json(), "revisionHistoryLimit")).unwrap_or(0);
        let is_kept = self.defects.has(DaemonSetDefect::DaemonHistoryIsKept);
        if old.len() <= kept || is_kept {
            return Ok(());
        }
        let all = pods.values().flatten();
        let live: BTreeSet<&str> = all.map(|pod| hash_of(pod.object.json())).collect();
        let mut old: Vec<&Json> = old.iter().collect();
        old.sort_by_key(|own| revision(own));
        let most = old.len() - kept;
        let unused = old.into_iter().filter(|own| {
            let hash = hash_of(own);
            hash.is_empty() || !live.contains(hash)
        });
        for history in unused.take(most) {
            self.delete_revision(rx, synced.set, name(history)).await?;
        }
        Ok(())
    }
}
