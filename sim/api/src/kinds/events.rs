//! Events of the core group, as far as they are written by hand
//! (`kubernetes/pkg/registry/core/event/strategy.go`, `pkg/apis/core/validation/events.go`).

use std::borrow::Cow;

use crate::json::{self, Json};
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of Events.
pub struct Events;

/// `--event-ttl`, an hour.
const TTL: u64 = 3600;

impl Strategy for Events {
    fn validate(&self, _cx: &Context, event: &Json) -> ErrorList {
        legacy_validate_event(event)
    }

    fn validate_update(&self, _cx: &Context, _part: Part, event: &Json, _old: &Json) -> ErrorList {
        legacy_validate_event(event)
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

/// `legacyValidateEvent`
fn legacy_validate_event(event: &Json) -> ErrorList {
    const DETAIL: &str = "does not match event.namespace";
    let mut errors = ErrorList::default();
    let involved = json::text(event, &["involvedObject", "namespace"]);
    let namespace = json::text(event, &["metadata", "namespace"]);
    // Events about objects without a namespace lie in the default one.
    let fits = match involved {
        "" => matches!(namespace, "default" | "kube-system" | ""),
        involved => involved == namespace,
    };
    if !fits {
        errors.invalid("involvedObject.namespace", involved, DETAIL);
    }
    errors.invalid_each(
        "namespace",
        namespace,
        names::name_is_dns_label(namespace, false),
    );
    errors
}
