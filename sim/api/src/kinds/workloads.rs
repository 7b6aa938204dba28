//! Workloads other than Deployments and Jobs: ReplicaSets, StatefulSets, DaemonSets, CronJobs, ReplicationControllers,
//! and what they are made of (`kubernetes/pkg/registry/apps`, `batch/cronjob`, `core/replicationcontroller`,
//! `core/podtemplate`, with `defaults.go` and `validation.go` of their groups).

use std::collections::BTreeSet;

use serde_json::json;

use super::declared::{Declared, Generation, OF_SPEC, each, fill, immutable};
use super::deployments::{
    get_int_or_percent_value, int_or_percent, label_selector_as_selector, not_negative, shown,
    validate_label_selector, validate_pod_template_spec_for_replica_set,
};
use super::pod_spec;
use super::pods::keep;
use crate::cron;
use crate::discovery::{ALL, SCALE, Shown};
use crate::json::{self, Json};
use crate::metadata;
use crate::quote;
use crate::selector::LabelSelector;
use crate::strategy::Part;
use crate::validation::{Bad, ErrorList, ErrorType};

const MAX_SURGE: &str = "spec.updateStrategy.rollingUpdate.maxSurge";
const MAX_UNAVAILABLE: &str = "spec.updateStrategy.rollingUpdate.maxUnavailable";

pub(super) const REPLICA_SETS: Declared = Declared {
    shown: Shown {
        short_names: &["rs"],
        categories: ALL,
        subresources: &[SCALE],
    },
    status: true,
    generation: OF_SPEC,
    default: |set| {
        default_template(set, &["spec", "template"]);
        fill(set, &["spec", "replicas"], 1);
    },
    validate: |set, errors| {
        not_negative(set, &["spec", "replicas"], errors);
        not_negative(set, &["spec", "minReadySeconds"], errors);
        validate_selected_template(set, template_of(set), "replicaset", errors);
    },
    validate_update: |new, old, errors| immutable_selector(new, old, errors),
    validate_status: |new, old, errors| validate_replica_set_status(new, old, errors),
    labels: &["status.replicas"],
    ..Declared::NAMESPACED
};

pub(super) const STATEFUL_SETS: Declared = Declared {
    shown: Shown {
        short_names: &["sts"],
        ..REPLICA_SETS.shown
    },
    status: true,
    generation: OF_SPEC,
    default: default_stateful_set,
    validate: validate_stateful_set_spec,
    validate_update: |new, old, errors| {
        // `ValidateStatefulSetUpdate`
        const MAY: [&str; 7] = [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
            "revisionHistoryLimit",
        ];
        let mut changed = new.get("spec").cloned().unwrap_or_default();
        let before = old.get("spec").cloned().unwrap_or_default();
        for field in MAY {
            keep(&mut changed, &before, &[field]);
        }
        if changed != before {
            let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
                          'template', 'updateStrategy', 'revisionHistoryLimit', \
                          'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
            errors.forbidden("spec", detail);
        }
    },
    validate_status: validate_stateful_set_status,
    ..Declared::NAMESPACED
};

const TEMPLATE_GENERATION: [&str; 3] = [
    "metadata",
    "annotations",
    "deprecated.daemonset.template.generation",
];

pub(super) const DAEMON_SETS: Declared = Declared {
    shown: Shown {
        short_names: &["ds"],
        categories: ALL,
        ..Shown::PLAIN
    },
    status: true,
    generation: OF_SPEC,
    default: |set| {
        default_template(set, &["spec", "template"]);
        let spec = json::map_mut(set, &["spec"]);
        pod_spec::default(spec, "updateStrategy", json!({}));
        fill(set, &["spec", "updateStrategy", "type"], "RollingUpdate");
        if json::text(set, &["spec", "updateStrategy", "type"]) == "RollingUpdate" {
            const ROLLING: [&str; 3] = ["spec", "updateStrategy", "rollingUpdate"];
            fill(set, &ROLLING, json!({}));
            fill(set, &[ROLLING.as_slice(), &["maxUnavailable"]].concat(), 1);
            fill(set, &[ROLLING.as_slice(), &["maxSurge"]].concat(), 0);
        }
        fill(set, &["spec", "revisionHistoryLimit"], 10);
    },
    // The internal `TemplateGeneration` is an annotation outside.
    create: |_, set| json::set(set, &TEMPLATE_GENERATION, "1"),
    update: |_, part, set, old| {
        keep(set, old, &TEMPLATE_GENERATION);
        let template = |of| json::at(of, &["spec", "template"]);
        if part != Part::Status && template(set) != template(old) {
            let before: i64 = json::text(old, &TEMPLATE_GENERATION).parse().unwrap_or(0);
            json::set(set, &TEMPLATE_GENERATION, (before + 1).to_string());
        }
    },
    validate: |set, errors| {
        validate_selected_template(set, template_of(set), "daemonset", errors);
        for field in ["minReadySeconds", "revisionHistoryLimit"] {
            not_negative(set, &["spec", field], errors);
        }
        validate_daemon_set_update_strategy(set, errors);
    },
    validate_update: |new, old, errors| immutable_selector(new, old, errors),
    ..Declared::NAMESPACED
};

pub(super) const CONTROLLER_REVISIONS: Declared = Declared {
    validate: |revision, errors| {
        let number = json::number(revision, &["revision"]).unwrap_or(0);
        if number < 0 {
            let detail = "must be greater than or equal to 0";
            errors.invalid("revision", number, detail);
        }
        if revision.get("data").is_none_or(Json::is_null) {
            errors.required("data", "data is mandatory");
        }
    },
    validate_update: |new, old, errors| immutable(new, old, &["data"], errors),
    ..Declared::NAMESPACED
};

pub(super) const CRON_JOBS: Declared = Declared {
    shown: Shown {
        short_names: &["cj"],
        categories: ALL,
        ..Shown::PLAIN
    },
    status: true,
    generation: OF_SPEC,
    default: |job| {
        default_template(job, &["spec", "jobTemplate", "spec", "template"]);
        fill(job, &["spec", "concurrencyPolicy"], "Allow");
        fill(job, &["spec", "suspend"], false);
        fill(job, &["spec", "successfulJobsHistoryLimit"], 3);
        fill(job, &["spec", "failedJobsHistoryLimit"], 1);
    },
    validate: |job, errors| {
        validate_schedule_format(json::text(job, &["spec", "schedule"]), errors);
        let policy = json::text(job, &["spec", "concurrencyPolicy"]);
        let policies = ["Allow", "Forbid", "Replace"];
        if policy.is_empty() {
            errors.required("spec.concurrencyPolicy", "");
        } else if !policies.contains(&policy) {
            errors.not_supported("spec.concurrencyPolicy", policy, &policies);
        }
        for field in [
            "startingDeadlineSeconds",
            "successfulJobsHistoryLimit",
            "failedJobsHistoryLimit",
        ] {
            not_negative(job, &["spec", field], errors);
        }
        let path = ["spec", "jobTemplate", "spec", "template"];
        let template = json::at(job, &path).unwrap_or(&Json::Null);
        pod_spec::validate_pod_template_spec(template, &path.join("."), errors);
    },
    ..Declared::NAMESPACED
};

/// `validateScheduleFormat`. No CronJob is stored with a zone in its schedule, so none may keep one.
fn validate_schedule_format(schedule: &str, errors: &mut ErrorList) {
    const FIELD: &str = "spec.schedule";
    if schedule.is_empty() {
        return errors.required(FIELD, "");
    }
    if let Err(why) = cron::parse_standard(schedule) {
        errors.invalid(FIELD, schedule, why);
    }
    if schedule.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.invalid(FIELD, schedule, detail);
    }
}

pub(super) const REPLICATION_CONTROLLERS: Declared = Declared {
    shown: Shown {
        short_names: &["rc"],
        ..REPLICA_SETS.shown
    },
    status: true,
    generation: OF_SPEC,
    default: |controller| {
        default_template(controller, &["spec", "template"]);
        let labels = ["spec", "template", "metadata", "labels"];
        if let Some(labels) = json::at(controller, &labels).cloned() {
            for path in [["spec", "selector"], ["metadata", "labels"]] {
                let empty = metadata::entries(controller, &path).next().is_none();
                if empty {
                    json::set(controller, &path, labels.clone());
                }
            }
        }
        fill(controller, &["spec", "replicas"], 1);
    },
    validate: |controller, errors| {
        not_negative(controller, &["spec", "minReadySeconds"], errors);
        let path = ["spec", "selector"];
        if metadata::entries(controller, &path).next().is_none() {
            errors.required("spec.selector", "");
        }
        not_negative(controller, &["spec", "replicas"], errors);
        let Some(template) = json::at(controller, &["spec", "template"]).filter(|t| !t.is_null())
        else {
            return errors.required("spec.template", "");
        };
        let selector = json!({"matchLabels": json::at(controller, &path)});
        let parsed = label_selector_as_selector(&selector).unwrap_or_default();
        validate_pod_template_spec_for_replica_set(template, &parsed, errors);
    },
    labels: &["status.replicas"],
    ..Declared::NAMESPACED
};

pub(super) const POD_TEMPLATES: Declared = Declared {
    generation: Generation::Counts(&[&["template"]]),
    default: |template| default_template(template, &["template"]),
    validate: |template, errors| {
        let inner = template.get("template").unwrap_or(&Json::Null);
        pod_spec::validate_pod_template_spec(inner, "template", errors);
    },
    returns_deleted: true,
    ..Declared::NAMESPACED
};

/// The defaults of the pods of a template.
fn default_template(object: &mut Json, path: &[&str]) {
    let mut here = Some(object);
    for field in path {
        here = here.and_then(|here| here.get_mut(field));
    }
    if let Some(spec) = here.and_then(|template| template.get_mut("spec")) {
        pod_spec::set_defaults(spec);
    }
}

fn default_stateful_set(set: &mut Json) {
    const STRATEGY: [&str; 2] = ["spec", "updateStrategy"];
    default_template(set, &["spec", "template"]);
    for claim in each(set, &["spec", "volumeClaimTemplates"]) {
        super::volumes::default_claim(claim);
    }
    fill(set, &["spec", "podManagementPolicy"], "OrderedReady");
    fill(set, &STRATEGY, json!({}));
    let at = |field| [STRATEGY[0], STRATEGY[1], field];
    if json::text(set, &at("type")).is_empty() {
        fill(set, &at("type"), "RollingUpdate");
        fill(set, &at("rollingUpdate"), json!({}));
    }
    if json::text(set, &at("type")) == "RollingUpdate" {
        let path = [STRATEGY[0], STRATEGY[1], "rollingUpdate", "partition"];
        fill(set, &path, 0);
    }
    let retention = ["spec", "persistentVolumeClaimRetentionPolicy"];
    fill(set, &retention, json!({}));
    for field in ["whenDeleted", "whenScaled"] {
        fill(set, &[retention[0], retention[1], field], "Retain");
    }
    fill(set, &["spec", "replicas"], 1);
    fill(set, &["spec", "revisionHistoryLimit"], 10);
}

/// `ValidateStatefulSetSpec`
fn validate_stateful_set_spec(set: &Json, errors: &mut ErrorList) {
    const POLICY: &str = "spec.podManagementPolicy";
    match json::text(set, &["spec", "podManagementPolicy"]) {
        "" => errors.required(POLICY, ""),
        "OrderedReady" | "Parallel" => {}
        other => errors.invalid(POLICY, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    let strategy = "spec.updateStrategy";
    match json::text(set, &["spec", "updateStrategy", "type"]) {
        "" => errors.required(strategy, ""),
        "OnDelete" | "RollingUpdate" => {}
        _ => {
            let bad = json::at(set, &["spec", "updateStrategy"]);
            errors.invalid(strategy, bad, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
    let partition = ["spec", "updateStrategy", "rollingUpdate", "partition"];
    not_negative(set, &partition, errors);
    for field in ["replicas", "minReadySeconds"] {
        not_negative(set, &["spec", field], errors);
    }
    let template = template_to_validate(set);
    validate_selected_template(set, &template, "statefulset", errors);
}

/// `templateToValidate` of `ValidateStatefulSetSpec`: as the pods are that the controller makes of it, with a volume for
/// each claim, and names of its own choice.
fn template_to_validate(set: &Json) -> Json {
    let mut template = template_of(set).clone();
    let Some(spec) = template.get_mut("spec").and_then(Json::as_object_mut) else {
        return template;
    };
    spec.remove("hostname");
    spec.remove("subdomain");
    let claims = json::list(set, &["spec", "volumeClaimTemplates"]).iter();
    let named = claims.map(|claim| json::text(claim, &["metadata", "name"]));
    let named: BTreeSet<&str> = named.collect();
    if !named.is_empty() {
        let of_claim = |name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let mut volumes: Vec<Json> = named.iter().map(of_claim).collect();
        let own = spec.get("volumes").and_then(Json::as_array);
        let is_own = |volume: &&Json| !named.contains(json::text(volume, &["name"]));
        volumes.extend(own.into_iter().flatten().filter(is_own).cloned());
        spec.insert("volumes".to_owned(), volumes.into());
    }
    template
}

fn template_of(set: &Json) -> &Json {
    json::at(set, &["spec", "template"]).unwrap_or(&Json::Null)
}

/// A selector and the template whose labels it must match.
fn validate_selected_template(set: &Json, template: &Json, kind: &str, errors: &mut ErrorList) {
    let selector = json::at(set, &["spec", "selector"]).filter(|own| !own.is_null());
    let Some(selector) = selector else {
        errors.required("spec.selector", "");
        return validate_pod_template_spec_for_replica_set(
            template,
            &LabelSelector::default(),
            errors,
        );
    };
    validate_label_selector(selector, "spec.selector", errors);
    let parsed = label_selector_as_selector(selector);
    if parsed.as_ref().is_some_and(|parsed| parsed.0.is_empty()) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.invalid("spec.selector", shown(Some(selector)), detail);
    }
    match parsed {
        None => errors.invalid(
            "spec.selector",
            shown(Some(selector)),
            "invalid label selector",
        ),
        Some(parsed) => validate_pod_template_spec_for_replica_set(template, &parsed, errors),
    }
}

fn immutable_selector(new: &Json, old: &Json, errors: &mut ErrorList) {
    let selector = |of| json::at(of, &["spec", "selector"]);
    if selector(new) != selector(old) {
        errors.invalid("spec.selector", shown(selector(new)), metadata::IMMUTABLE);
    }
}

/// `ValidateStatefulSetStatus`
fn validate_stateful_set_status(new: &Json, old: &Json, errors: &mut ErrorList) {
    const OF_ALL: [&str; 4] = [
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
    ];
    let number = |field| json::number(new, &["status", field]).unwrap_or(0);
    not_negative(new, &["status", "replicas"], errors);
    for field in OF_ALL {
        not_negative(new, &["status", field], errors);
    }
    for field in ["observedGeneration", "collisionCount"] {
        not_negative(new, &["status", field], errors);
    }
    for field in OF_ALL {
        if number(field) > number("replicas") {
            let detail = "cannot be greater than status.replicas";
            errors.invalid(format!("status.{field}"), number(field), detail);
        }
    }
    let available = number("availableReplicas");
    if available > number("readyReplicas") {
        let detail = "cannot be greater than status.readyReplicas";
        errors.invalid("status.availableReplicas", available, detail);
    }
    let collisions = |of| json::number(of, &["status", "collisionCount"]);
    let (was, is) = (collisions(old), collisions(new));
    // `IsDecremented`
    if was.is_some_and(|was| is.is_none_or(|is| is < was)) {
        let detail = "cannot be decremented";
        errors.invalid("status.collisionCount", is.unwrap_or(0), detail);
    }
}

/// `ValidateReplicaSetStatus`
fn validate_replica_set_status(new: &Json, _old: &Json, errors: &mut ErrorList) {
    const OF_ALL: [&str; 3] = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    let number = |field| json::number(new, &["status", field]).unwrap_or(0);
    for field in [
        "replicas",
        OF_ALL[0],
        OF_ALL[1],
        OF_ALL[2],
        "observedGeneration",
    ] {
        not_negative(new, &["status", field], errors);
    }
    for field in OF_ALL {
        if number(field) > number("replicas") {
            let detail = "cannot be greater than status.replicas";
            errors.invalid(format!("status.{field}"), number(field), detail);
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        let detail = "cannot be greater than readyReplicas";
        let available = number("availableReplicas");
        errors.invalid("status.availableReplicas", available, detail);
    }
}

/// `ValidateDaemonSetUpdateStrategy`
fn validate_daemon_set_update_strategy(set: &Json, errors: &mut ErrorList) {
    let strategy = json::at(set, &["spec", "updateStrategy"]).unwrap_or(&Json::Null);
    let rolling = strategy.get("rollingUpdate").filter(|r| !r.is_null());
    match (json::text(strategy, &["type"]), rolling) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => {
            errors.required("spec.updateStrategy.rollingUpdate", "");
        }
        ("RollingUpdate", Some(rolling)) => {
            let value = |field| rolling.get(field).unwrap_or(&Json::Null);
            for field in ["maxUnavailable", "maxSurge"] {
                let field_path = format!("spec.updateStrategy.rollingUpdate.{field}");
                int_or_percent(value(field), &field_path, errors);
            }
            let has = |field| get_int_or_percent_value(value(field)) != 0;
            match (has("maxUnavailable"), has("maxSurge")) {
                (true, true) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.invalid(MAX_SURGE, value("maxSurge"), detail);
                }
                (false, false) => {
                    errors.required(MAX_UNAVAILABLE, "cannot be 0 when maxSurge is 0");
                }
                _ => {}
            }
        }
        _ => {
            let supported = ["RollingUpdate", "OnDelete"].map(quote::quote).join(", ");
            let bad = Bad::from(strategy);
            let detail = format!("supported values: {supported}");
            errors.add(ErrorType::NotSupported(bad), "spec.updateStrategy", detail);
        }
    }
}
