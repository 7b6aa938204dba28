//! The status of a budget (`updatePdbStatus`, and `k8s.io/component-helpers/apps/poddisruptionbudget`). Pure.

use std::collections::BTreeMap;

use serde_json::json;
use wavetank_api::Stamp;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::pod_eviction::update_disruption_allowed_condition;

use super::controller::DELETION_TIMEOUT;
use super::sync::Expected;

/// The pods that evictions are about to delete, by name, and since when.
pub(super) type Disrupted = BTreeMap<String, Stamp>;

const CONDITIONS: [&str; 2] = ["status", "conditions"];
/// `DisruptionAllowedCondition`
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";
/// `SyncFailedReason`
pub(super) const SYNC_FAILED: &str = "SyncFailed";

/// What a sync has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counted {
    pub healthy: i64,
    pub expected: Expected,
    pub allowed: i64,
    pub disrupted: Disrupted,
}

impl Counted {
    /// How much a budget allows hangs on how many are healthy. One that is about no pods allows nothing.
    pub fn new(healthy: usize, expected: Expected, disrupted: Disrupted) -> Counted {
        let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
        let allowed = match expected.count > 0 {
            true => (healthy - expected.desired).max(0),
            false => 0,
        };
        Counted {
            healthy,
            expected,
            allowed,
            disrupted,
        }
    }

    /// The counts, by field.
    pub fn counts(&self) -> [(&'static str, i64); 4] {
        [
            ("currentHealthy", self.healthy),
            ("desiredHealthy", self.expected.desired),
            ("expectedPods", self.expected.count),
            ("disruptionsAllowed", self.allowed),
        ]
    }
}

/// A field of the spec, if it is given.
pub(super) fn of_spec<'a>(budget: &'a Json, field: &str) -> Option<&'a Json> {
    json::at(budget, &["spec", field]).filter(|value| !value.is_null())
}

fn of_status(budget: &Json, field: &str) -> i64 {
    json::number(budget, &["status", field]).unwrap_or(0)
}

/// `DisruptedPods`
pub(super) fn disrupted_pods(budget: &Json) -> Disrupted {
    let all = json::at(budget, &["status", "disruptedPods"]).and_then(Json::as_object);
    let all = all.into_iter().flatten();
    all.filter_map(|(name, since)| Some((name.clone(), Stamp::parse(since.as_str()?)?)))
        .collect()
}

/// Until when a pod of an eviction is expected to go.
pub(super) fn deletion_is_expected(since: Stamp) -> Stamp {
    since.plus_seconds(DELETION_TIMEOUT.as_secs() as i64)
}

/// The condition that says whether it allows anything.
pub(super) fn disruption_allowed(budget: &Json) -> Option<&Json> {
    let mut all = json::list(budget, &CONDITIONS).iter();
    all.find(|own| own["type"] == DISRUPTION_ALLOWED)
}

/// `ConditionsAreUpToDate`, but for the generation.
pub(super) fn conditions_are_up_to_date(budget: &Json) -> bool {
    let (status, reason) = match of_status(budget, "disruptionsAllowed") > 0 {
        true => ("True", "SufficientPods"),
        false => ("False", "InsufficientPods"),
    };
    disruption_allowed(budget).is_some_and(|own| own["status"] == status && own["reason"] == reason)
}

/// Does the status say this already?
pub(super) fn is_said(budget: &Json, counted: &Counted) -> bool {
    let mut counts = counted.counts().into_iter();
    counts.all(|(field, count)| of_status(budget, field) == count)
        && disrupted_pods(budget) == counted.disrupted
}

/// The budget with this status.
pub(super) fn with_status(budget: &Json, counted: &Counted, now: Stamp) -> Json {
    let mut new = budget.clone();
    let conditions = json::list(budget, &CONDITIONS).to_vec();
    let mut status = json!({ "conditions": conditions });
    for (field, count) in counted.counts() {
        status[field] = count.into();
    }
    if let Some(generation) = json::number(budget, &["metadata", "generation"]) {
        status["observedGeneration"] = generation.into();
    }
    for (name, since) in &counted.disrupted {
        json::set(
            &mut status,
            &["disruptedPods", name.as_str()],
            since.seconds(),
        );
    }
    json::set(&mut new, &["status"], status);
    update_disruption_allowed_condition(&mut new, now);
    new
}

/// The budget that says that its sync has failed, and allows nothing.
pub(super) fn fail(budget: &Json, why: &str, now: Stamp) -> Json {
    let mut new = budget.clone();
    let fields = ["currentHealthy", "desiredHealthy", "expectedPods"];
    for field in fields {
        json::set(&mut new, &["status", field], of_status(budget, field));
    }
    json::set(&mut new, &["status", "disruptionsAllowed"], 0);
    let before = disruption_allowed(budget).cloned();
    let since = before
        .filter(|own| own["status"] == "False")
        .map_or(now.seconds().into(), |own| {
            own["lastTransitionTime"].clone()
        });
    let mut condition = json!({
        "type": DISRUPTION_ALLOWED,
        "status": "False",
        "reason": SYNC_FAILED,
        "message": why,
        "lastTransitionTime": since,
    });
    let observed = of_status(budget, "observedGeneration");
    if observed != 0 {
        condition["observedGeneration"] = observed.into();
    }
    let mut all = json::list(budget, &CONDITIONS).to_vec();
    match all.iter_mut().find(|own| own["type"] == DISRUPTION_ALLOWED) {
        Some(own) => *own = condition,
        None => all.push(condition),
    }
    json::set(&mut new, &CONDITIONS, all);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Stamp {
        Stamp::parse("2026-01-01T00:01:00Z").expect("an instant")
    }

    fn counted(healthy: usize, count: i64, desired: i64) -> Counted {
        Counted::new(healthy, Expected { count, desired }, Disrupted::new())
    }

    #[test]
    fn a_budget_allows_what_is_healthy_beyond_what_it_wants() {
        assert_eq!(counted(3, 3, 2).allowed, 1);
        assert_eq!(counted(1, 3, 2).allowed, 0);
        assert_eq!(counted(1, 0, 0).allowed, 0);
    }

    #[test]
    fn what_is_said_is_not_said_again() {
        let budget = json!({"metadata": {"generation": 2}});
        let counted = counted(3, 3, 2);
        let said = with_status(&budget, &counted, now());
        assert!(is_said(&said, &counted) && conditions_are_up_to_date(&said));
        assert_eq!(said["status"]["observedGeneration"], 2);
        let failed = fail(&said, "no controllers", now());
        assert!(!is_said(&failed, &counted) && !conditions_are_up_to_date(&failed));
        assert_eq!(failed["status"]["expectedPods"], 3);
        assert_eq!(failed["status"]["conditions"][0]["reason"], SYNC_FAILED);
        assert_eq!(fail(&failed, "no controllers", now()), failed);
    }

    #[test]
    fn pods_are_noted_with_their_instants() {
        let mut counted = counted(1, 2, 1);
        counted.disrupted.insert("p".to_owned(), now());
        let said = with_status(&json!({}), &counted, now());
        assert_eq!(disrupted_pods(&said), counted.disrupted);
        let until = deletion_is_expected(now()).seconds();
        assert_eq!(until, "2026-01-01T00:03:00Z");
    }
}
