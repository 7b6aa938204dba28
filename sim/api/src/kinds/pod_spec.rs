//! What pods and pod templates share: defaults and validation of a PodSpec
//! (`kubernetes/pkg/apis/core/v1/defaults.go`, `pkg/apis/core/validation/validation.go`).
//!
//! Deep for what clients of a control plane set: containers, ports, environment, probes, resources,
//! tolerations. Volumes are checked for their names only; affinity and security contexts are not.

use std::collections::BTreeSet;

use serde_json::json;

use crate::decode::values::Quantity;
use crate::json::{self, Json, Map};
use crate::metadata;
use crate::names;
use crate::validation::{Bad, ErrorList};

const MAX_INT32: i64 = i32::MAX as i64;
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// A field's value, unless it is there.
pub(super) fn default(map: &mut Map, field: &str, value: impl Into<Json>) {
    let slot = map.entry(field).or_insert(Json::Null);
    if slot.is_null() || slot.as_str() == Some("") {
        *slot = value.into();
    }
}

/// The objects in a list.
pub(super) fn objects_mut<'a>(
    json: &'a mut Json,
    path: &[&str],
) -> impl Iterator<Item = &'a mut Map> {
    let mut here = Some(json);
    for field in path {
        here = here.and_then(|json| json.get_mut(field));
    }
    let items = here.and_then(Json::as_array_mut);
    items.into_iter().flatten().filter_map(Json::as_object_mut)
}

/// The defaults of a PodSpec, in pods and in templates (`SetDefaults_PodSpec` and those of what it
/// holds).
pub(super) fn set_defaults(spec: &mut Json) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in objects_mut(spec, &[list]) {
            default_container(container);
        }
    }
    for volume in objects_mut(spec, &["volumes"]) {
        default_volume(volume);
    }
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    if let Some(overhead) = spec.get_mut("overhead") {
        set_defaults_resource_list(overhead);
    }
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "schedulerName", "default-scheduler");
    // The deprecated name of the service account stands beside the new one when it is converted back.
    let account = spec
        .get("serviceAccountName")
        .or_else(|| spec.get("serviceAccount"));
    if let Some(account) = account.cloned() {
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
}

fn default_container(container: &mut Map) {
    let image = container
        .get("image")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let pull = if tag(image) == "latest" {
        "Always"
    } else {
        "IfNotPresent"
    };
    default(container, "imagePullPolicy", pull);
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    for port in list_mut(container, "ports") {
        default(port, "protocol", "TCP");
    }
    for variable in list_mut(container, "env") {
        let from = variable
            .get_mut("valueFrom")
            .and_then(|from| from.get_mut("fieldRef"));
        if let Some(reference) = from.and_then(Json::as_object_mut) {
            default(reference, "apiVersion", "v1");
        }
    }
    if let Some(resources) = container.get_mut("resources").and_then(Json::as_object_mut) {
        for list in ["limits", "requests"] {
            resources.entry(list).and_modify(set_defaults_resource_list);
        }
        resources.retain(|_, value| !value.is_null());
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get_mut(probe).and_then(Json::as_object_mut) else {
            continue;
        };
        for (field, value) in [
            ("timeoutSeconds", 1),
            ("periodSeconds", 10),
            ("successThreshold", 1),
            ("failureThreshold", 3),
        ] {
            default(probe, field, value);
        }
        default_handler(probe);
    }
    if let Some(lifecycle) = container.get_mut("lifecycle").and_then(Json::as_object_mut) {
        for handler in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.get_mut(handler).and_then(Json::as_object_mut) {
                default_handler(handler);
            }
        }
    }
}

fn default_handler(handler: &mut Map) {
    if let Some(get) = handler.get_mut("httpGet").and_then(Json::as_object_mut) {
        default(get, "path", "/");
        default(get, "scheme", "HTTP");
    }
    if let Some(grpc) = handler.get_mut("grpc").and_then(Json::as_object_mut) {
        default(grpc, "service", "");
    }
}

fn list_mut<'a>(map: &'a mut Map, field: &str) -> impl Iterator<Item = &'a mut Map> {
    let items = map.get_mut(field).and_then(Json::as_array_mut);
    items.into_iter().flatten().filter_map(Json::as_object_mut)
}

fn default_volume(volume: &mut Map) {
    if volume.keys().all(|field| field == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source).and_then(Json::as_object_mut) {
            default(source, "defaultMode", 0o644);
        }
    }
    if let Some(path) = volume.get_mut("hostPath").and_then(Json::as_object_mut) {
        path.entry("type").or_insert("".into());
    }
    let projected = volume.get_mut("projected").and_then(Json::as_object_mut);
    for source in projected.into_iter().flat_map(|p| list_mut(p, "sources")) {
        if let Some(token) = source
            .get_mut("serviceAccountToken")
            .and_then(Json::as_object_mut)
        {
            default(token, "expirationSeconds", 3600);
        }
    }
}

/// The tag of an image, `latest` if it has neither tag nor digest.
fn tag(image: &str) -> &str {
    // What is no reference has no tag either.
    if image.is_empty() || image.contains('@') {
        return "";
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map_or("latest", |(_, tag)| tag)
}

/// `SetDefaults_ResourceList`: quantities finer than a thousandth are rounded up.
fn set_defaults_resource_list(list: &mut Json) {
    for value in list.as_object_mut().into_iter().flat_map(Map::values_mut) {
        let parsed = value.as_str().map(Quantity::parse);
        if let Some(Ok(quantity)) = parsed {
            let rounded = quantity.round_up_to_milli();
            *value = rounded.canonical().into();
        }
    }
}

/// `ValidatePodTemplateSpec`
pub(super) fn validate_pod_template_spec(template: &Json, path: &str, errors: &mut ErrorList) {
    let at = |field| format!("{path}.metadata.{field}");
    metadata::validate_labels(template, &["metadata", "labels"], &at("labels"), errors);
    metadata::validate_annotations(
        template,
        &["metadata", "annotations"],
        &at("annotations"),
        errors,
    );
    let spec = template.get("spec").unwrap_or(&Json::Null);
    validate_pod_spec(spec, &format!("{path}.spec"), errors);
    if !json::list(spec, &["ephemeralContainers"]).is_empty() {
        let field = format!("{path}.spec.ephemeralContainers");
        errors.forbidden(field, "ephemeral containers not allowed in pod template");
    }
}

/// `ValidatePodSpec`
pub(super) fn validate_pod_spec(spec: &Json, path: &str, errors: &mut ErrorList) {
    let text = |field| json::text(spec, &[field]);
    let at = |field: &str| format!("{path}.{field}");
    let volumes = validate_volumes(json::list(spec, &["volumes"]), &at("volumes"), errors);
    let mut all_names = BTreeSet::new();
    let containers = json::list(spec, &["containers"]);
    if containers.is_empty() {
        errors.required(at("containers"), "");
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in json::list(spec, &[list]).iter().enumerate() {
            let path = format!("{}[{index}]", at(list));
            validate_container(container, &path, &volumes, &mut all_names, errors);
            if list == "initContainers" {
                validate_init_container(container, &path, errors);
            }
        }
    }
    check_host_port_conflicts(containers, &at("containers"), errors);
    one_of(
        text("restartPolicy"),
        &at("restartPolicy"),
        &["Always", "OnFailure", "Never"],
        errors,
    );
    one_of(
        text("dnsPolicy"),
        &at("dnsPolicy"),
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        errors,
    );
    metadata::validate_labels(spec, &["nodeSelector"], &at("nodeSelector"), errors);
    for (field, rule) in [
        (
            "serviceAccountName",
            names::name_is_dns_subdomain as fn(&str, bool) -> Vec<String>,
        ),
        ("nodeName", names::name_is_dns_subdomain),
        ("hostname", names::name_is_dns_label),
        ("subdomain", names::name_is_dns_label),
        ("priorityClassName", names::name_is_dns_subdomain),
        ("runtimeClassName", names::name_is_dns_subdomain),
    ] {
        let value = text(field);
        if !value.is_empty() {
            errors.invalid_each(&at(field), value, rule(value, false));
        }
        if field == "nodeName" {
            deadline(spec, &at("activeDeadlineSeconds"), errors);
        }
    }
    validate_tolerations(
        json::list(spec, &["tolerations"]),
        &at("tolerations"),
        errors,
    );
    if let Some(policy) = spec.get("preemptionPolicy").and_then(Json::as_str) {
        let supported = ["PreemptLowerPriority", "Never"];
        one_of(policy, &at("preemptionPolicy"), &supported, errors);
    }
}

fn deadline(spec: &Json, field: &str, errors: &mut ErrorList) {
    if let Some(seconds) = json::number(spec, &["activeDeadlineSeconds"])
        && !(1..=MAX_INT32).contains(&seconds)
    {
        errors.invalid(field, seconds, names::inclusive_range_error(1, MAX_INT32));
    }
}

fn one_of(value: &str, field: &str, supported: &[&str], errors: &mut ErrorList) {
    if value.is_empty() {
        errors.required(field, "");
    } else if !supported.contains(&value) {
        errors.not_supported(field, value, supported);
    }
}

fn validate_volumes(volumes: &[Json], path: &str, errors: &mut ErrorList) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (at, volume) in volumes.iter().enumerate() {
        let field = format!("{path}[{at}].name");
        match json::text(volume, &["name"]) {
            "" => errors.required(field, ""),
            name => {
                let found = names::is_dns1123_label(name);
                if found.is_empty() {
                    if !all.insert(name.to_owned()) {
                        errors.duplicate(field, name);
                    }
                } else {
                    errors.invalid_each(&field, name, found);
                }
            }
        }
    }
    all
}

fn validate_container(
    container: &Json,
    path: &str,
    volumes: &BTreeSet<String>,
    all_names: &mut BTreeSet<String>,
    errors: &mut ErrorList,
) {
    let text = |field| json::text(container, &[field]);
    let at = |field: &str| format!("{path}.{field}");
    match text("name") {
        "" => errors.required(at("name"), ""),
        name => {
            errors.invalid_each(&at("name"), name, names::is_dns1123_label(name));
            if !all_names.insert(name.to_owned()) {
                errors.duplicate(at("name"), name);
            }
        }
    }
    let image = text("image");
    if image.is_empty() {
        errors.required(at("image"), "");
    } else if image != image.trim() {
        errors.invalid(
            at("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
    match text("terminationMessagePolicy") {
        "File" | "FallbackToLogsOnError" => {}
        "" => errors.required(
            at("terminationMessagePolicy"),
            "must be 'File' or 'FallbackToLogsOnError'",
        ),
        other => errors.invalid(
            at("terminationMessagePolicy"),
            other,
            "must be 'File' or 'FallbackToLogsOnError'",
        ),
    }
    ports(json::list(container, &["ports"]), &at("ports"), errors);
    environment(json::list(container, &["env"]), &at("env"), errors);
    let mut places = BTreeSet::new();
    for (index, mount) in json::list(container, &["volumeMounts"]).iter().enumerate() {
        let at = |field: &str| format!("{path}.volumeMounts[{index}].{field}");
        let name = json::text(mount, &["name"]);
        match name {
            "" => errors.required(at("name"), ""),
            name if !volumes.contains(name) => {
                errors.add(
                    crate::validation::ErrorType::NotFound(name.into()),
                    at("name"),
                    "",
                );
            }
            _ => {}
        }
        match json::text(mount, &["mountPath"]) {
            "" => errors.required(at("mountPath"), ""),
            place if !places.insert(place) => {
                errors.invalid(at("mountPath"), place, "must be unique");
            }
            _ => {}
        }
    }
    let pull = ["Always", "IfNotPresent", "Never"];
    one_of(
        text("imagePullPolicy"),
        &at("imagePullPolicy"),
        &pull,
        errors,
    );
    resources(container, &at("resources"), errors);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(json) = container.get(probe).filter(|probe| !probe.is_null()) else {
            continue;
        };
        for field in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            let value = json::number(json, &[field]).unwrap_or(0);
            if value < 0 {
                errors.invalid(format!("{path}.{probe}.{field}"), value, NOT_NEGATIVE);
            }
        }
        let successes = json::number(json, &["successThreshold"]).unwrap_or(0);
        if probe != "readinessProbe" && successes != 1 {
            let field = format!("{path}.{probe}.successThreshold");
            errors.invalid(field, successes, "must be 1");
        }
        let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
        if !handlers.iter().any(|handler| json.get(handler).is_some()) {
            errors.required(format!("{path}.{probe}"), "must specify a handler type");
        }
    }
}

/// What `validateInitContainers` says besides: one that ends is not probed.
fn validate_init_container(container: &Json, path: &str, errors: &mut ErrorList) {
    let policy = json::text(container, &["restartPolicy"]);
    if !policy.is_empty() {
        let supported = ["Always", "Never", "OnFailure"];
        one_of(policy, &format!("{path}.restartPolicy"), &supported, errors);
    }
    if policy == "Always" {
        return;
    }
    for field in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if container.get(field).is_some_and(|own| !own.is_null()) {
            let detail = "may not be set for init containers without restartPolicy=Always";
            errors.forbidden(format!("{path}.{field}"), detail);
        }
    }
}

fn ports(ports: &[Json], path: &str, errors: &mut ErrorList) {
    let mut all = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        let name = json::text(port, &["name"]);
        if !name.is_empty() {
            let found = names::is_valid_port_name(name);
            if !found.is_empty() {
                errors.invalid_each(&at("name"), name, found);
            } else if !all.insert(name) {
                errors.duplicate(at("name"), name);
            }
        }
        let number = |field| json::number(port, &[field]).unwrap_or(0);
        match number("containerPort") {
            0 => errors.required(at("containerPort"), ""),
            port => {
                errors.invalid_each(&at("containerPort"), port, names::is_valid_port_num(port));
            }
        }
        match number("hostPort") {
            0 => {}
            port => errors.invalid_each(&at("hostPort"), port, names::is_valid_port_num(port)),
        }
        let protocols = ["SCTP", "TCP", "UDP"];
        one_of(
            json::text(port, &["protocol"]),
            &at("protocol"),
            &protocols,
            errors,
        );
    }
}

/// `checkHostPortConflicts`
fn check_host_port_conflicts(containers: &[Json], path: &str, errors: &mut ErrorList) {
    let mut all = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (at, port) in json::list(container, &["ports"]).iter().enumerate() {
            let number = json::number(port, &["hostPort"]).unwrap_or(0);
            if number == 0 {
                continue;
            }
            let text = |field| json::text(port, &[field]);
            let key = format!("{}/{}/{number}", text("protocol"), text("hostIP"));
            if !all.insert(key.clone()) {
                errors.duplicate(format!("{path}[{index}].ports[{at}].hostPort"), key);
            }
        }
    }
}

fn environment(variables: &[Json], path: &str, errors: &mut ErrorList) {
    for (index, variable) in variables.iter().enumerate() {
        let field = format!("{path}[{index}].name");
        match json::text(variable, &["name"]) {
            "" => errors.required(field, ""),
            name => errors.invalid_each(&field, name, names::is_relaxed_env_var_name(name)),
        }
        let from = variable.get("valueFrom").filter(|from| !from.is_null());
        if from.is_some() && !json::text(variable, &["value"]).is_empty() {
            let field = format!("{path}[{index}].valueFrom");
            errors.invalid(field, "", "may not be specified when `value` is not empty");
        }
    }
}

fn resources(container: &Json, path: &str, errors: &mut ErrorList) {
    let quantity = |text: &str| Quantity::parse(text).map_or(0, |quantity| quantity.nanos);
    for list in ["limits", "requests"] {
        for (name, value) in metadata::entries(container, &["resources", list]) {
            let field = format!("{path}.{list}[{name}]");
            let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage")
                || name.starts_with("hugepages-")
                || name.contains('/');
            errors.invalid_each(&field, name, names::is_qualified_name(name));
            if !standard {
                let detail = "must be a standard resource type or fully qualified";
                errors.invalid(&field, name, detail);
            }
            if quantity(value) < 0 {
                errors.invalid(&field, value, NOT_NEGATIVE);
            }
        }
    }
    for (name, request) in metadata::entries(container, &["resources", "requests"]) {
        let limit = json::text(container, &["resources", "limits", name]);
        if !limit.is_empty() && quantity(request) > quantity(limit) {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.invalid(format!("{path}.requests"), request, detail);
        }
    }
}

/// `ValidateTolerations`
pub(super) fn validate_tolerations(tolerations: &[Json], path: &str, errors: &mut ErrorList) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let text = |field| json::text(toleration, &[field]);
        let at = |field: &str| format!("{path}[{index}].{field}");
        let (key, operator, value) = (text("key"), text("operator"), text("value"));
        if !key.is_empty() {
            errors.invalid_each(&at("key"), key, names::is_qualified_name(key));
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all \
                          values and all keys\"";
            errors.invalid(at("operator"), operator, detail);
        }
        let seconds = toleration.get("tolerationSeconds").filter(|s| !s.is_null());
        if seconds.is_some() && text("effect") != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(at("effect"), text("effect"), detail);
        }
        match operator {
            "Equal" | "" => {
                errors.invalid_each(&at("operator"), value, names::is_valid_label_value(value));
            }
            "Exists" => {
                if !value.is_empty() {
                    let bad = Bad::shown(crate::render::list_of(
                        std::slice::from_ref(toleration),
                        "core.Toleration",
                    ));
                    let detail = "value must be empty when `operator` is 'Exists'";
                    errors.invalid(at("operator"), bad, detail);
                }
            }
            other => errors.not_supported(at("operator"), other, &["Equal", "Exists"]),
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        let effect = text("effect");
        if !effect.is_empty() && !effects.contains(&effect) {
            errors.not_supported(at("effect"), effect, &effects);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_decide_on_pulling() {
        assert_eq!(tag("a"), "latest");
        assert_eq!(tag("localhost:5000/a"), "latest");
        assert_eq!(tag("registry.example/app:1"), "1");
        assert_eq!(tag("a@sha256:00"), "");
        assert_eq!(tag(""), "");
    }

    #[test]
    fn a_spec_is_checked() {
        let mut spec = json!({"containers": [
            {"name": "c", "image": "i", "ports": [{"containerPort": 0}], "env": [{"name": "="}]},
            {"name": "c", "image": "", "resources": {"limits": {"cpu": "1", "gpu": "1"},
                                                      "requests": {"cpu": "2"}}},
        ]});
        set_defaults(&mut spec);
        let mut errors = ErrorList::default();
        validate_pod_spec(&spec, "spec", &mut errors);
        let fields: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "spec.containers[0].ports[0].containerPort",
                "spec.containers[0].env[0].name",
                "spec.containers[1].name",
                "spec.containers[1].image",
                "spec.containers[1].resources.limits[gpu]",
                "spec.containers[1].resources.requests",
            ]
        );
    }
}
