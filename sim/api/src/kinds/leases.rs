//! Leases (`kubernetes/pkg/registry/coordination/lease/strategy.go`,
//! `pkg/apis/coordination/validation/validation.go`).

use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of Leases.
pub struct Leases;

impl Strategy for Leases {
    fn prepare_for_create(&self, _cx: &Context, lease: &mut Json) {
        without_coordination(lease);
    }

    fn prepare_for_update(&self, _cx: &Context, _part: Part, lease: &mut Json, _old: &Json) {
        without_coordination(lease);
    }

    fn validate(&self, _cx: &Context, lease: &Json) -> ErrorList {
        let mut errors =
            metadata::validate_object_meta_accessor(lease, true, &names::name_is_dns_subdomain);
        validate_spec(lease, &mut errors);
        errors
    }

    fn validate_update(&self, _cx: &Context, _part: Part, lease: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_common_update(lease, old);
        validate_spec(lease, &mut errors);
        errors
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

/// The fields of coordinated leader election are dropped: its gate is off.
fn without_coordination(lease: &mut Json) {
    for field in ["strategy", "preferredHolder"] {
        json::remove(lease, &["spec", field]);
    }
}

fn validate_spec(lease: &Json, errors: &mut ErrorList) {
    let number = |field| json::number(lease, &["spec", field]);
    if let Some(duration) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.invalid(
            "spec.leaseDurationSeconds",
            duration,
            "must be greater than 0",
        );
    }
    if let Some(transitions) = number("leaseTransitions").filter(|count| *count < 0) {
        let detail = "must be greater than or equal to 0";
        errors.invalid("spec.leaseTransitions", transitions, detail);
    }
}
