//! Kinds of the cluster with few rules: accounts, roles, routes into it, what admits and what is registered
//! (`kubernetes/pkg/registry/rbac`, `networking`, `node`, `certificates`, `admissionregistration`, `resource`,
//! `core/serviceaccount`; `kube-aggregator/pkg/registry/apiservice`).

use serde_json::json;

use super::declared::{Declared, Generation, OF_SPEC, each, fill, immutable};
use crate::discovery::{API_EXTENSIONS, SERVICE_ACCOUNT_TOKEN, Shown, Subresource};
use crate::json::{self, Json};
use crate::names;
use crate::validation::ErrorList;

pub(super) const SERVICE_ACCOUNTS: Declared = Declared {
    shown: Shown {
        short_names: &["sa"],
        subresources: &[SERVICE_ACCOUNT_TOKEN],
        ..Shown::PLAIN
    },
    returns_deleted: true,
    ..Declared::NAMESPACED
};

const ROLE: Declared = Declared {
    name: names::is_valid_path_segment_name,
    default: |binding| {
        fill(
            binding,
            &["roleRef", "apiGroup"],
            "rbac.authorization.k8s.io",
        );
        for subject in each(binding, &["subjects"]) {
            if matches!(json::text(subject, &["kind"]), "User" | "Group") {
                fill(subject, &["apiGroup"], "rbac.authorization.k8s.io");
            }
        }
    },
    creates_on_update: true,
    ..Declared::NAMESPACED
};
pub(super) const ROLES: Declared = Declared {
    validate: validate_policy_rule,
    ..ROLE
};
pub(super) const ROLE_BINDINGS: Declared = Declared {
    validate: validate_role_binding,
    validate_update: |new, old, errors| role_ref_stays(new, old, errors),
    ..ROLE
};
pub(super) const CLUSTER_ROLES: Declared = Declared {
    namespaced: false,
    ..ROLES
};
pub(super) const CLUSTER_ROLE_BINDINGS: Declared = Declared {
    namespaced: false,
    ..ROLE_BINDINGS
};

/// `ValidatePolicyRule`
fn validate_policy_rule(role: &Json, errors: &mut ErrorList) {
    for (at, rule) in json::list(role, &["rules"]).iter().enumerate() {
        let empty = |field| json::list(rule, &[field]).is_empty();
        if empty("verbs") {
            errors.required(
                format!("rules[{at}].verbs"),
                "verbs must contain at least one value",
            );
        }
        if !empty("nonResourceURLs") {
            continue;
        }
        if empty("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            errors.required(format!("rules[{at}].apiGroups"), detail);
        }
        if empty("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.required(format!("rules[{at}].resources"), detail);
        }
    }
}

/// `ValidateRoleBinding`
fn validate_role_binding(binding: &Json, errors: &mut ErrorList) {
    let text = |field| json::text(binding, &["roleRef", field]);
    let group = "rbac.authorization.k8s.io";
    if text("apiGroup") != group {
        errors.not_supported("roleRef.apiGroup", text("apiGroup"), &[group]);
    }
    let kinds: &[&str] = match json::text(binding, &["kind"]) {
        "ClusterRoleBinding" => &["ClusterRole"],
        _ => &["Role", "ClusterRole"],
    };
    if !kinds.contains(&text("kind")) {
        errors.not_supported("roleRef.kind", text("kind"), kinds);
    }
    if text("name").is_empty() {
        errors.required("roleRef.name", "");
    }
}

fn role_ref_stays(new: &Json, old: &Json, errors: &mut ErrorList) {
    if new.get("roleRef") != old.get("roleRef") {
        let bad = new.get("roleRef").cloned().unwrap_or_default();
        errors.invalid("roleRef", &bad, "cannot change roleRef");
    }
}

pub(super) const INGRESSES: Declared = Declared {
    shown: Shown::called(&["ing"]),
    status: true,
    generation: OF_SPEC,
    ..Declared::NAMESPACED
};
pub(super) const INGRESS_CLASSES: Declared = Declared {
    generation: OF_SPEC,
    default: |class| fill(class, &["spec", "parameters", "scope"], "Cluster"),
    ..Declared::CLUSTER
};
pub(super) const NETWORK_POLICIES: Declared = Declared {
    shown: Shown::called(&["netpol"]),
    generation: OF_SPEC,
    default: |policy| {
        for rules in ["ingress", "egress"] {
            for rule in each(policy, &["spec", rules]) {
                for port in each(rule, &["ports"]) {
                    fill(port, &["protocol"], "TCP");
                }
            }
        }
        let spec = ["spec", "policyTypes"];
        if json::list(policy, &spec).is_empty() {
            let egress = !json::list(policy, &["spec", "egress"]).is_empty();
            let types = if egress {
                json!(["Ingress", "Egress"])
            } else {
                json!(["Ingress"])
            };
            json::set(policy, &spec, types);
        }
    },
    ..Declared::NAMESPACED
};

pub(super) const RUNTIME_CLASSES: Declared = Declared {
    unconditional: false,
    validate: |class, errors| {
        let handler = json::text(class, &["handler"]);
        errors.invalid_each("handler", handler, names::is_dns1123_label(handler));
    },
    validate_update: |new, old, errors| immutable(new, old, &["handler"], errors),
    ..Declared::CLUSTER
};

pub(super) const CERTIFICATE_SIGNING_REQUESTS: Declared = Declared {
    shown: Shown {
        short_names: &["csr"],
        subresources: &[Subresource::of_object("approval")],
        ..Shown::PLAIN
    },
    status: true,
    ..Declared::CLUSTER
};

const ADMISSION: Declared = Declared {
    shown: Shown {
        categories: API_EXTENSIONS,
        ..Shown::PLAIN
    },
    unconditional: false,
    generation: OF_SPEC,
    default: |policy| {
        fill(policy, &["spec", "failurePolicy"], "Fail");
        for path in ["matchConstraints", "matchResources"] {
            set_defaults_match_resources(policy, &["spec", path]);
        }
    },
    ..Declared::CLUSTER
};
pub(super) const VALIDATING_ADMISSION_POLICIES: Declared = Declared {
    status: true,
    ..ADMISSION
};
pub(super) const MUTATING_ADMISSION_POLICIES: Declared = ADMISSION;
pub(super) const ADMISSION_POLICY_BINDINGS: Declared = Declared {
    default: |binding| set_defaults_match_resources(binding, &["spec", "matchResources"]),
    ..ADMISSION
};
pub(super) const WEBHOOK_CONFIGURATIONS: Declared = Declared {
    generation: Generation::Counts(&[&["webhooks"]]),
    default: |configuration| {
        let mutates = json::text(configuration, &["kind"]) == "MutatingWebhookConfiguration";
        for webhook in each(configuration, &["webhooks"]) {
            fill(webhook, &["failurePolicy"], "Fail");
            fill(webhook, &["matchPolicy"], "Equivalent");
            fill(webhook, &["namespaceSelector"], json!({}));
            fill(webhook, &["objectSelector"], json!({}));
            fill(webhook, &["timeoutSeconds"], 10);
            fill(webhook, &["clientConfig", "service", "port"], 443);
            if mutates {
                fill(webhook, &["reinvocationPolicy"], "Never");
            }
            for rule in each(webhook, &["rules"]) {
                fill(rule, &["scope"], "*");
            }
        }
    },
    ..ADMISSION
};

/// `SetDefaults_MatchResources`, and of the rules in it.
fn set_defaults_match_resources(object: &mut Json, path: &[&str]) {
    let at = |field| [path, &[field]].concat();
    fill(object, &at("matchPolicy"), "Equivalent");
    fill(object, &at("namespaceSelector"), json!({}));
    fill(object, &at("objectSelector"), json!({}));
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in each(object, &at(rules)) {
            fill(rule, &["scope"], "*");
        }
    }
}

pub(super) const API_SERVICES: Declared = Declared {
    shown: Shown {
        categories: API_EXTENSIONS,
        ..Shown::PLAIN
    },
    status: true,
    name: names::is_valid_path_segment_name,
    default: |service| fill(service, &["spec", "service", "port"], 443),
    create: |cx, service| {
        // Local ones are available at once.
        if json::at(service, &["spec", "service"]).is_none_or(Json::is_null) {
            let available = json!({
                "type": "Available", "status": "True", "lastTransitionTime": cx.now.seconds(),
                "reason": "Local", "message": "Local APIServices are always available",
            });
            json::set(service, &["status", "conditions"], json!([available]));
        }
    },
    validate: validate_api_service,
    ..Declared::CLUSTER
};

/// `ValidateAPIService`: its name is that of its version and group.
fn validate_api_service(service: &Json, errors: &mut ErrorList) {
    let text = |path: &[&str]| json::text(service, path);
    let number = |field| json::number(service, &["spec", field]).unwrap_or(0);
    let (version, group) = (text(&["spec", "version"]), text(&["spec", "group"]));
    let required = format!("{version}.{group}");
    let name = text(&["metadata", "name"]);
    if name != required {
        let detail = format!(
            "must be `spec.version+\".\"+spec.group`: {}",
            crate::quote::quote(&required)
        );
        errors.invalid("metadata.name", name, detail);
    }
    if !group.is_empty() {
        errors.invalid_each("spec.group", group, names::is_dns1123_subdomain(group));
    }
    errors.invalid_each("spec.version", version, names::is_dns1035_label(version));
    let priority = number("groupPriorityMinimum");
    if !(1..=20_000).contains(&priority) {
        let detail = "must be positive and less than 20000";
        errors.invalid("spec.groupPriorityMinimum", priority, detail);
    }
    let priority = number("versionPriority");
    if !(1..=1000).contains(&priority) {
        errors.invalid(
            "spec.versionPriority",
            priority,
            "must be positive and less than 1000",
        );
    }
    if json::at(service, &["spec", "service"]).is_none_or(Json::is_null) {
        if !text(&["spec", "caBundle"]).is_empty() {
            let bad = text(&["spec", "caBundle"]);
            errors.invalid(
                "spec.caBundle",
                format!("{} bytes", bad.len()),
                "local APIServices may not have a caBundle",
            );
        }
        if json::at(service, &["spec", "insecureSkipTLSVerify"]) == Some(&Json::Bool(true)) {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.invalid("spec.insecureSkipTLSVerify", &Json::Bool(true), detail);
        }
    }
}

pub(super) const DEVICE_CLASSES: Declared = Declared {
    generation: OF_SPEC,
    creates_on_update: false,
    returns_deleted: true,
    ..Declared::CLUSTER
};
pub(super) const RESOURCE_CLAIMS: Declared = Declared {
    status: true,
    default: |claim| default_devices(claim, &["spec", "devices", "requests"]),
    validate_update: |new, old, errors| immutable(new, old, &["spec"], errors),
    returns_deleted: true,
    ..Declared::NAMESPACED
};
pub(super) const RESOURCE_CLAIM_TEMPLATES: Declared = Declared {
    default: |template| default_devices(template, &["spec", "spec", "devices", "requests"]),
    validate_update: |new, old, errors| immutable(new, old, &["spec"], errors),
    returns_deleted: true,
    ..Declared::NAMESPACED
};
pub(super) const RESOURCE_SLICES: Declared = Declared {
    generation: OF_SPEC,
    labels: &["spec.nodeName", "spec.driver"],
    returns_deleted: true,
    ..Declared::CLUSTER
};

/// Upstream's `SetDefaults_ExactDeviceRequest`, `SetDefaults_DeviceSubRequest`
fn default_devices(object: &mut Json, path: &[&str]) {
    fn count(request: &mut Json) {
        fill(request, &["allocationMode"], "ExactCount");
        let exact = json::text(request, &["allocationMode"]) == "ExactCount";
        if exact && json::number(request, &["count"]).unwrap_or(0) == 0 {
            json::set(request, &["count"], 1);
        }
    }
    for request in each(object, path) {
        if let Some(exactly) = request.get_mut("exactly").filter(|own| own.is_object()) {
            count(exactly);
        }
        for alternative in each(request, &["firstAvailable"]) {
            count(alternative);
        }
    }
}
