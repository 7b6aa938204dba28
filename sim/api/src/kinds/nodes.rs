//! Nodes, as far as clients of a control plane set them
//! (`kubernetes/pkg/registry/core/node/strategy.go`, `pkg/apis/core/validation/validation.go`).

use std::borrow::Cow;

use super::pods::keep;
use crate::addresses;
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
        convert_pod_cidrs(node);
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
        pod_cidrs(node, &mut errors);
        errors
    }

    fn validate_update(&self, _cx: &Context, _part: Part, node: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(node, old);
        pod_cidrs_stay(node, old, &mut errors);
        let provider = |of| json::text(of, &["spec", "providerID"]).to_owned();
        if !provider(old).is_empty() && provider(node) != provider(old) {
            let detail = "node updates may not change providerID except from \"\" to valid";
            errors.forbidden("spec.providerID", detail);
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

/// The one and the other are the same (`Convert_v1_NodeSpec_To_core_NodeSpec`): the older one counts where they differ.
fn convert_pod_cidrs(node: &mut Json) {
    let first = json::text(node, &["spec", "podCIDR"]).to_owned();
    let all = json::list(node, &["spec", "podCIDRs"]);
    let begins = all.first().and_then(Json::as_str).map(str::to_owned);
    match begins {
        Some(begins) if first.is_empty() => json::set(node, &["spec", "podCIDR"], begins),
        begins if !first.is_empty() && begins.as_ref() != Some(&first) => {
            json::set(node, &["spec", "podCIDRs"], vec![first]);
        }
        _ => {}
    }
}

fn pod_cidrs(node: &Json, errors: &mut ErrorList) {
    let all = json::list(node, &["spec", "podCIDRs"]);
    let parsed = |cidr: &Json| addresses::parse_range(cidr.as_str().unwrap_or_default());
    for (index, cidr) in all.iter().enumerate() {
        if parsed(cidr).is_none() {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.invalid(format!("spec.podCIDRs[{index}]"), cidr, detail);
        }
    }
    let sixes = all
        .iter()
        .filter_map(parsed)
        .filter(|(ip, _)| ip.is_ipv6())
        .count();
    if all.len() > 1 && (all.len() > 2 || sixes != 1) {
        let detail = "may specify no more than one CIDR for each IP family";
        errors.invalid("spec.podCIDRs", &node["spec"]["podCIDRs"], detail);
    }
}

/// They may be set where there are none.
fn pod_cidrs_stay(node: &Json, old: &Json, errors: &mut ErrorList) {
    let own = |of| json::list(of, &["spec", "podCIDRs"]);
    if own(old).is_empty() {
        return;
    }
    let differing = match own(old).len() == own(node).len() {
        false => 1,
        true => own(old)
            .iter()
            .zip(own(node))
            .filter(|(old, new)| old != new)
            .count(),
    };
    for _ in 0..differing {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden("spec.podCIDRs", detail);
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
