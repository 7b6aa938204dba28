//! Nodes, as far as clients of a control plane set them
//! (`kubernetes/pkg/registry/core/node/strategy.go`, `pkg/apis/core/validation/validation.go`).

use std::borrow::Cow;

use super::pods::keep;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of Nodes.
pub struct Nodes;

impl Strategy for Nodes {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown {
            short_names: &["no"],
            categories: &[],
            subresources: crate::discovery::OF_NODE,
        }
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn default(&self, node: &mut Json) {
        let capacity = json::at(node, &["status", "capacity"]).cloned();
        if json::at(node, &["status", "allocatable"]).is_none()
            && let Some(capacity) = capacity
        {
            json::set(node, &["status", "allocatable"], capacity);
        }
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, node: &mut Json, old: &Json) {
        let kept = match part {
            Part::Status => "spec",
            _ => "status",
        };
        keep(node, old, &[kept]);
    }

    fn validate(&self, _cx: &Context, node: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta(node, false, &names::name_is_dns_subdomain);
        taints(node, &mut errors);
        errors
    }

    fn validate_update(&self, _cx: &Context, _part: Part, node: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(node, old);
        for field in ["podCIDR", "providerID"] {
            let value = |of| json::text(of, &["spec", field]).to_owned();
            if !value(old).is_empty() && value(node) != value(old) {
                let detail = "node updates may not change podCIDR except from \"\" to valid";
                let detail = match field {
                    "podCIDR" => detail,
                    _ => "node updates may not change providerID except from \"\" to valid",
                };
                errors.forbidden(format!("spec.{field}"), detail);
            }
        }
        taints(node, &mut errors);
        errors
    }

    fn has(&self, part: Part) -> bool {
        matches!(part, Part::Whole | Part::Status)
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.name" | "spec.unschedulable" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }

    fn field<'a>(&self, node: &'a Json, field: &str) -> Cow<'a, str> {
        let value = match field {
            "spec.unschedulable" => {
                match json::at(node, &["spec", "unschedulable"]) == Some(&Json::Bool(true)) {
                    true => "true",
                    false => "false",
                }
            }
            "metadata.name" => json::text(node, &["metadata", "name"]),
            _ => "",
        };
        value.into()
    }
}

fn taints(node: &Json, errors: &mut ErrorList) {
    for (index, taint) in json::list(node, &["spec", "taints"]).iter().enumerate() {
        let at = |field: &str| format!("spec.taints[{index}].{field}");
        let text = |field| json::text(taint, &[field]);
        let (key, value, effect) = (text("key"), text("value"), text("effect"));
        errors.invalid_each(&at("key"), key, names::is_qualified_name(key));
        errors.invalid_each(&at("value"), value, names::is_valid_label_value(value));
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        match effect {
            "" => errors.required(at("effect"), ""),
            effect if effects.contains(&effect) => {}
            other => errors.not_supported(at("effect"), other, &effects),
        }
    }
}
