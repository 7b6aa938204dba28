//! What follows from the failure of a pod (`pkg/controller/job/pod_failure_policy.go`), and when enough indexes have
//! succeeded (`success_policy.go`).

use wavetank_api::json::{self, Json};

use super::indexed_job_utils::OrderedIntervals;

/// What `matchPodFailurePolicy` says of a pod that has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Matched {
    /// Why the Job fails, if it does.
    pub fails_job: Option<String>,
    /// Does the failure count?
    pub counts: bool,
    /// Does the index of the pod fail?
    pub fails_index: bool,
}

const COUNTED: Matched = Matched {
    fails_job: None,
    counts: true,
    fails_index: false,
};

/// `matchPodFailurePolicy`: the first rule that matches says it; without one a failure counts.
pub(super) fn match_pod_failure_policy(job: &Json, pod: &Json) -> Matched {
    let rules = json::list(job, &["spec", "podFailurePolicy", "rules"]);
    for (at, rule) in rules.iter().enumerate() {
        let Some(what) = what_matches(rule, pod) else {
            continue;
        };
        let action = json::text(rule, &["action"]);
        return match action {
            "Ignore" => Matched {
                counts: false,
                ..COUNTED
            },
            "FailIndex" => Matched {
                fails_index: true,
                ..COUNTED
            },
            "FailJob" => Matched {
                fails_job: Some(format!("{what} matching {action} rule at index {at}")),
                ..COUNTED
            },
            _ => COUNTED,
        };
    }
    COUNTED
}

/// What of a pod a rule matches, in words.
fn what_matches(rule: &Json, pod: &Json) -> Option<String> {
    let given = |field| json::at(rule, &[field]).filter(|own| !own.is_null());
    let of = |field| json::text(pod, &["metadata", field]);
    let (namespace, name) = (of("namespace"), of("name"));
    if let Some(codes) = given("onExitCodes") {
        let (container, code) = match_on_exit_codes(pod, codes)?;
        return Some(format!(
            "Container {container} for pod {namespace}/{name} failed with exit code {code}"
        ));
    }
    let patterns = given("onPodConditions")?.as_array()?;
    let condition = match_on_pod_conditions(pod, patterns)?;
    Some(format!("Pod {namespace}/{name} has condition {condition}"))
}

/// `matchOnExitCodes`: the container, and its exit code.
fn match_on_exit_codes<'a>(pod: &'a Json, codes: &Json) -> Option<(&'a str, i64)> {
    let of = |list| json::list(pod, &["status", list]).iter();
    let mut all = of("containerStatuses").chain(of("initContainerStatuses"));
    all.find_map(|own| {
        let name = json::text(own, &["name"]);
        let code = json::number(own, &["state", "terminated", "exitCode"])?;
        let wanted = json::at(codes, &["containerName"]).and_then(Json::as_str);
        let is_it = wanted.is_none_or(|wanted| wanted == name);
        let matches = is_it && code != 0 && is_on_exit_codes_operator_matching(code, codes);
        matches.then_some((name, code))
    })
}

/// `isOnExitCodesOperatorMatching`
fn is_on_exit_codes_operator_matching(code: i64, codes: &Json) -> bool {
    let mut values = json::list(codes, &["values"]).iter();
    let is_listed = values.any(|own| *own == code);
    match json::text(codes, &["operator"]) {
        "In" => is_listed,
        "NotIn" => !is_listed,
        _ => false,
    }
}

/// `matchOnPodConditions`: the type of the condition.
fn match_on_pod_conditions<'a>(pod: &'a Json, patterns: &[Json]) -> Option<&'a str> {
    let mut conditions = json::list(pod, &["status", "conditions"]).iter();
    let found = conditions.find(|own| {
        let same = |pattern: &Json, field| own[field] == pattern[field];
        let mut all = patterns.iter();
        all.any(|pattern| same(pattern, "type") && same(pattern, "status"))
    });
    found.map(|own| json::text(own, &["type"]))
}

/// `matchSuccessPolicy`: which rule is met.
pub(super) fn match_success_policy(job: &Json, succeeded: &OrderedIntervals) -> Option<String> {
    let completions = json::number(job, &["spec", "completions"]).unwrap_or(0);
    if succeeded.total() == 0 {
        return None;
    }
    let rules = json::list(job, &["spec", "successPolicy", "rules"]);
    let met = rules.iter().position(|rule| {
        let count = json::number(rule, &["succeededCount"]);
        let Some(indexes) = json::at(rule, &["succeededIndexes"]).and_then(Json::as_str) else {
            return count.is_some_and(|count| succeeded.total() >= count);
        };
        let required = OrderedIntervals::parse_indexes_from_string(indexes, completions);
        let contains = required.overlap(succeeded);
        required.total() > 0
            && (contains == required.total() || count.is_some_and(|count| contains >= count))
    });
    met.map(|at| format!("Matched rules at index {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(code: i64, condition: &str) -> Json {
        json!({
            "metadata": {"namespace": "ns", "name": "p"},
            "status": {
                "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": code}}}],
                "conditions": [{"type": condition, "status": "True"}],
            },
        })
    }

    #[test]
    fn the_first_rule_that_matches_says_what_follows() {
        let job = json!({"spec": {"podFailurePolicy": {"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1]}},
        ]}}});
        let matched = |code, condition| match_pod_failure_policy(&job, &pod(code, condition));
        assert!(!matched(42, "DisruptionTarget").counts);
        let why = matched(42, "Ready").fails_job;
        let words =
            "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 1";
        assert_eq!(why.as_deref(), Some(words));
        assert!(matched(3, "Ready").fails_index);
        assert_eq!(matched(1, "Ready"), COUNTED);
    }

    #[test]
    fn a_job_may_succeed_with_some_of_its_indexes() {
        let met = |rule: Json, succeeded: &str| {
            let job = json!({"spec": {"completions": 5, "successPolicy": {"rules": [rule]}}});
            let succeeded = OrderedIntervals::parse_indexes_from_string(succeeded, 5);
            match_success_policy(&job, &succeeded).is_some()
        };
        assert!(met(json!({"succeededCount": 2}), "0,4"));
        assert!(!met(json!({"succeededIndexes": "1-3"}), "0-2"));
        assert!(met(
            json!({"succeededIndexes": "1-3", "succeededCount": 2}),
            "0-2"
        ));
        assert!(!met(json!({"succeededCount": 0}), ""));
    }
}
