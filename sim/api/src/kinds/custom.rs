//! Custom objects: the rules that the server has for an object of which it knows `metadata`, `spec` and `status`
//! (`apiextensions-apiserver/pkg/registry/customresource/strategy.go`, `status_strategy.go`). What is in `spec` and
//! `status` is a tree that nobody looks into; other fields are pruned.

use super::pods::{count_generation, keep};
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;

/// The rules of a custom kind. A kind with further rules has a [`Strategy`] of its own, which may ask this one first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CustomResource {
    /// Has it the subresource `status`? Then only that writes `status`, and nothing else.
    pub status: bool,
}

impl CustomResource {
    /// `metadata` and `spec` are written by one path, `status` by the other.
    pub const WITH_STATUS: CustomResource = CustomResource { status: true };
    /// One path writes everything.
    pub const WITHOUT_STATUS: CustomResource = CustomResource { status: false };
}

/// Does anything differ that counts as a generation: all but `metadata`, and but a status with its own path?
fn differs(new: &Json, old: &Json, has_status: bool) -> bool {
    new.get("spec") != old.get("spec") || (!has_status && new.get("status") != old.get("status"))
}

fn validate(object: &Json) -> ErrorList {
    // Whether there must be a namespace the registry asks of every object.
    let namespaced = !json::text(object, &["metadata", "namespace"]).is_empty();
    metadata::validate_object_meta(object, namespaced, &names::name_is_dns_subdomain)
}

impl Strategy for CustomResource {
    fn prepare_for_create(&self, _cx: &Context, object: &mut Json) {
        if self.status {
            json::remove(object, &["status"]);
        }
        json::set(object, &["metadata", "generation"], 1);
    }

    fn validate(&self, _cx: &Context, object: &Json) -> ErrorList {
        validate(object)
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, object: &mut Json, old: &Json) {
        if part == Part::Status {
            let version = json::at(object, &["metadata", "resourceVersion"]).cloned();
            keep(object, old, &["spec"]);
            keep(object, old, &["metadata"]);
            if let Some(version) = version {
                json::set(object, &["metadata", "resourceVersion"], version);
            }
            return;
        }
        if self.status {
            keep(object, old, &["status"]);
        }
        keep(object, old, &["metadata", "generation"]);
        if differs(object, old, self.status) {
            count_generation(object, old);
        }
    }

    fn validate_update(&self, _cx: &Context, _part: Part, object: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(object, old);
        errors.extend(validate(object));
        errors
    }

    /// `AllowUnconditionalUpdate`: an update of a custom object says what it updates.
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn has(&self, part: Part) -> bool {
        part == Part::Whole || (part == Part::Status && self.status)
    }
}
