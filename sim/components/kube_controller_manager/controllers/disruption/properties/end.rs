//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::pod_eviction::guards;
use wavetank_api::kinds::{
    DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS,
};
use wavetank_api::{Object, Resource, Stamp};
use wavetank_engine::{Check, Note, Property, Stable, Time, World};
use wavetank_etcd::Change;

use super::super::controller::CONTROLLER;
use super::super::notes::{TakesBackDisruption, WritesBudget};
use super::super::stale::non_terminating_pod_has_stale_disruption_condition;
use super::super::status::{
    Counted, Disrupted, SYNC_FAILED, conditions_are_up_to_date, deletion_is_expected,
    disrupted_pods, disruption_allowed,
};
use super::super::sync::{asks_for_scale, expected};
use super::CHANGES_SETTLE_WITHIN;
use super::scales::{expected_scale, is_custom};
use crate::controller_utils::{is_pod_ready, pod_key};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;
use wavetank_components::changes::{all_changes, is_of};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What is scaled.
const SCALED: [&Resource; 4] = [
    &REPLICATION_CONTROLLERS,
    &REPLICA_SETS,
    &DEPLOYMENTS,
    &STATEFUL_SETS,
];
/// What is due is done a little later.
const SLACK: i64 = 60;

/// Budgets say what is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct BudgetsSayWhatIs {
    after: Duration,
    /// When the last thing changed that budgets are about.
    last: Option<Time>,
}

impl BudgetsSayWhatIs {
    /// The calm has to last so long before they do.
    pub fn after(after: Duration) -> BudgetsSayWhatIs {
        BudgetsSayWhatIs { after, last: None }
    }
}

/// Does it change what a budget has to say? The status that the controller writes does not.
fn matters(change: &Change<Object>) -> bool {
    let [before, now] = [&change.before, &change.now].map(|kv| kv.as_ref().map(|kv| &kv.value));
    if is_of(change, &PODS) || is_custom(change) {
        return true;
    }
    let is_budget = is_of(change, &POD_DISRUPTION_BUDGETS);
    if !is_budget && !SCALED.iter().any(|own| is_of(change, own)) {
        return false;
    }
    let spec = |own: &Object| json::number(own.json(), &["metadata", "generation"]);
    let noted = |own: Option<&Object>| {
        let all = own.map(|own| disrupted_pods(own.json()));
        all.unwrap_or_default()
    };
    let (was, is) = (noted(before), noted(now));
    before.map(spec) != now.map(spec) || is.keys().any(|name| !was.contains_key(name))
}

/// Does a budget say that its sync has failed?
fn has_failed(budget: &Json) -> bool {
    disruption_allowed(budget).is_some_and(|own| own["reason"] == SYNC_FAILED)
}

/// What is wrong with what a budget says.
fn wrong(world: &World, budget: &Object) -> Option<String> {
    let json = budget.json();
    let mut pods = ClusterView(world).all(PODS.registry);
    pods.retain(|pod| guards(json, pod.json()));
    let scale = match asks_for_scale(json) {
        true => expected_scale(world, &pods).map(Some),
        false => Some(None),
    };
    let status = |field: &str| json::number(json, &["status", field]).unwrap_or(0);
    let Some(scale) = scale else {
        let is_said = has_failed(json) && status("disruptionsAllowed") == 0;
        return (!is_said).then(|| "does not say that its sync has failed".to_owned());
    };
    let is_healthy = |pod: &&&Object| !pod.is_being_deleted() && is_pod_ready(pod.json()).is_some();
    let healthy = pods.iter().filter(is_healthy).count();
    let counted = Counted::new(healthy, expected(json, pods.len(), scale), Disrupted::new());
    for (field, count) in counted.counts() {
        let says = status(field);
        if says != count {
            return Some(format!("says {says} of {field}, which is {count}"));
        }
    }
    let generation = json::number(json, &["metadata", "generation"]).unwrap_or(0);
    if status("observedGeneration") != generation {
        return Some("does not say that it is about the newest spec".to_owned());
    }
    (!conditions_are_up_to_date(json)).then(|| "has a condition that says otherwise".to_owned())
}

impl Property for BudgetsSayWhatIs {
    fn name(&self) -> &'static str {
        "budgets-say-what-is"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        (!all_changes(note).iter().any(matters)).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if self.glance(world, note).is_none() {
            self.last = Some(world.now());
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let is_late = self
            .last
            .is_some_and(|last| last + CHANGES_SETTLE_WITHIN > world.now());
        if is_late || !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let mut checked = Check::Idle;
        for budget in ClusterView(world).all(POD_DISRUPTION_BUDGETS.registry) {
            if let Some(wrong) = wrong(world, budget) {
                let name = budget.name();
                return violated("budget", name, format!("the budget {name} {wrong}"));
            }
            checked = Check::Held;
        }
        checked
    }
}

fn are_not_noted(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    let before = Stamp::of(world.now()).plus_seconds(-SLACK);
    let mut budgets = ClusterView(world).all(POD_DISRUPTION_BUDGETS.registry);
    budgets.retain(|budget| !has_failed(budget.json()));
    for budget in budgets {
        for (pod, since) in disrupted_pods(budget.json()) {
            if deletion_is_expected(since) < before {
                let name = budget.name();
                let message = format!(
                    "the budget {name} notes since {} that the pod {pod} is about to go",
                    since.seconds()
                );
                return violated("budget", name, message);
            }
        }
        checked = Check::Held;
    }
    checked
}

pub(super) fn noted_pods_go(after: Duration) -> Stable {
    Stable::new("noted-pods-go", after, |_, _| Check::Idle, are_not_noted)
}

fn say_nothing_stale(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    let before = Stamp::of(world.now()).plus_seconds(-SLACK);
    for pod in ClusterView(world).all(PODS.registry) {
        let left = non_terminating_pod_has_stale_disruption_condition(pod, before);
        if left.is_some_and(|left| left.is_zero()) {
            let key = pod_key(pod);
            let message = format!("the pod {key} says that it is about to go, and stays");
            return violated("pod", &key, message);
        }
        checked = Check::Held;
    }
    checked
}

pub(super) fn stale_disruptions_go(after: Duration) -> Stable {
    Stable::new(
        "stale-disruptions-go",
        after,
        |_, _| Check::Idle,
        say_nothing_stale,
    )
}

/// No budget: a change of a pod, or of what is scaled, may concern any.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    if is_of(change, &PODS) || SCALED.iter().any(|own| is_of(change, own)) {
        return vec![ANY.into()];
    }
    let rest = change.key.strip_prefix(POD_DISRUPTION_BUDGETS.registry);
    let name = rest.and_then(|rest| rest.strip_prefix('/'));
    name.map(Subject::from).into_iter().collect()
}

const REST: Rest = Rest {
    property: "budgets-are-quiet",
    controller: CONTROLLER,
    kind: "budget",
    acts: |name| format!("the status of {name} is written"),
    act: |note| {
        let budget = note.body.get().map(|WritesBudget { budget, .. }| budget);
        let pod = || note.body.get().map(|TakesBackDisruption { pod, .. }| pod);
        let name = budget.or_else(pod)?;
        Some(Act {
            on: name.clone(),
            name: name.clone(),
        })
    },
    concerns,
    follows: |_, budget, changed| changed.contains(ANY) || changed.contains(budget),
};

pub(super) fn budgets_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
