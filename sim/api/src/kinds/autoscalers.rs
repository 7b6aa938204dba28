//! HorizontalPodAutoscalers in both versions (`kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler`,
//! `pkg/apis/autoscaling/v1/conversion.go`, `v2/defaults.go`, rules in `autoscaler_rules`). The newer one is stored. What
//! the older one has no field for stands in its annotations.

use serde_json::json;

use super::autoscaler_rules::validate_horizontal_pod_autoscaler_spec;
use super::declared::{Declared, fill};
use crate::discovery::{ALL, Shown};
use crate::json::{self, Json, Map};
use crate::render;
use crate::schema;
use crate::versions::{Versioned, rename};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// `ToleranceScaleDownAnnotation` and its like of scaling up.
const TOLERANCES: [&str; 2] = [
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

pub(super) const AUTOSCALERS: Declared = Declared {
    shown: Shown {
        short_names: &["hpa"],
        categories: ALL,
        ..Shown::PLAIN
    },
    status: true,
    default: |autoscaler| {
        if !autoscaler.get("spec").is_some_and(Json::is_object) {
            return;
        }
        fill(autoscaler, &["spec", "minReplicas"], 1);
        if json::list(autoscaler, &["spec", "metrics"]).is_empty() {
            json::set(autoscaler, &["spec", "metrics"], json!([cpu(80)]));
        }
        set_defaults_horizontal_pod_autoscaler_behavior(autoscaler);
    },
    update: |_, _, autoscaler, _| drop_round_trip_horizontal_pod_autoscaler_annotations(autoscaler),
    create: |_, autoscaler| drop_round_trip_horizontal_pod_autoscaler_annotations(autoscaler),
    validate: validate_horizontal_pod_autoscaler_spec,
    ..Declared::NAMESPACED
};

pub(super) const OLD_AUTOSCALERS: Declared = Declared {
    default: |autoscaler| fill(autoscaler, &["spec", "minReplicas"], 1),
    versioned: Some(&Versioned {
        hub: &super::AUTOSCALERS,
        to_hub,
        from_hub,
    }),
    ..AUTOSCALERS
};

fn cpu(utilization: i64) -> Json {
    json!({"type": "Resource", "resource": {"name": "cpu", "target": {
        "type": "Utilization", "averageUtilization": utilization,
    }}})
}

/// `SetDefaults_HorizontalPodAutoscalerBehavior`
fn set_defaults_horizontal_pod_autoscaler_behavior(autoscaler: &mut Json) {
    const BEHAVIOR: [&str; 2] = ["spec", "behavior"];
    if !json::at(autoscaler, &BEHAVIOR).is_some_and(Json::is_object) {
        return;
    }
    let behavior = json::map_mut(autoscaler, &BEHAVIOR);
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let up = json!({
        "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent],
    });
    let down = json!({"selectPolicy": "Max", "policies": [percent]});
    for (field, defaults) in [("scaleUp", up), ("scaleDown", down)] {
        let rules = behavior.entry(field).or_insert(Json::Null);
        if !rules.is_object() {
            *rules = json!({});
        }
        for (name, value) in defaults.as_object().cloned().into_iter().flatten() {
            fill(rules, &[&name], value);
        }
    }
}

/// `DropRoundTripHorizontalPodAutoscalerAnnotations`
fn drop_round_trip_horizontal_pod_autoscaler_annotations(autoscaler: &mut Json) {
    let all = [METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS];
    for name in all.into_iter().chain(TOLERANCES) {
        json::remove(autoscaler, &["metadata", "annotations", name]);
    }
    if json::at(autoscaler, &["metadata", "annotations"]) == Some(&json!({})) {
        json::remove(autoscaler, &["metadata", "annotations"]);
    }
}

fn is_cpu(metric: &Json) -> bool {
    json::text(metric, &["type"]) == "Resource"
        && json::text(metric, &["resource", "name"]) == "cpu"
}

/// Upstream's `Convert_autoscaling_HorizontalPodAutoscaler_To_v1_HorizontalPodAutoscaler`
fn from_hub(autoscaler: &mut Json) {
    drop_round_trip_horizontal_pod_autoscaler_annotations(autoscaler);
    let metrics = json::list(autoscaler, &["spec", "metrics"]).to_vec();
    let utilization = |metric: &Json| {
        let path = ["resource", "target", "averageUtilization"];
        json::number(metric, &path).filter(|_| is_cpu(metric))
    };
    let target = metrics.iter().find_map(utilization);
    let others = metrics
        .iter()
        .filter(|metric| utilization(metric).is_none());
    let others: Vec<Json> = others.cloned().map(old_metric).collect();
    let current = json::list(autoscaler, &["status", "currentMetrics"]).to_vec();
    let used = current.iter().filter(|metric| is_cpu(metric));
    let mut used =
        used.filter_map(|m| json::number(m, &["resource", "current", "averageUtilization"]));
    let used = used.next_back();
    let current: Vec<Json> = current.into_iter().map(old_status).collect();
    let conditions = json::list(autoscaler, &["status", "conditions"]).to_vec();
    let behavior = json::at(autoscaler, &["spec", "behavior"]).cloned();
    let mut say = |name: &str, text: String| {
        json::set(autoscaler, &["metadata", "annotations", name], text);
    };
    if !others.is_empty() {
        say(METRICS, listed(&others, "autoscaling.MetricSpec"));
    }
    if !current.is_empty() {
        say(
            CURRENT_METRICS,
            listed(&current, "autoscaling.MetricStatus"),
        );
    }
    if let Some(behavior) = behavior.filter(Json::is_object) {
        say(BEHAVIOR, internal_behavior(&behavior));
    }
    if !conditions.is_empty() {
        let of = "autoscaling.HorizontalPodAutoscalerCondition";
        say(CONDITIONS, listed(&conditions, of));
    }
    for path in [["spec", "metrics"], ["spec", "behavior"]] {
        json::remove(autoscaler, &path);
    }
    for path in [["status", "currentMetrics"], ["status", "conditions"]] {
        json::remove(autoscaler, &path);
    }
    if let Some(target) = target {
        json::set(
            autoscaler,
            &["spec", "targetCPUUtilizationPercentage"],
            target,
        );
    }
    if let Some(used) = used {
        json::set(
            autoscaler,
            &["status", "currentCPUUtilizationPercentage"],
            used,
        );
    }
}

/// Upstream's `Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler`
fn to_hub(autoscaler: &mut Json) {
    let annotation = |name: &str| -> Option<Json> {
        let text = json::text(autoscaler, &["metadata", "annotations", name]);
        serde_json::from_str(text).ok()
    };
    let items = |name: &str| annotation(name).and_then(|list| list.as_array().cloned());
    let mut metrics: Vec<Json> = items(METRICS).unwrap_or_default();
    metrics.iter_mut().for_each(new_metric);
    let current = items(CURRENT_METRICS);
    let conditions = items(CONDITIONS);
    let behavior = annotation(BEHAVIOR).filter(|behavior| behavior.is_object());
    let target = ["spec", "targetCPUUtilizationPercentage"];
    if let Some(Json::Number(target)) = json::remove(autoscaler, &target) {
        metrics.push(cpu(target.as_i64().unwrap_or(0)));
    }
    if metrics.is_empty() {
        metrics.push(cpu(80));
    }
    json::set(autoscaler, &["spec", "metrics"], metrics);
    if let Some(behavior) = behavior {
        json::set(
            autoscaler,
            &["spec", "behavior"],
            external_behavior(&behavior),
        );
    }
    let used = ["status", "currentCPUUtilizationPercentage"];
    let used = json::remove(autoscaler, &used);
    let current = match (current, used) {
        (Some(mut current), _) => {
            current.iter_mut().for_each(new_status);
            Some(current)
        }
        (None, Some(used)) if !used.is_null() => Some(vec![json!({
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": used}},
        })]),
        _ => None,
    };
    if let Some(current) = current {
        json::set(autoscaler, &["status", "currentMetrics"], current);
    }
    if let Some(conditions) = conditions {
        json::set(autoscaler, &["status", "conditions"], conditions);
    }
    drop_round_trip_horizontal_pod_autoscaler_annotations(autoscaler);
}

/// The kinds of metrics, with the fields of each in the old version.
const SOURCES: [&str; 5] = [
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
];

fn source(metric: &mut Json) -> Option<(&'static str, &mut Json)> {
    let found = SOURCES
        .into_iter()
        .find(|name| metric.get(name).is_some_and(Json::is_object))?;
    Some((found, metric.get_mut(found)?))
}

/// The values of a target or of what is current, by the source, in the new version and in the old one.
fn values(of: &str, source: &str) -> [(&'static str, &'static str); 3] {
    let none = ("", "");
    match (of, source) {
        ("target", "pods") => [("averageValue", "targetAverageValue"), none, none],
        ("current", "pods") => [("averageValue", "currentAverageValue"), none, none],
        ("target", "object") => [
            ("value", "targetValue"),
            ("averageValue", "averageValue"),
            none,
        ],
        ("current", "object") => [
            ("value", "currentValue"),
            ("averageValue", "averageValue"),
            none,
        ],
        ("target", "external") => [
            ("value", "targetValue"),
            ("averageValue", "targetAverageValue"),
            none,
        ],
        ("current", "external") => [
            ("value", "currentValue"),
            ("averageValue", "currentAverageValue"),
            none,
        ],
        ("target", _) => [
            ("averageUtilization", "targetAverageUtilization"),
            ("averageValue", "targetAverageValue"),
            none,
        ],
        _ => [
            ("averageUtilization", "currentAverageUtilization"),
            ("averageValue", "currentAverageValue"),
            none,
        ],
    }
}

/// A metric of the new version in the old one.
fn older(metric: &mut Json, of: &str) {
    let Some((name, body)) = source(metric) else {
        return;
    };
    let inner = body
        .as_object_mut()
        .and_then(|map| map.remove(of))
        .unwrap_or_default();
    for (new, old) in values(of, name) {
        if let Some(value) = inner.get(new) {
            json::set(body, &[old], value.clone());
        }
    }
    let metric = body.as_object_mut().and_then(|map| map.remove("metric"));
    if let Some(metric) = metric {
        let selector = if name == "external" {
            "metricSelector"
        } else {
            "selector"
        };
        json::set(body, &["metricName"], json::text(&metric, &["name"]));
        if let Some(value) = metric.get("selector") {
            json::set(body, &[selector], value.clone());
        }
    }
    if name == "object" {
        rename(body, "describedObject", "target");
    }
}

/// A metric of the old version in the new one.
fn newer(metric: &mut Json, of: &str) {
    let Some((name, body)) = source(metric) else {
        return;
    };
    if name == "object" {
        rename(body, "target", "describedObject");
    }
    let mut inner = Map::new();
    for (new, old) in values(of, name) {
        if let Some(value) = json::remove(body, &[old]).filter(|_| !old.is_empty()) {
            inner.insert(new.to_owned(), value);
        }
    }
    if of == "target" {
        let kind = match () {
            () if inner.contains_key("averageUtilization") => "Utilization",
            () if inner.contains_key("averageValue") => "AverageValue",
            () => "Value",
        };
        inner.insert("type".to_owned(), kind.into());
    }
    json::set(body, &[of], inner);
    if let Some(metric) = json::remove(body, &["metricName"]) {
        json::set(body, &["metric", "name"], metric);
    }
    for selector in ["metricSelector", "selector"] {
        if let Some(value) = json::remove(body, &[selector]) {
            json::set(body, &["metric", "selector"], value);
        }
    }
}

fn old_metric(mut metric: Json) -> Json {
    older(&mut metric, "target");
    metric
}

fn old_status(mut metric: Json) -> Json {
    older(&mut metric, "current");
    metric
}

fn new_metric(metric: &mut Json) {
    newer(metric, "target");
}

fn new_status(metric: &mut Json) {
    newer(metric, "current");
}

/// A list as Go writes it: fields in the order of their struct.
fn listed(items: &[Json], of: &str) -> String {
    let id = schema::named(of).expect("the table has it");
    let items = items.iter().map(|item| render::structure(item, id));
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The fields of a behavior, as the internal type has them: they are written by their names in Go.
const RULES: [(&str, &str); 4] = [
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
    ("Policies", "policies"),
    ("Tolerance", "tolerance"),
];
const POLICY: [(&str, &str); 3] = [
    ("Type", "type"),
    ("Value", "value"),
    ("PeriodSeconds", "periodSeconds"),
];
const DIRECTIONS: [(&str, &str); 2] = [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")];

fn internal_behavior(behavior: &Json) -> String {
    let fields = |names: &[(&str, &str)], write: &dyn Fn(&str) -> String| {
        let fields = names
            .iter()
            .map(|(go, json)| format!("\"{go}\":{}", write(json)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    let plain = |value: Option<&Json>| value.unwrap_or(&Json::Null).to_string();
    let rules = |rules: &Json| {
        fields(&RULES, &|field| match rules.get(field) {
            Some(Json::Array(policies)) => {
                let policy = |policy: &Json| fields(&POLICY, &|field| plain(policy.get(field)));
                let all: Vec<String> = policies.iter().map(policy).collect();
                format!("[{}]", all.join(","))
            }
            value => plain(value),
        })
    };
    fields(&DIRECTIONS, &|direction| match behavior.get(direction) {
        Some(of) if of.is_object() => rules(of),
        _ => "null".to_owned(),
    })
}

fn external_behavior(behavior: &Json) -> Json {
    fn renamed(object: &Json, names: &[(&str, &str)]) -> Json {
        let fields = names.iter().filter_map(|(go, json)| {
            let value = object.get(go).filter(|value| !value.is_null())?;
            let value = match (*go, value) {
                ("ScaleUp" | "ScaleDown", rules) => renamed(rules, &RULES),
                ("Policies", Json::Array(all)) => all.iter().map(|p| renamed(p, &POLICY)).collect(),
                (_, value) => value.clone(),
            };
            Some(((*json).to_owned(), value))
        });
        Json::Object(fields.collect())
    }
    renamed(behavior, &DIRECTIONS)
}
