//! Events of the core group, and as events.k8s.io has them
//! (`kubernetes/pkg/registry/core/event/strategy.go`, `pkg/apis/core/validation/events.go`,
//! `pkg/apis/events/v1/conversion.go`). They are stored as those of core.

use std::borrow::Cow;

use crate::discovery::Shown;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;
use crate::versions::{Versioned, rename};

/// The rules of Events.
pub struct Events;

/// The rules of Events that come through events.k8s.io.
pub struct NewEvents;

/// `--event-ttl`, an hour.
const TTL: u64 = 3600;

impl Strategy for Events {
    fn shown(&self) -> Shown {
        Shown::called(&["ev"])
    }

    fn validate(&self, _cx: &Context, event: &Json) -> ErrorList {
        legacy_validate_event(event, "reportingComponent")
    }

    fn validate_update(&self, _cx: &Context, _part: Part, event: &Json, _old: &Json) -> ErrorList {
        legacy_validate_event(event, "reportingComponent")
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn ttl(&self) -> Option<u64> {
        Some(TTL)
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "involvedObject.kind"
            | "involvedObject.namespace"
            | "involvedObject.name"
            | "involvedObject.uid"
            | "involvedObject.apiVersion"
            | "involvedObject.resourceVersion"
            | "involvedObject.fieldPath"
            | "reason"
            | "reportingComponent"
            | "source"
            | "type"
            | "metadata.namespace"
            | "metadata.name" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }

    fn field<'a>(&self, event: &'a Json, field: &str) -> Cow<'a, str> {
        let value = match field {
            "source" => match json::text(event, &["source", "component"]) {
                "" => json::text(event, &["reportingComponent"]),
                component => component,
            },
            field => {
                let path: Vec<&str> = field.split('.').collect();
                json::text(event, &path)
            }
        };
        value.into()
    }
}

/// The fields that are called otherwise in the two groups, and here.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// As events.k8s.io has them.
static NEW: Versioned = Versioned {
    hub: &super::EVENTS,
    to_hub: |event| {
        for (new, core) in RENAMED {
            rename(event, new, core);
        }
    },
    from_hub: |event| {
        for (new, core) in RENAMED {
            rename(event, core, new);
        }
    },
};

impl Strategy for NewEvents {
    fn shown(&self) -> Shown {
        Shown::called(&["ev"])
    }

    fn versioned(&self) -> Option<&'static Versioned> {
        Some(&NEW)
    }

    fn validate(&self, _cx: &Context, event: &Json) -> ErrorList {
        validate_event_create(event)
    }

    fn validate_update(&self, _cx: &Context, _part: Part, event: &Json, old: &Json) -> ErrorList {
        validate_event_update(event, old)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    /// Upstream's `AddFieldLabelConversionsForEvent`
    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "regarding.kind" => Ok("involvedObject.kind"),
            "regarding.namespace" => Ok("involvedObject.namespace"),
            "regarding.name" => Ok("involvedObject.name"),
            "regarding.uid" => Ok("involvedObject.uid"),
            "regarding.apiVersion" => Ok("involvedObject.apiVersion"),
            "regarding.resourceVersion" => Ok("involvedObject.resourceVersion"),
            "regarding.fieldPath" => Ok("involvedObject.fieldPath"),
            "reportingController" => Ok("reportingComponent"),
            "reason" | "type" | "metadata.namespace" | "metadata.name" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }
}

/// Is this instant unset?
fn is_zero(event: &Json, field: &str) -> bool {
    event.get(field).is_none_or(Json::is_null)
}

/// `legacyValidateEvent`; `controller` is what the version calls the reporting controller.
fn legacy_validate_event(event: &Json, controller: &str) -> ErrorList {
    const DETAIL: &str = "does not match event.namespace";
    let mut errors = ErrorList::default();
    let involved = json::text(event, &["involvedObject", "namespace"]);
    let namespace = json::text(event, &["metadata", "namespace"]);
    // "New" events have an eventTime.
    let is_new = !is_zero(event, "eventTime");
    // Events about objects without a namespace lie in the default one.
    let fits = match involved {
        "" => matches!(namespace, "default" | "kube-system" | ""),
        involved => is_new || involved == namespace,
    };
    if !fits {
        errors.invalid("involvedObject.namespace", involved, DETAIL);
    }
    if is_new {
        validate_new_fields(event, controller, &mut errors);
    }
    errors.invalid_each(
        "namespace",
        namespace,
        names::name_is_dns_label(namespace, false),
    );
    errors
}

/// What an event with an eventTime has to say.
fn validate_new_fields(event: &Json, controller: &str, errors: &mut ErrorList) {
    let text = |field| json::text(event, &[field]);
    let reporting = text("reportingComponent");
    if reporting.is_empty() {
        errors.required(controller, "");
    }
    errors.invalid_each(controller, reporting, names::is_qualified_name(reporting));
    let at_most = |limit: usize| format!("can have at most {limit} characters");
    for field in ["reportingInstance", "action", "reason"] {
        const LIMIT: usize = 128;
        if text(field).is_empty() {
            errors.required(field, "");
        }
        if text(field).len() > LIMIT {
            errors.invalid(field, "", at_most(LIMIT));
        }
    }
    const NOTE_LIMIT: usize = 1024;
    if text("message").len() > NOTE_LIMIT {
        errors.invalid("message", "", at_most(NOTE_LIMIT));
    }
}

/// `ValidateEventCreate` through events.k8s.io.
fn validate_event_create(event: &Json) -> ErrorList {
    let mut errors = legacy_validate_event(event, "reportingController");
    errors.extend(metadata::validate_object_meta(
        event,
        true,
        &names::name_is_dns_subdomain,
    ));
    validate_v1_event_series(event, &mut errors);
    if is_zero(event, "eventTime") {
        errors.required("eventTime", "");
    }
    let kind = json::text(event, &["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid("type", "", format!("has invalid value: {kind}"));
    }
    const UNSET: &str = "needs to be unset";
    for field in ["firstTimestamp", "lastTimestamp"] {
        if !is_zero(event, field) {
            errors.invalid(field, "", UNSET);
        }
    }
    if json::number(event, &["count"]).unwrap_or(0) != 0 {
        errors.invalid("count", "", UNSET);
    }
    let source = |field| json::text(event, &["source", field]);
    if !source("component").is_empty() || !source("host").is_empty() {
        errors.invalid("source", "", UNSET);
    }
    errors
}

/// `ValidateEventUpdate` through events.k8s.io.
fn validate_event_update(event: &Json, old: &Json) -> ErrorList {
    let mut errors = legacy_validate_event(event, "reportingController");
    errors.extend(metadata::validate_object_meta_update(event, old));
    if event.get("series") != old.get("series") {
        validate_v1_event_series(event, &mut errors);
    }
    for (field, shown) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        if event.get(field) != old.get(field) {
            let bad = event.get(field).cloned().unwrap_or_default();
            errors.invalid(shown, &bad, metadata::IMMUTABLE);
        }
    }
    errors
}

/// `validateV1EventSeries`
fn validate_v1_event_series(event: &Json, errors: &mut ErrorList) {
    let Some(series) = event.get("series").filter(|series| !series.is_null()) else {
        return;
    };
    if json::number(series, &["count"]).unwrap_or(0) < 2 {
        errors.invalid("series.count", "", "should be at least 2");
    }
    if is_zero(series, "lastObservedTime") {
        errors.required("series.lastObservedTime", "");
    }
}
