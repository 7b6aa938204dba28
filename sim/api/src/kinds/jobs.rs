//! Jobs (`kubernetes/pkg/registry/batch/job/strategy.go`, `pkg/apis/batch/v1/defaults.go`,
//! `pkg/apis/batch/validation/validation.go`). Fields and defaults are those of v1.36 in all releases, but for
//! `ttlSecondsAfterFinished`, which is dropped where its gate is off. Nobody selects by `status.successful`. What a status
//! may say is in `status`, how indexes are written in `indexes`, what the policies may say in `policies`.

mod indexes;
mod policies;
mod status;

use serde_json::json;

use super::deployments::{
    label_selector_as_selector, not_negative, shown, validate_label_selector,
};
use super::pod_spec::{self, default};
use super::pods::{count_generation, keep};
use crate::gates;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

pub use status::{FINISHED, is_job_finished, job_finish_time};

/// Labels of the pods of a Job: where they came from, with and without the prefix of older releases.
const OF_UID: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const OF_NAME: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
const TTL: [&str; 2] = ["spec", "ttlSecondsAfterFinished"];

/// What of a Job stays as it was made, beside its completions.
const IMMUTABLE_FIELDS: [&str; 7] = [
    "selector",
    "template",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
];

/// The rules of Jobs.
pub struct Jobs;

/// `spec.ttlSecondsAfterFinished`
pub fn ttl_seconds_after_finished(job: &Json) -> Option<i64> {
    json::number(job, &TTL)
}

impl Strategy for Jobs {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown {
            categories: crate::discovery::ALL,
            ..crate::discovery::Shown::PLAIN
        }
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn default(&self, job: &mut Json) {
        let Some(spec) = job.get_mut("spec").and_then(Json::as_object_mut) else {
            return;
        };
        if let Some(template) = spec.get_mut("template").and_then(|t| t.get_mut("spec")) {
            pod_spec::set_defaults(template);
        }
        let given = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
        if !given("completions") && !given("parallelism") {
            default(spec, "completions", 1);
        }
        default(spec, "parallelism", 1);
        let given = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
        let backoff_limit = match given("backoffLimitPerIndex") {
            true => i32::MAX,
            false => 6,
        };
        let replacement = match given("podFailurePolicy") {
            true => "Failed",
            false => "TerminatingOrFailed",
        };
        default(spec, "backoffLimit", backoff_limit);
        default(spec, "completionMode", "NonIndexed");
        default(spec, "suspend", false);
        default(spec, "manualSelector", false);
        default(spec, "podReplacementPolicy", replacement);
        policies::set_defaults_pod_failure_policy(spec);
    }

    fn prepare_for_create(&self, cx: &Context, job: &mut Json) {
        generate_selector_if_needed(job);
        // Upstream's default of the labels finds those of the pods when the object is read again.
        if metadata::entries(job, &["metadata", "labels"])
            .next()
            .is_none()
            && let Some(labels) =
                json::at(job, &["spec", "template", "metadata", "labels"]).cloned()
        {
            json::set(job, &["metadata", "labels"], labels);
        }
        json::set(job, &["status"], json!({}));
        json::set(job, &["metadata", "generation"], 1);
        drop_disabled_fields(cx, job, None);
    }

    fn validate(&self, _cx: &Context, job: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta(job, true, &names::name_is_dns_subdomain);
        validate_job(job, &mut errors);
        errors
    }

    fn prepare_for_update(&self, cx: &Context, part: Part, job: &mut Json, old: &Json) {
        if part == Part::Status {
            return keep(job, old, &["spec"]);
        }
        keep(job, old, &["status"]);
        drop_disabled_fields(cx, job, Some(old));
        if job.get("spec") != old.get("spec") {
            count_generation(job, old);
        }
    }

    fn validate_update(&self, cx: &Context, part: Part, job: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(job, old);
        if part == Part::Status {
            status::validate_job_update_status(cx, job, old, &mut errors);
            return errors;
        }
        validate_job_spec(job, &mut errors);
        validate_completions(job, old, &mut errors);
        for field in IMMUTABLE_FIELDS {
            let value = |of| json::at(of, &["spec", field]).cloned();
            let new = value(job);
            if new != value(old) {
                let bad = new.unwrap_or_default();
                errors.invalid(format!("spec.{field}"), &bad, metadata::IMMUTABLE);
            }
        }
        errors
    }

    /// Upstream's `AddFieldLabelConversionsForJob`
    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.name" | "metadata.namespace" => Ok(label),
            label => Err(format!(
                "field label {} not supported for batchv1.Job",
                crate::quote::quote(label)
            )),
        }
    }

    fn has(&self, part: Part) -> bool {
        matches!(part, Part::Whole | Part::Status)
    }
}

/// `dropDisabledFields`: a field that its gate hides stays where it was before.
fn drop_disabled_fields(cx: &Context, job: &mut Json, old: Option<&Json>) {
    let in_use = old.and_then(ttl_seconds_after_finished).is_some();
    if !cx.release.has(gates::TTL_AFTER_FINISHED) && !in_use {
        json::remove(job, &TTL);
    }
}

/// `generateSelectorIfNeeded`, `generateSelector`: labels that only pods of this Job have.
fn generate_selector_if_needed(job: &mut Json) {
    if json::at(job, &["spec", "manualSelector"]) == Some(&Json::Bool(true)) {
        return;
    }
    let uid = json::text(job, &["metadata", "uid"]).to_owned();
    let name = json::text(job, &["metadata", "name"]).to_owned();
    let labels = OF_UID.map(|label| (label, &uid)).into_iter();
    for (label, value) in labels.chain(OF_NAME.map(|label| (label, &name))) {
        let path = ["spec", "template", "metadata", "labels", label];
        if json::at(job, &path).is_none() {
            json::set(job, &path, value.clone());
        }
    }
    let path = ["spec", "selector", "matchLabels", OF_UID[0]];
    if json::at(job, &path).is_none() {
        json::set(job, &path, uid);
    }
}

/// `validateGeneratedSelector`
fn validate_generated_selector(job: &Json, errors: &mut ErrorList) {
    let selector = json::at(job, &["spec", "selector"]).filter(|own| !own.is_null());
    let manual = json::at(job, &["spec", "manualSelector"]) == Some(&Json::Bool(true));
    let Some(selector) = selector.filter(|_| !manual) else {
        return;
    };
    let uid = json::text(job, &["metadata", "uid"]);
    let name = json::text(job, &["metadata", "name"]);
    if uid.is_empty() {
        errors.required("metadata.uid", "");
    }
    let expected = OF_UID.map(|label| (label, uid)).into_iter();
    let expected = expected.chain(OF_NAME.map(|label| (label, name)));
    let mut pod = json!({"metadata": {"labels": {}}});
    for (label, value) in expected {
        let path = ["spec", "template", "metadata", "labels", label];
        let found = json::at(job, &path).and_then(Json::as_str);
        let field = format!("spec.template.metadata.labels[{label}]");
        match found {
            None => errors.required(
                "spec.template.metadata.labels",
                format!("must be '{value}'"),
            ),
            Some(found) if found != value => {
                errors.invalid(field, found, format!("must be '{value}'"));
            }
            Some(_) => {}
        }
        json::set(&mut pod, &["metadata", "labels", label], value);
    }
    let parsed = label_selector_as_selector(selector);
    if parsed.is_some_and(|parsed| !parsed.matches(&pod)) {
        let detail = "`selector` not auto-generated";
        errors.invalid("spec.selector", shown(Some(selector)), detail);
    }
}

/// `ValidateJob`, without its metadata.
fn validate_job(job: &Json, errors: &mut ErrorList) {
    validate_generated_selector(job, errors);
    validate_job_spec(job, errors);
    let completions = json::number(job, &["spec", "completions"]).unwrap_or(0);
    if is_indexed(job) && completions > 0 {
        let name = json::text(job, &["metadata", "name"]);
        let hostname = format!("{name}-{}", completions - 1);
        if !names::is_dns1123_label(&hostname).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {hostname}");
            errors.invalid("metadata.name", name, detail);
        }
    }
}

/// Is its completion mode `Indexed`?
fn is_indexed(job: &Json) -> bool {
    json::text(job, &["spec", "completionMode"]) == "Indexed"
}

/// `validateCompletions`
fn validate_completions(job: &Json, old: &Json, errors: &mut ErrorList) {
    let field = |of, name| json::at(of, &["spec", name]).cloned();
    let completions = field(job, "completions");
    if completions == field(old, "completions") {
        return;
    }
    if !is_indexed(job) {
        let bad = completions.unwrap_or_default();
        return errors.invalid("spec.completions", &bad, metadata::IMMUTABLE);
    }
    if let Some(own) = completions.filter(|own| !own.is_null())
        && Some(&own) != field(job, "parallelism").as_ref()
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.invalid("spec.completions", &own, detail);
    }
}

/// `ValidateJobSpec`
fn validate_job_spec(job: &Json, errors: &mut ErrorList) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        not_negative(job, &["spec", field], errors);
    }
    indexes::validate_indexed_spec(job, errors);
    policies::validate_policies(job, errors);
    let nothing = Json::Null;
    let template = json::at(job, &["spec", "template"]).unwrap_or(&nothing);
    pod_spec::validate_pod_template_spec(template, "spec.template", errors);
    let restart = json::text(template, &["spec", "restartPolicy"]);
    let allowed = ["OnFailure", "Never"];
    if restart.is_empty() || restart == "Always" {
        let detail = "valid values: \"OnFailure\", \"Never\"";
        errors.required("spec.template.spec.restartPolicy", detail);
    } else if !allowed.contains(&restart) {
        errors.not_supported("spec.template.spec.restartPolicy", restart, &allowed);
    } else if restart != "Never" && policies::pod_failure_policy(job).is_some() {
        let detail = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.invalid("spec.template.spec.restartPolicy", restart, detail);
    }
    let selector = json::at(job, &["spec", "selector"]).filter(|own| !own.is_null());
    let Some(selector) = selector else {
        return errors.required("spec.selector", "");
    };
    validate_label_selector(selector, "spec.selector", errors);
    let parsed = label_selector_as_selector(selector);
    if parsed.is_some_and(|parsed| !parsed.matches(template)) {
        let labels = json::at(template, &["metadata", "labels"]);
        let detail = "`selector` does not match template `labels`";
        errors.invalid("spec.template.metadata.labels", labels, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(release: wavetank_version::Version) -> Context {
        Context {
            release,
            now: crate::Stamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
            dual_stack: false,
        }
    }

    fn created(release: wavetank_version::Version) -> Json {
        let mut job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "n", "uid": "u1", "resourceVersion": "1"},
            "spec": {
                "ttlSecondsAfterFinished": 5,
                "template": {"spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "i:1", "resources": {}}],
                }},
            },
            "status": {"succeeded": 1},
        });
        Jobs.default(&mut job);
        Jobs.prepare_for_create(&context(release), &mut job);
        job
    }

    #[test]
    fn a_job_gets_its_defaults_and_a_selector_of_its_own() {
        let job = created(wavetank_releases::V1_36);
        assert_eq!(job["spec"]["completions"], 1);
        assert_eq!(job["spec"]["backoffLimit"], 6);
        assert_eq!(job["status"], json!({}));
        let selector = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u1"}});
        assert_eq!(job["spec"]["selector"], selector);
        let labels = &job["spec"]["template"]["metadata"]["labels"];
        assert_eq!(labels["job-name"], "j");
        let errors = Jobs.validate(&context(wavetank_releases::V1_36), &job);
        assert_eq!(errors.to_string(), "[]");
    }

    #[test]
    fn the_ttl_is_dropped_where_its_gate_is_off() {
        let ttl = |release| ttl_seconds_after_finished(&created(release));
        assert_eq!(ttl(wavetank_releases::V1_36), Some(5));
        assert_eq!(ttl(wavetank_releases::V1_16), None);
    }

    #[test]
    fn the_ttl_may_change_and_the_template_may_not() {
        let cx = context(wavetank_releases::V1_36);
        let old = created(cx.release);
        let mut new = old.clone();
        json::set(&mut new, &TTL, 60);
        Jobs.prepare_for_update(&cx, Part::Whole, &mut new, &old);
        assert_eq!(new["metadata"]["generation"], 2);
        let errors = Jobs.validate_update(&cx, Part::Whole, &new, &old);
        assert_eq!(errors.to_string(), "[]");
        json::set(&mut new, &TTL, -1);
        json::set(&mut new, &["spec", "completions"], 2);
        let errors = Jobs.validate_update(&cx, Part::Whole, &new, &old);
        assert_eq!(
            errors.to_string(),
            "[spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0, \
             spec.completions: Invalid value: 2: field is immutable]"
        );
    }
}
