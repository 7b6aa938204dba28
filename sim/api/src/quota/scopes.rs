//! Scopes: which objects a quota binds (`getScopeSelectorsFromQuota`; `ScopedResourceSelectorRequirementsAsSelector`,
//! `kubernetes/pkg/apis/core/v1/helper/helpers.go`).

use crate::json::{self, Json};

/// `ScopedResourceSelectorRequirement`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Selector<'a> {
    pub scope: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

/// `getScopeSelectorsFromQuota`
pub(super) fn get_scope_selectors_from_quota(quota: &Json) -> Vec<Selector<'_>> {
    let plain = json::list(quota, &["spec", "scopes"]).iter();
    let plain = plain.filter_map(Json::as_str).map(|scope| Selector {
        scope,
        operator: "Exists",
        values: Vec::new(),
    });
    let expressions = json::list(quota, &["spec", "scopeSelector", "matchExpressions"]).iter();
    let expressions = expressions.map(|own| Selector {
        scope: json::text(own, &["scopeName"]),
        operator: json::text(own, &["operator"]),
        values: json::list(own, &["values"])
            .iter()
            .filter_map(Json::as_str)
            .collect(),
    });
    plain.chain(expressions).collect()
}

impl Selector<'_> {
    /// Does it select what has one of these values, or none?
    pub fn selects(&self, values: &[&str]) -> bool {
        let has = values.iter().any(|value| self.values.contains(value));
        match self.operator {
            "Exists" => !values.is_empty(),
            "DoesNotExist" => values.is_empty(),
            "In" => has,
            "NotIn" => !has,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scopes_and_expressions_both_bind() {
        let quota = json!({"spec": {
            "scopes": ["BestEffort"],
            "scopeSelector": {"matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
            ]},
        }});
        let all = get_scope_selectors_from_quota(&quota);
        assert_eq!(
            (all[0].scope, all[1].scope),
            ("BestEffort", "PriorityClass")
        );
        assert!(all[1].selects(&["high"]) && !all[1].selects(&["low"]) && !all[1].selects(&[]));
        let of = |operator| Selector {
            operator,
            ..all[1].clone()
        };
        assert!(of("NotIn").selects(&[]) && !of("NotIn").selects(&["high"]));
        assert!(of("Exists").selects(&["low"]) && of("DoesNotExist").selects(&[]));
    }
}
