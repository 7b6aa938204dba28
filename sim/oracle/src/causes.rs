//! What is wrong with a custom object: the real server finds it in the order of a Go map, and recordings have it sorted, or
//! in the order of one run. So are the fields on which managers do not agree.

use serde_json::Value as Json;

fn text(cause: &Json, field: &str) -> String {
    cause[field].as_str().unwrap_or_default().to_owned()
}

/// Sorts the causes of an answer that refuses a custom object, and the errors in its message; and the fields on which
/// managers do not agree.
pub(crate) fn normalise(answer: &mut Json) {
    let body = match answer.get("body") {
        Some(_) => &mut answer["body"],
        None => answer,
    };
    let by_name = |causes: &mut Vec<Json>| {
        causes.sort_by_key(|cause| ["field", "message", "reason"].map(|field| text(cause, field)));
    };
    if body["details"]["causes"].is_null() {
        return;
    }
    if body["reason"] == "Conflict" {
        if let Some(causes) = body["details"]["causes"].as_array_mut() {
            by_name(causes);
        }
        return;
    }
    let group = body["details"]["group"].as_str().unwrap_or_default();
    let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
    if body["reason"] != "Invalid" || !is_custom {
        return;
    }
    let Some(causes) = body["details"]["causes"].as_array_mut() else {
        return;
    };
    by_name(causes);
    let mut errors: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect();
    errors.dedup();
    let message = body["message"].as_str().unwrap_or_default();
    if let (Some((before, _)), [_, _, ..]) = (message.split_once(" is invalid: ["), &errors[..]) {
        body["message"] = format!("{before} is invalid: [{}]", errors.join(", ")).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn causes_of_custom_objects_are_sorted() {
        let cause = |field: &str| json!({"field": field, "message": "m", "reason": "r"});
        let answer = |group: &str, causes: [&str; 2], message: &str| {
            let causes = causes.map(cause);
            json!({"code": 422, "body": {
                "reason": "Invalid", "message": message, "details": {"group": group, "causes": causes},
            }})
        };
        let mut custom = answer("g.example", ["b", "a"], "X is invalid: [b: m, a: m]");
        normalise(&mut custom);
        let sorted = answer("g.example", ["a", "b"], "X is invalid: [a: m, b: m]");
        assert_eq!(custom, sorted);
        let other = answer("apps", ["b", "a"], "X is invalid: [b: m, a: m]");
        let mut same = other.clone();
        normalise(&mut same);
        assert_eq!(same, other);
    }
}
