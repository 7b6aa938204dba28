//! The algorithm (`pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go`): with each change of a ClusterRole all
//! that are aggregated are looked at, and the rules of one that has others than it should have are applied.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::CLUSTER_ROLES;
use wavetank_api::{Method, Request, Status, Stored};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::elected::process_next_work_item;
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::AggregationDefect;
use super::notes::Aggregates;
use super::rules::{
    Left, aggregate, aggregation_rule, are_equal, rule_exists, rules, to_apply_policy_rule,
};
use crate::controller::{Controller, ControllerContext, Work};

/// Its name in `--controllers`, and that of the service account that it works as and of its field manager.
pub(super) const CONTROLLER: &str = "clusterrole-aggregation-controller";
/// The second argument of `Run`.
const WORKERS: u32 = 5;
const APPLY_PATCH: &str = "application/apply-patch+yaml";

const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "ClusterRoleAggregator");

/// The controller.
#[derive(Debug)]
struct ClusterRoleAggregationController {
    rest: RestClient,
    defects: Set<AggregationDefect>,
    roles: Lister,
}

/// `enqueue`
fn enqueue(rx: Rx, roles: Lister, notice: &Notice, defects: Set<AggregationDefect>) {
    let changed = notice.key();
    for role in roles.list(rx) {
        let name: Item = role.object.name().into();
        let is_meant = !defects.has(AggregationDefect::RolesWakeThemselves) || name == changed;
        if is_meant && aggregation_rule(role.object.json()).is_some() {
            QUEUE.add(rx, name);
        }
    }
}

impl ClusterRoleAggregationController {
    /// Upstream's `NewClusterRoleAggregation`
    fn new(cx: &mut ControllerContext) -> ClusterRoleAggregationController {
        let defects: Set<AggregationDefect> = cx.defects.of();
        let mut informer = cx.informers.informer_for(&CLUSTER_ROLES);
        let roles = informer.lister();
        informer.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                enqueue(rx, roles, notice, defects);
            })),
            ..HandlerSpec::new("clusterroleaggregation")
        });
        ClusterRoleAggregationController {
            rest: cx.rest.clone(),
            defects,
            roles,
        }
    }

    /// `syncClusterRole`
    async fn sync_cluster_role(&self, rx: Rx, name: Item) -> Result<(), Failure> {
        let Some(shared) = self.roles.get(rx, &name) else {
            return Ok(());
        };
        let shared = shared.object.json();
        if aggregation_rule(shared).is_none() {
            return Ok(());
        }
        let all: Vec<Stored> = self.roles.list(rx);
        let left = Left {
            own: self.defects.has(AggregationDefect::SelectsItself),
            twice: self.defects.has(AggregationDefect::RulesAreAddedTwice),
        };
        let new = aggregate(shared, all.iter().map(|role| role.object.json()), left);
        let new = new.ok_or_else(|| {
            Failure::Status(Status::new_internal_error(
                "not a valid label selector operator",
            ))
        })?;
        if are_equal(&new, rules(shared)) || self.takes_for_equal(&new, rules(shared)) {
            return Ok(());
        }
        self.apply_cluster_roles(rx, name, &new).await
    }

    fn takes_for_equal(&self, new: &[Json], old: &[Json]) -> bool {
        let is_there = |rule: &Json| rule_exists(old, rule);
        self.defects.has(AggregationDefect::SurplusRulesStay) && new.iter().all(is_there)
    }

    /// `applyClusterRoles`. Upstream leaves `rules` out where there are none; with the fix it says that there are none.
    async fn apply_cluster_roles(&self, rx: Rx, name: Item, new: &[Json]) -> Result<(), Failure> {
        rx.note(Aggregates {
            role: name.clone(),
            rules: new.len(),
        });
        let mut applied = json!({
            "apiVersion": CLUSTER_ROLES.api_version(),
            "kind": CLUSTER_ROLES.kind,
            "metadata": {"name": &*name},
        });
        if !new.is_empty() || self.defects.has(AggregationDefect::FixApplyNoRules) {
            applied["rules"] = new.iter().map(to_apply_policy_rule).collect();
        }
        let mut patch = Request::new(Method::Patch, CLUSTER_ROLES.path("", &name)).with(applied);
        patch.content_type = Some(APPLY_PATCH.into());
        let patch = patch.ask(&[("fieldManager", CONTROLLER), ("force", "true")]);
        self.rest.request(rx, patch).await.map(drop)
    }
}

impl Controller for ClusterRoleAggregationController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        WORKERS
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.roles.wait_for_cache_sync(rx).await;
            let sync = |name| self.sync_cluster_role(rx, name);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    Arc::new(ClusterRoleAggregationController::new(cx))
}
