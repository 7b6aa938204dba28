//! Deployments and their scale (`kubernetes/pkg/registry/apps/deployment/strategy.go`,
//! `storage/storage.go`, `pkg/apis/apps/v1/defaults.go`, `pkg/apis/apps/validation/validation.go`).

use serde_json::json;

use super::pod_spec::{self, default};
use super::pods::{count_generation, keep};
use crate::decode::typed;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::quote;
use crate::render;
use crate::schema;
use crate::selector::{LabelSelector, Operator, Requirement};
use crate::status::Status;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::{Bad, ErrorList};

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// The rules of Deployments.
pub struct Deployments;

impl Strategy for Deployments {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown {
            short_names: &["deploy"],
            categories: crate::discovery::ALL,
            subresources: &[crate::discovery::SCALE],
        }
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["spec"], &["metadata", "labels"]],
            _ => &[&["status"]],
        }
    }

    fn default(&self, deployment: &mut Json) {
        if let Some(spec) = deployment.get_mut("spec").and_then(Json::as_object_mut) {
            if let Some(template) = spec.get_mut("template").and_then(|t| t.get_mut("spec")) {
                pod_spec::set_defaults(template);
            }
            default(spec, "replicas", 1);
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "progressDeadlineSeconds", 600);
            let strategy = spec.entry("strategy").or_insert_with(|| json!({}));
            if let Some(strategy) = strategy.as_object_mut() {
                default(strategy, "type", "RollingUpdate");
                if strategy.get("type").and_then(Json::as_str) == Some("RollingUpdate") {
                    default(strategy, "rollingUpdate", json!({}));
                    let rolling = strategy.get_mut("rollingUpdate");
                    if let Some(rolling) = rolling.and_then(Json::as_object_mut) {
                        default(rolling, "maxUnavailable", "25%");
                        default(rolling, "maxSurge", "25%");
                    }
                }
            }
        }
    }

    fn prepare_for_create(&self, _cx: &Context, deployment: &mut Json) {
        json::set(deployment, &["status"], json!({}));
        json::set(deployment, &["metadata", "generation"], 1);
    }

    fn validate(&self, _cx: &Context, deployment: &Json) -> ErrorList {
        let mut errors =
            metadata::validate_object_meta(deployment, true, &names::name_is_dns_subdomain);
        validate_deployment_spec(deployment, &mut errors);
        errors
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, deployment: &mut Json, old: &Json) {
        if part == Part::Status {
            keep(deployment, old, &["spec"]);
            keep(deployment, old, &["metadata", "labels"]);
            return;
        }
        keep(deployment, old, &["status"]);
        let annotations = |of| json::at(of, &["metadata", "annotations"]).cloned();
        let changed = deployment.get("spec") != old.get("spec")
            || annotations(deployment) != annotations(old);
        if changed {
            count_generation(deployment, old);
        }
    }

    fn validate_update(
        &self,
        _cx: &Context,
        part: Part,
        deployment: &Json,
        old: &Json,
    ) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(deployment, old);
        if part == Part::Status {
            validate_deployment_status_update(deployment, old, &mut errors);
            return errors;
        }
        validate_deployment_spec(deployment, &mut errors);
        let selector = |of| json::at(of, &["spec", "selector"]).cloned();
        let new = selector(deployment);
        if new != selector(old) {
            errors.invalid("spec.selector", shown(new.as_ref()), metadata::IMMUTABLE);
        }
        errors
    }

    fn warnings(&self, _cx: &Context, deployment: &Json, old: Option<&Json>) -> Vec<String> {
        let found = names::is_dns1123_label(json::text(deployment, &["metadata", "name"]));
        if old.is_some() || found.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising \
             behavior; a DNS label is recommended: [{}]",
            found.join(" ")
        )]
    }

    fn has(&self, part: Part) -> bool {
        matches!(part, Part::Whole | Part::Status)
    }
}

/// A label selector as messages show it.
pub(super) fn shown(selector: Option<&Json>) -> Bad {
    let id = schema::named("meta.LabelSelector");
    match (selector, id) {
        (Some(selector), Some(id)) => Bad::shown(render::structure(selector, id)),
        _ => Bad::shown("null"),
    }
}

/// `LabelSelectorAsSelector`; `None` if an operator is none.
pub fn label_selector_as_selector(selector: &Json) -> Option<LabelSelector> {
    let mut all = Vec::new();
    for (key, value) in metadata::entries(selector, &["matchLabels"]) {
        all.push(Requirement {
            key: key.into(),
            operator: Operator::In,
            values: vec![value.into()],
        });
    }
    for expression in json::list(selector, &["matchExpressions"]) {
        let values = json::list(expression, &["values"])
            .iter()
            .filter_map(Json::as_str);
        all.push(Requirement {
            key: json::text(expression, &["key"]).into(),
            operator: match json::text(expression, &["operator"]) {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                _ => return None,
            },
            values: values.map(Into::into).collect(),
        });
    }
    Some(LabelSelector(all))
}

/// `ValidateLabelSelector`
pub(super) fn validate_label_selector(selector: &Json, path: &str, errors: &mut ErrorList) {
    metadata::validate_labels(
        selector,
        &["matchLabels"],
        &format!("{path}.matchLabels"),
        errors,
    );
    for (at, expression) in json::list(selector, &["matchExpressions"])
        .iter()
        .enumerate()
    {
        let at = |field: &str| format!("{path}.matchExpressions[{at}].{field}");
        let values = json::list(expression, &["values"]);
        match json::text(expression, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.required(at("values"), detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.forbidden(at("values"), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.invalid(at("operator"), other, "not a valid selector operator"),
        }
        let key = json::text(expression, &["key"]);
        errors.invalid_each(&at("key"), key, names::is_qualified_name(key));
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let field = format!("{}[{index}]", at("values"));
            errors.invalid_each(&field, value, names::is_valid_label_value(value));
        }
    }
}

pub(super) fn not_negative(object: &Json, path: &[&str], errors: &mut ErrorList) {
    let value = json::number(object, path).unwrap_or(0);
    if value < 0 {
        errors.invalid(path.join("."), value, NOT_NEGATIVE);
    }
}

/// `ValidateDeploymentSpec`
fn validate_deployment_spec(deployment: &Json, errors: &mut ErrorList) {
    not_negative(deployment, &["spec", "replicas"], errors);
    let selector = json::at(deployment, &["spec", "selector"]).filter(|s| !s.is_null());
    let template = json::at(deployment, &["spec", "template"]).unwrap_or(&Json::Null);
    // Without a selector it is one that matches nothing (`labels.Nothing`), and not one that matches all.
    let parsed = match selector {
        None => {
            errors.required("spec.selector", "");
            does_not_match(template, errors);
            Some(LabelSelector::default())
        }
        Some(selector) => {
            validate_label_selector(selector, "spec.selector", errors);
            let parsed = label_selector_as_selector(selector);
            if parsed.as_ref().is_some_and(|parsed| parsed.0.is_empty()) {
                let detail = "empty selector is invalid for deployment";
                errors.invalid("spec.selector", shown(Some(selector)), detail);
            }
            parsed
        }
    };
    match parsed {
        None => errors.invalid("spec.selector", shown(selector), "invalid label selector"),
        Some(parsed) => validate_pod_template_spec_for_replica_set(template, &parsed, errors),
    }
    validate_deployment_strategy(deployment, errors);
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        not_negative(deployment, &["spec", field], errors);
    }
    let number = |field| json::number(deployment, &["spec", field]);
    if let Some(deadline) = number("progressDeadlineSeconds")
        && deadline <= number("minReadySeconds").unwrap_or(0)
    {
        let detail = "must be greater than minReadySeconds";
        errors.invalid("spec.progressDeadlineSeconds", deadline, detail);
    }
}

fn does_not_match(template: &Json, errors: &mut ErrorList) {
    let labels = json::at(template, &["metadata", "labels"]);
    let detail = "`selector` does not match template `labels`";
    errors.invalid("spec.template.metadata.labels", labels, detail);
}

/// `ValidatePodTemplateSpecForReplicaSet`
pub(super) fn validate_pod_template_spec_for_replica_set(
    template: &Json,
    selector: &LabelSelector,
    errors: &mut ErrorList,
) {
    if !selector.0.is_empty() && !selector.matches(template) {
        does_not_match(template, errors);
    }
    pod_spec::validate_pod_template_spec(template, "spec.template", errors);
    let restart = json::text(template, &["spec", "restartPolicy"]);
    if restart != "Always" {
        errors.not_supported("spec.template.spec.restartPolicy", restart, &["Always"]);
    }
    let deadline = json::at(template, &["spec", "activeDeadlineSeconds"]);
    if deadline.is_some_and(|deadline| !deadline.is_null()) {
        errors.forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            "activeDeadlineSeconds in ReplicaSet is not Supported",
        );
    }
}

/// `ValidateDeploymentStrategy`
fn validate_deployment_strategy(deployment: &Json, errors: &mut ErrorList) {
    const ROLLING: &str = "spec.strategy.rollingUpdate";
    let strategy = json::at(deployment, &["spec", "strategy"]).unwrap_or(&Json::Null);
    let rolling = strategy.get("rollingUpdate").filter(|r| !r.is_null());
    match (json::text(strategy, &["type"]), rolling) {
        ("Recreate", None) => {}
        ("Recreate", Some(_)) => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.forbidden(ROLLING, detail);
        }
        ("RollingUpdate", None) => {
            errors.required(ROLLING, "this should be defaulted and never be nil");
        }
        ("RollingUpdate", Some(rolling)) => {
            let value = |field| rolling.get(field).unwrap_or(&Json::Null);
            for field in ["maxUnavailable", "maxSurge"] {
                int_or_percent(value(field), &format!("{ROLLING}.{field}"), errors);
            }
            let unavailable = value("maxUnavailable");
            if get_int_or_percent_value(unavailable) == 0
                && get_int_or_percent_value(value("maxSurge")) == 0
            {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.invalid(format!("{ROLLING}.maxUnavailable"), unavailable, detail);
            }
            if unavailable.is_string() && get_int_or_percent_value(unavailable) > 100 {
                let detail = "must not be greater than 100%";
                errors.invalid(format!("{ROLLING}.maxUnavailable"), unavailable, detail);
            }
        }
        _ => {
            let bad = Bad::from(strategy);
            let supported = ["Recreate", "RollingUpdate"].map(quote::quote).join(", ");
            errors.add(
                crate::validation::ErrorType::NotSupported(bad),
                "spec.strategy",
                format!("supported values: {supported}"),
            );
        }
    }
}

/// `getIntOrPercentValue`
pub(super) fn get_int_or_percent_value(value: &Json) -> i64 {
    match value {
        Json::String(text) => text.trim_end_matches('%').parse().unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    }
}

pub(super) fn int_or_percent(value: &Json, field: &str, errors: &mut ErrorList) {
    match value {
        Json::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                errors.invalid(
                    field,
                    text,
                    "a valid percent string must be a numeric string followed by an ending '%' \
                     (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
                );
            }
        }
        value => {
            let number = value.as_i64().unwrap_or(0);
            if number < 0 {
                errors.invalid(field, number, NOT_NEGATIVE);
            }
        }
    }
}

/// `ValidateDeploymentStatusUpdate`
fn validate_deployment_status_update(deployment: &Json, old: &Json, errors: &mut ErrorList) {
    for field in [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ] {
        not_negative(deployment, &["status", field], errors);
    }
    let number = |field| json::number(deployment, &["status", field]).unwrap_or(0);
    for field in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        if number(field) > number("replicas") {
            let detail = "cannot be greater than status.replicas";
            errors.invalid(format!("status.{field}"), number(field), detail);
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        let detail = "cannot be greater than readyReplicas";
        errors.invalid(
            "status.availableReplicas",
            number("availableReplicas"),
            detail,
        );
    }
    if let Some(before) = json::number(old, &["status", "collisionCount"])
        && number("collisionCount") < before
    {
        let detail = "cannot be decremented";
        errors.invalid("status.collisionCount", number("collisionCount"), detail);
    }
}

/// `scaleFromDeployment`, and its like of other workloads: the Scale of a Deployment, which carries its resourceVersion.
pub fn scale_from_deployment(deployment: &Json) -> Json {
    let mut scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale"});
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = json::at(deployment, &["metadata", field]) {
            json::set(&mut scale, &["metadata", field], value.clone());
        }
    }
    let number = |path: &[&str]| json::number(deployment, path).unwrap_or(0);
    json::set(
        &mut scale,
        &["spec", "replicas"],
        number(&["spec", "replicas"]),
    );
    json::set(
        &mut scale,
        &["status", "replicas"],
        number(&["status", "replicas"]),
    );
    let selector = json::at(deployment, &["spec", "selector"]).and_then(|own| {
        // Of a ReplicationController it is a map (`scaleFromRC`).
        match json::text(deployment, &["kind"]) {
            "ReplicationController" => label_selector_as_selector(&json!({"matchLabels": own})),
            _ => label_selector_as_selector(own),
        }
    });
    json::set(
        &mut scale,
        &["status", "selector"],
        in_words(&selector.unwrap_or_default()),
    );
    let written =
        schema::kind("autoscaling/v1", "Scale").map(|id| typed::convert(&scale, id, None));
    match written {
        Some(Ok(read)) => read.json,
        _ => scale,
    }
}

/// Upstream's `labels.Selector.String` of a label selector; `None` if it has an operator that is none.
pub(crate) fn selector_in_words(selector: &Json) -> Option<String> {
    label_selector_as_selector(selector).map(|selector| in_words(&selector))
}

/// `labels.Selector.String` of the selector of a workload.
fn in_words(selector: &LabelSelector) -> String {
    let mut all: Vec<&Requirement> = selector.0.iter().collect();
    all.sort_by(|a, b| a.key.cmp(&b.key));
    let words = all.iter().map(|requirement| {
        let Requirement { key, values, .. } = requirement;
        let joined = values.join(",");
        match requirement.operator {
            Operator::In if values.len() == 1 => format!("{key}={joined}"),
            Operator::In => format!("{key} in ({joined})"),
            Operator::NotIn => format!("{key} notin ({joined})"),
            Operator::Exists => key.to_string(),
            Operator::DoesNotExist => format!("!{key}"),
            Operator::GreaterThan => format!("{key}>{joined}"),
            Operator::LessThan => format!("{key}<{joined}"),
        }
    });
    words.collect::<Vec<_>>().join(",")
}

/// The Deployment as an update of its Scale makes it; it carries the Scale's resourceVersion.
pub fn rescale(deployment: &Json, scale: &Json) -> Result<Json, Status> {
    let mut errors = metadata::validate_object_meta(scale, true, &names::name_is_dns_subdomain);
    not_negative(scale, &["spec", "replicas"], &mut errors);
    if !errors.is_empty() {
        let name = json::text(scale, &["metadata", "name"]);
        return Err(Status::new_invalid("Scale", "autoscaling", name, &errors));
    }
    let mut scaled = deployment.clone();
    let replicas = json::number(scale, &["spec", "replicas"]).unwrap_or(0);
    json::set(&mut scaled, &["spec", "replicas"], replicas);
    keep(&mut scaled, scale, &["metadata", "resourceVersion"]);
    Ok(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        Context {
            release: wavetank_releases::V1_36,
            now: crate::Stamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
            dual_stack: false,
        }
    }

    fn deployment() -> Json {
        let mut deployment = json!({
            "metadata": {"name": "d", "namespace": "n", "resourceVersion": "1"},
            "spec": {
                "selector": {"matchLabels": {"app": "d"}}, "strategy": {},
                "template": {
                    "metadata": {"labels": {"app": "d"}},
                    "spec": {"containers": [{"name": "c", "image": "i:1", "resources": {}}]},
                },
            },
        });
        Deployments.default(&mut deployment);
        Deployments.prepare_for_create(&context(), &mut deployment);
        deployment
    }

    #[test]
    fn a_deployment_gets_its_defaults() {
        let deployment = deployment();
        assert_eq!(deployment["spec"]["replicas"], 1);
        assert_eq!(
            deployment["spec"]["strategy"],
            json!({"type": "RollingUpdate",
                   "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
        );
        assert_eq!(
            Deployments.validate(&context(), &deployment).to_string(),
            "[]"
        );
        let words = scale_from_deployment(&deployment);
        assert_eq!(words["status"], json!({"replicas": 0, "selector": "app=d"}));
        let none = rescale(
            &deployment,
            &json!({"metadata": {"name": "d", "namespace": "n"}}),
        );
        assert_eq!(none.expect("scales")["spec"]["replicas"], 0);
    }

    #[test]
    fn changes_count() {
        let old = deployment();
        let mut new = old.clone();
        json::set(&mut new, &["spec", "replicas"], 3);
        Deployments.prepare_for_update(&context(), Part::Whole, &mut new, &old);
        assert_eq!(new["metadata"]["generation"], 2);
        json::set(&mut new, &["spec", "selector", "matchLabels", "app"], "x");
        let errors = Deployments.validate_update(&context(), Part::Whole, &new, &old);
        assert_eq!(
            errors.to_string(),
            "[spec.template.metadata.labels: Invalid value: {\"app\":\"d\"}: `selector` does not \
             match template `labels`, spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"}}: \
             field is immutable]"
        );
    }
}
