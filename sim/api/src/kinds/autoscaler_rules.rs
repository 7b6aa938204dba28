//! What a HorizontalPodAutoscaler may say (`pkg/apis/autoscaling/validation/validation.go`, v1.36.2). Of metrics those of
//! resources are looked at; that one of another kind has what belongs to it is said here, and no more.

use crate::json::{self, Json};
use crate::quota::milli_value;
use crate::validation::ErrorList;

/// `MaxStabilizationWindowSeconds`
const MAX_STABILIZATION_WINDOW_SECONDS: i64 = 3600;
/// `MaxPeriodSeconds`
const MAX_PERIOD_SECONDS: i64 = 1800;
/// The kinds of metrics, with the field of each.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

/// `validateHorizontalPodAutoscalerSpec`
pub(super) fn validate_horizontal_pod_autoscaler_spec(autoscaler: &Json, errors: &mut ErrorList) {
    let number = |field| json::number(autoscaler, &["spec", field]);
    let (min, max) = (number("minReplicas"), number("maxReplicas").unwrap_or(0));
    let at_least_one = "must be greater than or equal to 1";
    if let Some(min) = min.filter(|min| *min < 1) {
        errors.invalid("spec.minReplicas", min, at_least_one);
    }
    match max {
        0 => errors.required("spec.maxReplicas", "must be set and greater than 0"),
        max if max < 0 => errors.invalid("spec.maxReplicas", max, at_least_one),
        _ => {}
    }
    if min.is_some_and(|min| max < min) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.invalid("spec.maxReplicas", max, detail);
    }
    for field in ["kind", "name"] {
        if json::text(autoscaler, &["spec", "scaleTargetRef", field]).is_empty() {
            errors.required(format!("spec.scaleTargetRef.{field}"), "");
        }
    }
    let metrics = json::list(autoscaler, &["spec", "metrics"]);
    for (at, metric) in metrics.iter().enumerate() {
        validate_metric_spec(metric, &format!("spec.metrics[{at}]"), errors);
    }
    for field in ["scaleUp", "scaleDown"] {
        let rules = json::at(autoscaler, &["spec", "behavior", field]);
        if let Some(rules) = rules.filter(|rules| rules.is_object()) {
            validate_scaling_rules(rules, &format!("spec.behavior.{field}"), errors);
        }
    }
}

/// `validateMetricSpec`
fn validate_metric_spec(metric: &Json, at: &str, errors: &mut ErrorList) {
    let kind = json::text(metric, &["type"]);
    let kinds = SOURCES.map(|(kind, _)| kind);
    let path = format!("{at}.type");
    if kind.is_empty() {
        errors.required(&path, "must specify a metric source type");
    }
    let expected = SOURCES.iter().find(|(name, _)| *name == kind);
    let expected = expected.map(|(_, field)| *field);
    if expected.is_none() {
        errors.not_supported(&path, kind, &kinds);
    }
    let there = SOURCES.iter().map(|(_, field)| *field);
    let there: Vec<&str> = there.filter(|field| metric[*field].is_object()).collect();
    if there.first() == Some(&"resource") {
        let path = format!("{at}.resource");
        validate_resource_source(&metric["resource"], &path, errors);
    }
    match expected {
        Some(field) if !there.contains(&field) => {
            let detail = "must populate information for the given metric source";
            errors.required(format!("{at}.{field}"), detail);
        }
        Some(_) => {}
        None => errors.not_supported(&path, kind, &kinds),
    }
    if there.len() != 1 {
        for field in there.into_iter().filter(|field| Some(*field) != expected) {
            let detail = "must populate the given metric source only";
            errors.forbidden(format!("{at}.{field}"), detail);
        }
    }
}

/// `validateResourceSource`
fn validate_resource_source(source: &Json, at: &str, errors: &mut ErrorList) {
    if json::text(source, &["name"]).is_empty() {
        errors.required(format!("{at}.name"), "must specify a resource name");
    }
    let (target, at) = (&source["target"], format!("{at}.target"));
    validate_metric_target(target, &at, errors);
    let has = |field: &str| !target[field].is_null();
    match (has("averageUtilization"), has("averageValue")) {
        (false, false) => errors.required(
            format!("{at}.averageUtilization"),
            "must set either a target raw value or a target utilization",
        ),
        (true, true) => errors.forbidden(
            format!("{at}.averageValue"),
            "may not set both a target raw value and a target utilization",
        ),
        _ => {}
    }
}

/// `validateMetricTarget`
fn validate_metric_target(target: &Json, at: &str, errors: &mut ErrorList) {
    let kind = json::text(target, &["type"]);
    let path = format!("{at}.type");
    if kind.is_empty() {
        errors.required(&path, "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.invalid(&path, kind, detail);
    }
    for field in ["value", "averageValue"] {
        let quantity = &target[field];
        if milli_value(quantity).is_some_and(|own| own <= 0) {
            let text = quantity.as_str().unwrap_or_default();
            errors.invalid(format!("{at}.{field}"), text, "must be positive");
        }
    }
    let utilization = json::number(target, &["averageUtilization"]);
    if let Some(utilization) = utilization.filter(|own| *own < 1) {
        let path = format!("{at}.averageUtilization");
        errors.invalid(path, utilization, "must be greater than 0");
    }
}

/// `validateScalingRules`
fn validate_scaling_rules(rules: &Json, at: &str, errors: &mut ErrorList) {
    if let Some(window) = json::number(rules, &["stabilizationWindowSeconds"]) {
        let path = format!("{at}.stabilizationWindowSeconds");
        if window < 0 {
            errors.invalid(&path, window, "must be greater than or equal to zero");
        }
        if window > MAX_STABILIZATION_WINDOW_SECONDS {
            let most = MAX_STABILIZATION_WINDOW_SECONDS;
            let detail = format!("must be less than or equal to {most}");
            errors.invalid(&path, window, detail);
        }
    }
    let selected = &rules["selectPolicy"];
    let supported = ["Disabled", "Max", "Min"];
    if let Some(selected) = selected.as_str().filter(|own| !supported.contains(own)) {
        errors.not_supported(format!("{at}.selectPolicy"), selected, &supported);
    }
    let policies = json::list(rules, &["policies"]);
    if policies.is_empty() {
        errors.required(format!("{at}.policies"), "must specify at least one Policy");
    }
    for (number, policy) in policies.iter().enumerate() {
        validate_scaling_policy(policy, &format!("{at}.policies[{number}]"), errors);
    }
    let tolerance = &rules["tolerance"];
    if milli_value(tolerance).is_some_and(|own| own < 0) {
        let text = tolerance.as_str().unwrap_or_default();
        let detail = "must be greater than or equal to 0";
        errors.invalid(format!("{at}.tolerance"), text, detail);
    }
}

/// `validateScalingPolicy`
fn validate_scaling_policy(policy: &Json, at: &str, errors: &mut ErrorList) {
    let kind = json::text(policy, &["type"]);
    let supported = ["Percent", "Pods"];
    if !supported.contains(&kind) {
        errors.not_supported(format!("{at}.type"), kind, &supported);
    }
    for field in ["value", "periodSeconds"] {
        let number = json::number(policy, &[field]).unwrap_or(0);
        if number <= 0 {
            errors.invalid(format!("{at}.{field}"), number, "must be greater than zero");
        }
    }
    let period = json::number(policy, &["periodSeconds"]).unwrap_or(0);
    if period > MAX_PERIOD_SECONDS {
        let detail = format!("must be less than or equal to {MAX_PERIOD_SECONDS}");
        errors.invalid(format!("{at}.periodSeconds"), period, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(metrics: Json, behavior: Json) -> Vec<String> {
        let autoscaler = json!({"spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "maxReplicas": 3, "metrics": metrics, "behavior": behavior,
        }});
        let mut errors = ErrorList::default();
        validate_horizontal_pod_autoscaler_spec(&autoscaler, &mut errors);
        errors.iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn rules_of_scaling_have_bounds() {
        let policy = json!({"type": "Pods", "value": 1, "periodSeconds": 15});
        let rules = |window: i64, policies: &[&Json]| json!({"scaleUp": {"stabilizationWindowSeconds": window, "policies": policies}});
        assert!(wrong(json!([]), rules(0, &[&policy])).is_empty());
        let missing = wrong(json!([]), rules(3601, &[]));
        let up = "spec.behavior.scaleUp";
        let fields = ["stabilizationWindowSeconds", "policies"];
        assert_eq!(missing, fields.map(|field| format!("{up}.{field}")));
        let slow = json!({"type": "Nodes", "value": 0, "periodSeconds": 1801});
        let fields = ["type", "value", "periodSeconds"];
        let fields = fields.map(|field| format!("{up}.policies[0].{field}"));
        assert_eq!(wrong(json!([]), rules(0, &[&slow])), fields);
    }

    #[test]
    fn a_metric_of_a_resource_has_one_target() {
        let metric = |target: Json| json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
        let good = json!({"type": "Utilization", "averageUtilization": 50});
        assert!(wrong(metric(good), Json::Null).is_empty());
        let both = json!({"type": "Utilization", "averageUtilization": 50, "averageValue": "100m"});
        let field = "spec.metrics[0].resource.target.averageValue";
        assert_eq!(wrong(metric(both), Json::Null), [field]);
        let none = wrong(json!([{"type": "Pods"}]), Json::Null);
        assert_eq!(none, ["spec.metrics[0].pods"]);
    }
}
