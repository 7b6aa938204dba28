//! What the policies of a Job may say: which failures of pods count (`validatePodFailurePolicy`), when a pod is replaced
//! (`validatePodReplacementPolicy`), and when a Job has succeeded (`validateSuccessPolicy`).

use super::indexes::validate_indexes_format;
use super::is_indexed;
use crate::json::{self, Json, Map};
use crate::names::is_qualified_name;
use crate::validation::{Bad, ErrorList};

/// `maxPodFailurePolicyRules`, `maxSuccessPolicyRule`
const MAX_RULES: usize = 20;
/// `maxPodFailurePolicyOnPodConditionsPatterns`
const MAX_PATTERNS: usize = 20;
/// `maxPodFailurePolicyOnExitCodesValues`
const MAX_VALUES: usize = 255;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const REPLACEMENTS: [&str; 2] = ["Failed", "TerminatingOrFailed"];

fn given<'a>(of: &'a Json, path: &[&str]) -> Option<&'a Json> {
    json::at(of, path).filter(|own| !own.is_null())
}

/// `spec.podFailurePolicy`
pub(super) fn pod_failure_policy(job: &Json) -> Option<&Json> {
    given(job, &["spec", "podFailurePolicy"])
}

/// Upstream's `SetDefaults_PodFailurePolicyOnPodConditionsPattern`
pub(super) fn set_defaults_pod_failure_policy(spec: &mut Map) {
    let rules = spec
        .get_mut("podFailurePolicy")
        .and_then(|own| own.get_mut("rules"));
    let rules = rules.and_then(Json::as_array_mut);
    for rule in rules.into_iter().flatten() {
        let patterns = rule.get_mut("onPodConditions").and_then(Json::as_array_mut);
        for pattern in patterns.into_iter().flatten() {
            if json::text(pattern, &["status"]).is_empty() && pattern.is_object() {
                json::set(pattern, &["status"], "True");
            }
        }
    }
}

/// What is wrong with the policies of a Job.
pub(super) fn validate_policies(job: &Json, errors: &mut ErrorList) {
    if pod_failure_policy(job).is_some() {
        validate_pod_failure_policy(job, errors);
    }
    if let Some(policy) = given(job, &["spec", "successPolicy"]) {
        match is_indexed(job) {
            false => {
                let detail = "requires indexed completion mode";
                errors.invalid("spec.successPolicy", policy, detail);
            }
            true => validate_success_policy(job, errors),
        }
    }
    validate_pod_replacement_policy(job, errors);
}

/// `validatePodReplacementPolicy`
fn validate_pod_replacement_policy(job: &Json, errors: &mut ErrorList) {
    let Some(policy) = given(job, &["spec", "podReplacementPolicy"]) else {
        return;
    };
    let policy = policy.as_str().unwrap_or_default();
    let allowed = match pod_failure_policy(job).is_some() {
        true => &REPLACEMENTS[..1],
        false => &REPLACEMENTS[..],
    };
    if !allowed.contains(&policy) {
        errors.not_supported("spec.podReplacementPolicy", policy, allowed);
    }
}

/// `validatePodFailurePolicy`
fn validate_pod_failure_policy(job: &Json, errors: &mut ErrorList) {
    let rules = json::list(job, &["spec", "podFailurePolicy", "rules"]);
    let path = "spec.podFailurePolicy.rules";
    if rules.len() > MAX_RULES {
        errors.too_many(path, rules.len(), MAX_RULES);
    }
    for (at, rule) in rules.iter().enumerate() {
        validate_pod_failure_policy_rule(job, rule, &format!("{path}[{at}]"), errors);
    }
}

/// `validatePodFailurePolicyRule`
fn validate_pod_failure_policy_rule(job: &Json, rule: &Json, path: &str, errors: &mut ErrorList) {
    let action = json::text(rule, &["action"]);
    let field = format!("{path}.action");
    match action {
        "" => {
            // `%q` of the sorted list.
            let shown = ACTIONS.map(|own| format!("{own:?}")).join(" ");
            errors.required(field, format!("valid values: [{shown}]"));
        }
        "FailIndex" if given(job, &["spec", "backoffLimitPerIndex"]).is_none() => {
            errors.invalid(field, action, "requires the backoffLimitPerIndex to be set");
        }
        _ if !ACTIONS.contains(&action) => errors.not_supported(field, action, &ACTIONS),
        _ => {}
    }
    let codes = given(rule, &["onExitCodes"]);
    let conditions = json::list(rule, &["onPodConditions"]);
    if let Some(codes) = codes {
        let path = format!("{path}.onExitCodes");
        validate_on_exit_codes(job, codes, &path, errors);
    }
    if !conditions.is_empty() {
        let path = format!("{path}.onPodConditions");
        validate_on_pod_conditions(conditions, &path, errors);
    }
    let detail = match (codes.is_some(), conditions.is_empty()) {
        (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.invalid(path, Bad::omitted(), detail);
}

/// Upstream's `validatePodFailurePolicyRuleOnPodConditions`
fn validate_on_pod_conditions(patterns: &[Json], path: &str, errors: &mut ErrorList) {
    if patterns.len() > MAX_PATTERNS {
        errors.too_many(path, patterns.len(), MAX_PATTERNS);
    }
    for (at, pattern) in patterns.iter().enumerate() {
        let kind = json::text(pattern, &["type"]);
        errors.invalid_each(&format!("{path}[{at}].type"), kind, is_qualified_name(kind));
        let status = json::text(pattern, &["status"]);
        if !STATUSES.contains(&status) {
            errors.not_supported(format!("{path}[{at}].status"), status, &STATUSES);
        }
    }
}

/// Upstream's `validatePodFailurePolicyRuleOnExitCodes`
fn validate_on_exit_codes(job: &Json, codes: &Json, path: &str, errors: &mut ErrorList) {
    let operator = json::text(codes, &["operator"]);
    let field = format!("{path}.operator");
    if operator.is_empty() {
        let shown = OPERATORS.map(|own| format!("{own:?}")).join(" ");
        errors.required(field, format!("valid values: [{shown}]"));
    } else if !OPERATORS.contains(&operator) {
        errors.not_supported(field, operator, &OPERATORS);
    }
    if let Some(name) = given(codes, &["containerName"]).and_then(Json::as_str) {
        let of = |list| json::list(job, &["spec", "template", "spec", list]);
        let mut all = of("containers").iter().chain(of("initContainers"));
        if !all.any(|own| own["name"] == *name) {
            let detail = "must be one of the container or initContainer names in the pod template";
            errors.invalid(format!("{path}.containerName"), name, detail);
        }
    }
    validate_values(codes, operator, &format!("{path}.values"), errors);
}

fn validate_values(codes: &Json, operator: &str, path: &str, errors: &mut ErrorList) {
    let values = json::list(codes, &["values"]);
    let shown = Json::from(values.to_vec());
    if values.is_empty() {
        errors.invalid(path, &shown, "at least one value is required");
    } else if values.len() > MAX_VALUES {
        errors.too_many(path, values.len(), MAX_VALUES);
    }
    let values: Vec<i64> = values.iter().filter_map(Json::as_i64).collect();
    for (at, value) in values.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if operator == "In" && *value == 0 {
            errors.invalid(&*field, *value, "must not be 0 for the In operator");
        }
        if values[..at].contains(value) {
            errors.duplicate(field, *value);
        }
    }
    if !values.is_sorted() {
        errors.invalid(path, &shown, "must be ordered");
    }
}

/// `validateSuccessPolicy`
fn validate_success_policy(job: &Json, errors: &mut ErrorList) {
    let rules = json::list(job, &["spec", "successPolicy", "rules"]);
    let path = "spec.successPolicy.rules";
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.required(path, detail);
    }
    if rules.len() > MAX_RULES {
        errors.too_many(path, rules.len(), MAX_RULES);
    }
    let completions = json::number(job, &["spec", "completions"]).unwrap_or(0);
    for (at, rule) in rules.iter().enumerate() {
        validate_success_policy_rule(rule, completions, &format!("{path}[{at}]"), errors);
    }
}

/// `validateSuccessPolicyRule`
fn validate_success_policy_rule(rule: &Json, completions: i64, path: &str, errors: &mut ErrorList) {
    let count = json::number(rule, &["succeededCount"]);
    let indexes = given(rule, &["succeededIndexes"]).and_then(Json::as_str);
    if count.is_none() && indexes.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.required(path, detail);
    }
    let mut total = 0;
    if let Some(indexes) = indexes {
        match validate_indexes_format(indexes, completions) {
            Ok(count) => total = count,
            Err(why) => {
                let detail = format!("error parsing succeededIndexes: {why}");
                errors.invalid(format!("{path}.succeededIndexes"), indexes, detail);
            }
        }
    }
    let Some(count) = count else {
        return;
    };
    let field = format!("{path}.succeededCount");
    if count < 0 {
        let detail = "must be greater than or equal to 0";
        errors.invalid(&*field, count, detail);
    }
    if count > completions {
        let detail = format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        );
        errors.invalid(&*field, count, detail);
    }
    if indexes.is_some() && count > total {
        let detail = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(field, count, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn errors(spec: Json) -> String {
        let mut errors = ErrorList::default();
        validate_policies(&json!({ "spec": spec }), &mut errors);
        errors.to_string()
    }

    #[test]
    fn rules_say_what_they_match_and_what_follows() {
        let rule = |rule: Json| {
            errors(json!({"podFailurePolicy": {"rules": [rule]}, "podReplacementPolicy": "Failed"}))
        };
        let codes = |values: Json| json!({"action": "Ignore", "onExitCodes": {"operator": "In", "values": values}});
        assert_eq!(rule(codes(json!([1, 42]))), "[]");
        let ordered = rule(codes(json!([42, 1])));
        assert!(ordered.contains("must be ordered"), "{ordered}");
        let zero = rule(codes(json!([0])));
        assert!(zero.contains("must not be 0 for the In operator"), "{zero}");
        let nothing = rule(json!({"action": "FailJob"}));
        assert!(nothing.contains("one of OnExitCodes and OnPodConditions is required"));
        let per_index = rule(
            json!({"action": "FailIndex", "onPodConditions": [{"type": "A", "status": "True"}]}),
        );
        assert!(per_index.contains("requires the backoffLimitPerIndex to be set"));
    }

    #[test]
    fn with_a_failure_policy_pods_are_replaced_once_they_have_failed() {
        let policy = json!({"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "TerminatingOrFailed"});
        let refused = errors(policy);
        assert!(
            refused.contains("spec.podReplacementPolicy: Unsupported value"),
            "{refused}"
        );
    }

    #[test]
    fn a_success_policy_asks_for_what_can_be() {
        let policy = |rule: Json| {
            errors(json!({
                "completionMode": "Indexed", "completions": 3, "successPolicy": {"rules": [rule]},
            }))
        };
        assert_eq!(
            policy(json!({"succeededIndexes": "0,2", "succeededCount": 1})),
            "[]"
        );
        assert!(
            policy(json!({"succeededIndexes": "0,2", "succeededCount": 3}))
                .contains("indexes in the specified")
        );
        assert!(policy(json!({})).contains("at least one of succeededCount"));
    }
}
