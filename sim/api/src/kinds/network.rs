//! IPAddresses and ServiceCIDRs (`kubernetes/pkg/registry/networking/{ipaddress,servicecidr}/strategy.go`,
//! `pkg/apis/networking/validation/validation.go`).

use serde_json::json;

use super::pods::keep;
use crate::addresses;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::render;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::{Bad, ErrorList};

/// The rules of IPAddresses.
pub struct IpAddresses;

impl Strategy for IpAddresses {
    fn shown(&self) -> crate::discovery::Shown {
        crate::discovery::Shown::called(&["ip"])
    }

    fn validate(&self, _cx: &Context, address: &Json) -> ErrorList {
        let rule = |name: &str, prefix: bool| self.name_errors(name, prefix);
        let mut errors = metadata::validate_object_meta(address, false, &rule);
        let parent = json::at(address, &["spec", "parentRef"]).filter(|p| !p.is_null());
        let Some(parent) = parent else {
            errors.required("spec.parentRef", "");
            return errors;
        };
        let text = |field| json::text(parent, &[field]);
        let group = text("group");
        if !group.is_empty() {
            errors.invalid_each(
                "spec.parentRef.group",
                group,
                names::is_dns1123_subdomain(group),
            );
        }
        for field in ["resource", "name", "namespace"] {
            let (value, path) = (text(field), format!("spec.parentRef.{field}"));
            if value.is_empty() {
                if field != "namespace" {
                    errors.required(path, "");
                }
                continue;
            }
            errors.invalid_each(
                &path,
                value,
                names::is_valid_path_segment_name(value, false),
            );
        }
        errors
    }

    fn validate_update(&self, _cx: &Context, _part: Part, address: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(address, old);
        let parent = |of| json::at(of, &["spec", "parentRef"]).cloned();
        if parent(address) != parent(old) {
            let bad = Bad::shown(shown(parent(address).as_ref()));
            errors.invalid("spec.parentRef", bad, metadata::IMMUTABLE);
        }
        errors
    }

    fn name_errors(&self, name: &str, _prefix: bool) -> Vec<String> {
        let mut errors = ErrorList::default();
        addresses::is_valid_ip(name, "", &mut errors);
        errors.iter().map(|error| error.detail.clone()).collect()
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.name" | "spec.parentRef.resource" | "spec.parentRef.name" => Ok(label),
            label => Err(format!("field label not supported: {label}")),
        }
    }
}

/// A ParentReference as the internal type shows it.
fn shown(parent: Option<&Json>) -> String {
    let Some(parent) = parent else {
        return "null".to_owned();
    };
    let fields = ["group", "resource", "namespace", "name"].map(|field| {
        let (first, rest) = field.split_at(1);
        let value = render::sorted(&json::text(parent, &[field]).into());
        format!("\"{}{rest}\":{value}", first.to_uppercase())
    });
    format!("{{{}}}", fields.join(","))
}

/// The rules of ServiceCIDRs.
pub struct ServiceCidrs;

impl Strategy for ServiceCidrs {
    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn prepare_for_create(&self, _cx: &Context, range: &mut Json) {
        json::set(range, &["status"], json!({}));
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, range: &mut Json, old: &Json) {
        let kept = match part {
            Part::Status => "spec",
            _ => "status",
        };
        keep(range, old, &[kept]);
    }

    fn validate(&self, _cx: &Context, range: &Json) -> ErrorList {
        let mut errors =
            metadata::validate_object_meta(range, false, &names::name_is_dns_subdomain);
        validate_service_cidr_spec(range, &mut errors);
        errors
    }

    fn validate_update(&self, _cx: &Context, part: Part, range: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(range, old);
        if part == Part::Status {
            return errors;
        }
        let (new, old): (Vec<&str>, Vec<&str>) = (cidrs(range).collect(), cidrs(old).collect());
        let shown = json::at(range, &["spec", "cidrs"]);
        if new.len() != old.len() && (old.len(), new.len()) != (1, 2) {
            errors.invalid("spec.cidrs", shown, metadata::IMMUTABLE);
            return errors;
        }
        for (at, (now, before)) in new.iter().zip(&old).enumerate() {
            if now != before {
                errors.invalid(format!("spec.cidrs[{at}]"), *now, metadata::IMMUTABLE);
            }
        }
        // A second family may come (k/k#131261).
        if new.len() > old.len() {
            validate_service_cidr_spec(range, &mut errors);
        }
        errors
    }

    fn has(&self, part: Part) -> bool {
        matches!(part, Part::Whole | Part::Status)
    }
}

/// `validateServiceCIDRSpec`
fn validate_service_cidr_spec(range: &Json, errors: &mut ErrorList) {
    let ranges: Vec<&str> = cidrs(range).collect();
    let shown = json::at(range, &["spec", "cidrs"]);
    match ranges.as_slice() {
        [] => errors.required("spec.cidrs", "at least one CIDR required"),
        [_] => {}
        [one, two] if one.contains(':') != two.contains(':') => {}
        [_, _] => errors.invalid(
            "spec.cidrs",
            shown,
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and \
             2001:db8::/64",
        ),
        _ => errors.invalid("spec.cidrs", shown, "may only hold up to 2 values"),
    }
    for (at, range) in ranges.into_iter().enumerate() {
        addresses::is_valid_cidr(range, &format!("spec.cidrs[{at}]"), errors);
    }
}

fn cidrs(range: &Json) -> impl Iterator<Item = &str> {
    json::list(range, &["spec", "cidrs"])
        .iter()
        .filter_map(Json::as_str)
}
