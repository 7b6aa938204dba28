//! How rules are put together and compared. Pure.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::deployments::label_selector_as_selector;

/// What a rule consists of.
const LISTS: [&str; 5] = [
    "verbs",
    "apiGroups",
    "resources",
    "resourceNames",
    "nonResourceURLs",
];

/// `AggregationRule`, if it has one.
pub(super) fn aggregation_rule(role: &Json) -> Option<&Json> {
    role.get("aggregationRule").filter(|own| !own.is_null())
}

/// The rules of a role.
pub(super) fn rules(role: &Json) -> &[Json] {
    json::list(role, &["rules"])
}

/// Upstream's `equality.Semantic.DeepEqual` of two rules: a list that is empty is as good as none.
pub(super) fn is_equal(one: &Json, other: &Json) -> bool {
    let same = |list: &&str| json::list(one, &[list]) == json::list(other, &[list]);
    LISTS.iter().all(same)
}

/// The same of all rules of a role.
pub(super) fn are_equal(some: &[Json], others: &[Json]) -> bool {
    let mut both = some.iter().zip(others);
    some.len() == others.len() && both.all(|(one, other)| is_equal(one, other))
}

/// `ruleExists`
pub(super) fn rule_exists(haystack: &[Json], needle: &Json) -> bool {
    haystack.iter().any(|rule| is_equal(rule, needle))
}

/// How `aggregate` goes about it, where something is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Left {
    /// Is a role that selects itself not skipped?
    pub own: bool,
    /// Are rules that are there already added again?
    pub twice: bool,
}

/// What `syncClusterRole` puts together: the rules of all roles that this one selects, selector by selector, in the order of their names;
/// `None` if a selector is none.
pub(super) fn aggregate<'a>(
    role: &Json,
    all: impl Iterator<Item = &'a Json> + Clone,
    left: Left,
) -> Option<Vec<Json>> {
    let name = |role: &'a Json| json::text(role, &["metadata", "name"]);
    let own = json::text(role, &["metadata", "name"]);
    let mut sum: Vec<Json> = Vec::new();
    for selector in json::list(role, &["aggregationRule", "clusterRoleSelectors"]) {
        let selector = label_selector_as_selector(selector)?;
        let mut selected: Vec<&Json> = all.clone().filter(|role| selector.matches(role)).collect();
        selected.sort_by_key(|role| name(role));
        for role in selected {
            if name(role) == own && !left.own {
                continue;
            }
            for rule in rules(role) {
                if left.twice || !rule_exists(&sum, rule) {
                    sum.push(rule.clone());
                }
            }
        }
    }
    Some(sum)
}

/// Upstream's `toApplyPolicyRule`: lists that are empty are left out.
pub(super) fn to_apply_policy_rule(rule: &Json) -> Json {
    let lists = LISTS.iter().filter_map(|list| {
        let own = json::list(rule, &[list]);
        (!own.is_empty()).then(|| ((*list).to_owned(), own.to_vec().into()))
    });
    Json::Object(lists.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, labels: Json, verbs: &[&str]) -> Json {
        let rules: Vec<Json> = verbs
            .iter()
            .map(|verb| json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}))
            .collect();
        json!({"metadata": {"name": name, "labels": labels}, "rules": rules})
    }

    #[test]
    fn rules_go_by_selectors_then_by_names_and_once() {
        let all = [
            role("z", json!({"a": "1"}), &["get", "list"]),
            role("y", json!({"a": "1"}), &["list", "watch"]),
            role("x", json!({"b": "1"}), &["delete"]),
            role("sum", json!({"a": "1"}), &["patch"]),
        ];
        let mut sum = all[3].clone();
        sum["aggregationRule"] = json!({"clusterRoleSelectors": [
            {"matchLabels": {"b": "1"}}, {"matchLabels": {"a": "1"}},
        ]});
        let rules = aggregate(&sum, all.iter(), Left::default()).expect("selectors are some");
        let verbs: Vec<&str> = rules
            .iter()
            .map(|rule| rule["verbs"][0].as_str().expect("a text"))
            .collect();
        assert_eq!(verbs, ["delete", "list", "watch", "get"]);
    }

    #[test]
    fn an_empty_list_is_as_good_as_none() {
        let with = json!({"verbs": ["get"], "resourceNames": []});
        let without = json!({"verbs": ["get"], "resourceNames": null});
        assert!(is_equal(&with, &without));
        assert_eq!(to_apply_policy_rule(&with), json!({"verbs": ["get"]}));
    }
}
