//! What an update of a set is (`UpdateStatefulSet` of `pkg/controller/statefulset/stateful_set_control.go`): which revisions
//! it has, what becomes of its pods, its status, and which revisions are forgotten. What becomes of pods is in `replicas`.

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::STATEFUL_SETS;
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Object, Stored};
use wavetank_client::informer::Lister;
use wavetank_engine::Rx;
use wavetank_version::Set;

use super::defects::StatefulSetDefect;
use super::notes::TruncatesHistory;
use super::pod_control::StatefulPodControl;
use super::status::SetStatus;
use super::util::{Availability, apply_revision, get_pod_revision, name};
use crate::controller_utils::{
    ControllerRef, History, RevisionData, SyncError, equal_revision, get_patch, is_controlled_by,
};

/// `defaultStatefulSetControl`, with its `realStatefulSetStatusUpdater`.
#[derive(Clone, Debug)]
pub(super) struct StatefulSetControl {
    pub pod_control: StatefulPodControl,
    pub history: History,
    pub sets: Lister,
    pub defects: Set<StatefulSetDefect>,
}

/// What `getStatefulSetRevisions` finds.
#[derive(Clone, Debug)]
pub(super) struct Revisions {
    pub current: Json,
    pub update: Json,
    pub collisions: i64,
}

/// What a set refers to itself with.
pub(super) fn controller_ref(set: &Object) -> ControllerRef<'_> {
    ControllerRef {
        of: &STATEFUL_SETS,
        object: set,
    }
}

/// `newRevision`
fn new_revision(set: &Object, revision: i64, collisions: i64) -> Json {
    let field = |path: &[&str]| json::at(set.json(), path).cloned().unwrap_or_default();
    let of = RevisionData {
        labels: field(&["spec", "template", "metadata", "labels"]),
        annotations: field(&["metadata", "annotations"]),
        data: get_patch(set.json()),
    };
    History::new_controller_revision(controller_ref(set), of, revision, collisions)
}

/// `nextRevision`
fn next_revision(revisions: &[Stored]) -> i64 {
    let last = revisions.last();
    let last = last.and_then(|own| json::number(own.object.json(), &["revision"]));
    last.unwrap_or(0) + 1
}

/// `setMatchesLatestExistingRevision`, without its memory.
fn set_matches_latest_existing_revision(set: &Object, proposed: &Json, latest: &Stored) -> bool {
    let mut latest = apply_revision(set.json(), latest.object.json());
    STATEFUL_SETS.strategy.default(&mut latest);
    proposed.get("data") == Some(&get_patch(&latest))
}

impl StatefulSetControl {
    /// `ListRevisions`, sorted.
    pub fn list_revisions(&self, rx: Rx, set: &Object, selector: &LabelSelector) -> Vec<Stored> {
        self.history
            .list_controller_revisions(rx, controller_ref(set), selector)
    }

    /// `UpdateStatefulSet`
    pub async fn update_stateful_set(
        &self,
        rx: Rx,
        set: &Stored,
        pods: &[Stored],
        selector: &LabelSelector,
        available: Availability,
    ) -> Result<SetStatus, SyncError> {
        let revisions = self.list_revisions(rx, &set.object, selector);
        let found = self.get_stateful_set_revisions(rx, &set.object, &revisions);
        let found = found.await;
        let performed = match &found {
            Ok(found) => self.perform_update(rx, set, pods, found, available).await,
            Err(error) => Err(error.clone()),
        };
        let truncated = self.truncate_history(rx, set, pods, &revisions, found.as_ref().ok());
        let truncated = truncated.await;
        let status = performed?;
        truncated.map(|()| status)
    }

    /// `performUpdate`: the status is written even if something went wrong.
    async fn perform_update(
        &self,
        rx: Rx,
        set: &Stored,
        pods: &[Stored],
        revisions: &Revisions,
        available: Availability,
    ) -> Result<SetStatus, SyncError> {
        let json = set.json();
        let updated = self.update_pods(rx, &json, pods, revisions, available);
        let (mut status, updated) = updated.await;
        let written = self.update_stateful_set_status(rx, &json, &mut status);
        let written = written.await;
        updated?;
        written.map(|()| status)
    }

    /// `getStatefulSetRevisions`
    async fn get_stateful_set_revisions(
        &self,
        rx: Rx,
        set: &Object,
        revisions: &[Stored],
    ) -> Result<Revisions, SyncError> {
        let collisions = json::number(set.json(), &["status", "collisionCount"]).unwrap_or(0);
        let proposed = new_revision(set, next_revision(revisions), collisions);
        let mut equal = revisions.iter();
        let equal = equal.rfind(|own| equal_revision(own.object.json(), &proposed));
        let latest = revisions.last();
        let (update, collisions) = match (equal, latest) {
            (Some(equal), Some(latest))
                if equal_revision(equal.object.json(), latest.object.json()) =>
            {
                (latest.json(), collisions)
            }
            (Some(equal), _) => {
                let number = json::number(&proposed, &["revision"]).unwrap_or(0);
                let rolled_back = self.history.update_controller_revision(rx, equal, number);
                (rolled_back.await?, collisions)
            }
            (None, Some(latest))
                if set_matches_latest_existing_revision(set, &proposed, latest) =>
            {
                (latest.json(), collisions)
            }
            (None, _) => {
                let collides = || self.defects.has(StatefulSetDefect::EqualRevisionCollides);
                self.history
                    .create_controller_revision(rx, set, &proposed, collisions, collides)
                    .await?
            }
        };
        let named = json::text(set.json(), &["status", "currentRevision"]);
        let current = revisions.iter().find(|own| own.object.name() == named);
        let current = match current.map(Stored::json) {
            None if !named.is_empty() => self.look_for_current_revision(rx, set, named).await?,
            current => current,
        };
        Ok(Revisions {
            current: current.unwrap_or_else(|| update.clone()),
            update,
            collisions,
        })
    }

    /// What is called the current revision, and is not in the cache: not yet there, or gone.
    async fn look_for_current_revision(
        &self,
        rx: Rx,
        set: &Object,
        named: &str,
    ) -> Result<Option<Json>, SyncError> {
        let fix = StatefulSetDefect::FixLookForTheCurrentRevision;
        if !self.defects.has(fix) {
            return Ok(None);
        }
        let found = self
            .history
            .look_for_controller_revision(rx, set.namespace(), named);
        let found = found.await?.filter(|own| is_controlled_by(own, set.uid()));
        Ok(found)
    }

    /// `truncateHistory`
    async fn truncate_history(
        &self,
        rx: Rx,
        set: &Stored,
        pods: &[Stored],
        revisions: &[Stored],
        live: Option<&Revisions>,
    ) -> Result<(), SyncError> {
        let names = revisions.iter().map(|own| own.object.name().into());
        rx.note(TruncatesHistory {
            set: set.object.uid().into(),
            revisions: names.collect(),
        });
        let is_live = |revision: &str| {
            let named = live.into_iter().flat_map(|own| [&own.current, &own.update]);
            let mut of_pods = pods.iter().map(|pod| get_pod_revision(pod.object.json()));
            named.map(name).any(|own| own == revision) || of_pods.any(|own| own == revision)
        };
        let old = revisions.iter().filter(|own| !is_live(own.object.name()));
        let old: Vec<_> = old.collect();
        let limit = json::number(set.object.json(), &["spec", "revisionHistoryLimit"]);
        let Ok(limit) = usize::try_from(limit.unwrap_or(0)) else {
            return Ok(());
        };
        if old.len() <= limit || self.defects.has(StatefulSetDefect::HistoryIsKept) {
            return Ok(());
        }
        for revision in &old[..old.len() - limit] {
            self.history
                .delete_controller_revision(rx, &revision.object)
                .await?;
        }
        Ok(())
    }
}
