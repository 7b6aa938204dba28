//! What is written of an autoscaler (`setStatus`, `setCondition`, `updateStatusIfNeeded`, v1.36.2).

use serde_json::json;
use wavetank_api::kinds::AUTOSCALERS;
use wavetank_api::quota::milli_value;
use wavetank_api::{Json, Method, Object, Request, Stamp, json};
use wavetank_engine::Rx;

use super::controller::HorizontalController;
use super::notes::WritesStatus;
use super::reconcile::Look;
use crate::controller_utils::pod_key;

const CONDITIONS: [&str; 2] = ["status", "conditions"];

/// `setCondition`
pub(super) fn set_condition(
    autoscaler: &mut Json,
    kind: &str,
    is_true: bool,
    (reason, message): (&str, &str),
    now: Stamp,
) {
    let status = if is_true { "True" } else { "False" };
    let mut all = json::list(autoscaler, &CONDITIONS).to_vec();
    let at = all.iter().position(|own| own["type"] == kind);
    let at = at.unwrap_or_else(|| {
        all.push(json!({ "type": kind }));
        all.len() - 1
    });
    let own = &mut all[at];
    if own["status"] != status {
        own["lastTransitionTime"] = now.seconds().into();
    }
    own["status"] = status.into();
    own["reason"] = reason.into();
    own["message"] = message.into();
    json::set(autoscaler, &CONDITIONS, all);
}

/// `buildQuantity`: memory in bytes, all else in decimals.
pub(super) fn build_quantity(resource: &str, milli: i64) -> String {
    const MEBI: i64 = 1024 * 1024;
    match (milli % 1000, milli / 1000) {
        (0, whole) if resource == "memory" && whole > 0 && whole % MEBI == 0 => {
            format!("{}Mi", whole / MEBI)
        }
        (0, whole) => whole.to_string(),
        _ => format!("{milli}m"),
    }
}

/// What a metric was found to be (`MetricStatus` of a resource).
pub(super) fn resource_metric_status(resource: &str, utilization: Option<i64>, raw: i64) -> Json {
    let mut current = json!({"averageValue": build_quantity(resource, raw)});
    if let Some(utilization) = utilization {
        current["averageUtilization"] = utilization.into();
    }
    json!({"type": "Resource", "resource": {"name": resource, "current": current}})
}

/// `setStatus`
pub(super) fn set_status(
    autoscaler: &mut Json,
    current_replicas: i64,
    desired_replicas: i64,
    metric_statuses: Option<Vec<Json>>,
    rescaled: Option<Stamp>,
) {
    let old = autoscaler.get("status").unwrap_or(&Json::Null);
    let mut status = json!({
        "desiredReplicas": desired_replicas,
        "currentMetrics": metric_statuses,
        "conditions": json::list(old, &["conditions"]),
    });
    if current_replicas != 0 {
        status["currentReplicas"] = current_replicas.into();
    }
    let last = match rescaled {
        Some(now) => Json::from(now.seconds()),
        None => old["lastScaleTime"].clone(),
    };
    if !last.is_null() {
        status["lastScaleTime"] = last;
    }
    json::set(autoscaler, &["status"], status);
}

/// `setCurrentReplicasAndMetricsInStatus`
pub(super) fn set_current_replicas_and_metrics_in_status(
    autoscaler: &mut Json,
    current_replicas: i64,
    metric_statuses: Option<Vec<Json>>,
) {
    let desired = json::number(autoscaler, &["status", "desiredReplicas"]).unwrap_or(0);
    set_status(autoscaler, current_replicas, desired, metric_statuses, None);
}

/// `Semantic.DeepEqual` of two values of a status: quantities by what they mean, what is nothing as if it were not there.
fn deep_equal(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Object(_), Json::Object(_)) => {
            let both = [one, other].map(|own| own.as_object().into_iter().flatten());
            let mut names = both.into_iter().flatten().map(|(name, _)| name);
            names.all(|name| match &**name {
                // A pointer: nothing is another thing than 0.
                "averageUtilization" => one[name] == other[name],
                "averageValue" => milli_value(&one[name]) == milli_value(&other[name]),
                _ => deep_equal(&one[name], &other[name]),
            })
        }
        (Json::Array(ones), Json::Array(others)) => {
            let mut both = ones.iter().zip(others);
            ones.len() == others.len() && both.all(|(one, other)| deep_equal(one, other))
        }
        _ => one == other || (is_nothing(one) && is_nothing(other)),
    }
}

fn is_nothing(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(all) => all.is_empty(),
        Json::Number(number) => number.as_i64() == Some(0),
        Json::String(text) => text.is_empty(),
        _ => false,
    }
}

impl HorizontalController {
    /// `updateStatusIfNeeded`. If that fails, the next look writes what it finds.
    pub(super) async fn update_status_if_needed(&self, rx: Rx, look: &Look) {
        let new = &look.autoscaler;
        if deep_equal(&look.status, new.get("status").unwrap_or(&Json::Null)) {
            return;
        }
        let object = Object::new(new.clone());
        rx.note(WritesStatus {
            autoscaler: pod_key(&object),
        });
        let path = AUTOSCALERS.path(object.namespace(), object.name());
        let put = Request::new(Method::Put, format!("{path}/status"));
        let _ = self.rest.object(rx, put.with(new.clone())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_means_the_same_is_not_written() {
        let of = |value: &str| {
            let metric = json!({"resource": {"current": {"averageValue": value}}});
            json!({"desiredReplicas": 2, "currentMetrics": [metric]})
        };
        assert!(deep_equal(&of("1000m"), &of("1")));
        assert!(!deep_equal(&of("1000m"), &of("2")));
        let none = json!({"desiredReplicas": 2, "currentMetrics": Json::Null});
        assert!(deep_equal(&none, &json!({"desiredReplicas": 2})));
        assert!(!deep_equal(&none, &of("1")));
    }

    #[test]
    fn quantities_are_written_as_they_are_stored() {
        let mebi = 1024 * 1024 * 1000;
        assert_eq!(build_quantity("memory", 64 * mebi), "64Mi");
        assert_eq!(build_quantity("cpu", 250), "250m");
        assert_eq!(build_quantity("cpu", 2000), "2");
    }

    #[test]
    fn a_condition_keeps_its_time_while_it_stays() {
        let at = |text: &str| Stamp::parse(text).expect("an instant");
        let mut own = json!({});
        let why = ("Reason", "why");
        set_condition(
            &mut own,
            "AbleToScale",
            true,
            why,
            at("2026-01-01T00:00:00Z"),
        );
        set_condition(
            &mut own,
            "AbleToScale",
            true,
            why,
            at("2026-01-01T00:00:15Z"),
        );
        let first = "2026-01-01T00:00:00Z";
        assert_eq!(own["status"]["conditions"][0]["lastTransitionTime"], first);
        set_condition(
            &mut own,
            "AbleToScale",
            false,
            why,
            at("2026-01-01T00:00:30Z"),
        );
        assert_eq!(
            own["status"]["conditions"].as_array().map(Vec::len),
            Some(1)
        );
        assert_ne!(own["status"]["conditions"][0]["lastTransitionTime"], first);
    }
}
