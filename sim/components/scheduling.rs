//! Whether a pod fits on a node, as far as taints, labels and names say (`component-helpers/scheduling/corev1`, `nodeaffinity` and
//! `helpers.go`, v1.36.2). Pure. Controllers and whoever binds pods ask it.

use wavetank_api::json::{self, Json};

/// `ToleratesTaint`, without operators that compare numbers.
pub fn tolerates_taint(toleration: &Json, taint: &Json) -> bool {
    let own = |field| json::text(toleration, &[field]);
    let is = |field| json::text(taint, &[field]);
    let fits = |field| own(field).is_empty() || own(field) == is(field);
    fits("effect")
        && fits("key")
        && match own("operator") {
            "" | "Equal" => own("value") == is("value"),
            "Exists" => true,
            _ => false,
        }
}

/// `GetMatchingTolerations`: the toleration of each taint; nothing where one is not tolerated.
pub fn get_matching_tolerations<'a>(
    taints: &[Json],
    tolerations: &'a [Json],
) -> Option<Vec<&'a Json>> {
    let one = |taint| tolerations.iter().find(|own| tolerates_taint(own, taint));
    taints.iter().map(one).collect()
}

/// `GetRequiredNodeAffinity(…).Match`, of a pod or of the template of one.
pub fn matches_required_node_affinity(pod: &Json, node: &Json) -> bool {
    let labels = |key: &str| json::at(node, &["metadata", "labels", key]).and_then(Json::as_str);
    let selector = json::at(pod, &["spec", "nodeSelector"]).and_then(Json::as_object);
    let mut wanted = selector.into_iter().flatten();
    if !wanted.all(|(key, value)| labels(key) == value.as_str()) {
        return false;
    }
    let path = [
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
    ];
    let Some(required) = json::at(pod, &path).filter(|own| !own.is_null()) else {
        return true;
    };
    let mut terms = json::list(required, &["nodeSelectorTerms"]).iter();
    terms.any(|term| matches_term(term, node))
}

/// One term; nothing matches one that is empty.
fn matches_term(term: &Json, node: &Json) -> bool {
    let expressions = json::list(term, &["matchExpressions"]);
    let fields = json::list(term, &["matchFields"]);
    let label = |key: &str| json::at(node, &["metadata", "labels", key]).and_then(Json::as_str);
    let name = Some(json::text(node, &["metadata", "name"]));
    !(expressions.is_empty() && fields.is_empty())
        && expressions
            .iter()
            .all(|own| holds(own, label(json::text(own, &["key"]))))
        && fields
            .iter()
            .all(|own| own["key"] == "metadata.name" && holds(own, name))
}

/// Is a requirement met by this value?
fn holds(requirement: &Json, value: Option<&str>) -> bool {
    let values = json::list(requirement, &["values"]);
    let is_listed = || values.iter().any(|own| own.as_str() == value);
    let number = |text: &str| text.parse::<i64>().ok();
    let compared = || {
        let bound = values.first().and_then(Json::as_str).and_then(number)?;
        Some((value.and_then(number)?, bound))
    };
    match json::text(requirement, &["operator"]) {
        "In" => value.is_some() && is_listed(),
        "NotIn" => value.is_none() || !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared().is_some_and(|(own, bound)| own > bound),
        "Lt" => compared().is_some_and(|(own, bound)| own < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_taints_have_to_be_tolerated() {
        let taints = ["a", "b"].map(|key| json!({"key": key, "effect": "NoExecute"}));
        let one = json!({"key": "a", "operator": "Exists", "tolerationSeconds": 3});
        let tolerations = [one.clone()];
        assert_eq!(get_matching_tolerations(&taints, &tolerations), None);
        let all = [one.clone(), json!({"operator": "Exists"})];
        let matching = get_matching_tolerations(&taints, &all).expect("both");
        assert_eq!(matching, [&all[0], &all[1]]);
        assert_eq!(get_matching_tolerations(&[], &[]), Some(Vec::new()));
    }
}
