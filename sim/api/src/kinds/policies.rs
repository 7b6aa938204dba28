//! What bounds others: budgets of disruptions, quotas, ranges of limits, priorities
//! (`kubernetes/pkg/registry/policy`, `core/resourcequota`, `core/limitrange`, `scheduling`, `flowcontrol`).

use serde_json::json;

use super::declared::{Declared, Generation, OF_SPEC, each, fill, immutable};
use super::deployments::{
    get_int_or_percent_value, int_or_percent, not_negative, validate_label_selector,
};
use crate::discovery::Shown;
use crate::json::{self, Json};
use crate::names;
use crate::schema;
use crate::validation::{Bad, ErrorList};

/// The rules of PodDisruptionBudgets.
pub(super) const POD_DISRUPTION_BUDGETS: Declared = Declared {
    shown: Shown::called(&["pdb"]),
    // Its own validation looks at the spec only: what `BeforeCreate` asks of all names is left.
    name: names::is_valid_path_segment_name,
    unconditional: false,
    status: true,
    generation: OF_SPEC,
    validate: validate_pod_disruption_budget_spec,
    validate_status: |new, _, errors| {
        for field in [
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ] {
            not_negative(new, &["status", field], errors);
        }
    },
    ..Declared::NAMESPACED
};

/// `ValidatePodDisruptionBudgetSpec`
fn validate_pod_disruption_budget_spec(budget: &Json, errors: &mut ErrorList) {
    let given = |field| json::at(budget, &["spec", field]).filter(|value| !value.is_null());
    const BOUNDS: [&str; 2] = ["minAvailable", "maxUnavailable"];
    if BOUNDS.into_iter().all(|bound| given(bound).is_some()) {
        let spec = budget.get("spec").unwrap_or(&Json::Null);
        let id = schema::named("policy.PodDisruptionBudgetSpec");
        let bad = id.map(|id| crate::internal::flat(spec, id));
        let bad = Bad::shown(bad.unwrap_or_default());
        errors.invalid(
            "spec",
            bad,
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    for bound in BOUNDS {
        let Some(value) = given(bound) else { continue };
        let field = format!("spec.{bound}");
        int_or_percent(value, &field, errors);
        if value.is_string() && get_int_or_percent_value(value) > 100 {
            errors.invalid(field, value, "must not be greater than 100%");
        }
    }
    if let Some(selector) = given("selector") {
        validate_label_selector(selector, "spec.selector", errors);
    }
    const POLICIES: [&str; 2] = ["AlwaysAllow", "IfHealthyBudget"];
    let policy = given("unhealthyPodEvictionPolicy").and_then(Json::as_str);
    if let Some(policy) = policy.filter(|policy| !POLICIES.contains(policy)) {
        errors.not_supported("spec.unhealthyPodEvictionPolicy", policy, &POLICIES);
    }
}

pub(super) const RESOURCE_QUOTAS: Declared = Declared {
    shown: Shown::called(&["quota"]),
    status: true,
    validate_update: |new, old, errors| immutable(new, old, &["spec", "scopes"], errors),
    returns_deleted: true,
    ..Declared::NAMESPACED
};

pub(super) const LIMIT_RANGES: Declared = Declared {
    shown: Shown::called(&["limits"]),
    default: |range| {
        for item in each(range, &["spec", "limits"]) {
            set_defaults_limit_range_item(item);
        }
    },
    ..Declared::NAMESPACED
};

/// `SetDefaults_LimitRangeItem`: what is not said of containers follows from what is.
fn set_defaults_limit_range_item(item: &mut Json) {
    if json::text(item, &["type"]) != "Container" {
        return;
    }
    for (to, from) in [
        ("default", "max"),
        ("defaultRequest", "default"),
        ("defaultRequest", "min"),
    ] {
        let values = item.get(from).and_then(Json::as_object).cloned();
        for (name, value) in values.into_iter().flatten() {
            json::map_mut(item, &[to]).entry(name).or_insert(value);
        }
    }
}

pub(super) const PRIORITY_CLASSES: Declared = Declared {
    shown: Shown::called(&["pc"]),
    generation: Generation::Begins,
    default: |class| fill(class, &["preemptionPolicy"], "PreemptLowerPriority"),
    validate_update: |new, old, errors| {
        let value = |of| json::number(of, &["value"]).unwrap_or(0);
        if value(new) != value(old) {
            errors.forbidden("value", "may not be changed in an update.");
        }
        immutable(new, old, &["preemptionPolicy"], errors);
    },
    ..Declared::CLUSTER
};

pub(super) const FLOW_SCHEMAS: Declared = Declared {
    status: true,
    generation: OF_SPEC,
    default: |flow| {
        if json::number(flow, &["spec", "matchingPrecedence"]).unwrap_or(0) == 0 {
            json::set(flow, &["spec", "matchingPrecedence"], 1000);
        }
    },
    ..Declared::CLUSTER
};

pub(super) const PRIORITY_LEVEL_CONFIGURATIONS: Declared = Declared {
    status: true,
    generation: OF_SPEC,
    default: |level| {
        fill(level, &["spec", "exempt", "nominalConcurrencyShares"], 0);
        fill(level, &["spec", "exempt", "lendablePercent"], 0);
        fill(level, &["spec", "limited", "nominalConcurrencyShares"], 30);
        fill(level, &["spec", "limited", "lendablePercent"], 0);
        let queuing = ["spec", "limited", "limitResponse", "queuing"];
        if json::at(level, &queuing).is_some_and(Json::is_object) {
            for (field, value) in [("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)] {
                let queuing = json::map_mut(level, &queuing);
                if queuing.get(field).and_then(Json::as_i64).unwrap_or(0) == 0 {
                    queuing.insert(field.to_owned(), json!(value));
                }
            }
        }
    },
    ..Declared::CLUSTER
};
