//! What an eviction of a pod asks of budgets (`kubernetes/pkg/registry/core/pod/storage/eviction.go`). The requests that
//! it makes are the server's.

use serde_json::json;

use super::POD_DISRUPTION_BUDGETS;
use super::deployments::label_selector_as_selector;
use crate::json::{self, Json};
use crate::status::{Cause, Status};
use crate::times::Stamp;

/// `MaxDisruptedPodSize`
const MOST_DISRUPTED: usize = 2000;
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

fn is_over(pod: &Json) -> bool {
    let phase = json::text(pod, &["status", "phase"]);
    matches!(phase, "Succeeded" | "Failed")
        || !json::text(pod, &["metadata", "deletionTimestamp"]).is_empty()
}

/// `canIgnorePDB`: does nothing depend on the pod that a budget could guard?
pub fn can_ignore_pdb(pod: &Json) -> bool {
    is_over(pod) || json::text(pod, &["status", "phase"]) == "Pending"
}

/// `shouldEnforceResourceVersion`: may the pod become one that a budget guards?
pub fn should_enforce_resource_version(pod: &Json) -> bool {
    !is_over(pod)
}

/// Does a budget select this pod?
pub fn guards(budget: &Json, pod: &Json) -> bool {
    let namespace = |of| json::text(of, &["metadata", "namespace"]).to_owned();
    // Without a selector it selects nothing, with an empty one everything.
    let selector = json::at(budget, &["spec", "selector"]).filter(|own| !own.is_null());
    let selector = selector.and_then(label_selector_as_selector);
    namespace(budget) == namespace(pod) && selector.is_some_and(|own| own.matches(pod))
}

/// May a pod that is not ready go, whatever the budget has left?
pub fn may_go_unready(budget: &Json, pod: &Json) -> bool {
    let mut conditions = json::list(pod, &["status", "conditions"]).iter();
    let ready = conditions.find(|own| json::text(own, &["type"]) == "Ready");
    if ready.is_some_and(|own| json::text(own, &["status"]) == "True") {
        return false;
    }
    if json::text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow" {
        return true;
    }
    let healthy = |field| status(budget, field);
    healthy("currentHealthy") >= healthy("desiredHealthy") && healthy("desiredHealthy") > 0
}

fn status(budget: &Json, field: &str) -> i64 {
    json::number(budget, &["status", field]).unwrap_or(0)
}

fn with_cause(mut refusal: Status, message: String) -> Status {
    refusal.details.get_or_insert_default().causes.push(Cause {
        reason: "DisruptionBudget".to_owned(),
        message,
        field: String::new(),
    });
    refusal
}

/// `createTooManyRequestsError`
pub fn create_too_many_requests_error(budget: &str) -> Status {
    let why = format!("The disruption budget {budget} is still being processed by the server.");
    with_cause(Status::new_too_many_requests(VIOLATES, 10), why)
}

/// Is its status about what it was before its spec was changed?
pub fn is_behind(budget: &Json) -> bool {
    let generation = json::number(budget, &["metadata", "generation"]).unwrap_or(0);
    status(budget, "observedGeneration") < generation
}

/// `checkAndDecrement`: the budget with one disruption less, of this pod.
///
/// # Errors
/// 429 if it has none left or is not known yet, 403 if it makes no sense.
pub fn check_and_decrement(budget: &Json, pod: &str, now: Stamp) -> Result<Json, Status> {
    let name = json::text(budget, &["metadata", "name"]);
    if is_behind(budget) {
        return Err(create_too_many_requests_error(name));
    }
    let forbidden = |why: &str| {
        let resource = crate::Resource {
            plural: "poddisruptionbudget",
            ..POD_DISRUPTION_BUDGETS
        };
        Status::new_forbidden(&resource, name, why)
    };
    let allowed = status(budget, "disruptionsAllowed");
    if allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative"));
    }
    let disrupted = json::at(budget, &["status", "disruptedPods"]).and_then(Json::as_object);
    if disrupted.is_some_and(|pods| pods.len() > MOST_DISRUPTED) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(forbidden(why));
    }
    if allowed == 0 {
        return Err(with_cause(
            Status::new_too_many_requests(VIOLATES, 0),
            why_none(budget, name),
        ));
    }
    let mut decremented = budget.clone();
    json::set(
        &mut decremented,
        &["status", "disruptionsAllowed"],
        allowed - 1,
    );
    if allowed == 1 {
        update_disruption_allowed_condition(&mut decremented, now);
    }
    json::set(
        &mut decremented,
        &["status", "disruptedPods", pod],
        now.seconds(),
    );
    Ok(decremented)
}

/// Why there is no disruption left.
fn why_none(budget: &Json, name: &str) -> String {
    let mut conditions = json::list(budget, &["status", "conditions"]).iter();
    let found = conditions.find(|own| json::text(own, &["type"]) == DISRUPTION_ALLOWED);
    let said = |field| found.map_or("", |found| json::text(found, &[field]));
    let (message, reason) = (said("message"), said("reason"));
    let refuses = said("status") == "False" && !message.is_empty();
    let not = format!("The disruption budget {name} does not allow evicting pods currently");
    let (wanted, healthy) = (
        status(budget, "desiredHealthy"),
        status(budget, "currentHealthy"),
    );
    match () {
        () if refuses && reason == "SyncFailed" => {
            format!("{not} because it failed sync: {message}")
        }
        () if healthy <= wanted => format!(
            "The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        ),
        () if refuses => format!("{not} ({reason}): {message}"),
        () => not,
    }
}

/// `UpdateDisruptionAllowedCondition`
pub fn update_disruption_allowed_condition(budget: &mut Json, now: Stamp) {
    const CONDITIONS: [&str; 2] = ["status", "conditions"];
    let (state, reason) = match status(budget, "disruptionsAllowed") {
        allowed if allowed > 0 => ("True", "SufficientPods"),
        _ => ("False", "InsufficientPods"),
    };
    let mut condition = json!({
        "type": DISRUPTION_ALLOWED,
        "status": state,
        "reason": reason,
        "message": "",
        "lastTransitionTime": now.seconds(),
    });
    let observed = status(budget, "observedGeneration");
    if observed != 0 {
        condition["observedGeneration"] = observed.into();
    }
    let mut all = json::list(budget, &CONDITIONS).to_vec();
    match all
        .iter_mut()
        .find(|own| json::text(own, &["type"]) == DISRUPTION_ALLOWED)
    {
        Some(own) => {
            if own.get("status") == condition.get("status") {
                let before = own.get("lastTransitionTime").cloned();
                condition["lastTransitionTime"] = before.unwrap_or_default();
            }
            *own = condition;
        }
        None => all.push(condition),
    }
    json::set(budget, &CONDITIONS, all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(allowed: i64) -> Json {
        json!({
            "metadata": {"name": "b", "namespace": "a", "generation": 1},
            "spec": {"selector": {"matchLabels": {"app": "x"}}},
            "status": {
                "observedGeneration": 1, "disruptionsAllowed": allowed,
                "currentHealthy": 2, "desiredHealthy": 1,
            },
        })
    }

    fn now() -> Stamp {
        Stamp::parse("2026-01-01T00:00:00Z").expect("an instant")
    }

    #[test]
    fn a_budget_is_spent_and_then_refuses() {
        let spent = check_and_decrement(&budget(1), "p", now()).expect("one is left");
        assert_eq!(spent["status"]["disruptionsAllowed"], 0);
        assert_eq!(
            spent["status"]["disruptedPods"]["p"],
            "2026-01-01T00:00:00Z"
        );
        assert_eq!(
            spent["status"]["conditions"][0]["reason"],
            "InsufficientPods"
        );
        let refused = check_and_decrement(&spent, "q", now()).expect_err("none is left");
        assert_eq!((refused.code, refused.retry_after()), (429, None));
        let details = refused.details.expect("it says why");
        let why = "The disruption budget b does not allow evicting pods currently";
        assert_eq!(details.causes[0].message, why);
    }

    #[test]
    fn a_budget_that_is_not_observed_yet_refuses_for_a_while() {
        let mut changed = budget(1);
        json::set(&mut changed, &["metadata", "generation"], 2);
        let refused = check_and_decrement(&changed, "p", now()).expect_err("nobody knows");
        assert_eq!((refused.code, refused.retry_after()), (429, Some(10)));
    }

    #[test]
    fn a_budget_guards_what_it_selects_in_its_namespace() {
        let pod = |namespace: &str, app: &str| json!({"metadata": {"namespace": namespace, "labels": {"app": app}}});
        assert!(guards(&budget(0), &pod("a", "x")));
        assert!(!guards(&budget(0), &pod("b", "x")) && !guards(&budget(0), &pod("a", "y")));
        let mut none = budget(0);
        json::remove(&mut none, &["spec", "selector"]);
        assert!(!guards(&none, &pod("a", "x")));
    }

    #[test]
    fn an_unready_pod_may_go_where_enough_others_are_ready() {
        let unready = json!({"status": {"phase": "Running"}});
        assert!(may_go_unready(&budget(0), &unready));
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert!(!may_go_unready(&budget(0), &ready));
        let mut few = budget(0);
        json::set(&mut few, &["status", "currentHealthy"], 0);
        assert!(!may_go_unready(&few, &unready));
        json::set(
            &mut few,
            &["spec", "unhealthyPodEvictionPolicy"],
            "AlwaysAllow",
        );
        assert!(may_go_unready(&few, &unready));
    }
}
